"""PyTorch's place for samplers: the same as tenon.data."""

from ...data import *  # noqa: F401,F403
