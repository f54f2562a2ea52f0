"""What programs for PyTorch say about determinism and precision before they begin."""

from . import _tenon
from . import checks as _checks

_said = {"deterministic": False, "precision": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Taken and not needed: everything is deterministic."""
    _said["deterministic"] = bool(mode)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms() was given."""
    return _said["deterministic"]


def set_float32_matmul_precision(precision):
    """"high" and "medium": products of float32 may take their operands as tf32 where a device multiplies quicker so."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"there is no precision {_checks.shown(precision)}; there are 'highest', 'high' and 'medium'")
    _said["precision"] = precision
    _tenon._set_tf32_allowed(precision != "highest")


def get_float32_matmul_precision():
    """The precision of products of float32: "highest", "high" or "medium"."""
    if not _tenon._tf32_allowed():
        return "highest"
    return "high" if _said["precision"] == "highest" else _said["precision"]


def set_default_dtype(d):
    """The dtype of new floating-point tensors: float32, which is the only one. Give others by dtype=, or by model.to()."""
    if d is not _tenon.float32 and d is not float:
        raise ValueError(f"the default dtype is float32 and stays it, not {_checks.shown(d)}; give dtype= where tensors are made, or model.to(dtype)")


def get_default_dtype():
    """The dtype of new floating-point tensors."""
    return _tenon.float32
