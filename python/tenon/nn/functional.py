"""Layers without state, activations and losses, as torch.nn.functional has them."""

from .. import _tenon
from .._tenon import (  # noqa: F401
    elu, gelu, hardswish, leaky_relu, log_softmax, mish, one_hot, relu, sigmoid, silu, softmax, softplus, tanh)

globals().update({name: value for name, value in vars(_tenon._nn.functional).items() if not name.startswith("_")})


def pad(input, pad, mode="constant", value=0.0):
    """More elements before and after, last dim first; negative sizes cut."""
    if mode != "constant":
        raise ValueError(f"there is no mode '{mode}'; there is 'constant'")
    return _tenon.pad(input, pad, value)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x divided by its p-norm along a dim."""
    return input / _tenon.norm(input, p, dim, True).clamp_min(eps)


def prelu(input, weight):
    """x, or weight * x below 0: one weight for all, or one for each channel."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.numel() != channels:
            raise ValueError(f"prelu() needs one weight or {channels}, one for each channel, not {tuple(weight.shape)}")
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
    return _tenon.where(input > 0, input, weight * input)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels with probability p and scales the others."""
    if input.ndim < 2:
        raise ValueError(f"dropout2d() needs (batch, channels, ...), not {tuple(input.shape)}")
    kept = _tenon.ones(input.shape[:2] + (1,) * (input.ndim - 2), dtype=input.dtype, device=input.device)
    return input * dropout(kept, p, True) if training else input  # noqa: F821 - one of C++'s
