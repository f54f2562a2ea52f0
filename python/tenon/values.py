"""Functions of elements that are made of others; names and arguments are PyTorch's."""

import collections
import math

from . import _tenon
from . import checks as _checks

Tensor = _tenon.Tensor
MinMax = collections.namedtuple("MinMax", "min max")
MinMax.__doc__ = "The smallest and the largest elements."


def _as_float(x):
    if not isinstance(x, Tensor):
        raise TypeError(f"a tensor is needed, not {type(x).__name__}")
    return x if x.is_floating_point() else x.to(_tenon.float32)


def wide(x):
    """16-bit types as float32: what is made of several steps is rounded once."""
    return x.float() if x.dtype in (_tenon.float16, _tenon.bfloat16) else x


def _dim_of(input, dim, function):
    dims = max(input.ndim, 1)
    if not -dims <= dim < dims:
        raise _tenon.OutOfRange(f"[{function}] dim {dim} is not there in {tuple(input.shape)}")
    return dim % dims


def aminmax(input, dim=None, keepdim=False):
    """The smallest and the largest elements, of all or along a dim."""
    return MinMax(_tenon.amin(input, dim, keepdim), _tenon.amax(input, dim, keepdim))


def trapezoid(y, x=None, dx=None, dim=-1) -> "Tensor":
    """The area below lines between points at heights y: at places x, or at distances dx, which is 1 where it is not given."""
    if x is not None and dx is not None:
        raise ValueError("trapezoid() takes x or dx, not both")
    if x is not None and not isinstance(x, Tensor):
        raise TypeError(f"trapezoid() needs a tensor or None for 'x', not {type(x).__name__}")
    dim = _dim_of(y, dim, "trapezoid")
    count = y.shape[dim]
    if count == 0:
        y = _as_float(y)
        return _tenon.zeros([size for i, size in enumerate(y.shape) if i != dim], dtype=y.dtype, device=y.device)
    if x is None:
        return _as_float(_as_float(y.sum(dim)) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * (1 if dx is None else dx)
    # In the dtype that is given, as in PyTorch: uint8 wraps.
    heights = y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)
    if x.ndim == 1:
        if x.shape[0] != count:
            raise ValueError(f"trapezoid() needs {count} places along dim {dim}, not {x.shape[0]}")
        widths = (x[1:] - x[:-1]).reshape(-1, *(1,) * (y.ndim - 1 - dim))
    else:
        along, places = dim - y.ndim, x.shape[dim - y.ndim]
        widths = x.narrow(along, 1, places - 1) - x.narrow(along, 0, places - 1)
    return _as_float((heights * widths).sum(dim)) / 2


def cov(input, correction=1, fweights=None, aweights=None) -> "Tensor":
    """Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights."""
    if input.ndim > 2:
        raise ValueError(f"cov() needs a matrix or a vector, not {tuple(input.shape)}")
    x = _as_float(input)
    x = x.reshape(1, -1) if x.ndim < 2 else x
    count = x.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        if given.ndim > 1 or given.numel() != count:
            raise ValueError(f"cov() needs {count} {name}, one for each observation, not {tuple(given.shape)}")
        if given.is_floating_point() != (name == "aweights"):
            raise ValueError(f"the {name} of cov() are {'numbers of floating point' if name == 'aweights' else 'integers'}, not {given.dtype.name}")
        if given.is_evaluated() and given.numel() and (given.detach() < 0).any().item():
            raise ValueError(f"the {name} of cov() are 0 or more")
        weights = given.reshape(-1) if weights is None else weights * given.reshape(-1)
    if weights is None:
        mean, norm = x.mean(1, keepdim=True), max(count - correction, 0)
        centered = x - mean
        product = centered @ centered.t()
        result = product / norm if norm else product * math.inf
    else:
        x, weights = (one.to(_tenon.promote_types(x.dtype, weights.dtype)) for one in (x, weights))
        total = weights.sum()
        centered = x - (x * weights).sum(1, keepdim=True) / total
        if correction == 0:
            norm = total
        elif aweights is None:
            norm = total - correction
        else:
            norm = total - correction * (weights * aweights.reshape(-1)).sum() / total
        result = (centered * weights) @ centered.t() / norm.clamp_min(0)
    return result.squeeze()


def corrcoef(input) -> "Tensor":
    """How rows go together, from -1 to 1; their columns are observations."""
    if input.ndim > 2:
        raise ValueError(f"corrcoef() needs a matrix or a vector, not {tuple(input.shape)}")
    covariances = cov(input)
    if covariances.ndim == 0:
        return covariances / covariances
    deviations = covariances.diagonal().sqrt()
    return (covariances / deviations.unsqueeze(1) / deviations).clamp(-1, 1)


_checks.all_need_tensors(globals())
trapz = trapezoid

_LARGEST = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53, "uint8": 2**8 - 1, "int32": 2**31 - 1,
            "int64": 2**63 - 1, "bool": 1}


def random_(self, *limits, generator=None, **named) -> "Tensor":
    """Draws new elements, integers from `from` to below `to`; of one limit from 0 on, of none all that the dtype tells apart."""
    unknown = set(named) - {"from", "to"}
    if unknown or len(limits) + len(named) > 2:
        raise TypeError("random_() takes 'from' and 'to', and a generator")
    given = [*limits, *(named[name] for name in ("from", "to") if name in named)]
    low, end = (0, _LARGEST[self.dtype.name] + 1) if not given else (0, given[0]) if len(given) == 1 else given
    if end is None:
        end = _LARGEST[self.dtype.name] + 1
    if low >= end:
        raise _tenon.Error(f"[random_] there is no integer from {low} to below {end}")
    span = end - low

    def bits(count):
        return _tenon.randint(0, 2**count, self.shape, dtype=_tenon.int64, device=self.device, generator=generator)

    if span <= 2**31:
        drawn = _tenon.randint(0, span, self.shape, dtype=_tenon.int64, device=self.device, generator=generator)
    else:
        drawn = (bits(1) * 2**31 + bits(31)) * 2**31 + bits(31)
        drawn = drawn if span == 2**63 else drawn % span
    self.copy_((drawn + low).to(self.dtype))
    return self
