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
from .nn.module import Parameter

_STORAGES = {"float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage",
             "bfloat16": "BFloat16Storage", "int64": "LongStorage", "int32": "IntStorage", "uint8": "ByteStorage",
             "bool": "BoolStorage"}
_MOST_NESTED = 60


class _Writer:
    """A pickle of protocol 2, as torch.load(weights_only=True) takes it."""

    def __init__(self):
        self.bytes = bytearray(b"\x80\x02")
        self.tensors, self._places, self._known = [], [], {}  # storages are known when all tensors are

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
        known = self._known.setdefault(id(tensor), len(self.tensors))
        if known < len(self.tensors):
            self.bytes += b"j" + struct.pack("<I", known)
            return
        self.tensors.append(tensor)
        self._places.append(len(self.bytes))

    def finished(self):
        """The pickle, and the storages it refers to: tensors that show the same elements show them in one."""
        storages, views = _tenon._stored(self.tensors)
        whole, self.bytes = self.bytes, bytearray()
        at = 0
        for number, (place, tensor, view) in enumerate(zip(self._places, self.tensors, views)):
            self.bytes += whole[at:place]
            self._describe(tensor, *view)
            self.bytes += b"r" + struct.pack("<I", number)
            at = place
        return bytes(self.bytes + whole[at:]) + b".", storages

    def _describe(self, tensor, storage, elements, offset, strides):
        requires_grad, is_parameter = tensor.requires_grad, isinstance(tensor, Parameter)
        if is_parameter:
            self.bytes += b"ctorch._utils\n_rebuild_parameter\n("
        self.bytes += b"ctorch._utils\n_rebuild_tensor_v2\n(("
        self.put("storage")
        self.bytes += f"ctorch\n{_STORAGES[tensor.dtype.name]}\n".encode()
        self.put(str(storage))
        self.put("cpu")
        self.put(elements)
        self.bytes += b"tQ"
        self.put(offset)
        self.put(tuple(tensor.shape))
        self.put(strides)
        self.put(requires_grad)
        self.bytes += b"ccollections\nOrderedDict\n)RtR"
        if is_parameter:
            self.put(requires_grad)
            self.bytes += b"ccollections\nOrderedDict\n)RtR"


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
    pickle_bytes, storages = pickled.finished()
    if hasattr(path, "write"):
        _write_all(path, _tenon._torch_file(pickle_bytes, storages))
        return
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {os.fsdecode(folder)!r}; make it first", path)
    _tenon._save_torch(path, pickle_bytes, storages)


class _Name:
    """What a name in a pickle stands for."""

    def __init__(self, *_):
        pass


class _Stored:
    """The place of a tensor, and what else PyTorch's functions that make one are told of it."""

    def __init__(self, requires_grad, is_parameter=False):
        self.requires_grad, self.is_parameter, self.made = requires_grad is True, is_parameter, None

    def filled(self, tensor):
        if self.made is None:
            self.made = Parameter(tensor, self.requires_grad) if self.is_parameter else tensor.requires_grad_(self.requires_grad)
        return self.made


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch", "Size"):
            return tuple
        if name == "_rebuild_parameter":
            return lambda data, requires_grad=True, *_: _Stored(requires_grad, True)
        if name.startswith("_rebuild_tensor"):
            return lambda storage, offset, size, stride, requires_grad=False, *_: _Stored(requires_grad)
        return type(name, (_Name,), {})

    def persistent_load(self, _):
        return None


def _filled(value, name, tensors):
    """A value with its tensors, which the library knows by dotted names."""
    if isinstance(value, _Stored):
        return value.filled(tensors[name] if name in tensors else tensors["tensor"])  # what is a tensor alone has no name
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
