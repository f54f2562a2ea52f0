"""What programs for PyTorch ask of a GPU of NVIDIA's; it is tenon.device("cuda") here, too.

>>> import tenon
>>> device = "cuda" if tenon.cuda.is_available() else "cpu"
"""

from . import _tenon
from .random import manual_seed as _manual_seed


def _is_there(name):
    try:
        _tenon.device(name)
    except ValueError:
        return False
    return True


def is_available():
    """Whether there is a device "cuda"."""
    return _is_there("cuda")


def device_count():
    """How many devices "cuda", "cuda:1", ... there are."""
    count = 0
    while _is_there(f"cuda:{count}" if count else "cuda"):
        count += 1
    return count


def current_device():
    """The device of new tensors of "cuda", which is always the first."""
    if not is_available():
        raise _tenon.Error("[cuda] there is no device \"cuda\"")
    return 0


def set_device(device):
    """Refuses any but the first: name others where tensors are made, by device="cuda:1"."""
    if device not in (0, "cuda", "cuda:0") and getattr(device, "name", None) != "cuda":
        raise ValueError(f"the current device \"cuda\" is the first and stays it, not {device!r}; give device= where tensors are made")


def get_device_name(device=None):
    """The name of a device, as it calls itself; Tenon knows it by "cuda" alone."""
    name = "cuda" if device in (None, 0, "cuda", "cuda:0") else f"cuda:{device}" if isinstance(device, int) else str(getattr(device, "name", device))
    try:
        return _tenon.device(name).name
    except ValueError as error:
        raise _tenon.Error(str(error)) from None


def empty_cache():
    """Taken and not needed: memory that nobody uses is given to the next who needs it."""


def synchronize(device=None):
    """Returns when everything that was started has run."""
    _tenon.synchronize(device)


def manual_seed(seed):
    """Seeds the default generator, which is that of all devices."""
    _manual_seed(seed)


manual_seed_all = manual_seed
