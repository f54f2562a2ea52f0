# Written by scripts/make_python_stubs.py; do not edit.

from typing import Any, Callable, Iterator, Sequence, Union
from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def assert_close(actual: Any, expected: Any, *, allow_subclasses: Any = ..., rtol: Any = ..., atol: Any = ..., equal_nan: Any = ..., check_device: Any = ..., check_dtype: Any = ..., check_layout: Any = ..., check_stride: Any = ..., msg: Any = ...) -> Any: ...
