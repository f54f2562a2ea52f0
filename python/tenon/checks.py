"""What messages and checks of functions of Python share."""

from . import _tenon


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


class SignatureOf:
    """The signature of a class, made when somebody asks for it: importing inspect takes a third of importing all else."""

    def __init__(self, make):
        self._make = make

    def __get__(self, instance, owner):
        made = self._make(owner) if instance is None else None
        if made is None:
            raise AttributeError("__signature__")
        return made
