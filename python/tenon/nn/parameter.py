"""PyTorch's place for Parameter and Buffer."""

from . import Buffer as Buffer, Parameter as Parameter
