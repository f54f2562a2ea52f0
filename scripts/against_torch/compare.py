"""Whether a result of Tenon's is PyTorch's: structure, shape, dtype, values.

Tolerances are those of torch.testing.assert_close, for gradients as for values. A value that is not as near as that to
PyTorch's is right if it is as near as that to what the same function gives in float64: then it is PyTorch's that is off.
Where both are off, and Tenon's worst element by no more tolerances than PyTorch's worst, it is called rounding, and listed,
but no fault.
"""

import dataclasses

import tenon
import torch
from torch.testing._comparison import default_tolerances

from translate import to_torch


def _is_close(mine, theirs):
    if not theirs.is_floating_point():
        return torch.equal(mine, theirs)
    rtol, atol = default_tolerances(theirs.dtype)
    return torch.allclose(mine.double(), theirs.double(), rtol, atol, equal_nan=True)


def _is_right(mine, exact):
    """Whether each element is as near to the exact one as its dtype allows; one beyond the largest number is infinite."""
    if exact.shape != mine.shape or not mine.is_floating_point():
        return False
    return worst(mine, exact) <= 1


def _tolerances_off(one, exact):
    """By how many tolerances each element is off; one that is not finite in one of them alone is infinitely far."""
    rtol, atol = default_tolerances(one.dtype)
    one, exact, nearest = one.double(), exact.double(), exact.to(one.dtype).double()
    is_same = (one == exact) | (one == nearest) | (one.isnan() & exact.isnan())
    off = ((one - exact).abs() / (atol + rtol * exact.abs())).nan_to_num(float("inf"), posinf=float("inf"))
    return torch.where(is_same, torch.zeros_like(off), off)


def worst(one, exact):
    """By how many tolerances the worst element is off."""
    return float(_tolerances_off(one, exact).max()) if one.numel() else 0.0


def _off_beside_largest(one, exact):
    """The same, where tolerances are those of the largest element: sums whose terms cancel are as exact as their terms."""
    rtol, atol = default_tolerances(one.dtype)
    off = (one.double() - exact.double()).abs() / (atol + rtol * exact.double().abs().max())
    return float(off.nan_to_num(float("inf"), posinf=float("inf")).max()) if one.numel() else 0.0


def _is_no_worse(mine, theirs, exact):
    """Whether no element is further from the exact one than PyTorch's worst, in tolerances."""
    if exact.shape != mine.shape or not mine.is_floating_point():
        return False
    theirs_off = worst(theirs, exact)
    return theirs_off < float("inf") and worst(mine, exact) <= theirs_off


@dataclasses.dataclass(frozen=True)
class Difference:
    kind: str
    text: str
    off: float = float("inf")  # by how many tolerances of the largest element, from what it is in float64 where that is known


def difference(mine, theirs, exact=None, values=True):
    """A Difference, or None. exact: a function that gives the result in float64, or None; values: whether they are compared."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(mine, tenon.Tensor):
            return Difference("wrong shape", f"{type(mine).__name__} for a tensor")
        if tuple(mine.shape) != tuple(theirs.shape):
            return Difference("wrong shape", f"{tuple(mine.shape)} for {tuple(theirs.shape)}")
        made = to_torch(mine)
        if made.dtype != theirs.dtype:
            return Difference("wrong dtype", f"{made.dtype} for {theirs.dtype}")
        if not values or _is_close(made, theirs):
            return None
        in_double = exact() if exact else None
        if not isinstance(in_double, torch.Tensor) or in_double.shape != theirs.shape:
            in_double = None
        elif _is_right(made, in_double):
            return None
        off = _off_beside_largest(made, theirs if in_double is None else in_double) if theirs.is_floating_point() else float("inf")
        is_rounding = in_double is not None and _is_no_worse(made, theirs, in_double)
        return Difference("rounding" if is_rounding else "wrong value", _worst(made, theirs, in_double), off)
    if isinstance(theirs, (tuple, list)):
        if not isinstance(mine, (tuple, list)) or len(mine) != len(theirs):
            return Difference("wrong shape", f"{len(mine) if isinstance(mine, (tuple, list)) else type(mine).__name__} results for {len(theirs)}")
        return most_serious(difference(a, b, (lambda i=i: _part(exact(), i)) if exact else None, values)
                            for i, (a, b) in enumerate(zip(mine, theirs)))
    if theirs is None or isinstance(theirs, (bool, int, float)):
        return None if mine == theirs or mine != mine and theirs != theirs or not values else \
            Difference("wrong value", f"{mine} for {theirs}")
    return None


def most_serious(differences):
    """The one that is furthest off, rounding after all else; None where all are None."""
    return max((one for one in differences if one), key=lambda one: (one.kind != "rounding", one.off), default=None)


def _part(results, i):
    return results[i] if isinstance(results, (tuple, list)) and i < len(results) else None


def _worst(mine, theirs, exact):
    """The element that is furthest off, and what it is in float64."""
    if not mine.numel():
        return ""
    off = (mine.double() - theirs.double()).abs()
    if theirs.is_floating_point():
        off = _tolerances_off(mine, theirs if exact is None else exact)
    at = int(off.reshape(-1).argmax())
    text = f"{mine.reshape(-1)[at].item()} for {theirs.reshape(-1)[at].item()}"
    if exact is not None:
        text += f", in float64 {exact.reshape(-1)[at].item()}"
        if theirs.is_floating_point():
            text += f"; {worst(mine, exact):.3g} tolerances off, PyTorch's {worst(theirs, exact):.3g}"
    return text
