"""Layers without state, activations and losses, as torch.nn.functional has them."""

from .. import _tenon
from .. import checks as _checks
from .._tenon import (  # noqa: F401
    channel_shuffle, gelu, glu, hardshrink, log_softmax, logsigmoid, one_hot, pdist, prelu, sigmoid, softmax, softmin, softplus, softshrink, softsign, tanh,
    tanhshrink)

from .reductions import check_reduction as _check_reduction
from .reductions import takes_old_words as _takes_old_words

globals().update({name: value for name, value in vars(_tenon._nn.functional).items() if not name.startswith("_")})
for _name in ("mse_loss", "l1_loss", "soft_margin_loss", "smooth_l1_loss", "hinge_embedding_loss", "cross_entropy", "nll_loss",
              "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "margin_ranking_loss",
              "multi_margin_loss", "triplet_margin_loss", "poisson_nll_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
              "kl_div"):
    globals()[_name] = _takes_old_words(globals()[_name])


def _in(input, result, inplace):
    if not inplace:
        return result
    input.copy_(result)
    return input


def relu(input, inplace=False) -> "Tensor":
    """max(x, 0)."""
    return _in(input, input.relu(), inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False) -> "Tensor":
    """x, or negative_slope * x below 0."""
    return _in(input, _tenon.leaky_relu(input, negative_slope), inplace)


def elu(input, alpha=1.0, inplace=False) -> "Tensor":
    """x, or alpha * (exp(x) - 1) below 0."""
    return _in(input, _tenon.elu(input, alpha), inplace)


def silu(input, inplace=False) -> "Tensor":
    """x * sigmoid(x)."""
    return _in(input, _tenon.silu(input), inplace)


def mish(input, inplace=False) -> "Tensor":
    """x * tanh(softplus(x))."""
    return _in(input, _tenon.mish(input), inplace)


def hardswish(input, inplace=False) -> "Tensor":
    """x * relu6(x + 3) / 6."""
    return _in(input, _tenon.hardswish(input), inplace)


def dropout(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes elements with probability p and scales the rest."""
    result = _tenon._nn.functional.dropout(input, p, training)
    return _in(input, result, inplace and training)


def relu6(input, inplace=False) -> "Tensor":
    """min(max(x, 0), 6)."""
    return _in(input, _tenon.relu6(input), inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False) -> "Tensor":
    """x between min_val and max_val, which are cut to integers for a tensor of them."""
    return _in(input, _tenon.hardtanh(input, min_val, max_val), inplace)


def hardsigmoid(input, inplace=False) -> "Tensor":
    """relu6(x + 3) / 6."""
    return _in(input, _tenon.hardsigmoid(input), inplace)


def celu(input, alpha=1.0, inplace=False) -> "Tensor":
    """x, or alpha * (exp(x / alpha) - 1) below 0."""
    return _in(input, _tenon.celu(input, alpha), inplace)


def selu(input, inplace=False) -> "Tensor":
    """ELU with the two numbers that keep means and variances; Klambauer et al., 2017."""
    return _in(input, _tenon.selu(input), inplace)


def threshold(input, threshold, value, inplace=False) -> "Tensor":
    """x above a threshold, else a value."""
    return _in(input, _tenon.threshold(input, threshold, value), inplace)


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False) -> "Tensor":
    """x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits."""
    return _in(input, _tenon.rrelu(input, lower, upper, training), inplace)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1) -> "Tensor":
    """Draws from the classes of logits so that gradients go through; hard: 0 and 1 in the forward direction."""
    return _tenon._nn.functional.gumbel_softmax(logits, tau, hard, dim)


def dropout2d(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes whole channels with probability p and scales the others."""
    return _in(input, _tenon._nn.functional.dropout2d(input, p, training), inplace and training)


def dropout1d(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes whole channels of (batch, channels, length) or (channels, length) with probability p and scales the others."""
    return _in(input, _tenon._nn.functional.dropout1d(input, p, training), inplace and training)


def alpha_dropout(input, p=0.5, training=False, inplace=False) -> "Tensor":
    """Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al., 2017."""
    return _in(input, _tenon._nn.functional.alpha_dropout(input, p, training), inplace and training)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False) -> "Tensor":
    """Rows of a matrix; that of padding_idx gets no gradient. Gradients are dense, also with sparse=True."""
    if max_norm is not None or scale_grad_by_freq:
        raise ValueError("embedding() has neither max_norm nor scale_grad_by_freq")
    if padding_idx is not None and not isinstance(padding_idx, int):
        raise TypeError(f"embedding() needs an integer for 'padding_idx', not {type(padding_idx).__name__}")
    rows = _tenon._nn.functional.embedding(input, weight)
    if padding_idx is None:
        return rows
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise ValueError(f"padding_idx {padding_idx} is none of {weight.shape[0]} rows")
    return _tenon.where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None) -> "Tensor":
    """Sums, means or maxima of rows of a matrix: of a row of input each, or of what lies between two offsets."""
    if max_norm is not None or scale_grad_by_freq:
        raise ValueError("embedding_bag() has neither max_norm nor scale_grad_by_freq")
    return _tenon._nn.functional.embedding_bag(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx)


def rms_norm(input, normalized_shape, weight=None, eps=None) -> "Tensor":
    """Mean square 1 over the trailing dims; an eps of None is that of float32, or of float64 for its tensors."""
    if eps is None:
        eps = 2.0**-52 if input.dtype == _tenon.float64 else 2.0**-23
    return _tenon._nn.functional.rms_norm(input, normalized_shape, weight, eps)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean") -> "Tensor":
    """How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's own."""
    return _tenon._nn.functional.triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function, margin, swap, _check_reduction(reduction))


_checks.all_need_tensors(globals())
