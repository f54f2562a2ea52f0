"""Losses as layers around functions of nn.functional, whose attributes every call reads."""

from . import functional as F
from . import reductions
from .module import Module


class _Loss(Module):
    """A loss with a reduction and settings, which have the names of the function's arguments."""

    _names = ("reduction",)

    def _set(self, size_average=None, reduce=None, **settings):
        reduction = reductions.reduction_of(size_average, reduce, settings.pop("reduction"))
        self.reduction = reductions.check_reduction(reduction, self._reductions)
        for name, value in settings.items():
            setattr(self, name, value)

    _reductions = ("none", "mean", "sum")

    def _settings(self):
        return {name: getattr(self, name) for name in self._names}


class KLDivLoss(_Loss):
    """target * (log(target) - x)."""

    _names = ("reduction", "log_target")
    _reductions = ("none", "mean", "sum", "batchmean")

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__()
        self._set(size_average, reduce, reduction=reduction, log_target=log_target)

    def forward(self, input, target):
        return F.kl_div(input, target, **self._settings())


class PoissonNLLLoss(_Loss):
    """How unlikely counts are, of expectations or their logarithms."""

    _names = ("log_input", "full", "eps", "reduction")

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__()
        self._set(size_average, reduce, log_input=log_input, full=full, eps=eps, reduction=reduction)

    def forward(self, input, target):
        return F.poisson_nll_loss(input, target, **self._settings())


class GaussianNLLLoss(_Loss):
    """How unlikely targets are around expectations with variances; NaN where a variance is negative."""

    _names = ("full", "eps", "reduction")

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__()
        self._set(full=full, eps=eps, reduction=reduction)

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, **self._settings())


class CTCLoss(_Loss):
    """Of sequences whose labels are given without their places; zero_infinity: targets that do not fit count 0."""

    _names = ("blank", "reduction", "zero_infinity")

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__()
        self._set(blank=blank, reduction=reduction, zero_infinity=zero_infinity)

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, **self._settings())


class MultiLabelMarginLoss(_Loss):
    """How far classes that are none of a sample's come near those that are."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self._set(size_average, reduce, reduction=reduction)

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, **self._settings())


class MultiLabelSoftMarginLoss(_Loss):
    """Binary cross entropies of logits, their mean over the classes."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self._set(size_average, reduce, reduction=reduction)
        self.register_buffer("weight", weight)

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, self.weight, **self._settings())


class TripletMarginWithDistanceLoss(_Loss):
    """How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's own."""

    _names = ("distance_function", "margin", "swap", "reduction")

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if not margin > 0:
            raise ValueError(f"a margin lies above 0, not at {margin}")
        self._set(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **self._settings())
