# Written by scripts/make_python_stubs.py; do not edit.

from typing import Any, Callable, Iterator, Sequence, Union
from .. import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def checkpoint(function: Any, *args: Any, use_reentrant: Any = ..., preserve_rng_state: Any = ..., context_fn: Any = ..., determinism_check: Any = ..., debug: Any = ..., **kwargs: Any) -> Any: ...
def checkpoint_sequential(functions: Any, segments: Any, input: Any, use_reentrant: Any = ..., **_: Any) -> Any: ...
