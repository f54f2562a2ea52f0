"""Gradient clipping under PyTorch's name."""

from .. import _tenon

clip_grad_norm_ = _tenon._optim.clip_grad_norm_
