"""Layers that take the size of what they are given first: LazyLinear, LazyConv2d and others.

Until then they have no parameters; then they are the layers that their names end with.
"""

from .. import _tenon
from ..checks import SignatureOf
from . import conv, linear, norm
from .module import Module


def _signature_of(kind):
    if "_becomes" not in vars(kind):
        return None  # a class of the user's
    import inspect

    signature = inspect.signature(kind._becomes)
    return signature.replace(parameters=[one for one in signature.parameters.values() if one.name != kind._missing])


class _Lazy(Module):
    """What they share: the class that one becomes, the name of the size that is missing and the dim that has it."""

    _becomes, _missing, _dim = None, "", -1
    __signature__ = SignatureOf(_signature_of)

    def __init__(self, *args, **kwargs):
        import inspect

        given = inspect.signature(self._becomes).bind(0, *args, **kwargs)
        given.apply_defaults()
        self.__dict__["_given"] = dict(given.arguments)

    def __getattr__(self, name):
        given = self.__dict__.get("_given", {})
        if name not in given:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return given[name]

    def has_uninitialized_params(self):
        """Whether the parameters are still to be made."""
        return True

    def forward(self, input, *others):
        placed = {"device": self._given["device"] or input.device}
        if self._given["dtype"] is None and not _tenon.is_autocast_enabled() and input.is_floating_point():
            placed["dtype"] = input.dtype
        self._become(input.shape[self._dim], placed)
        return self.forward(input, *others)

    def _become(self, size, placed=()):
        given = {**self.__dict__.pop("_given"), self._missing: size, **dict(placed)}
        self.__class__ = self._becomes
        self.__init__(**given)

    def _load_from_state_dict(self, state_dict, prefix, *others):
        weight = state_dict.get(prefix + "weight", state_dict.get(prefix + "running_mean"))
        if weight is None:
            return super()._load_from_state_dict(state_dict, prefix, *others)
        self._become(self._size_of(weight.shape))
        self._load_from_state_dict(state_dict, prefix, *others)

    def _size_of(self, shape):
        """The size that is missing, by the shape of a weight."""
        return shape[0]

    def extra_repr(self):
        shown = {self._missing: 0, **self._given}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if name not in ("device", "dtype"))


def _lazy(becomes, missing, dim, size_of=None):
    """The class that becomes another."""
    about = f"A {becomes.__name__} that takes {missing} from what it is given first."
    attributes = {"__doc__": about, "__module__": __name__, "_library_kind": becomes._library_kind,
                  "_becomes": becomes, "_missing": missing, "_dim": dim}
    if size_of:
        attributes["_size_of"] = size_of
    return type(f"Lazy{becomes.__name__}", (_Lazy,), attributes)


LazyLinear = _lazy(linear.Linear, "in_features", -1, lambda self, shape: shape[1])
for _axes in (1, 2, 3):
    globals()[f"LazyConv{_axes}d"] = _lazy(getattr(conv, f"Conv{_axes}d"), "in_channels", -1 - _axes, lambda self, shape: shape[1] * self.groups)
    globals()[f"LazyConvTranspose{_axes}d"] = _lazy(getattr(conv, f"ConvTranspose{_axes}d"), "in_channels", -1 - _axes)
    globals()[f"LazyBatchNorm{_axes}d"] = _lazy(getattr(norm, f"BatchNorm{_axes}d"), "num_features", 1)
LazyInstanceNorm1d = _lazy(norm.InstanceNorm1d, "num_features", -2)
LazyInstanceNorm2d = _lazy(norm.InstanceNorm2d, "num_features", -3)
