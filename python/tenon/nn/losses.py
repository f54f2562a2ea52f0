"""Losses that are made of other ops, with PyTorch's names and arguments."""

from .. import _tenon
from .. import checks as _checks
from .reductions import check_reduction

def _reduced(loss, reduction):
    check_reduction(reduction)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


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
