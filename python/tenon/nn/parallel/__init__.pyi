# Written by scripts/make_python_stubs.py; do not edit.

from typing import Any, Callable, Iterator, Sequence, Union
from ... import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor
from .. import Module as Module

class DataParallel(Module):
    def __init__(self, module: Any, device_ids: Any = ..., output_device: Any = ..., dim: Any = ...) -> None: ...
class DistributedDataParallel(Module):
    def __init__(self, *_: Any, **__: Any) -> None: ...
