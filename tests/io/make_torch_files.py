#!/usr/bin/env python3
"""Writes the .pt files of tests/io/torch_files: make_torch_files.py EXPECTED_JSON [FOLDER]

PyTorch is not needed. Its pickles are made by Python's own pickler with classes that only carry PyTorch's names, and laid
into an archive as torch.save lays them: stored, each file aligned to 64 bytes. The values are those that expected.json of
the loader files gives for a state dict of torch 1.13. The broken files each break one rule.
"""

import io
import json
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path

FORMATS = {
    "float32": ("FloatStorage", "f"), "float64": ("DoubleStorage", "d"), "float16": ("HalfStorage", "e"),
    "bfloat16": ("BFloat16Storage", None), "int64": ("LongStorage", "q"), "int32": ("IntStorage", "i"),
    "int16": ("ShortStorage", "h"), "int8": ("CharStorage", "b"), "uint8": ("ByteStorage", "B"),
    "bool": ("BoolStorage", "?"), "uint16": ("UntypedStorage", "H"), "uint32": ("UntypedStorage", "I"),
    "uint64": ("UntypedStorage", "Q"),
}


def pretend_to_be_torch():
    """Modules with the names that a pickle refers to; a pickler writes down where it finds a thing and no more."""
    for name in ("torch", "torch._utils", "torch.storage"):
        sys.modules[name] = types.ModuleType(name)

    def add(module, name, thing):
        thing.__module__, thing.__qualname__, thing.__name__ = module, name, name
        setattr(sys.modules[module], name, thing)

    for storage, _ in FORMATS.values():
        add("torch.storage" if storage == "UntypedStorage" else "torch", storage, type(storage, (), {}))
    add("torch", "Size", type("Size", (), {}))
    for function in ("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter"):
        add("torch._utils", function, lambda *arguments: None)


class DType:
    """torch.uint16 and the like, which PyTorch pickles by name."""

    def __init__(self, name):
        self.name = name

    def __reduce__(self):
        return self.name


class Storage:
    def __init__(self, key, dtype, values):
        self.key, self.dtype = key, dtype
        self.type, code = FORMATS[dtype]
        if dtype == "bfloat16":
            self.bytes = b"".join(struct.pack("<f", value)[2:] for value in values)
        else:
            cast = {"?": bool}.get(code, float if code in "fde" else int)
            self.bytes = struct.pack(f"<{len(values)}{code}", *map(cast, values))
        self.count = len(self.bytes) if self.type == "UntypedStorage" else len(values)


class Rebuilt:
    """What pickles as a call of one of PyTorch's functions."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return getattr(sys.modules["torch._utils"], self.function), self.arguments


def tensor(storage, shape, stride=None, offset=0):
    if stride is None:
        stride = [1]
        for size in reversed(shape[1:]):
            stride.insert(0, stride[0] * size)
        stride = stride[:len(shape)]
    arguments = [storage, offset, tuple(shape), tuple(stride), False, OrderedDict()]
    if storage.type == "UntypedStorage":
        return Rebuilt("_rebuild_tensor_v3", *arguments, DType(storage.dtype))
    return Rebuilt("_rebuild_tensor_v2", *arguments)


class Pickler(pickle._Pickler):  # the one in Python: its methods can be replaced
    dispatch = dict(pickle._Pickler.dispatch)

    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        module = sys.modules["torch.storage" if thing.type == "UntypedStorage" else "torch"]
        return ("storage", getattr(module, thing.type), thing.key, "cpu", thing.count)

    def save_dtype(self, thing):
        self.write(pickle.GLOBAL + f"torch\n{thing.name}\n".encode())

    dispatch[DType] = save_dtype


def pickled(state, protocol=2):
    out = io.BytesIO()
    Pickler(out, protocol).dump(state)
    return out.getvalue()


def archive(files, method=zipfile.ZIP_STORED, folder="archive/", alignment=64):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive_file:
        for name, content in files.items():
            info = zipfile.ZipInfo(folder + name)
            info.compress_type = method
            padding = -(out.tell() + 30 + len(info.filename) + 4) % alignment
            info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            archive_file.writestr(info, content)
    return out.getvalue()


def torch_file(state, storages, protocol=2, pickle_bytes=None, **options):
    files = {"data.pkl": pickle_bytes or pickled(state, protocol), "byteorder": b"little"}
    files.update({f"data/{storage.key}": storage.bytes for storage in storages})
    files["version"] = b"3\n"
    return archive(files, **options)


def state_of_expected(expected):
    state, storages = OrderedDict(), []
    base = Storage("views", "float32", range(24))  # the three views share it
    for name, entry in expected.items():
        if not name.startswith("torch113_state:"):
            continue
        key = name.split(":")[1]
        if key.endswith("_view"):
            state[key] = tensor(base, entry["shape"], entry["stride"], entry["offset"])
            continue
        storage = Storage(str(len(storages)), entry["dtype"].split(".")[1], entry["values"])
        storages.append(storage)
        state[key] = tensor(storage, entry["shape"], entry["stride"], entry["offset"])
    state._metadata = OrderedDict([("", {"version": 1})])  # as Module.state_dict() has it
    return state, storages + [base]


def good_files(expected):
    state, storages = state_of_expected(expected)
    yield "state", torch_file(state, storages)
    yield "state_protocol4", torch_file(state, storages, protocol=4)

    weight = Storage("0", "float32", [1, 2, 3, 4])
    tied = tensor(weight, [2, 2])
    parameter = Rebuilt("_rebuild_parameter", tied, True, OrderedDict())
    checkpoint = {
        "model": OrderedDict([("a", parameter), ("b", tied)]),
        "optimizer": {"state": {0: {"step": tensor(Storage("1", "int64", [7]), [])}}, "betas": (0.9, 0.95)},
        "epoch": 3, "big": -(1 << 40), "name": "run \u00e9", "done": True, "scheduler": None,
    }
    yield "checkpoint", torch_file(checkpoint, [weight, Storage("1", "int64", [7])])

    u16, u64 = Storage("0", "uint16", [0, 65535]), Storage("1", "uint64", [1 << 62])
    i16 = Storage("2", "int16", [-32768, 5])
    state = {"u16": tensor(u16, [2]), "u64": tensor(u64, [1]), "i16": tensor(i16, [2])}
    yield "wide", torch_file(state, [u16, u64, i16])
    yield "expanded", torch_file({"x": tensor(weight, [1000000, 4], [0, 1])}, [weight])
    yield "unaligned", torch_file({"x": tensor(weight, [4])}, [weight], alignment=1)


def deep(levels):
    return b"\x80\x02}X\x01\x00\x00\x00x" + b"]" * levels + b"a" * (levels - 1) + b"s."


def bad_files():
    storage = Storage("0", "float32", [1, 2, 3, 4])
    good = torch_file({"x": tensor(storage, [4])}, [storage])

    def with_pickle(content):
        return torch_file(None, [storage], pickle_bytes=content)

    yield "evil_system", with_pickle(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
    yield "evil_eval", with_pickle(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x021+\x85R.")
    yield "evil_build", with_pickle(b"\x80\x02ccollections\nOrderedDict\n}b.")
    yield "evil_instance", with_pickle(b"\x80\x02(ios\nsystem\n.")
    yield "evil_attribute", with_pickle(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2.__globals__\n.")
    yield "truncated_zip", good[:len(good) - 30]
    yield "truncated_front", good[100:]
    yield "truncated_pickle", with_pickle(pickled({"x": tensor(storage, [4])})[:-20])
    yield "storage_too_small", torch_file({"x": tensor(storage, [4])}, [Storage("0", "float32", [1, 2])])
    yield "storage_missing", torch_file({"x": tensor(storage, [4])}, [])
    yield "shape_beyond_storage", torch_file({"x": tensor(storage, [5])}, [storage])
    yield "stride_beyond_storage", torch_file({"x": tensor(storage, [2, 2], [1 << 40, 1])}, [storage])
    yield "stride_overflows", torch_file({"x": tensor(storage, [1 << 33, 2], [1 << 33, 1])}, [storage])
    yield "offset_beyond_storage", torch_file({"x": tensor(storage, [1], offset=4)}, [storage])
    yield "negative_offset", torch_file({"x": tensor(storage, [1], offset=-1)}, [storage])
    yield "shape_too_large", torch_file({"x": tensor(storage, [1 << 40, 1 << 40], [0, 0])}, [storage])
    yield "sizes_and_strides_differ", torch_file({"x": tensor(storage, [2, 2], [1])}, [storage])
    yield "overlapping_view", torch_file({"x": tensor(storage, [3, 2], [1, 1])}, [storage])
    yield "many_views", torch_file({str(i): tensor(storage, [2], offset=i % 3) for i in range(3)} |
                                   {f"s{i}": tensor(storage, [4 - i], [1]) for i in range(4)} |
                                   {f"r{i}": tensor(storage, [1, 4 - i]) for i in range(4)}, [storage])
    yield "too_few_arguments", torch_file({"x": Rebuilt("_rebuild_tensor_v2", storage, 0)}, [storage])
    yield "bare_storage", torch_file({"x": storage}, [storage])
    yield "a_list", torch_file([tensor(storage, [4])], [storage])
    yield "same_name_twice", torch_file({"a": {"b": 1}, "a.b": 2}, [storage])
    yield "bool_of_two", torch_file({"x": tensor(types_storage("bool", b"\2"), [1])}, [types_storage("bool", b"\2")])
    yield "u64_beyond", torch_file({"x": tensor(types_storage("uint64", b"\xff" * 8), [1])},
                                   [types_storage("uint64", b"\xff" * 8)])
    yield "nested_deep", with_pickle(deep(8000))
    yield "contains_itself", with_pickle(b"\x80\x02}q\x00X\x01\x00\x00\x00xh\x00s.")
    yield "billion_laughs", with_pickle(billion_laughs())
    yield "long_names", with_pickle(long_names())
    yield "zip_bomb", torch_file(None, [], pickle_bytes=b"\x80\x02" + b"N" * 1000000, method=zipfile.ZIP_DEFLATED)
    yield "lying_size", lying_size()
    yield "overlapping_files", overlapping(good)
    yield "encrypted", patched_flag(good)
    yield "no_pickle", archive({"data/0": storage.bytes})
    yield "big_endian", archive({"data.pkl": pickled({"x": tensor(storage, [4])}), "byteorder": b"big",
                                 "data/0": storage.bytes})
    yield "legacy", pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
    yield "empty", b""


def types_storage(dtype, content):
    storage = Storage("0", dtype, [0])
    storage.bytes = content
    return storage


def billion_laughs():
    """Lists of ten of the list before: 10 ** 9 leaves. A tuple around them leaves one object on the stack."""
    out = b"\x80\x02}X\x01\x00\x00\x00x(]K\x01aq\x00"
    for level in range(1, 10):
        out += b"](" + (b"h" + bytes([level - 1])) * 10 + b"eq" + bytes([level])
    return out + b"ts."


def long_names():
    """A long key above many short ones: the dotted names would be a thousand times the file."""
    inner = b"}(" + b"".join(b"M" + struct.pack("<H", i) + b"N" for i in range(1000)) + b"u"
    key = b"k" * 8000
    return b"\x80\x02}X" + struct.pack("<I", len(key)) + key + inner + b"s."


def lying_size():
    """The directory says that the first file has 4 GiB, packed into a few bytes."""
    out = bytearray(torch_file(None, [], pickle_bytes=b"\x80\x02}.", method=zipfile.ZIP_DEFLATED))
    line = out.index(b"PK\x01\x02")
    out[line + 24:line + 28] = b"\xf0\xff\xff\xff"
    return bytes(out)


def overlapping(good):
    """Two lines of the directory show the same bytes."""
    out = bytearray(good)
    first = out.index(b"PK\x01\x02")
    second = out.index(b"PK\x01\x02", first + 4)
    third = out.index(b"PK\x01\x02", second + 4)
    out[third + 42:third + 46] = out[second + 42:second + 46]
    out[third + 20:third + 28] = out[second + 20:second + 28]
    return bytes(out)


def patched_flag(good):
    out = bytearray(good)
    line = out.index(b"PK\x01\x02")
    out[line + 8] |= 1
    return bytes(out)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    expected = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent / "torch_files"
    pretend_to_be_torch()
    for kind, files in (("good", good_files(expected)), ("bad", bad_files())):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, content in files:
            (folder / kind / f"{name}.pt").write_bytes(content)


if __name__ == "__main__":
    main()
