"""PyTorch's place for data loaders (tenon.utils.data is tenon.data) and for checkpoint()."""

from . import checkpoint as checkpoint, data as data
