# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

class FileNotFound(Error): ...
def load(path: Any, device: Any = ..., *, map_location: Any = ..., weights_only: Any = ..., mmap: Any = ...) -> Any: ...
def save(tensors: Any, path: Any, metadata: Any = ...) -> Any: ...
