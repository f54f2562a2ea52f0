"""Tensors of whatever holds numbers, and of types by their older names."""

from . import _tenon
from . import checks as _checks

Tensor = _tenon.Tensor


def as_tensor(data, dtype=None, device=None):
    """A tensor itself, in another dtype or on another device where those are given; an array shares its memory.

    An array whose memory cannot be shared (read-only, of negative strides, of another dtype) is copied, as is anything else.
    """
    if not isinstance(data, Tensor):
        if not hasattr(data, "__array_interface__") or type(data).__module__ != "numpy" or not hasattr(data, "ctypes"):
            return _tenon.tensor(data, dtype=dtype, device=device)
        try:
            data = _tenon.from_numpy(data)
        except (TypeError, ValueError):
            return _tenon.tensor(data, dtype=dtype, device=device)
    return data if dtype is None and device is None else data.to(dtype=dtype, device=device)


def asarray(obj, dtype=None, device=None, copy=None, requires_grad=False) -> "Tensor":
    """A tensor of whatever it is; the memory of tensors and arrays is shared where it can be. copy: it is never, or always."""
    if isinstance(obj, Tensor):
        made = obj if dtype is None and device is None else obj.to(dtype=dtype, device=device)
        if not requires_grad:
            made = made.detach() if made.requires_grad else made
    else:
        made = as_tensor(obj, dtype, device)
    is_shared = made.numel() == 0 or (made.data_ptr() == obj.data_ptr() if isinstance(obj, Tensor) else made.is_shared())
    if copy is False and not is_shared:
        raise ValueError(f"asarray() cannot share the memory of {_checks.shown(obj) if isinstance(obj, Tensor) else type(obj).__name__}")
    if copy and is_shared:
        made = made.detach().clone()
    return made.requires_grad_() if requires_grad and made.is_leaf else made


_TYPES = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
          "LongTensor": "int64", "IntTensor": "int32", "ByteTensor": "uint8", "BoolTensor": "bool"}


def _maker(name, dtype):
    def make(*data):
        if len(data) == 1 and not isinstance(data[0], int):
            return _tenon.tensor(data[0], dtype=dtype) if not isinstance(data[0], Tensor) else data[0].to(dtype)
        return _tenon.zeros(*data, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of {dtype.name}: of elements, or of sizes."
    return make


for _name, _kind in _TYPES.items():
    globals()[_name] = _maker(_name, getattr(_tenon, _kind))
