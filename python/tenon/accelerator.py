"""The device beside the cpu that programs for PyTorch ask for, whatever its kind.

>>> import tenon
>>> device = tenon.accelerator.current_accelerator() if tenon.accelerator.is_available() else tenon.device("cpu")
"""

from . import _tenon, cuda


def current_accelerator(check_available=False):
    """The device "cuda", or None where there is none."""
    return _tenon.device("cuda") if is_available() else None


is_available, device_count, synchronize, empty_cache = cuda.is_available, cuda.device_count, cuda.synchronize, cuda.empty_cache
current_device_index, set_device_index = cuda.current_device, cuda.set_device
memory_allocated, max_memory_allocated = cuda.memory_allocated, cuda.max_memory_allocated
memory_reserved, max_memory_reserved = cuda.memory_reserved, cuda.max_memory_reserved
reset_peak_memory_stats = cuda.reset_peak_memory_stats
