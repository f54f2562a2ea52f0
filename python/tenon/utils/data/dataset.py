"""PyTorch's place for datasets: the same as tenon.data."""

from ...data import *  # noqa: F401,F403
