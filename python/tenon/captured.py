"""Captured functions of Python: what compile() gives.

The library captures functions from tensors to tensors. Here is what stands around them: arguments that are no tensors
belong to the recording, one for each of their values; lists and dicts are taken apart, and results put together again.
A call with tensors alone goes to the library at once.
"""

import collections
import copy
import functools
import sys
import types

from . import _tenon

Tensor = _tenon.Tensor

_MOST_KEPT = 8  # recordings of other values, as the library keeps those of other shapes
_MOST_NEW = 8  # calls in a row with values that were not there before
_DEEPEST = 128  # lists in lists, as everywhere
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None), _tenon.dtype, type(Ellipsis))


def _require_shallow(depth):
    if depth > _DEEPEST:
        raise ValueError(f"lists are nested more than {_DEEPEST} deep, or one holds itself")


def _take_apart(value, tensors, others, depth=1):
    """What a value is but for its tensors, which are put aside: a key that finds its recording."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return Tensor
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, repr(value) if kind is float else value
    if isinstance(value, (tuple, list)):
        _require_shallow(depth)
        return kind, *(_take_apart(one, tensors, others, depth + 1) for one in value)
    if isinstance(value, dict):
        _require_shallow(depth)
        return kind, *((key, _take_apart(one, tensors, others, depth + 1)) for key, one in value.items())
    if kind.__module__ == "numpy" and hasattr(value, "__array_interface__") and getattr(value, "ndim", 0):
        raise TypeError("a captured function takes tensors, not arrays, whose changes it could not see; pass tenon.from_numpy(array)")
    others.append(value)
    return kind, id(value)


def _put_together(value, tensors):
    """A value of the same kind with other tensors, in the same order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        parts = [_put_together(one, tensors) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_put_together(one, tensors) for one in value]
    if isinstance(value, dict):
        return {key: _put_together(one, tensors) for key, one in value.items()}
    return value


class _Mark(Tensor):
    """Stands for a tensor."""

    def __new__(cls):
        return Tensor.__new__(cls, _tenon.zeros(()))


class _Marks:
    def __iter__(self):
        while True:
            yield _mark()


@functools.cache
def _mark():
    return _Mark()


class _Results:
    """What a function returns: tensors for the library, and how they stand in tuples, lists and dicts."""

    def __init__(self):
        self.shape = None  # none for what the library returns as it is: a tensor, a tuple of tensors, None
        self.is_known = False

    def flat(self, result):
        tensors = []
        is_plain = result is None or isinstance(result, Tensor) or type(result) is tuple and all(
            one is None or isinstance(one, Tensor) for one in result)
        if not is_plain:
            self._collect(result, tensors)
        key = None if is_plain else _take_apart(result, [], [])
        if self.is_known and key != self._key:
            raise TypeError("a captured function returns tensors in the same tuples, lists and dicts in every call")
        self.is_known, self._key = True, key
        if is_plain:
            return result
        self.shape = _put_together(result, iter(_Marks()))
        return tuple(tensors)

    def _collect(self, result, tensors, depth=1):
        _require_shallow(depth)
        if isinstance(result, Tensor):
            tensors.append(result)
        elif isinstance(result, (tuple, list)):
            for one in result:
                self._collect(one, tensors, depth + 1)
        elif isinstance(result, dict):
            for one in result.values():
                self._collect(one, tensors, depth + 1)
        elif result is not None:
            raise TypeError("a captured function returns a tensor or a tuple of tensors, or lists and dicts of them, not "
                            f"{type(result).__name__}")

    def whole(self, result):
        return result if self.shape is None else _put_together(self.shape, iter(result or ()))


class _One:
    """The recordings of a function for one set of arguments that are no tensors."""

    def __init__(self, function, verify_every, template=None, others=()):
        results, self.others = _Results(), others  # what is known by its identity must not go away
        self.results = results

        def called(*tensors):
            if template is None:
                return results.flat(function(*tensors))
            args, kwargs = _put_together(template, iter(tensors))
            return results.flat(function(*args, **kwargs))

        self.captured = _tenon._capture(called, verify_every)


class Captured:
    """A captured function, as tenon.compile() gives it."""

    def __init__(self, function, verify_every=None):
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self._verify_every, self._name = verify_every, getattr(function, "__name__", "function")
        self._plain = _One(function, verify_every)
        self._call = self._plain.captured
        self._others, self._new_in_a_row, self._is_captured = collections.OrderedDict(), 0, True
        self._is_module, self._has_told = isinstance(function, _tenon._nn._Module), False

    def __call__(self, *args, **kwargs):
        if self._is_module and _tenon.is_grad_enabled() and self._is_trained():
            return self.__wrapped__(*args, **kwargs)
        if kwargs:
            return self._called(args, kwargs)
        for arg in args:
            if not isinstance(arg, Tensor):
                return self._called(args, kwargs)
        result = self._call(*args)
        results = self._plain.results
        return result if results.shape is None else results.whole(result)

    def _is_trained(self):
        """Whether gradients go through the module's results: what is replayed keeps no graph."""
        if not any(parameter.requires_grad for parameter in self.__wrapped__.parameters()):
            return False
        if not self._has_told:
            self._has_told = True
            sys.stderr.write("[tenon] a compiled module is called as it is while gradients are recorded; compile a function of the whole "
                             "step, with backward() and the optimizer's step(), to have it replayed\n")
        return True

    def _called(self, args, kwargs):
        if not self._is_captured:
            return self.__wrapped__(*args, **kwargs)
        tensors, others = [], []
        key = _take_apart((args, kwargs), tensors, others)
        one = self._others.get(key)
        if one is None:
            one = self._new(key, args, kwargs, others)
            if one is None:
                return self.__wrapped__(*args, **kwargs)
        else:
            self._new_in_a_row = 0
            self._others.move_to_end(key)
        return one.results.whole(one.captured(*tensors))

    def _new(self, key, args, kwargs, others):
        self._new_in_a_row += 1
        if self._new_in_a_row > _MOST_NEW:
            self._is_captured = False
            self._others.clear()
            sys.stderr.write("[tenon] a captured function is called every time instead of being replayed: an argument that is no "
                             f"tensor had {_MOST_NEW + 1} values in a row; pass it as a tensor, or as a tenon.Scalar that is set\n")
            return None
        one = _One(self.__wrapped__, self._verify_every, _put_together((args, kwargs), iter(_Marks())), others)
        self._others[key] = one
        while len(self._others) > _MOST_KEPT:
            self._others.popitem(last=False)
        return one

    @property
    def recordings(self):
        """Recordings that are kept."""
        return self._call.recordings + sum(one.captured.recordings for one in list(self._others.values()))

    def __getattr__(self, name):
        """A module that is captured has the attributes of the module."""
        wrapped = self.__dict__.get("__wrapped__")
        if not isinstance(wrapped, _tenon._nn._Module):
            raise AttributeError(f"a captured function has no attribute '{name}'")
        return getattr(wrapped, name)

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, instance, owner=None):
        """A method of each object, with recordings of its own."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if attributes is None:
            return functools.partial(self, instance)
        bound = attributes.get("_captured_" + self._name)
        if bound is None or bound.__wrapped__.__func__ is not self.__wrapped__:
            bound = Captured(types.MethodType(self.__wrapped__, instance), self._verify_every)
            attributes["_captured_" + self._name] = bound
        return bound

    def __deepcopy__(self, memo):
        return Captured(copy.deepcopy(self.__wrapped__, memo), self._verify_every)

    def __repr__(self):
        return f"<captured {self.__wrapped__!r}>"
