"""Whether a result of Tenon's is PyTorch's: structure, shape, dtype, values.

Tolerances are those of torch.testing.assert_close, for gradients as for values. A value that is not as near as that to
PyTorch's is right if it is as near as that to what the same function gives in float64: then it is PyTorch's that is off.
Where both are off, and Tenon's worst element by no more than PyTorch's, it is called rounding, and listed, but no fault.
"""

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
    return _is_close(mine, exact.to(mine.dtype))


def _is_no_worse(mine, theirs, exact):
    """Whether no element is further from the exact one than PyTorch's worst."""
    if exact.shape != mine.shape or not mine.is_floating_point():
        return False
    exact = exact.double()
    off, theirs_off = ((one.double() - exact).abs() for one in (mine, theirs))
    is_same = (mine.double() == exact) | (mine.isnan() & exact.isnan())
    return theirs_off.isfinite().all().item() and bool((is_same | (off <= theirs_off.max())).all())


def difference(mine, theirs, exact=None, values=True):
    """None, or (kind, text). exact: a function that gives the result in float64, or None; values: whether they are compared."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(mine, tenon.Tensor):
            return "wrong shape", f"{type(mine).__name__} for a tensor"
        if tuple(mine.shape) != tuple(theirs.shape):
            return "wrong shape", f"{tuple(mine.shape)} for {tuple(theirs.shape)}"
        made = to_torch(mine)
        if made.dtype != theirs.dtype:
            return "wrong dtype", f"{made.dtype} for {theirs.dtype}"
        if not values or _is_close(made, theirs):
            return None
        in_double = exact() if exact else None
        if isinstance(in_double, torch.Tensor) and _is_right(made, in_double):
            return None
        if isinstance(in_double, torch.Tensor) and _is_no_worse(made, theirs, in_double):
            return "rounding", _worst(made, theirs, in_double)
        return "wrong value", _worst(made, theirs, in_double)
    if isinstance(theirs, (tuple, list)):
        if not isinstance(mine, (tuple, list)) or len(mine) != len(theirs):
            return "wrong shape", f"{len(mine) if isinstance(mine, (tuple, list)) else type(mine).__name__} results for {len(theirs)}"
        for i, (a, b) in enumerate(zip(mine, theirs)):
            found = difference(a, b, (lambda i=i: _part(exact(), i)) if exact else None, values)
            if found:
                return found
        return None
    if theirs is None or isinstance(theirs, (bool, int, float)):
        return None if mine == theirs or not values else ("wrong value", f"{mine} for {theirs}")
    return None


def _part(results, i):
    return results[i] if isinstance(results, (tuple, list)) and i < len(results) else None


def _worst(mine, theirs, exact):
    """The element that is furthest beyond the tolerance, and what it is in float64."""
    if not mine.numel():
        return ""
    off = (mine.double() - theirs.double()).abs()
    if theirs.is_floating_point():
        rtol, atol = default_tolerances(theirs.dtype)
        off = off / (atol + rtol * theirs.double().abs())
    at = int(off.nan_to_num(float("inf")).reshape(-1).argmax())
    text = f"{mine.reshape(-1)[at].item()} for {theirs.reshape(-1)[at].item()}"
    if isinstance(exact, torch.Tensor) and exact.shape == theirs.shape:
        text += f", in float64 {exact.reshape(-1)[at].item()}"
    return text
