"""Layers without state, activations and losses, as torch.nn.functional has them."""

from .. import _tenon
from .. import checks as _checks
from .._tenon import (  # noqa: F401
    gelu, log_softmax, one_hot, sigmoid, softmax, softplus, tanh)

from .reductions import takes_old_words as _takes_old_words

globals().update({name: value for name, value in vars(_tenon._nn.functional).items() if not name.startswith("_")})
for _name in ("mse_loss", "l1_loss", "soft_margin_loss", "smooth_l1_loss", "hinge_embedding_loss", "cross_entropy", "nll_loss",
              "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "margin_ranking_loss",
              "multi_margin_loss", "triplet_margin_loss"):
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


_FROM_WHERE = {
    "reflect": lambda i, size: i if 0 <= i < size else -i if i < 0 else 2 * (size - 1) - i,
    "replicate": lambda i, size: min(max(i, 0), size - 1),
    "circular": lambda i, size: i % size,
}


def pad(input, pad, mode="constant", value=None) -> "Tensor":
    """More elements before and after, last dim first; negative sizes cut. mode: "constant", "reflect", "replicate" or
    "circular"."""
    if mode == "constant":
        return _tenon.pad(input, pad, 0.0 if value is None else value)
    if mode not in _FROM_WHERE:
        raise ValueError(f"there is no mode {_checks.shown(mode)}; there are 'constant', 'reflect', 'replicate' and 'circular'")
    if len(pad) % 2 or len(pad) // 2 > input.ndim:
        raise ValueError(f"pad() needs two sizes for each dim from the last on, not {len(pad)} for {input.ndim} dims")
    for i in range(len(pad) // 2):
        before, after, dim = pad[2 * i], pad[2 * i + 1], input.ndim - 1 - i
        size = input.shape[dim]
        if mode == "circular" and min(before, after) < 0:  # what is left after the cut goes round
            kept = size + min(before, 0) + min(after, 0)
            if kept < 1:
                raise ValueError(f"pad() cuts all of a dim of {size}: {before} and {after}")
            input = input.narrow(dim, max(-before, 0), kept)
            before, after, size = max(before, 0), max(after, 0), kept
        if (before, after) == (0, 0):
            continue
        if size == 0 or (mode == "reflect" and max(before, after) >= size) or (mode == "circular" and max(before, after) > size):
            raise ValueError(f"pad() with '{mode}' takes sizes below that of the dim, {size}, not {before} and {after}")
        places = [_FROM_WHERE[mode](place, size) for place in range(-before, size + after)]
        input = input.index_select(dim, _tenon.tensor(places, dtype=_tenon.int64, device=input.device))
    return input if any(pad) else input.clone()


def relu6(input, inplace=False) -> "Tensor":
    """min(max(x, 0), 6)."""
    return _in(input, input.clamp(0, 6), inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False) -> "Tensor":
    """x between min_val and max_val, which are cut to integers for a tensor of them."""
    if min_val > max_val:
        raise ValueError(f"hardtanh() needs a min_val that is at most the max_val, not {min_val} and {max_val}")
    if not input.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
    return _in(input, input.clamp(min_val, max_val), inplace)


def hardsigmoid(input, inplace=False) -> "Tensor":
    """relu6(x + 3) / 6."""
    return _in(input, (input + 3).clamp(0, 6) / 6, inplace)


def _up_to_zero(x):
    """The smaller of x and 0, whose slope at 0 is that of x."""
    return _tenon.where(x > 0, 0.0, x)


def celu(input, alpha=1.0, inplace=False) -> "Tensor":
    """x, or alpha * (exp(x / alpha) - 1) below 0."""
    below = _up_to_zero(input)
    return _in(input, _tenon.where(input > 0, input, alpha * (below / alpha).expm1()), inplace)


def selu(input, inplace=False) -> "Tensor":
    """ELU with the two numbers that keep means and variances; Klambauer et al., 2017."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    below = _up_to_zero(input)
    return _in(input, scale * _tenon.where(input > 0, input, alpha * below.expm1()), inplace)


def glu(input, dim=-1) -> "Tensor":
    """The first half times the sigmoid of the second."""
    if input.shape[dim] % 2:
        raise ValueError(f"glu() needs an even size along dim {dim}, not {input.shape[dim]}")
    first, second = input.chunk(2, dim)
    return first * second.sigmoid()


def logsigmoid(input) -> "Tensor":
    """log(sigmoid(x))."""
    below = _tenon.where(input < 0, input, 0.0)
    return below - _tenon.where(input < 0, input, -input).exp().log1p()


def softsign(input) -> "Tensor":
    """x / (1 + |x|)."""
    return input / (1 + input.abs())


def softmin(input, dim) -> "Tensor":
    """softmax(-x)."""
    return (-input).softmax(dim)


def tanhshrink(input) -> "Tensor":
    """x - tanh(x)."""
    return input - input.tanh()


def threshold(input, threshold, value, inplace=False) -> "Tensor":
    """x above a threshold, else a value."""
    return _in(input, _tenon.where(input <= threshold, value, input), inplace)


def hardshrink(input, lambd=0.5) -> "Tensor":
    """x, or 0 between -lambd and lambd."""
    return _tenon.where(input.abs() <= lambd, 0, input)


def softshrink(input, lambd=0.5) -> "Tensor":
    """x moved by lambd towards 0, and 0 between -lambd and lambd."""
    if lambd < 0:
        raise ValueError(f"softshrink() moves by at least 0, not by {lambd}")
    return _tenon.where(input > lambd, input - lambd, _tenon.where(input < -lambd, input + lambd, 0 * input))


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False) -> "Tensor":
    """x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits."""
    if lower > upper:
        raise ValueError(f"rrelu() draws slopes from {lower} to {upper}: the first is larger")
    slope = lower + (upper - lower) * _tenon.rand_like(input) if training else (lower + upper) / 2
    return _in(input, _tenon.where(input >= 0, input, input * slope), inplace)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1) -> "Tensor":
    """Draws from the classes of logits so that gradients go through; hard: 0 and 1 in the forward direction."""
    drawn = -_tenon.rand_like(logits).clamp_min(1e-30).log()
    soft = ((logits - drawn.clamp_min(1e-30).log()) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = _tenon.zeros_like(soft).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


def _two(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> "Tensor":
    """All windows of an image as columns: (batch, channels * height * width of a window, windows)."""
    if input.ndim not in (3, 4):
        raise ValueError(f"unfold() needs (batch, channels, height, width) or (channels, height, width), not {tuple(input.shape)}")
    kernel, dilation, padding, stride = map(_two, (kernel_size, dilation, padding, stride))
    image = _tenon.pad(input if input.ndim == 4 else input.unsqueeze(0), (padding[1], padding[1], padding[0], padding[0]))
    counts = [(image.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    if min(counts) < 1:
        raise ValueError(f"a window of {kernel} does not fit into {tuple(input.shape)}")

    def places(i, offset):
        first = offset * dilation[i]
        return slice(first, first + (counts[i] - 1) * stride[i] + 1, stride[i])

    windows = [image[:, :, places(0, row), places(1, column)] for row in range(kernel[0]) for column in range(kernel[1])]
    columns = _tenon.stack(windows, 2).reshape(image.shape[0], -1, counts[0] * counts[1])
    return columns if input.ndim == 4 else columns[0]


def pixel_shuffle(input, upscale_factor) -> "Tensor":
    """Channels become pixels: (..., channels * r * r, height, width) to (..., channels, height * r, width * r)."""
    r, (*before, channels, height, width) = upscale_factor, input.shape
    if channels % (r * r):
        raise ValueError(f"pixel_shuffle() by {r} needs a multiple of {r * r} channels, not {channels}")
    n, parts = len(before), input.reshape(*before, channels // (r * r), r, r, height, width)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    made = parts.permute(*order).reshape(*before, channels // (r * r), height * r, width * r)
    return made if r != 1 else made.clone()


def pixel_unshuffle(input, downscale_factor) -> "Tensor":
    """Pixels become channels, the other way round."""
    r, (*before, channels, height, width) = downscale_factor, input.shape
    if height % r or width % r:
        raise ValueError(f"pixel_unshuffle() by {r} needs multiples of it as height and width, not {height} and {width}")
    n, parts = len(before), input.reshape(*before, channels, height // r, r, width // r, r)
    made = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*before, channels * r * r, height // r, width // r)
    return made if r != 1 else made.clone()


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5) -> "Tensor":
    """Mean 0 and variance 1 over every channel of every sample."""
    shape = (1, -1, *(1,) * (input.ndim - 2))
    if (running_mean is None) != (running_var is None):
        raise ValueError("instance_norm() takes running_mean and running_var together")
    if use_input_stats:
        dims = tuple(range(2, input.ndim))
        mean, variance = input.mean(dims, keepdim=True), input.var(dims, correction=0, keepdim=True)
        if running_mean is not None:
            from ..autograd import no_grad

            count = input[0, 0].numel()
            with no_grad():
                running_mean.lerp_(mean.mean(0).reshape(-1), momentum)
                running_var.lerp_(variance.mean(0).reshape(-1) * (count / max(count - 1, 1)), momentum)
    else:
        mean, variance = running_mean.reshape(shape), running_var.reshape(shape)
    result = (input - mean) * (variance + eps).rsqrt()
    if weight is not None:
        result = result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def normalize(input, p=2.0, dim=1, eps=1e-12) -> "Tensor":
    """x divided by its p-norm along a dim."""
    return input / _tenon.norm(input, p, dim, True).clamp_min(eps)


def prelu(input, weight) -> "Tensor":
    """x, or weight * x below 0: one weight for all, or one for each channel."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.numel() != channels:
            raise ValueError(f"prelu() needs one weight or {channels}, one for each channel, not {tuple(weight.shape)}")
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
    elif input.ndim == 0:
        weight = weight.reshape(())
    return _tenon.where(input > 0, input, weight * input)


def dropout2d(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes whole channels with probability p and scales the others."""
    if input.ndim < 2:
        raise ValueError(f"dropout2d() needs (batch, channels, ...), not {tuple(input.shape)}")
    kept = _tenon.ones(input.shape[:2] + (1,) * (input.ndim - 2), dtype=input.dtype, device=input.device)
    return _in(input, input * dropout(kept, p, True), inplace) if training else input


def dropout1d(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes whole channels of (batch, channels, length) or (channels, length) with probability p and scales the others."""
    if input.ndim not in (2, 3):
        raise ValueError(f"dropout1d() needs (batch, channels, length) or (channels, length), not {tuple(input.shape)}")
    kept = _tenon.ones((*input.shape[:-1], 1), dtype=input.dtype, device=input.device)
    return _in(input, input * dropout(kept, p, True), inplace) if training else input


def alpha_dropout(input, p=0.5, training=False, inplace=False) -> "Tensor":
    """Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al., 2017."""
    if not 0 <= p <= 1:
        raise ValueError(f"a probability lies between 0 and 1, not at {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return _in(input, input * 0, inplace)
    lowest = 1.7580993408473766
    scale = ((lowest * lowest * p + 1) * (1 - p)) ** -0.5
    kept = _tenon.full(input.shape, 1 - p, dtype=input.dtype, device=input.device).bernoulli()
    return _in(input, (input * kept + lowest * (p - 1 + kept)) * scale, inplace)


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


def rms_norm(input, normalized_shape, weight=None, eps=None) -> "Tensor":
    """Mean square 1 over the trailing dims; an eps of None is that of float32, or of float64 for its tensors."""
    if eps is None:
        eps = 2.0**-52 if input.dtype == _tenon.float64 else 2.0**-23
    return _tenon._nn.functional.rms_norm(input, normalized_shape, weight, eps)


from .images import affine_grid, fold, grid_sample, local_response_norm  # noqa: E402,F401
from .losses import (  # noqa: E402,F401
    gaussian_nll_loss, kl_div, multilabel_margin_loss, multilabel_soft_margin_loss, poisson_nll_loss,
    triplet_margin_with_distance_loss)

_checks.all_need_tensors(globals())
