# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def is_available() -> Any: ...

def manual_seed(seed: Any) -> Any: ...

def manual_seed_all(seed: Any) -> Any: ...

def synchronize(device: Any = ...) -> Any: ...
