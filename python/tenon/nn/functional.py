"""Layers without state, activations and losses, as torch.nn.functional has them."""

from .. import _tenon
from .._tenon import (  # noqa: F401
    channel_shuffle, gelu, glu, hardshrink, logsigmoid, one_hot, pdist, prelu, sigmoid, softplus, softshrink, softsign, tanh, tanhshrink)

globals().update({name: value for name, value in vars(_tenon._nn.functional).items() if not name.startswith("__")})
