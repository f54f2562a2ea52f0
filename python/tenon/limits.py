"""finfo() and iinfo(): what dtypes hold."""

from . import _tenon
from . import checks as _checks

# Bits after the point, the largest exponent, and PyTorch's resolution.
_REAL = {"float32": (23, 127, 1e-6), "float16": (10, 15, 1e-3), "bfloat16": (7, 127, 1e-2), "float64": (52, 1023, 1e-15)}
_INTEGERS = {"uint8": (0, 255), "int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}


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
        if not isinstance(dtype, _tenon.dtype) or dtype.name not in _REAL:
            raise TypeError(f"finfo is of floating-point dtypes, not of {_checks.shown(dtype)}; use iinfo")
        fraction, exponent, self.resolution = _REAL[dtype.name]
        self.dtype, self.bits, self.eps = dtype.name, dtype.itemsize * 8, 2.0 ** -fraction
        self.max = (2.0 - self.eps) * 2.0 ** exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)

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
        if not isinstance(dtype, _tenon.dtype) or dtype.name not in _INTEGERS:
            raise TypeError(f"iinfo is of dtypes of integers, not of {_checks.shown(dtype)}; use finfo")
        self.dtype, self.bits = dtype.name, dtype.itemsize * 8
        self.min, self.max = _INTEGERS[dtype.name]

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
