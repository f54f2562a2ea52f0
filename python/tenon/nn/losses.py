"""Losses that are made of other ops, with PyTorch's names and arguments."""

import math

from .. import _tenon
from .. import checks as _checks
from .. import values as _values
from .reductions import check_reduction, reduction_of

def _reduced(loss, reduction):
    check_reduction(reduction)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def kl_div(input, target, reduction="mean", log_target=False) -> "Tensor":
    """target * (log(target) - x), NaN where the target is negative; log_target: the target is a logarithm."""
    loss = _tenon._nn.functional.kl_div(input, target, reduction, log_target)
    if log_target:
        return loss
    nothing = _tenon.where(target.detach() < 0, math.nan, _tenon.zeros((), dtype=loss.dtype, device=loss.device))
    return loss + (nothing if reduction == "none" else nothing.sum())


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
                     reduction="mean") -> "Tensor":
    """How unlikely counts are; x is the logarithm of what is expected, or that itself. full: with Stirling's term."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        above = _tenon.where(target > 1, target, _tenon.ones_like(target))
        term = above * above.log() - above + 0.5 * (2 * math.pi * above).log()
        loss = loss + _tenon.where(target > 1, term, _tenon.zeros_like(term))
    return _reduced(loss, reduction_of(size_average, reduce, reduction))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean") -> "Tensor":
    """How unlikely targets are around x with variances, which are eps at least; NaN where one is negative."""
    check_reduction(reduction)
    if not isinstance(var, _tenon.Tensor):
        if var < 0:
            raise ValueError(f"a variance is 0 or more, not {var}")
        var = _tenon.full_like(input, var)
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (var.ndim == input.ndim and all(a in (b, 1) for a, b in zip(var.shape, input.shape))):
            raise ValueError(f"gaussian_nll_loss() needs variances like {tuple(input.shape)}, not {tuple(var.shape)}")
    known = var.detach()
    var = var + (_tenon.where(known < 0, _tenon.full_like(known, math.nan), known.clamp_min(eps)) - known)  # eps bounds no gradient
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean") -> "Tensor":
    """How far classes that are none of a sample's come near those that are; targets are classes, and end at the first -1."""
    if input.ndim not in (1, 2) or tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"multilabel_margin_loss() needs (batch, classes) or (classes,) twice, not {tuple(input.shape)} and "
                         f"{tuple(target.shape)}")
    x, y = (one if one.ndim == 2 else one.unsqueeze(0) for one in (input, target))
    counts = ((y < 0).to(_tenon.int64).cumsum(1) == 0).to(x.dtype)
    places = y.clamp_min(0)
    is_target = _tenon.zeros_like(x.detach()).scatter_add(1, places, counts) > 0
    distances = (1 - (x.gather(1, places).unsqueeze(2) - x.unsqueeze(1))).relu()
    others = counts.unsqueeze(2) * (~is_target).to(x.dtype).unsqueeze(1)
    loss = (distances * others).sum((1, 2)) / x.shape[1]
    return _reduced(loss if input.ndim == 2 else loss[0], reduction_of(size_average, reduce, reduction))


def _log_sigmoid(x):
    return -_tenon.softplus(-x)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean") -> "Tensor":
    """Binary cross entropies of logits, their mean over the classes."""
    loss = -(target * _log_sigmoid(input) + (1 - target) * _log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), reduction_of(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean") -> "Tensor":
    """How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's own."""
    check_reduction(reduction)
    if not margin > 0:
        raise ValueError(f"a margin lies above 0, not at {margin}")
    distance = _tenon._nn.functional.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _tenon.minimum(far, distance(positive, negative))
    return _reduced((near - far + margin).clamp_min(0), reduction)


_checks.all_need_tensors(globals())
