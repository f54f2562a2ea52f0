"""Layers without state, activations and losses, as torch.nn.functional has them."""

from .. import _tenon
from .._tenon import (  # noqa: F401
    gelu, log_softmax, one_hot, sigmoid, softmax, softplus, tanh)

globals().update({name: value for name, value in vars(_tenon._nn.functional).items() if not name.startswith("_")})


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


def pad(input, pad, mode="constant", value=0.0) -> "Tensor":
    """More elements before and after, last dim first; negative sizes cut."""
    if mode != "constant":
        raise ValueError(f"there is no mode '{mode}'; there is 'constant'")
    return _tenon.pad(input, pad, value)


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
    return _tenon.where(input > 0, input, weight * input)


def dropout2d(input, p=0.5, training=True, inplace=False) -> "Tensor":
    """Zeroes whole channels with probability p and scales the others."""
    if input.ndim < 2:
        raise ValueError(f"dropout2d() needs (batch, channels, ...), not {tuple(input.shape)}")
    kept = _tenon.ones(input.shape[:2] + (1,) * (input.ndim - 2), dtype=input.dtype, device=input.device)
    return _in(input, input * dropout(kept, p, True), inplace) if training else input


def _refuse_indices(return_indices):
    if return_indices:
        raise ValueError("return_indices=True is not there: pooling gives the largest elements alone")


def _largest_of_parts(x, parts, dim):
    """The largest along a dim of nearly equal parts, which share elements where the size is no multiple."""
    size = x.shape[dim]
    if parts is None or parts == size:
        return x
    if not isinstance(parts, int) or parts < 1:
        raise ValueError(f"a size of 1 or more, or None, is needed, not {parts!r}")
    if size == 0:
        raise ValueError("adaptive pooling needs at least one element along each axis")
    bounds = [(i * size // parts, -((i + 1) * size // -parts)) for i in range(parts)]
    return _tenon.cat([x.narrow(dim, start, end - start).max(dim, True).values for start, end in bounds], dim)


def adaptive_max_pool1d(input, output_size, return_indices=False) -> "Tensor":
    """The largest elements of so many parts."""
    _refuse_indices(return_indices)
    if input.ndim not in (2, 3):
        raise ValueError(f"adaptive_max_pool1d() needs (batch, channels, length) or (channels, length), not {tuple(input.shape)}")
    size = output_size[0] if isinstance(output_size, (tuple, list)) and len(output_size) == 1 else output_size
    return _largest_of_parts(input, size, -1)


def adaptive_max_pool2d(input, output_size, return_indices=False) -> "Tensor":
    """The largest elements of so many parts; None leaves an axis as it is."""
    _refuse_indices(return_indices)
    if input.ndim not in (3, 4):
        raise ValueError(f"adaptive_max_pool2d() needs (batch, channels, height, width) or (channels, height, width), not "
                         f"{tuple(input.shape)}")
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * 2
    if len(sizes) != 2:
        raise ValueError(f"a size or two are needed, got {len(sizes)}")
    return _largest_of_parts(_largest_of_parts(input, sizes[1], -1), sizes[0], -2)
