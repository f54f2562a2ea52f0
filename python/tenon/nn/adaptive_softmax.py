"""A softmax over many classes whose rare ones stand in clusters; the layer of C++ is tenon/nn/adaptive_softmax.h."""

import collections

from . import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module, check_sizes

_Result = collections.namedtuple("ASMoutput", "output loss")


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted by frequency: the most frequent in the head, the others in clusters of fewer features.

    >>> from tenon import nn, randn, tensor
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 1000, [10, 100])
    >>> output, loss = layer(randn(3, 16), tensor([0, 50, 999]))
    >>> output.shape, layer.log_prob(randn(3, 16)).shape
    ((3,), (3, 1000))
    """

    __constants__ = ("in_features", "n_classes", "cutoffs", "div_value", "head_bias")

    def __init__(self, in_features: int, n_classes: int, cutoffs, div_value: float = 4.0, head_bias: bool = False, device=None, dtype=None):
        super().__init__()
        check_sizes(self, in_features=in_features, n_classes=n_classes)
        cutoffs = list(cutoffs)
        if not cutoffs or any(int(cutoff) != cutoff or not low < cutoff < n_classes for low, cutoff in zip([0, *cutoffs], cutoffs)):
            raise ValueError(f"cutoffs are integers that increase from 1 on and lie below the {n_classes} classes, not {cutoffs}")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*map(int, cutoffs), n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (begin, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:]), 1):
            features = int(in_features // div_value**i)
            if features < 1:
                raise ValueError(f"{in_features} features leave none for cluster {i} with div_value {div_value}")
            self.tail.append(Sequential(Linear(in_features, features, False, device, dtype), Linear(features, end - begin, False, device, dtype)))

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def _logits(self, input):
        return self.head(input), [cluster(input) for cluster in self.tail]

    def forward(self, input, target):
        return _Result(*F._adaptive_log_softmax(*self._logits(input), target))

    def log_prob(self, input):
        """The log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        return F._adaptive_log_probabilities(*self._logits(input))

    def predict(self, input):
        """The most probable class of each row: (N, in_features) to (N,)."""
        return self.log_prob(input).argmax(1)
