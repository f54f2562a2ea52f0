"""Modules that hold others, or parameters: in order or by names."""

from .module import Module, Parameter


def _checked_module(self, module):
    if module is None and isinstance(self, ModuleList):  # a place that is empty, as PyTorch has it
        return module
    if not isinstance(module, Module):
        what = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"a {type(self).__name__} holds modules, not {what}")
    return module


class _InOrder(Module):
    """What Sequential and ModuleList share: modules in order, under the names 0, 1, ... or those that were given."""

    def append(self, module):
        name = len(self._order)
        while str(name) in self.__dict__:
            name += 1
        setattr(self, str(name), _checked_module(self, module))
        self._order.append(module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        order = list(self._order)
        order.insert(index, _checked_module(self, module))
        self._set_order(order)
        return self

    def pop(self, key=-1):
        module = self._order[key]
        del self[key]
        return module

    def _set_order(self, order):
        for name in self._names():
            delattr(self, name)
        self._order = []
        self.extend(order)

    def _names(self):
        """Names in the order of the modules."""
        return [name for name, value in self.__dict__.items() if isinstance(value, Module) or (name.isdigit() and value is None)]

    def __len__(self):
        return len(self._order)

    def __iter__(self):
        return iter(self._order)

    def __getitem__(self, i):
        return type(self)._of(self._order[i]) if isinstance(i, slice) else self._order[i]

    def __setitem__(self, i, module):
        place = range(len(self._order))[i]
        setattr(self, self._names()[place], _checked_module(self, module))
        self._order[place] = module

    def __delitem__(self, i):
        order = list(self._order)
        del order[i]
        self._set_order(order)

    def __iadd__(self, modules):
        return self.extend(modules)


class Sequential(_InOrder):
    """Modules, each applied to the result of the one before.

    >>> from tenon import nn, ones
    >>> nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))(ones(3, 2)).shape
    (3, 1)
    """

    def __init__(self, *modules):
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else enumerate(modules)
        order = []
        for name, module in named:
            setattr(self, str(name), _checked_module(self, module))
            order.append(module)
        self._order = order

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"a Sequential and another go together, not {type(other).__name__}")
        return Sequential(*self, *other)

    @staticmethod
    def _of(modules):
        return Sequential(*modules)

    def forward(self, input):
        for module in self._order:
            input = module(input)
        return input


class ModuleList(_InOrder):
    """Modules in order, or None in the place of one; it is not called itself."""

    _library_kind = "list"

    def __init__(self, modules=()):
        super().__init__()
        self._order = []
        self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    @staticmethod
    def _of(modules):
        return ModuleList(modules)


class _ByName(Module):
    """Modules or parameters by names, in the order in which they came."""

    def __init__(self, members=None):
        super().__init__()
        self._named = {}
        if members is not None:
            self.update(members)

    def update(self, members):
        if not hasattr(members, "items") and not hasattr(members, "__iter__"):
            raise TypeError(f"a {type(self).__name__} takes a dict or pairs of names and values, not {type(members).__name__}")
        for name, member in members.items() if hasattr(members, "items") else members:
            self[name] = member

    def __setitem__(self, name, member):
        if not isinstance(name, str):
            raise TypeError(f"names of a {type(self).__name__} are texts, not {type(name).__name__}")
        member = self._checked(member)
        setattr(self, name, member)
        self._named[name] = member

    def __getitem__(self, name):
        return self._named[name]

    def __delitem__(self, name):
        del self._named[name]
        delattr(self, name)

    def pop(self, name):
        member = self[name]
        del self[name]
        return member

    def clear(self):
        for name in list(self._named):
            del self[name]

    def __len__(self):
        return len(self._named)

    def __iter__(self):
        return iter(self._named)

    def __contains__(self, name):
        return name in self._named

    def keys(self):
        return self._named.keys()

    def items(self):
        return self._named.items()

    def values(self):
        return self._named.values()


class ModuleDict(_ByName):
    """Modules by names; it is not called itself."""

    _library_kind = "list"

    def _checked(self, module):
        return _checked_module(self, module)


def _as_parameter(value):
    return value if isinstance(value, Parameter) else Parameter(value)


def _shown_parameters(named):
    """A line for each: its name, dtype and sizes."""
    def line(name, one):
        where = "" if one.device.name == "cpu" else f" ({one.device.name})"
        return f"  ({name}): Parameter containing: [tenon.{one.dtype.name} of size {'x'.join(map(str, one.shape))}{where}]"

    return "\n".join(line(name, one) for name, one in named)


class ParameterList(Module):
    """Parameters in order."""

    def extra_repr(self):
        return _shown_parameters(enumerate(self._order))

    def __init__(self, parameters=()):
        super().__init__()
        self._order = []
        self.extend(parameters)

    def append(self, parameter):
        parameter = _as_parameter(parameter)
        setattr(self, str(len(self._order)), parameter)
        self._order.append(parameter)
        return self

    def extend(self, parameters):
        for parameter in parameters:
            self.append(parameter)
        return self

    __iadd__ = extend

    def __setitem__(self, i, parameter):
        place = range(len(self._order))[i]
        self._order[place] = parameter = _as_parameter(parameter)
        setattr(self, str(place), parameter)

    def __len__(self):
        return len(self._order)

    def __iter__(self):
        return iter(self._order)

    def __getitem__(self, i):
        return self._order[i]


class ParameterDict(_ByName):
    """Parameters by names."""

    def extra_repr(self):
        return _shown_parameters(self.items())

    def __init__(self, parameters=None):
        super().__init__(parameters)

    def _checked(self, parameter):
        return _as_parameter(parameter)
