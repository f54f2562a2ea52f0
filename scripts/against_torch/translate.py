"""PyTorch's tensors, dtypes and functions as Tenon's, and tensors back again."""

import inspect
import types

import tenon
import torch

DTYPES = {torch.float32: tenon.float32, torch.float64: tenon.float64, torch.float16: tenon.float16,
          torch.bfloat16: tenon.bfloat16, torch.int64: tenon.int64, torch.int32: tenon.int32, torch.uint8: tenon.uint8,
          torch.bool: tenon.bool}


# Complex numbers are pairs of these in tenon.fft, in a last dim of 2.
DTYPES_OF_PAIRS = {torch.complex64: tenon.float32, torch.complex128: tenon.float64}

MOST_DIMS = 64  # of a tensor that is shared by DLPack


class NotTranslated(Exception):
    """A sample holds something that Tenon does not have at all: a complex number, an int16, a sparse matrix."""


def pairs(value):
    """A value with every complex tensor replaced by one of pairs."""
    if isinstance(value, torch.Tensor):
        return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(map(pairs, value))
    if isinstance(value, dict):
        return {name: pairs(one) for name, one in value.items()}
    return value


def to_tenon(value, made):
    """A value with every tensor replaced; `made` maps ids of PyTorch's tensors, so that one that is given twice stays one."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES or value.layout is not torch.strided or value.is_quantized or value.is_meta:
            raise NotTranslated
        if id(value) not in made:
            plain = value.detach()
            if plain.ndim > MOST_DIMS:
                raise NotTranslated
            copy = tenon.from_dlpack(plain.clone(memory_format=torch.preserve_format)) if plain.numel() else \
                tenon.zeros(tuple(plain.shape), dtype=DTYPES[plain.dtype])
            made[id(value)] = copy.requires_grad_() if value.requires_grad else copy
        return made[id(value)]
    if isinstance(value, torch.dtype):
        if value not in DTYPES:
            raise NotTranslated
        return DTYPES[value]
    if isinstance(value, torch.device):
        return tenon.device(str(value))
    if isinstance(value, complex) or isinstance(value, (torch.layout, torch.Generator)):
        raise NotTranslated
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, slice):
        return slice(*(to_tenon(one, made) for one in (value.start, value.stop, value.step)))
    if isinstance(value, (tuple, list)):
        return type(value)(to_tenon(one, made) for one in value)
    if isinstance(value, dict):
        return {name: to_tenon(one, made) for name, one in value.items()}
    return value


def to_torch(tensor):
    """A tensor of Tenon's as one of PyTorch's."""
    plain = tensor.detach()
    if not plain.numel():
        dtype = next(theirs for theirs, ours in DTYPES.items() if ours == plain.dtype)
        return torch.empty(tuple(plain.shape), dtype=dtype)
    return torch.from_dlpack(plain.contiguous())


def _called(name):
    found = tenon
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return getattr(tenon.Tensor, name, None)
    return found


def function_of(op):
    """Tenon's function for an entry of PyTorch's table, or None.

    Where the entry is a function of the table's own file, such as lambda x, *args: x.expand(*args), its code runs with `torch`
    replaced.
    """
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        if _called(op.name) is None and _called(op.name + "_") is None:
            return None
        return types.FunctionType(op.op.__code__, {**op.op.__globals__, "torch": tenon}, op.op.__name__, op.op.__defaults__,
                                  op.op.__closure__)
    return _called(op.name)


def forms_of(op):
    """(what it is called, PyTorch's function, Tenon's function) of an entry: as a function, as a method, in place."""
    forms = []
    function = function_of(op)
    if function is not None and callable(function) and not inspect.ismodule(function):
        forms.append(("function", op.op, function))
    for form, variant in (("method", op.method_variant), ("in place", op.inplace_variant)):
        name = getattr(variant, "__name__", None)
        if name and hasattr(tenon.Tensor, name) and not name.startswith("__"):
            forms.append((form, variant, getattr(tenon.Tensor, name)))
    return forms
