"""What programs for PyTorch say about determinism and precision before they begin: taken, and not needed."""

from . import checks as _checks

_said = {"deterministic": False, "precision": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Taken and not needed: everything is deterministic."""
    _said["deterministic"] = bool(mode)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms() was told."""
    return _said["deterministic"]


def set_float32_matmul_precision(precision):
    """Taken and not needed: products of float32 are computed in float32; lower types are those of autocast()."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"there is no precision {_checks.shown(precision)}; there are 'highest', 'high' and 'medium'")
    _said["precision"] = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision() was told."""
    return _said["precision"]
