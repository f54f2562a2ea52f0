"""Whether a result of Tenon's is PyTorch's: structure, shape, dtype, values.

A value may differ from PyTorch's by rounding. Where it differs by more, it is right if it is as near as PyTorch's to what the
same function gives in float64: the 16-bit types round in places that are nobody's promise.
"""

import tenon
import torch

from translate import to_torch

_TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float32: (2e-5, 1e-5), torch.float16: (2e-3, 1e-3),
              torch.bfloat16: (2e-2, 1e-2)}


def _is_close(mine, theirs, is_sum=False):
    """is_sum: elements are sums of numbers as large as the largest of them, a gradient say, and as exact as that one."""
    if not theirs.is_floating_point():
        return torch.equal(mine, theirs)
    rtol, atol = _TOLERANCE[theirs.dtype]
    if is_sum and theirs.numel():
        atol = max(atol, rtol * theirs.double().nan_to_num(0, 0, 0).abs().max().item())
    return torch.allclose(mine.double(), theirs.double(), rtol, atol, equal_nan=True)


def _is_as_near(mine, theirs, exact):
    """Whether no element lies much further from the exact result than PyTorch's worst."""
    if exact is None or exact.shape != theirs.shape or not theirs.is_floating_point():
        return False
    rtol, atol = _TOLERANCE[theirs.dtype]
    exact = exact.double()
    if _is_close(mine, exact.to(theirs.dtype)):
        return True
    off, theirs_off = (mine.double() - exact).abs(), (theirs.double() - exact).abs()
    worst = theirs_off[theirs_off.isfinite()].max() if theirs_off.isfinite().any() else 0
    allowed = 2 * worst + atol + rtol * exact.abs()
    return bool(((off <= allowed) | (mine.double() == exact) | (mine.isnan() & exact.isnan())).all())


def difference(mine, theirs, exact=None, values=True, is_sum=False):
    """None, or (kind, text). exact: a function that gives the result in float64, or None; values: whether they are compared."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(mine, tenon.Tensor):
            return "wrong shape", f"{type(mine).__name__} for a tensor"
        if tuple(mine.shape) != tuple(theirs.shape):
            return "wrong shape", f"{tuple(mine.shape)} for {tuple(theirs.shape)}"
        made = to_torch(mine)
        if made.dtype != theirs.dtype:
            return "wrong dtype", f"{made.dtype} for {theirs.dtype}"
        if not values or _is_close(made, theirs, is_sum):
            return None
        in_double = exact() if exact else None
        if isinstance(in_double, torch.Tensor) and _is_as_near(made, theirs, in_double):
            return None
        return "wrong value", f"{_first(made, theirs)}"
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


def _first(mine, theirs):
    """The element that differs most."""
    if not mine.numel():
        return ""
    off = (mine.double() - theirs.double()).abs().nan_to_num(float("inf")).reshape(-1)
    at = int(off.argmax())
    return f"{mine.reshape(-1)[at].item()} for {theirs.reshape(-1)[at].item()}"
