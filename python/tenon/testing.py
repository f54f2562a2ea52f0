"""Comparison of tensors in tests.

>>> import tenon
>>> tenon.testing.assert_close(tenon.ones(2) / 3, tenon.tensor([1 / 3, 1 / 3]))
"""

import collections.abc

from . import _tenon

# PyTorch's: (rtol, atol) of each dtype; those of integers and bool are 0.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Raises an AssertionError unless both hold nearly the same: tensors, numbers, and lists and dicts of them."""
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close() takes rtol and atol together")
    problem = _difference(actual, expected, rtol, atol, equal_nan, check_device, check_dtype, "")
    if problem:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def _difference(actual, expected, rtol, atol, equal_nan, check_device, check_dtype, where):
    again = (rtol, atol, equal_nan, check_device, check_dtype)
    if isinstance(expected, collections.abc.Mapping):
        if not isinstance(actual, collections.abc.Mapping) or set(actual) != set(expected):
            return f"the keys differ{where}: {sorted(actual)} and {sorted(expected)}"
        parts = [(f"[{key!r}]", actual[key], expected[key]) for key in expected]
    elif isinstance(expected, collections.abc.Sequence) and not isinstance(expected, str):
        if not isinstance(actual, collections.abc.Sequence) or len(actual) != len(expected):
            return f"the lengths differ{where}: {len(actual)} and {len(expected)}"
        parts = [(f"[{i}]", *pair) for i, pair in enumerate(zip(actual, expected))]
    else:
        return _difference_of_values(actual, expected, *again, where)
    found = (_difference(one, other, *again, f"{where or ' at '}{place}") for place, one, other in parts)
    return next((problem for problem in found if problem), None)


def _difference_of_values(actual, expected, rtol, atol, equal_nan, check_device, check_dtype, where):
    if expected is None or isinstance(expected, str):
        return None if actual == expected else f"{actual!r} is not {expected!r}{where}"
    if not isinstance(actual, _tenon.Tensor) or not isinstance(expected, _tenon.Tensor):
        if isinstance(actual, _tenon.Tensor) or isinstance(expected, _tenon.Tensor):
            return f"{type(actual).__name__} and {type(expected).__name__} are compared{where}"
        kind = _tenon.float64 if isinstance(actual, float) or isinstance(expected, float) else _tenon.int64
        actual, expected = (_tenon.tensor(one, dtype=kind, device="cpu") for one in (actual, expected))
    if tuple(actual.shape) != tuple(expected.shape):
        return f"the shapes differ{where}: {tuple(actual.shape)} and {tuple(expected.shape)}"
    if check_device and actual.device != expected.device:
        return f"the devices differ{where}: {actual.device} and {expected.device}"
    if check_dtype and actual.dtype != expected.dtype:
        return f"the dtypes differ{where}: {actual.dtype.name} and {expected.dtype.name}"
    if rtol is None:
        both = [_TOLERANCES.get(one.dtype.name, (0.0, 0.0)) for one in (actual, expected)]
        rtol, atol = max(one[0] for one in both), max(one[1] for one in both)
    actual, expected = actual.detach(), expected.detach().to(actual.device)
    close = _tenon.isclose(actual, expected, rtol, atol, equal_nan)
    if close.all().item():
        return None
    count, most = (~close).sum().item(), (actual.double() - expected.double()).abs().max().item()
    return f"{count} of {close.numel()} elements are not close{where}: the largest difference is {most} (rtol {rtol}, atol {atol})"
