"""Functions of elements that are made of others; names and arguments are PyTorch's."""

import collections

from . import _tenon
from . import checks as _checks

Tensor = _tenon.Tensor
MinMax = collections.namedtuple("MinMax", "min max")
MinMax.__doc__ = "The smallest and the largest elements."


def aminmax(input, dim=None, keepdim=False):
    """The smallest and the largest elements, of all or along a dim."""
    return MinMax(_tenon.amin(input, dim, keepdim), _tenon.amax(input, dim, keepdim))


_checks.all_need_tensors(globals())

_draw = Tensor.random_


def random_(self, *limits, generator=None, **named) -> "Tensor":
    """Draws new elements, integers from `from` to below `to`; of one limit from 0 on, of none all that the dtype tells apart."""
    unknown = set(named) - {"from", "to"}
    if unknown or len(limits) + len(named) > 2:
        raise TypeError("random_() takes 'from' and 'to', and a generator")
    given = [*limits, *(named[name] for name in ("from", "to") if name in named)]
    low, end = (0, None) if not given else (0, given[0]) if len(given) == 1 else given
    return _draw(self, low, end, generator)
