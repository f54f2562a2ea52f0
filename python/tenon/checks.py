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


def needs_tensors(function):
    """Refuses what is no tensor where the function trips over it; costs nothing where all is well."""
    parameters = [name for name, one in inspect.signature(function).parameters.items()
                  if name in _OF_TENSORS and one.default is inspect.Parameter.empty]

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError):
            known = inspect.signature(function).parameters
            given = {**dict(zip(known, args)), **kwargs}
            for name, one in known.items():
                if one.default is one.empty and name not in given and one.kind is one.POSITIONAL_OR_KEYWORD:
                    raise TypeError(f"{function.__name__}() lacks its argument '{name}'") from None
            for name in (*parameters, *_OR_NONE):
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
        if is_own and set(inspect.signature(value).parameters) & set(_OF_TENSORS):
            names[name] = needs_tensors(value)
