"""Functions of Python that are given something else than tensors say so in one line."""

import functools
import inspect

from . import _tenon

_OF_TENSORS = ("input", "other", "weight", "x", "x1", "x2", "A", "condition", "logits", "self", "target", "tensor",
               "boundaries", "batch1", "batch2", "y", "theta", "grid", "anchor", "positive", "negative")
_OR_NONE = ("running_mean", "running_var", "bias", "fweights", "aweights")


def shown(value):
    """A value in a text of one line."""
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, _tenon.Tensor) else repr(value)


def several_tensors(function, value):
    """A tensor or several as a list; anything else is refused."""
    tensors = [value] if isinstance(value, _tenon.Tensor) else list(value)
    for one in tensors:
        if not isinstance(one, _tenon.Tensor):
            raise TypeError(f"{function}() needs a tensor or several, not {type(one).__name__}")
    return tensors


def _names_of(function):
    """The names of its arguments; faster than inspect.signature(), which importing would wait for."""
    return function.__code__.co_varnames[:function.__code__.co_argcount]


def needs_tensors(function):
    """Refuses what is no tensor where the function trips over it; costs nothing where all is well."""
    all_names = _names_of(function)
    needed = all_names[:len(all_names) - len(function.__defaults__ or ())]

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError, _tenon.Error):
            known = inspect.signature(function).parameters
            given = {**dict(zip(known, args)), **kwargs}
            for name, one in known.items():
                if one.default is one.empty and name not in given and one.kind is one.POSITIONAL_OR_KEYWORD:
                    raise TypeError(f"{function.__name__}() lacks its argument '{name}'") from None
            for name in (*(name for name in needed if name in _OF_TENSORS), *_OR_NONE):
                is_none = name in _OR_NONE and given.get(name) is None
                if name in given and not is_none and not isinstance(given[name], _tenon.Tensor):
                    what = f"{function.__name__}() needs a tensor for '{name}', not {type(given[name]).__name__}"
                    raise TypeError(what) from None
            raise

    return call


def all_need_tensors(names):
    """Those of a module's functions whose arguments are tensors, by `globals()`."""
    for name, value in list(names.items()):
        is_own = inspect.isfunction(value) and value.__module__ == names["__name__"] and not name.startswith("_")
        if is_own and not hasattr(value, "__wrapped__") and any(one in _OF_TENSORS for one in _names_of(value)):
            names[name] = needs_tensors(value)
