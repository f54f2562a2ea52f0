"""What programs for PyTorch ask of a GPU of NVIDIA's; it is tenon.device("cuda") here, too.

>>> import tenon
>>> device = "cuda" if tenon.cuda.is_available() else "cpu"
"""

from . import _tenon


def is_available():
    """Whether there is a device "cuda"."""
    try:
        _tenon.device("cuda")
    except ValueError:
        return False
    return True


def synchronize(device=None):
    """Returns when everything that was started has run."""
    _tenon.synchronize(device)


def manual_seed(seed):
    """Seeds the default generator, which is that of all devices."""
    _tenon.manual_seed(seed)


manual_seed_all = manual_seed
