"""Tables whose rows are picked by indices."""

from .. import _tenon
from . import functional as F
from . import init
from .module import Module, Parameter, as_parameter, check_sizes


class _Table(Module):
    """What both layers share: a matrix whose row padding_idx begins as zeros and gets no gradient."""

    def _fill(self, num_embeddings, embedding_dim, padding_idx, given, device, dtype):
        check_sizes(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise _tenon.Error(f"[{type(self).__name__}] padding_idx {padding_idx} is out of range for {num_embeddings} rows")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if given is not None:
            self.weight = Parameter(given)
            return
        self.weight = as_parameter(_tenon.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the table anew, as when the layer was made."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **settings):
        """A layer with the rows of a matrix; freeze: they are not trained."""
        if embeddings.ndim != 2:
            raise ValueError(f"a matrix of embeddings is needed, not {tuple(embeddings.shape)}")
        made = cls(*embeddings.shape, _weight=embeddings.detach(), **settings)
        made.weight.requires_grad_(not freeze)
        return made


class Embedding(_Table):
    """Rows of a table picked by indices."""

    __constants__ = ("num_embeddings", "embedding_dim", "padding_idx")

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, device=None, dtype=None):
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            raise ValueError("Embedding() has neither max_norm nor scale_grad_by_freq")
        self._fill(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a table: of a row of input each, or of what lies between two offsets.

    >>> from tenon import nn, tensor
    >>> nn.EmbeddingBag(10, 3, mode="sum")(tensor([1, 2, 4, 5]), tensor([0, 3])).shape
    (2, 3)
    """

    __constants__ = ("num_embeddings", "embedding_dim", "mode", "include_last_offset", "padding_idx")

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                 sparse=False, _weight=None, include_last_offset: bool = False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            raise ValueError("EmbeddingBag() has neither max_norm nor scale_grad_by_freq")
        self.mode, self.include_last_offset = mode, include_last_offset
        self._fill(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
                               include_last_offset=self.include_last_offset, padding_idx=self.padding_idx)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
