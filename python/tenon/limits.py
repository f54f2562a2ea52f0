"""finfo() and iinfo(): what dtypes hold."""

from . import _tenon
from . import checks as _checks

_SIGNIFICAND = {"float32": 23, "float16": 10, "bfloat16": 7, "float64": 52}  # bits behind the point
_EXPONENT = {"float32": 127, "float16": 15, "bfloat16": 127, "float64": 1023}
_RESOLUTION = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-15}
_INTEGERS = {"uint8": (0, 255), "int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}


class finfo:
    """Limits of a floating-point dtype.

    >>> import tenon
    >>> tenon.finfo(tenon.float16).max
    65504.0
    """

    def __init__(self, dtype=_tenon.float32):
        if not isinstance(dtype, _tenon.dtype) or dtype.name not in _SIGNIFICAND:
            raise TypeError(f"finfo is of floating-point dtypes, not of {_checks.shown(dtype)}; use iinfo")
        self._dtype = dtype

    @property
    def dtype(self):
        return self._dtype.name

    @property
    def bits(self):
        return self._dtype.itemsize * 8

    @property
    def eps(self):
        return 2.0 ** -_SIGNIFICAND[self._dtype.name]

    @property
    def max(self):
        return (2.0 - self.eps) * 2.0 ** _EXPONENT[self._dtype.name]

    @property
    def min(self):
        return -self.max

    @property
    def tiny(self):
        return 2.0 ** (1 - _EXPONENT[self._dtype.name])

    @property
    def smallest_normal(self):
        return self.tiny

    @property
    def resolution(self):
        return _RESOLUTION[self._dtype.name]

    def __repr__(self):
        return (f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, "
                f"smallest_normal={self.smallest_normal}, tiny={self.tiny}, dtype={self.dtype})")


class iinfo:
    """Limits of a dtype of integers."""

    def __init__(self, dtype):
        if not isinstance(dtype, _tenon.dtype) or dtype.name not in _INTEGERS:
            raise TypeError(f"iinfo is of dtypes of integers, not of {_checks.shown(dtype)}; use finfo")
        self._dtype = dtype

    @property
    def dtype(self):
        return self._dtype.name

    @property
    def bits(self):
        return self._dtype.itemsize * 8

    @property
    def min(self):
        return _INTEGERS[self._dtype.name][0]

    @property
    def max(self):
        return _INTEGERS[self._dtype.name][1]

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
