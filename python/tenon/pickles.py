"""Copies and pickles of what C++ has made: devices, generators with their states, and functions by their names."""

import copyreg
import types

from . import _tenon


def _generator_at(state):
    made = _tenon.Generator()
    made.set_state(state)
    return made


def _function_called(place, name):
    """A function of the extension, or of a module inside of it: "_nn.functional"."""
    found = _tenon
    for part in place.split(".") if place else ():
        found = getattr(found, part)
    return getattr(found, name, None)


def _of_function(function):
    """By its name where it is one of the extension's; others go the way that they went before."""
    module = function.__module__
    if isinstance(module, str) and (module + ".").startswith("tenon._tenon."):
        named = module[len("tenon._tenon."):], function.__name__
        if _function_called(*named) is function:
            return _function_called, named
    return function.__reduce__()


copyreg.pickle(_tenon.device, lambda device: (_tenon.device, (device.name,)))
copyreg.pickle(_tenon.Generator, lambda generator: (_generator_at, (generator.get_state(),)))
copyreg.pickle(types.BuiltinFunctionType, _of_function)
