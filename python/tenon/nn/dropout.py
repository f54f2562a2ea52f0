"""Layers that leave values out in training."""

from .. import _tenon
from . import functional as F
from .module import Module
from .rows import kinds_of


class _Dropout(Module):
    """In training, zeroes with probability p and scales the others."""

    __constants__ = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: a probability lies between 0 and 1, not at {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return self._function(input, self.p, True, self.inplace) if self.training else input

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, zeroes elements with probability p and scales the others; drawn from a generator where one is given."""

    def __init__(self, p: float = 0.5, inplace: bool = False, *, generator=None):
        super().__init__(p, inplace)
        if generator is not None and not isinstance(generator, _tenon.Generator):
            raise TypeError(f"Dropout() needs a Generator for 'generator', not {type(generator).__name__}")
        self.generator = generator

    def forward(self, input):
        if not self.training:
            return input
        if self.generator is None:
            return F.dropout(input, self.p, True, self.inplace)
        return F._in(input, F._dropout_drawn(input, self.p, True, self.generator), self.inplace)


globals().update(kinds_of(__name__, _Dropout, {
    "Dropout1d": ("In training, zeroes whole channels of (batch, channels, length) with probability p and scales the others.",
                  {"_function": staticmethod(F.dropout1d)}),
    "Dropout2d": ("In training, zeroes whole channels with probability p and scales the others.",
                  {"_function": staticmethod(F.dropout2d)}),
    "AlphaDropout": ("In training, sets elements to SELU's lowest value with probability p, and keeps mean and variance.",
                     {"_function": staticmethod(F.alpha_dropout)})}))
