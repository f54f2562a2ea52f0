"""PyTorch's place for data loaders: the same as tenon.data."""

from ...data import *  # noqa: F401,F403
