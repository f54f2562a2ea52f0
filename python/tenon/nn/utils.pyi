# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from .. import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor
from .. import Generator as Generator
from . import Module as Module

def clip_grad_norm_(parameters: Any, max_norm: float) -> Tensor: ...
