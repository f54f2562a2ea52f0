"""What programs for PyTorch ask of a GPU of NVIDIA's; it is tenon.device("cuda") here, too.

>>> import tenon
>>> device = "cuda" if tenon.cuda.is_available() else "cpu"
"""

import types as _types

from .. import _tenon
from ..random import manual_seed as _manual_seed


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
    try:
        return _tenon.device(_name_of(device)).name
    except ValueError as error:
        raise _tenon.Error(str(error)) from None


def _name_of(device):
    if device is None or device in (0, "cuda", "cuda:0"):
        return "cuda"
    return f"cuda:{device}" if isinstance(device, int) else str(getattr(device, "name", device))


def _memory(device, which):
    """Bytes of a device; 0 where there is none, as in PyTorch before its first use."""
    return _tenon._memory_of(_name_of(device))[which] if _is_there(_name_of(device)) else 0


def memory_allocated(device=None):
    """Bytes that tensors hold on a device."""
    return _memory(device, 0)


def max_memory_allocated(device=None):
    """The most bytes that tensors have held on a device."""
    return _memory(device, 1)


def memory_reserved(device=None):
    """Bytes that a device has allocated: those that tensors hold, and those kept for reuse."""
    return _memory(device, 0) + _memory(device, 2)


def max_memory_reserved(device=None):
    """As max_memory_allocated(), with what is kept for reuse now."""
    return _memory(device, 1) + _memory(device, 2)


def reset_peak_memory_stats(device=None):
    """max_memory_allocated() counts anew, on every device."""
    _tenon._reset_peak()


def mem_get_info(device=None):
    """Bytes that a device can still allocate, and those together with what is in use."""
    free = _tenon._available_memory(_name_of(device)) or 0
    return free, free + memory_reserved(device)


def get_device_properties(device=None):
    """Name and memory of a device: `name`, `total_memory`."""
    return _types.SimpleNamespace(name=get_device_name(device), total_memory=mem_get_info(device)[1])


def is_bf16_supported(including_emulation=True):
    """Whether there is a device "cuda": bfloat16 works on every one."""
    return is_available()


def is_initialized():
    """Whether there is a device "cuda"; it is prepared when it is used first."""
    return is_available()


def empty_cache():
    """Taken and not needed: memory that nobody uses is given to the next who needs it."""


def synchronize(device=None):
    """Returns when everything that was started has run."""
    _tenon.synchronize(device)


def manual_seed(seed):
    """Seeds the default generator, which is that of all devices."""
    _manual_seed(seed)


manual_seed_all = manual_seed
