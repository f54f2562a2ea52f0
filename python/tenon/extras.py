"""Functions of tensors that are made of others, with PyTorch's names and arguments."""

import itertools
import math

from . import _tenon
from . import checks as _checks

Tensor = _tenon.Tensor


def where(condition, input=None, other=None) -> "Tensor":
    """input where the condition holds, else other; with a condition alone, the positions where it holds, one tensor for
    each dim."""
    if input is None and other is None:
        return tuple(_tenon.nonzero(condition).unbind(1)) if condition.ndim else tuple(_tenon.nonzero(condition.reshape(1)).unbind(1))
    if input is None or other is None:
        raise TypeError("where() takes a condition alone, or a condition and two values")
    return _tenon.where(condition, input, other)


def randint(low=0, high=None, size=None, dtype=None, device=None, generator=None, requires_grad=False) -> "Tensor":
    """Random integers from low to below high; of one number, from 0 to below it."""
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() lacks its argument 'size'")
    return _tenon.randint(low, high, size, dtype=dtype, device=device, generator=generator)


def randint_like(input, low=0, high=None, dtype=None, device=None, requires_grad=False) -> "Tensor":
    """Random integers from low to below high, or from 0 to below low, in the shape and dtype of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    made = _tenon.randint(low, high, input.shape, dtype=dtype or input.dtype, device=device or input.device)
    return made.requires_grad_() if requires_grad else made


def _dims_of(dim):
    """The dims of var(True), whose first argument may say `unbiased` in the place of a dim: all."""
    return None if isinstance(dim, bool) else dim


def zero_(input) -> "Tensor":
    """Fills a tensor with 0."""
    return input.zero_()


def var_mean(input, dim=None, correction=1, keepdim=False, unbiased=None):
    """Variances and means."""
    return _tenon.var(input, dim, correction, keepdim, unbiased), _tenon.mean(input, _dims_of(dim), keepdim)


def std_mean(input, dim=None, correction=1, keepdim=False, unbiased=None):
    """Standard deviations and means."""
    return _tenon.std(input, dim, correction, keepdim, unbiased), _tenon.mean(input, _dims_of(dim), keepdim)


def cartesian_prod(*tensors) -> "Tensor":
    """All combinations of the elements of several vectors, a row each."""
    if len(tensors) == 1:
        return tensors[0]
    return _tenon.stack([grid.reshape(-1) for grid in _tenon.meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False) -> "Tensor":
    """All choices of r elements of a vector, a row each."""
    count = math.comb(len(input) + (r - 1 if with_replacement and r > 0 else 0), r)
    if count * r >= 2**31:
        raise ValueError(f"combinations() of {r} of {len(input)} elements are {count}, which is too many")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = _tenon.tensor(list(choose(range(len(input)), r)), dtype=_tenon.int64, device=input.device).reshape(-1, r)
    return input[places]


_checks.all_need_tensors(globals())

_TYPES = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
          "LongTensor": "int64", "IntTensor": "int32", "ByteTensor": "uint8", "BoolTensor": "bool"}


def _maker(name, dtype):
    def make(*data):
        if len(data) == 1 and not isinstance(data[0], int):
            return _tenon.tensor(data[0], dtype=dtype) if not isinstance(data[0], Tensor) else data[0].to(dtype)
        return _tenon.zeros(*data, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of {dtype.name}: of elements, or of sizes."
    return make


for _name, _kind in _TYPES.items():
    globals()[_name] = _maker(_name, getattr(_tenon, _kind))

_to_dtype, _numpy = Tensor.type, Tensor.numpy


def _type(self, dtype=None):
    """In another dtype; without one, the name of the dtype that it has, as PyTorch calls it."""
    if dtype is None:
        return "tenon." + next(name for name, kind in _TYPES.items() if kind == self.dtype.name)
    if isinstance(dtype, str) and dtype.rpartition(".")[2] in _TYPES:
        dtype = getattr(_tenon, _TYPES[dtype.rpartition(".")[2]])
    elif getattr(dtype, "__name__", None) in _TYPES:
        dtype = getattr(_tenon, _TYPES[dtype.__name__])
    return _to_dtype(self, dtype)


def _as_numpy(self, force=False):
    """An array that shares the memory; force: of whatever tensor, copied where it has to be."""
    if not force:
        return _numpy(self)
    made = self.detach().cpu()
    return _numpy(made.float() if made.dtype == _tenon.bfloat16 else made)


def set_default_dtype(d):
    """The dtype of new floating-point tensors: float32, which is the only one. Give others by dtype=, or by model.to()."""
    if d is not _tenon.float32 and d is not float:
        raise ValueError(f"the default dtype is float32 and stays it, not {_checks.shown(d)}; give dtype= where tensors are made, or model.to(dtype)")


def get_default_dtype():
    """The dtype of new floating-point tensors."""
    return _tenon.float32


_options = {}
_plain_repr = Tensor.__repr__


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed, as numpy.set_printoptions says; needs numpy. profile: "default", "short" or "full"."""
    profiles = {"default": {}, "short": {"precision": 2, "threshold": 1000, "edgeitems": 2},
                "full": {"threshold": math.inf}}
    if profile is not None:
        if profile not in profiles:
            raise ValueError(f"there is no profile '{profile}'; there are 'default', 'short' and 'full'")
        _options.clear()
        _options.update(profiles[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    if sci_mode is not None:
        _options["suppress"] = not sci_mode
    Tensor.__repr__ = _printed if _options else _plain_repr


def _printed(self):
    import sys

    import numpy

    options = {**_options, "threshold": sys.maxsize} if _options.get("threshold") == math.inf else _options
    name = "Parameter(" if type(self).__name__ == "Parameter" else "tensor("
    with numpy.printoptions(**options):
        text = numpy.array2string(_as_numpy(self, True), separator=", ", prefix=name)
    plain = (_tenon.float32, _tenon.int64, _tenon.bool)
    text += "" if self.dtype in plain else f", dtype={self.dtype.name}"
    text += "" if self.device.name == "cpu" else f", device='{self.device}'"
    return name + text + (", requires_grad=True)" if self.requires_grad and name == "tensor(" else ")")


Tensor.type, Tensor.numpy = _type, _as_numpy
