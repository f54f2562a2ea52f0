"""Module, whose attributes are its parameters and the modules below it, and the containers.

The class is C++'s own. A class of Python's that derives from it is a module for everything in the library.
"""

import ast
import collections
import copy
import functools
import gc
import inspect
import re

from .. import _tenon
from .. import signatures
from . import hooks, reductions, settings

Module = _tenon._nn.Module
Tensor = _tenon.Tensor


class Parameter(Tensor):
    """A tensor that belongs to a module and is trained."""

    def __new__(cls, data, requires_grad=True):
        if data is None:  # the library fills it
            return Tensor.__new__(cls, _nothing())
        if not isinstance(data, Tensor):
            data = _tenon.tensor(data)
        made = Tensor.__new__(cls, data.detach())
        if requires_grad:
            made.requires_grad_()
        _tenon._nn._make_known(made)
        return made

    def __init__(self, *args, **kwargs):
        pass


class Buffer(Tensor):
    """A tensor that belongs to a module, once it is its attribute, and is not trained; persistent: part of state dicts."""

    def __new__(cls, data, *, persistent=True):
        made = Tensor.__new__(cls, (data if isinstance(data, Tensor) else _tenon.tensor(data)).detach())
        made.persistent = persistent
        return made

    def __init__(self, *args, **kwargs):
        pass


@functools.cache
def _nothing():
    """Made when it is needed first: the default device may not be there, and importing asks for none."""
    return _tenon.zeros(())


_tenon._nn._set_parameter_type(Parameter)

_make = Module.__init__
_is_property = {}


def _init(self):
    _make(self, type(self).__name__)


def _member(kind, name):
    """Whether an attribute of the class itself, such as Linear.weight, takes the value."""
    key = (kind, name)
    if key not in _is_property:
        _is_property[key] = isinstance(getattr(kind, name, None), property)
    return _is_property[key]


_arguments = {}  # of the layers of C++


@functools.cache
def _layer_of(kind):
    """The class of C++ that a layer is of, or None."""
    return next((cls for cls in kind.__mro__ if cls in _arguments), None)


def _setattr(self, name, value):
    if not _member(type(self), name):
        layer = _layer_of(type(self))
        if layer is not None and name in _arguments[layer]:
            return settings.set_attribute(self, layer, _arguments[layer], name, value)
        if name == "forward":
            hooks.look(type(self))
            if _tenon._nn._is_made(self):
                settings.tell_captured_functions(self)
        if isinstance(value, Parameter):
            _check(self)
            self._set_parameter(name, value)
        elif isinstance(value, Module):
            _check(self)
            self._set_module(name, value)
        elif isinstance(value, Buffer):
            if isinstance(self.__dict__.get(name), (Parameter, Module)):
                self._remove(name)
            return self.register_buffer(name, value, value.persistent)
        else:
            if settings.is_other_setting(self, name, value) and _tenon._nn._is_made(self):
                settings.tell_captured_functions(self)
            known = self.__dict__.get(name)
            if isinstance(known, Tensor) and name in self.__dict__.get("_buffer_names", ()):
                if value is not None and not isinstance(value, Tensor):
                    raise TypeError(f"the buffer {name} is a tensor, not {type(value).__name__}")
                self._set_buffer(name, value, self.__dict__["_buffer_names"][name])
            elif isinstance(known, (Parameter, Module)):
                if isinstance(known, Parameter) and isinstance(value, Tensor):
                    raise TypeError(f"the parameter {name} can be replaced by a Parameter or None, not by a plain tensor")
                self._remove(name)
    object.__setattr__(self, name, value)


class _Listed(list):
    """The modules of a list inside of a layer of C++."""


def _getattr(self, name):
    """Modules and parameters inside of a layer of C++: encoder.layers[0].self_attn, lstm.weight_ih_l0."""
    if not name.startswith("_") and _layer_of(type(self)) is not None:
        try:
            children = self._named_children()
        except TypeError:  # it is not made yet
            children = ()
        for key, child in children:
            if key == name:
                below = child._named_children()
                is_list = type(child) is Module and below and all(one.isdigit() for one, _ in below)
                return _Listed(one for _, one in below) if is_list else child
        for key, parameter in _all_named_parameters(self) if children != () else ():
            if key == name:
                return parameter
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _check(self):
    if not _tenon._nn._is_made(self):
        raise AttributeError(f"call super().__init__() in {type(self).__name__}.__init__ before giving it members")


def _delattr(self, name):
    if isinstance(self.__dict__.get(name), (Tensor, Module)):
        self._remove(name)
    object.__delattr__(self, name)


def _register_parameter(self, name, parameter):
    """The same as assigning an attribute."""
    setattr(self, name, parameter)


def _register_buffer(self, name, tensor, persistent=True):
    """A tensor that belongs to the module and is not trained; persistent: part of state dicts."""
    _check(self)
    self._set_buffer(name, tensor, persistent)
    self.__dict__.setdefault("_buffer_names", {})[name] = persistent
    if tensor is not None:
        _tenon._nn._make_known(tensor)
    object.__setattr__(self, name, tensor)


def _add_module(self, name, module):
    """The same as assigning an attribute."""
    setattr(self, name, module)


def _get_submodule(self, target):
    """The module of a dotted name."""
    found = self
    for name in target.split(".") if target else ():
        below = getattr(found, name, None)
        found = below if isinstance(below, Module) else dict(found._named_children()).get(name)  # inside of a layer of C++
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no module {target!r}")
    return found


def _member_of(self, target, kind, what):
    above, _, name = target.rpartition(".")
    found = getattr(_get_submodule(self, above), name, None)
    if not isinstance(found, kind):
        raise AttributeError(f"{type(self).__name__} has no {what} {target!r}")
    return found


_Keys = collections.namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")
_load = Module.load_state_dict


def _load_state_dict(self, state_dict, strict=True, assign=False):
    """Copies values in by name; returns the names that were missing and those that were unexpected."""
    missing, unexpected = _load(self, state_dict, strict, assign)
    if not strict:  # one tensor of several names is missing under each that is not there
        missing = [name for name in self.state_dict() if name not in state_dict]
    return _Keys(missing, unexpected)


def _to(self, *args, device=None, dtype=None, non_blocking=False):
    """Moves all parameters and buffers, or converts the floating-point ones."""
    for arg in args:
        if isinstance(arg, _tenon.dtype):
            dtype = arg
        else:
            device = arg
    self._to(device, dtype)
    return self


def _apply(self, function):
    """Calls a function with every module, those below first."""
    for _, child in self._named_children():
        child.apply(function)
    function(self)
    return self


class _Many(list):
    """A list that next() takes from, as from PyTorch's generators."""

    def __next__(self):
        self._taken = getattr(self, "_taken", -1) + 1
        if self._taken >= len(self):
            raise StopIteration
        return self[self._taken]


def _named(found, prefix, recurse):
    before = prefix + "." if prefix else ""
    return _Many((before + name, one) for name, one in found if recurse or "." not in name)


_all_parameters = Module.parameters
_all_named_parameters, _all_named_buffers = Module.named_parameters, Module.named_buffers


def _parameters(self, recurse=True):
    """All parameters, or those of this module alone."""
    return _Many(_all_parameters(self) if recurse else (one for _, one in self.named_parameters(recurse=False)))


def _under_every_name(module, path=""):
    """Parameters under each of their names."""
    found = [(path + name, one) for name, one in _all_named_parameters(module) if "." not in name]
    for name, child in module._named_children():
        found += _under_every_name(child, f"{path}{name}.")
    return found


def _named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
    """Dotted names and parameters, own ones before those of modules below; without remove_duplicate under each name."""
    return _named(_all_named_parameters(self) if remove_duplicate else _under_every_name(self), prefix, recurse)


def _buffers(self, recurse=True):
    """All buffers, or those of this module alone."""
    return _Many(one for _, one in self.named_buffers(recurse=recurse))


def _named_buffers(self, prefix="", recurse=True):
    """Dotted names and buffers."""
    return _named(settings.without_marks(_all_named_buffers(self)), prefix, recurse)


def _modules_below(self):
    return _Many(module for _, module in self._named_modules())


def _children(self):
    return _Many(module for _, module in self._named_children())


def _sizes_of(module):
    """What a layer inside of another was made with, as its tensors show it."""
    weight = dict(_all_named_parameters(module)).get("weight")
    if weight is None:
        return ()
    shape, name = tuple(weight.shape), type(module).__name__
    if name in ("Conv1d", "Conv2d", "Conv3d"):
        return shape[1], shape[0], shape[2:]
    return {"Linear": shape[::-1], "Embedding": shape, "LayerNorm": (shape,), "RMSNorm": (shape,), "BatchNorm1d": shape,
            "BatchNorm2d": shape, "BatchNorm3d": shape}.get(name, ())


def _repr(self):
    def lines(module, indent):
        children = module._named_children()
        name = module._type_name if type(module) is Module else type(module).__name__
        if not children:
            extra = module.extra_repr()
            if extra:
                inner = f"\n{indent}  ".join(("", *extra.split("\n"))) + f"\n{indent}" if "\n" in extra else extra
                return f"{name}({inner})"
            _, args, kwargs = module.__dict__.get("_made_with", (None, _sizes_of(module), {}))
            given = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
            return f"{name}({', '.join(given)})"
        inner = "".join(f"\n{indent}  ({key}): {lines(child, indent + '  ')}" for key, child in children)
        return f"{name}({inner}\n{indent})"

    return lines(self, "")


def _forward(self, *args, **kwargs):
    raise NotImplementedError(f"{type(self).__name__} has no forward()")


def _init_subclass(cls, **kwargs):
    super(Module, cls).__init_subclass__(**kwargs)
    if "forward" in vars(cls) and "__call__" not in vars(cls):
        cls.__call__ = hooks.call_forward  # that of a layer of C++ computes what the layer does


def _arguments_of(layer):
    """Names and defaults of a constructor of C++'s, which the first line of its docstring has."""
    line = (layer.__init__.__doc__ or "").split("\n", 1)[0]
    found = []
    for name, default in re.findall(r"(\w+): [\w.\[\], ]+?(?: = ([^,]+))?(?=, \w+:|\) -> None$)", line):
        try:
            found.append((name, ast.literal_eval(default) if default else None))
        except (SyntaxError, ValueError):
            found.append((name, None))
    return found[1:]  # behind self


def _as_pytorch_shows(layer, name, value):
    """Sizes of convolutions and norms are tuples."""
    if not isinstance(value, int):
        return value
    if name == "normalized_shape":
        return (value,)
    if layer.__name__.startswith("Conv") and name in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
        return (value,) * int(layer.__name__[-2])
    return value


def _remember(layer):
    """A layer of C++ remembers what it was made with: for copies, to show it, and as attributes."""
    make = layer.__init__
    written = _arguments_of(layer)
    order = [name for name, _ in written if name != "inplace"]
    arguments = [(name, default) for name, default in written
                 if not hasattr(layer, name) and name not in ("device", "dtype", "generator", "inplace")]
    has_padding_mode = layer.__name__ in ("Conv1d", "Conv2d", "Conv3d")
    if has_padding_mode:
        arguments.append(("padding_mode", "zeros"))
    place = settings.INPLACE.get(layer.__name__)
    if place is not None:
        order.insert(place, "inplace")
        arguments.append(("inplace", False))
    _arguments[layer] = [name for name in order if not hasattr(layer, name) and name not in ("device", "dtype", "generator")]
    if has_padding_mode:
        _arguments[layer].append("padding_mode")

    @functools.wraps(make)
    def init(self, *args, **kwargs):
        inplace = False
        if place is not None:
            inplace = kwargs.get("inplace", False)
            if len(args) == place + 1 and not isinstance(args[place], _tenon.Generator):
                args, inplace = args[:place], bool(args[place])
            kwargs = {name: value for name, value in kwargs.items() if name != "inplace"}
        if "size_average" in kwargs or "reduce" in kwargs:
            kwargs = reductions.in_words_of_today(kwargs)
        padding_mode = kwargs.pop("padding_mode", "zeros") if has_padding_mode else "zeros"
        if padding_mode != "zeros":
            settings.check_padding_mode(layer, padding_mode)
        make(self, *args, **kwargs)
        if inplace:
            kwargs["inplace"] = True
            settings.reads_attributes(self, layer)
        if padding_mode != "zeros":
            kwargs["padding_mode"] = padding_mode
            settings.reads_attributes(self, layer)
        self.__dict__.setdefault("_made_with", (layer, args, kwargs))
        given = {**dict(zip(order, args)), **kwargs}
        for name, default in arguments:
            self.__dict__.setdefault(name, _as_pytorch_shows(layer, name, given.get(name, default)))
        if "kernel_size" in self.__dict__ and self.__dict__.get("stride") is None:  # windows of pooling that touch
            self.__dict__["stride"] = self.__dict__["kernel_size"]

    has_reduction = "reduction" in order
    more = {**({"padding_mode": "zeros"} if has_padding_mode else {}), **({"inplace": False} if place is not None else {}),
            **({"size_average": None, "reduce": None} if has_reduction else {})}
    init.__signature__ = signatures.of_docstring(make.__doc__, **more)
    layer.__init__ = init
    if layer.forward is Module.forward:  # for the super().forward() of a class that derives from it
        layer.forward = layer.__call__
    if layer.__name__.startswith(_WITH_PARAMETERS):
        layer.reset_parameters = _reset_parameters
    if layer.__name__ in ("RNN", "LSTM", "GRU"):
        layer.flatten_parameters = lambda self: None


_WITH_PARAMETERS = ("Linear", "Embedding", "LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm", "Conv", "RNN", "LSTM", "GRU")


def _reset_parameters(self):
    """Draws the parameters anew, as when the layer was made."""
    layer, args, kwargs = self.__dict__["_made_with"]
    fresh = layer(*args, **kwargs).state_dict()
    self.load_state_dict({name: value.to(device=now.device, dtype=now.dtype)
                          for (name, now), value in zip(self.state_dict().items(), fresh.values())})


def _from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    """An Embedding with the rows of a matrix; freeze: they are not trained."""
    if embeddings.ndim != 2:
        raise ValueError(f"a matrix of embeddings is needed, not {tuple(embeddings.shape)}")
    made = cls(*embeddings.shape, padding_idx=padding_idx, device=embeddings.device, dtype=embeddings.dtype)
    made.weight = Parameter(embeddings.detach(), requires_grad=not freeze)
    return made


_tenon._nn.Embedding.from_pretrained = classmethod(_from_pretrained)


def _copy_members(self, made, memo):
    """The tensors of a layer of C++, and those of the modules inside of it."""
    parameters, modules = dict(_all_named_parameters(self)), dict(made._named_modules())
    others = {}
    for name, value in self.state_dict().items():
        if name.split(".")[0] in self.__dict__:
            continue
        path, _, member = name.rpartition(".")
        place = modules[path] if path else made
        if not _member(type(place), member):  # no attribute: weights of recurrent layers
            others[name] = value.detach().clone()
        elif name in parameters:
            copied = copy.deepcopy(parameters[name], memo)
            if not isinstance(copied, Parameter):  # a frozen one
                copied = memo[id(parameters[name])] = Parameter(copied, requires_grad=False)
            setattr(place, member, copied)
        else:
            getattr(place, member).data = value.detach().clone()
    if others:
        made.load_state_dict(others, strict=False, assign=True)
        for name, parameter in made.named_parameters():
            if name in others:
                parameter.requires_grad_(parameters[name].requires_grad)


def _deepcopy(self, memo):
    """A module with parameters of its own, of the same values; what was one parameter is one again."""
    kind = type(self)
    if "_made_with" in self.__dict__:
        layer, args, kwargs = self.__dict__["_made_with"]
        made = kind.__new__(kind)
        layer.__init__(made, *args, **kwargs)
    elif any(cls.__module__.startswith("tenon._tenon") and cls not in (Module, _tenon._nn.Layer) for cls in kind.__mro__):
        raise TypeError(f"a {kind.__name__} cannot be copied; save it and load it")
    else:
        made = kind.__new__(kind)
        _make(made, kind.__name__)
    memo[id(self)] = made
    buffers, arguments = self.__dict__.get("_buffer_names", {}), _arguments.get(_layer_of(kind), ())
    for name, value in list(self.__dict__.items()):
        if name in ("_extras", "_made_with", "_buffer_names") or name.startswith(("_kept_", "_captured_")):
            continue
        if isinstance(value, settings.Forward):
            continue
        if name in buffers:
            made.register_buffer(name, copy.deepcopy(value, memo), buffers[name])
        elif name in arguments and isinstance(value, Tensor):
            made.__dict__[name] = copy.deepcopy(value, memo)
        else:
            setattr(made, name, copy.deepcopy(value, memo))
    if isinstance(made, (ModuleList, ModuleDict)):
        made._mark_as_list()
    if "_made_with" in self.__dict__:
        _copy_members(self, made, memo)
    made.train(self.training)
    return made


def _remade(kind, made_with):
    """An object of a class of modules as its own constructor has not seen it."""
    made = kind.__new__(kind)
    if made_with is None:
        _make(made, kind.__name__)
    else:
        layer, args, kwargs = made_with
        layer.__init__(made, *args, **kwargs)
    return made


def _reduce(self, _protocol):
    """For pickle: what it was made with, its attributes, and the tensors of a layer of C++."""
    kind, made_with = type(self), self.__dict__.get("_made_with")
    if made_with is None and any(cls.__module__.startswith("tenon._tenon") and cls not in (Module, _tenon._nn.Layer)
                                 for cls in kind.__mro__):
        raise TypeError(f"a {kind.__name__} cannot be pickled; save it and load it")
    skipped = ("_extras", "_made_with", "_buffer_names", "_hooks")
    attributes = {name: value for name, value in self.__dict__.items()
                  if name not in skipped and not name.startswith(("_kept_", "_captured_")) and not isinstance(value, settings.Forward)}
    members = {}
    if made_with is not None:
        for name, value in self.state_dict().items():
            if name.split(".")[0] not in attributes:
                members[name] = getattr(self, name) if _member(kind, name) else value.detach().clone()
    state = {"attributes": attributes, "buffers": self.__dict__.get("_buffer_names", {}), "members": members,
             "training": self.training}
    return _remade, (kind, made_with), state


def _setstate(self, state):
    arguments = _arguments.get(_layer_of(type(self)), ())
    for name, value in state["attributes"].items():
        if name in state["buffers"]:
            self.register_buffer(name, value, state["buffers"][name])
        elif name in arguments and isinstance(value, Tensor):
            self.__dict__[name] = value
        else:
            setattr(self, name, value)
    others = {}
    for name, value in state["members"].items():
        if not _member(type(self), name):
            others[name] = value
        elif isinstance(value, Parameter):
            setattr(self, name, value)
        else:
            getattr(self, name).data = value
    if others:
        self.load_state_dict(others, strict=False)
    if isinstance(self, (ModuleList, ModuleDict)):
        self._mark_as_list()
    self.train(state["training"])


Module.__init__ = _init
Module.__init_subclass__ = classmethod(_init_subclass)
Module.__deepcopy__ = _deepcopy
Module.__setattr__ = _setattr
Module.__getattr__ = _getattr
Module.__reduce_ex__ = _reduce
Module.__setstate__ = _setstate
Module.__delattr__ = _delattr
Module.__repr__ = _repr
Module.register_parameter = _register_parameter
Module.register_buffer = _register_buffer
Module.add_module = Module.register_module = _add_module
Module.to = _to
Module.cpu = lambda self: self.to("cpu")
Module.float = lambda self: self.to(_tenon.float32)
Module.half = lambda self: self.to(_tenon.float16)
Module.bfloat16 = lambda self: self.to(_tenon.bfloat16)
Module.double = lambda self: self.to(_tenon.float64)
Module.apply = _apply
Module.cuda = lambda self, device=None: self.to("cuda" if device is None or isinstance(device, int) else device)
Module.extra_repr = lambda self: ""
Module.get_submodule = _get_submodule
Module.get_parameter = lambda self, target: _member_of(self, target, Parameter, "parameter")
Module.get_buffer = lambda self, target: _member_of(self, target, Tensor, "buffer")
Module.load_state_dict = _load_state_dict
Module.parameters = _parameters
Module.named_parameters = _named_parameters
Module.buffers = _buffers
Module.named_buffers = _named_buffers
Module.modules = _modules_below
Module.named_modules = lambda self: _Many(self._named_modules())
Module.children = _children
Module.named_children = lambda self: _Many(self._named_children())
Module.forward = _forward
Module.register_forward_hook = hooks.register_forward_hook
Module.register_forward_pre_hook = hooks.register_forward_pre_hook
Module.register_full_backward_hook = hooks.register_full_backward_hook


def _settle_collection():
    """Python may show the garbage collector the attributes of a subclass's objects by itself."""
    class Probe(Module):
        pass

    probe = Probe()
    probe.attribute = None
    attributes = probe.__dict__
    shown = sum(one is attributes for one in gc.get_referents(probe))
    _tenon._nn._set_python_shows_dicts(shown > 1)


_settle_collection()


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

    def __init__(self, modules=()):
        super().__init__()
        self._mark_as_list()
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

    def __init__(self, modules=None):
        super().__init__(modules)
        self._mark_as_list()

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


def _takes_eps_of_input(layer):
    """An eps of None, the default, is that of the dtype of what a call is given."""
    make = layer.__init__

    def init(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        make(self, normalized_shape, 2.0**-23 if eps is None else eps, elementwise_affine, device, dtype)
        if eps is None:
            settings.reads_attributes(self, layer)

    init.__doc__ = make.__doc__.replace("eps: float = 1e-06", "eps: Optional[float] = None")
    layer.__init__ = init


_takes_eps_of_input(_tenon._nn.RMSNorm)
for _layer in list(vars(_tenon._nn).values()):
    if inspect.isclass(_layer) and issubclass(_layer, Module) and _layer is not Module and "__init__" in vars(_layer):
        _remember(_layer)
