"""PyTorch's place for data loaders: tenon.utils.data is tenon.data."""

from . import data  # noqa: F401
