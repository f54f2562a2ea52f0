"""The device beside the cpu that programs for PyTorch ask for, whatever its kind.

>>> import tenon
>>> device = tenon.accelerator.current_accelerator() if tenon.accelerator.is_available() else tenon.device("cpu")
"""

from . import _tenon, cuda


def is_available():
    """Whether there is a device "cuda"."""
    return cuda.is_available()


def current_accelerator(check_available=False):
    """The device "cuda", or None where there is none."""
    return _tenon.device("cuda") if is_available() else None


def device_count():
    """How many there are."""
    return cuda.device_count()


def current_device_index():
    """Which of them new tensors live on: the first."""
    return cuda.current_device()


def set_device_index(device):
    """Refuses any but the first: name others where tensors are made."""
    cuda.set_device(device)


def synchronize(device=None):
    """Returns when everything that was started has run."""
    _tenon.synchronize(device)


def empty_cache():
    """Taken and not needed: memory that nobody uses is given to the next who needs it."""


memory_allocated = cuda.memory_allocated
max_memory_allocated = cuda.max_memory_allocated
memory_reserved = cuda.memory_reserved
max_memory_reserved = cuda.max_memory_reserved
reset_peak_memory_stats = cuda.reset_peak_memory_stats
