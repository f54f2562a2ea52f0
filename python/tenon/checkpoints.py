"""Checkpoints in PyTorch's files: nested dicts and lists of tensors, numbers and texts.

The library reads and writes the tensors; here is what stands around them. Reading runs nothing: the library has looked
through the pickle before, and every name in it stands for itself.
"""

import collections
import errno
import io
import os
import pickle
import struct

from . import _tenon

_STORAGES = {"float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage",
             "bfloat16": "BFloat16Storage", "int64": "LongStorage", "int32": "IntStorage", "uint8": "ByteStorage",
             "bool": "BoolStorage"}
_MOST_NESTED = 60


class _Writer:
    """A pickle of protocol 2, as torch.load(weights_only=True) takes it."""

    def __init__(self):
        self.bytes = bytearray(b"\x80\x02")
        self.tensors = []

    def put(self, value, depth=0):
        if depth > _MOST_NESTED:
            raise ValueError(f"dicts and lists are nested more than {_MOST_NESTED} deep, or one holds itself")
        if isinstance(value, _tenon.Tensor):
            self._put_tensor(value)
        elif value is None:
            self.bytes += b"N"
        elif isinstance(value, bool):
            self.bytes += b"\x88" if value else b"\x89"
        elif isinstance(value, str):
            text = value.encode()
            self.bytes += b"X" + struct.pack("<I", len(text)) + text
        elif isinstance(value, int):
            number = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(number) > 8:
                raise ValueError("an integer is beyond 64 bits")
            self.bytes += b"\x8a" + bytes([len(number)]) + number
        elif isinstance(value, float):
            self.bytes += b"G" + struct.pack(">d", value)
        elif isinstance(value, dict):
            self.bytes += b"}("
            for key, inner in list(value.items()):
                if not isinstance(key, (str, int)) or isinstance(key, bool):
                    raise TypeError(f"keys of a checkpoint are texts and integers, not {type(key).__name__}")
                self.put(key)
                self.put(inner, depth + 1)
            self.bytes += b"u"
        elif isinstance(value, (list, tuple)):
            self.bytes += b"](" if isinstance(value, list) else b"("
            for inner in list(value):
                self.put(inner, depth + 1)
            self.bytes += b"e" if isinstance(value, list) else b"t"
        elif hasattr(value, "item") and getattr(value, "shape", None) == ():  # a number of numpy's
            self.put(value.item(), depth)
        else:
            raise TypeError("a checkpoint holds tensors, numbers, texts, None, and dicts and lists of them, not "
                            f"{type(value).__name__}")

    def _put_tensor(self, tensor):
        strides, stride = [], 1
        for size in reversed(tensor.shape):
            strides.insert(0, stride)
            stride *= max(size, 1)
        self.bytes += b"ctorch._utils\n_rebuild_tensor_v2\n(("
        self.put("storage")
        self.bytes += f"ctorch\n{_STORAGES[tensor.dtype.name]}\n".encode()
        self.put(str(len(self.tensors)))
        self.put("cpu")
        self.put(tensor.numel())
        self.bytes += b"tQ"
        self.put(0)
        self.put(tuple(tensor.shape))
        self.put(tuple(strides))
        self.bytes += b"\x89ccollections\nOrderedDict\n)RtR"
        self.tensors.append(tensor)


def _write_all(file, content):
    """An unbuffered file may take a part of what it is given, and says how much."""
    rest = memoryview(content)
    while len(rest):
        taken = file.write(rest)
        if taken is None:  # a buffered file takes all; so do objects that say nothing
            return
        if not 0 < taken <= len(rest):
            raise OSError(errno.EIO, f"the file took {taken} of {len(rest)} bytes")
        rest = rest[taken:]


def write(path, checkpoint):
    """Writes a checkpoint, by the library: beside its place, whole or not at all. An open file gets the same bytes."""
    pickled = _Writer()
    pickled.put(checkpoint)
    pickle_bytes = bytes(pickled.bytes) + b"."
    if hasattr(path, "write"):
        _write_all(path, _tenon._torch_file(pickle_bytes, pickled.tensors))
        return
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {os.fsdecode(folder)!r}; make it first", path)
    _tenon._save_torch(path, pickle_bytes, pickled.tensors)


class _Name:
    """What a name in a pickle stands for."""

    def __init__(self, *_):
        pass


_TENSOR = _Name()


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch", "Size"):
            return tuple
        if name == "_rebuild_parameter":
            return lambda data, *_: data
        if name.startswith("_rebuild_tensor"):
            return lambda *_: _TENSOR
        return type(name, (_Name,), {})

    def persistent_load(self, _):
        return None


def _filled(value, name, tensors):
    """A value with its tensors, which the library knows by dotted names."""
    if value is _TENSOR:
        return tensors[name] if name in tensors else tensors["tensor"]  # what is a tensor alone has no name
    before = name + "." if name else ""
    if isinstance(value, dict):
        return {key: _filled(inner, f"{before}{key}", tensors) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(inner, f"{before}{i}", tensors) for i, inner in enumerate(value))
    if isinstance(value, type) and issubclass(value, _Name):
        return value.__name__
    return value


def read(path, device=None, is_mapped=False):
    """What was saved: a nested dict, a list or a tensor. Of the bare pickles of PyTorch before 1.6, the tensors by dotted names."""
    tensors, pickled = _tenon._load_torch(path, device, is_mapped)
    if not pickled:
        return tensors
    try:
        return _filled(_Reader(io.BytesIO(pickled)).load(), "", tensors)
    except MemoryError:
        raise  # nothing is wrong with what the file says
    except Exception as error:  # pickle raises whatever a damaged file makes it stumble over
        what = " ".join(str(error).split()) or type(error).__name__
        raise _tenon.Error(f"[torch] {os.fsdecode(path)}: is damaged: {what}") from None
