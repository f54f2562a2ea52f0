"""finfo() and iinfo(): what dtypes hold."""

from . import _tenon
from . import checks as _checks

# PyTorch's resolution of each.
_RESOLUTION = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-15}


class finfo:
    """Limits of a floating-point dtype.

    >>> import tenon
    >>> tenon.finfo(tenon.float16).max
    65504.0
    """

    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, dtype=_tenon.float32):
        if not isinstance(dtype, _tenon.dtype) or not dtype.is_floating_point:
            raise TypeError(f"finfo is of floating-point dtypes, not of {_checks.shown(dtype)}; use iinfo")
        self.dtype, self.bits, self.resolution = dtype.name, dtype.itemsize * 8, _RESOLUTION[dtype.name]
        self.min, self.max, self.eps, self.smallest_normal = dtype._limits()
        self.tiny = self.smallest_normal

    def __repr__(self):
        return (f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, "
                f"smallest_normal={self.smallest_normal}, tiny={self.tiny}, dtype={self.dtype})")


class iinfo:
    """Limits of a dtype of integers."""

    dtype: str
    bits: int
    min: int
    max: int

    def __init__(self, dtype):
        if not isinstance(dtype, _tenon.dtype) or dtype.is_floating_point or dtype.name == "bool":
            raise TypeError(f"iinfo is of dtypes of integers, not of {_checks.shown(dtype)}; use finfo")
        self.dtype, self.bits = dtype.name, dtype.itemsize * 8
        self.min, self.max = dtype._limits()

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
