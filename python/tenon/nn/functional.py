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
