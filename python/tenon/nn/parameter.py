"""PyTorch's place for Parameter and Buffer."""

from .module import Buffer, Parameter  # noqa: F401
