# Written by scripts/make_python_stubs.py; do not edit.

from typing import Any, Callable, Iterator, Sequence, Union
from ... import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

def pad_sequence(sequences: Any, batch_first: Any = ..., padding_value: Any = ..., padding_side: Any = ...) -> Tensor: ...
def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: Any = ...) -> Any: ...
