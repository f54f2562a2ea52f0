"""PyTorch's place for data loaders (tenon.utils.data is tenon.data) and for checkpoint()."""

from . import checkpoint, data  # noqa: F401
