# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def disable(fn: Any = ..., recursive: Any = ..., *, reason: Any = ...) -> Any: ...

def is_compiling() -> Any: ...

def is_dynamo_compiling() -> Any: ...

def is_exporting() -> Any: ...

def reset() -> Any: ...
