# Written by scripts/make_python_stubs.py; do not edit.

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence, Union

from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def fork_rng(devices: Any = ..., enabled: Any = ...) -> Any: ...

def get_rng_state() -> Any: ...

def initial_seed() -> Any: ...

def manual_seed(seed: Any) -> Any: ...

def seed() -> Any: ...

def set_rng_state(state: Any) -> Any: ...
