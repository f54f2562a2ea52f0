# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def norm(A: Any, ord: Any = ..., dim: Any = ..., keepdim: Any = ...) -> Any: ...
def vector_norm(x: Any, ord: Any = ..., dim: Any = ..., keepdim: Any = ...) -> Any: ...
