"""Modules that hold others, or parameters: in order or by names."""

import collections.abc

from .module import Module, Parameter


def _checked_module(self, module):
    if module is None and isinstance(self, ModuleList):  # a place that is empty, as PyTorch has it
        return module
    if not isinstance(module, Module):
        what = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"a {type(self).__name__} holds modules, not {what}")
    return module


class _InOrder(Module):
    """What Sequential, ModuleList and ParameterList share: members in order, under the names 0, 1, ... or those that were given.

    The members are the attributes, however they came to be that; a list of them is kept until an attribute is set.
    """

    _checked = _checked_module

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self.__dict__.pop("_order", None)

    def __delattr__(self, name):
        super().__delattr__(name)
        self.__dict__.pop("_order", None)

    def _named(self):
        return [(name, value) for name, value in list(self.__dict__.items())
                if isinstance(value, Module) or (name.isdigit() and value is None)]

    def _members(self):
        order = self.__dict__.get("_order")
        if order is None:
            order = self.__dict__["_order"] = [value for _, value in self._named()]
        return order

    def append(self, module):
        name = len(self)
        while str(name) in self.__dict__:
            name += 1
        setattr(self, str(name), self._checked(module))
        return self

    def extend(self, modules):
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        members = list(self._members())
        members.insert(index, self._checked(module))
        self._replace(members)
        return self

    def pop(self, key=-1):
        module = self._members()[key]
        del self[key]
        return module

    def _replace(self, members):
        """Others in their place, under the names 0, 1, ..."""
        for name, _ in self._named():
            delattr(self, name)
        self.extend(members)

    def __len__(self):
        return len(self._members())

    def __iter__(self):
        return iter(self._members())

    def __getitem__(self, i):
        return type(self)._of(self._named()[i]) if isinstance(i, slice) else self._members()[i]

    def __setitem__(self, i, module):
        name, _ = self._named()[i]
        setattr(self, name, self._checked(module))

    def __delitem__(self, i):
        members = list(self._members())
        del members[i]
        self._replace(members)

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
        for name, module in named:
            setattr(self, str(name), _checked_module(self, module))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"a Sequential and another go together, not {type(other).__name__}")
        return Sequential(*self, *other)

    @staticmethod
    def _of(named):
        return Sequential(dict(named))

    def forward(self, input):
        for module in self._members():
            input = module(input)
        return input


class ModuleList(_InOrder):
    """Modules in order, or None in the place of one; it is not called itself."""

    _library_kind = "list"

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    @staticmethod
    def _of(named):
        return ModuleList(module for _, module in named)


class _ByName(Module):
    """Modules or parameters by names, in the order in which they came."""

    _kind = Module  # of what it holds

    def __init__(self, members=None):
        super().__init__()
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
        setattr(self, name, self._checked(member))

    def _members(self):
        return {name: value for name, value in list(self.__dict__.items()) if isinstance(value, self._kind)}

    def __getitem__(self, name):
        return self._members()[name]

    def __delitem__(self, name):
        self[name]  # a KeyError where there is none
        delattr(self, name)

    def pop(self, name):
        member = self[name]
        del self[name]
        return member

    def clear(self):
        for name in self._members():
            del self[name]

    def __len__(self):
        return len(self._members())

    def __iter__(self):
        return iter(self._members())

    def __contains__(self, name):
        return name in self._members()

    def keys(self):
        return self._members().keys()

    def items(self):
        return self._members().items()

    def values(self):
        return self._members().values()


class ModuleDict(_ByName):
    """Modules by names; it is not called itself."""

    _library_kind = "list"
    _checked = _checked_module


def _as_parameter(value):
    return value if isinstance(value, Parameter) else Parameter(value)


def _shown_parameters(named):
    """A line for each: its name, dtype and sizes."""
    def line(name, one):
        where = "" if one.device.name == "cpu" else f" ({one.device.name})"
        return f"  ({name}): Parameter containing: [tenon.{one.dtype.name} of size {'x'.join(map(str, one.shape))}{where}]"

    return "\n".join(line(name, one) for name, one in named)


class ParameterList(_InOrder):
    """Parameters in order."""

    def __init__(self, parameters=()):
        super().__init__()
        self.extend(parameters)

    def extra_repr(self):
        return _shown_parameters(enumerate(self))

    def _checked(self, parameter):
        return _as_parameter(parameter)

    def _named(self):
        return [(name, value) for name, value in list(self.__dict__.items()) if name.isdigit()]

    @staticmethod
    def _of(named):
        return ParameterList(parameter for _, parameter in named)


class ParameterDict(_ByName):
    """Parameters by names. Those of a plain dict come in the order of their names, as PyTorch has it."""

    _kind = Parameter

    def __init__(self, parameters=None):
        super().__init__(parameters)

    def update(self, members):
        is_sorted = isinstance(members, collections.abc.Mapping) and not isinstance(members, collections.OrderedDict)
        super().update(dict(sorted(members.items())) if is_sorted else members)

    def extra_repr(self):
        return _shown_parameters(self.items())

    def _checked(self, parameter):
        return _as_parameter(parameter)
