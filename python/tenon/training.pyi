# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def load_config(config: Any, set: dict[str, Any] = ...) -> Any: ...

def presets() -> list[str]: ...

def read_metrics(file: PathLike) -> list[Any]: ...

def train(config: Any, folder: PathLike, resume: bool = ..., quiet: bool = ..., stop_after: int | None = ..., on_metrics: Any = ..., set: dict[str, Any] = ...) -> dict[str, Any]: ...
