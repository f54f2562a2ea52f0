"""Losses as layers around the functions of nn.functional, and distances."""

from . import functional as F
from .module import Module
from .rows import Loss, layers_of

globals().update(layers_of(__name__, """
L1Loss(size_average=None, reduce=None, reduction: str = 'mean') = l1_loss(input, target, reduction=reduction) ; The mean of absolute differences.
MSELoss(size_average=None, reduce=None, reduction: str = 'mean') = mse_loss(input, target, reduction=reduction) ; The mean of squared differences.
SoftMarginLoss(size_average=None, reduce=None, reduction: str = 'mean') = soft_margin_loss(input, target, reduction=reduction) ; log(1 + exp(-target * x)).
MultiLabelMarginLoss(size_average=None, reduce=None, reduction: str = 'mean') = multilabel_margin_loss(input, target, reduction=reduction) ; How far classes that are none of a sample's come near those that are.
HuberLoss(reduction: str = 'mean', delta: float = 1.0) = huber_loss(input, target, reduction=reduction, delta=delta) ; Squared near 0, absolute beyond delta.
SmoothL1Loss(size_average=None, reduce=None, reduction: str = 'mean', beta: float = 1.0) = smooth_l1_loss(input, target, reduction=reduction, beta=beta) ; Squared near 0, absolute beyond beta.
HingeEmbeddingLoss(margin: float = 1.0, size_average=None, reduce=None, reduction: str = 'mean') = hinge_embedding_loss(input, target, reduction=reduction, margin=margin) ; x, or max(0, margin - x).
CosineEmbeddingLoss(margin: float = 0.0, size_average=None, reduce=None, reduction: str = 'mean') = cosine_embedding_loss(input1, input2, target, margin, reduction=reduction) ; 1 - cos(a, b), or max(0, cos(a, b) - margin).
MarginRankingLoss(margin: float = 0.0, size_average=None, reduce=None, reduction: str = 'mean') = margin_ranking_loss(input1, input2, target, margin, reduction=reduction) ; max(0, margin - target * (a - b)).
CrossEntropyLoss(weight: Tensor = None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = 'mean', label_smoothing: float = 0.0) = cross_entropy(input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing) ; -log of the softmax of logits at the target classes.
NLLLoss(weight: Tensor = None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = 'mean') = nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction) ; -x at the target classes.
BCELoss(weight: Tensor = None, size_average=None, reduce=None, reduction: str = 'mean') = binary_cross_entropy(input, target, weight, reduction=reduction) ; The cross-entropy of probabilities.
BCEWithLogitsLoss(weight: Tensor = None, size_average=None, reduce=None, reduction: str = 'mean', pos_weight: Tensor = None) = binary_cross_entropy_with_logits(input, target, weight, reduction=reduction, pos_weight=pos_weight) ; The cross-entropy of sigmoids.
MultiMarginLoss(p: float = 1, margin: float = 1.0, weight: Tensor = None, size_average=None, reduce=None, reduction: str = 'mean') = multi_margin_loss(input, target, p, margin, weight, reduction=reduction) ; The mean over other classes of max(0, margin - x[target] + x[other])^p.
MultiLabelSoftMarginLoss(weight: Tensor = None, size_average=None, reduce=None, reduction: str = 'mean') = multilabel_soft_margin_loss(input, target, weight, reduction=reduction) ; Binary cross entropies of logits, their mean over the classes.
PoissonNLLLoss(log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-8, reduce=None, reduction: str = 'mean') = poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction) ; How unlikely counts are, of expectations or their logarithms.
GaussianNLLLoss(*, full: bool = False, eps: float = 1e-6, reduction: str = 'mean') = gaussian_nll_loss(input, target, var, full=full, eps=eps, reduction=reduction) ; How unlikely targets are around expectations with variances; NaN where a variance is negative.
CTCLoss(blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) = ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity) ; Of sequences whose labels are given without their places; zero_infinity: targets that do not fit count 0.
TripletMarginLoss(margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average=None, reduce=None, reduction: str = 'mean') = triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduction) ; max(0, margin + |a - p| - |a - n|).
CosineSimilarity(dim=1, eps: float = 1e-8) = cosine_similarity(x1, x2, dim, eps) ; The cosine of the angle between two along a dim.
"""))


class KLDivLoss(Loss):
    """target * (log(target) - x)."""

    __constants__ = ("reduction", "log_target")
    _reductions = ("none", "mean", "sum", "batchmean")

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class TripletMarginWithDistanceLoss(Loss):
    """How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's own."""

    __constants__ = ("distance_function", "margin", "swap", "reduction")

    def __init__(self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        if not margin > 0:
            raise ValueError(f"a margin lies above 0, not at {margin}")
        self.distance_function, self.margin, self.swap = distance_function, margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)


class PairwiseDistance(Module):
    """The p-norm of a difference along the last dim."""

    __constants__ = ("norm", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
