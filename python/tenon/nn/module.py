"""Module, whose attributes are its parameters and the modules below it.

Tensors and modules that are assigned are known to a module of C++ under the same names: state dicts, to(), freeze(),
optimizers, names in errors and captured functions are the library's. Everything else is an attribute like any other;
where a layer's __constants__ name it, captured functions notice that it was set.
"""

import collections
import copy

from .. import _tenon
from . import hooks

_Native = _tenon._nn._Module
Tensor = _tenon.Tensor
_MEMBERS = (Tensor, _Native)


class Parameter(Tensor):
    """A tensor that belongs to a module and is trained."""

    def __new__(cls, data, requires_grad=True):
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


_tenon._nn._set_parameter_type(Parameter)
as_parameter = _tenon._as_parameter  # of a tensor that nobody else has: itself, where Parameter() makes another over its memory


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


def _under_every_name(module, path=""):
    """Parameters under each of their names."""
    found = [(path + name, one) for name, one in module._named_parameters() if "." not in name]
    for name, child in module._named_children():
        found += _under_every_name(child, f"{path}{name}.")
    return found


def _is_same(now, value):
    return now is value or (type(now) is type(value) and isinstance(now, (bool, int, float, str, tuple)) and now == value)


_EXTRA = "_extra_state"


class _Extra:
    """Whether any class of modules has such a state: others are not asked."""

    is_used = False


def _loads_itself(module):
    return type(module)._load_from_state_dict is not Module._load_from_state_dict


def _with_extras(found, extras):
    """Each behind the tensors of its own module, before those of the modules below."""
    items = list(found.items())
    for path, state in extras.items():
        below = [i for i, (name, _) in enumerate(items) if name.startswith(path)]
        own = [i for i in below if "." not in items[i][0][len(path):]]
        items.insert(own[-1] + 1 if own else below[0] if below else len(items), (path + _EXTRA, state))
    return dict(items)


IncompatibleKeys = collections.namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")
_SKIPPED = ("_extras", "_inside", "_buffer_names", "_order", "_owner")  # what a copy makes anew


class Module(_Native):
    """What layers and models derive from.

    >>> from tenon import nn, ones
    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(3, 3)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> Twice()(ones(2, 3)).shape
    (2, 3)
    """

    __constants__ = ()  # attributes that forward() reads: captured functions notice when one is set
    _library_kind = ""  # "list": its name stands before those of its modules in errors; "linear": LoRA can correct it

    def __init__(self):
        pass

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    # ---- attributes ----

    def __setattr__(self, name, value):
        attributes = self.__dict__
        known = attributes.get(name)
        if isinstance(value, _MEMBERS) or (known is not None and isinstance(known, _MEMBERS)):
            if self._set_member(name, known, value):
                return
            try:
                return object.__setattr__(self, name, value)
            except (AttributeError, TypeError):  # a property without a setter, say
                _tenon._remove_member(self, name)
                raise
        elif name == "forward" or (name in attributes and name in self.__constants__ and not _is_same(known, value)):
            self._note_change()
        object.__setattr__(self, name, value)

    def _set_member(self, name, known, value):
        """Tells the library of a tensor or a module; True where register_buffer() has done all."""
        self.__dict__["_owner"] = id(self)
        if isinstance(value, Parameter):
            _tenon._set_parameter(self, name, value)
            self.__dict__.get("_buffer_names", {}).pop(name, None)
        elif isinstance(value, _Native):
            _tenon._set_module(self, name, value)
            self.__dict__.get("_buffer_names", {}).pop(name, None)
        elif isinstance(value, Buffer):
            if isinstance(known, (Parameter, _Native)):
                _tenon._remove_member(self, name)
            self.register_buffer(name, value, value.persistent)
            return True
        elif isinstance(known, (Parameter, _Native)) and value is not None:
            kind, other = ("parameter", "a Parameter") if isinstance(known, Parameter) else ("module", "a Module")
            what = "a plain tensor" if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(f"the {kind} {name} can be replaced by {other} or None, not by {what}")
        elif name in self.__dict__.get("_buffer_names", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"the buffer {name} is a tensor, not {type(value).__name__}")
            _tenon._set_buffer(self, name, value, self.__dict__["_buffer_names"][name])
        elif isinstance(known, (Parameter, _Native)):
            _tenon._remove_member(self, name)
        return False

    def _with_all(self):
        """Itself; where another module's __dict__ was copied into its own, what came with it is registered."""
        attributes = self.__dict__
        if attributes.get("_owner", id(self)) != id(self):
            buffers = attributes["_buffer_names"] = dict(attributes.get("_buffer_names", {}))
            for name, value in list(attributes.items()):
                if name in buffers:
                    self.register_buffer(name, value, buffers[name])
                elif isinstance(value, (Parameter, _Native)):
                    self._set_member(name, None, value)
            attributes["_owner"] = id(self)
        return self

    def __delattr__(self, name):
        if isinstance(self.__dict__.get(name), (Tensor, _Native)):
            _tenon._remove_member(self, name)
        self.__dict__.get("_buffer_names", {}).pop(name, None)
        object.__delattr__(self, name)

    def register_parameter(self, name, parameter):
        """The same as assigning an attribute."""
        setattr(self, name, parameter)

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that belongs to the module and is not trained; persistent: part of state dicts."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"the buffer {name} is a tensor or None, not {type(tensor).__name__}")
        if isinstance(self.__dict__.get(name), (Parameter, _Native)):
            raise KeyError(f"attribute '{name}' already exists")
        _tenon._set_buffer(self, name, tensor, persistent)
        self.__dict__.setdefault("_buffer_names", {})[name] = persistent
        if tensor is not None:
            _tenon._nn._make_known(tensor)
        object.__setattr__(self, name, tensor)

    def add_module(self, name, module):
        """The same as assigning an attribute."""
        setattr(self, name, module)

    register_module = add_module

    def get_submodule(self, target):
        """The module of a dotted name."""
        found = self
        for name in target.split(".") if target else ():
            found = dict(found._named_children()).get(name)
            if found is None:
                raise AttributeError(f"{type(self).__name__} has no module {target!r}")
        return found

    def _member(self, target, kind, what):
        above, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(above), name, None)
        if not isinstance(found, kind):
            raise AttributeError(f"{type(self).__name__} has no {what} {target!r}")
        return found

    def get_parameter(self, target):
        """The parameter of a dotted name."""
        return self._member(target, Parameter, "parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name."""
        return self._member(target, Tensor, "buffer")

    # ---- all of a kind ----

    def parameters(self, recurse=True):
        """All parameters, or those of this module alone."""
        return _Many(self._with_all()._parameters() if recurse else (one for _, one in self.named_parameters(recurse=False)))

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Dotted names and parameters, own ones before those of modules below; without remove_duplicate under each name."""
        return _named(self._with_all()._named_parameters() if remove_duplicate else _under_every_name(self), prefix, recurse)

    def buffers(self, recurse=True):
        """All buffers, or those of this module alone."""
        return _Many(one for _, one in self.named_buffers(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True):
        """Dotted names and buffers."""
        return _named(self._with_all()._named_buffers(), prefix, recurse)

    def modules(self):
        """This module and all below it."""
        return _Many(module for _, module in self.named_modules())

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """The same with their dotted names; a module of several names stands under its first, or under each."""
        found, seen, waiting = _Many(), set() if memo is None else memo, [(prefix, self._with_all())]
        while waiting:
            name, module = waiting.pop()
            if remove_duplicate and module in seen:
                continue
            if not remove_duplicate and name.count(".") > 1000:
                raise RecursionError(f"modules of this {type(self).__name__} hold each other")
            seen.add(module)
            found.append((name, module))
            waiting += [(f"{name}.{key}" if name else key, child) for key, child in reversed(module._named_children())]
        return found

    def children(self):
        """The modules directly below."""
        return _Many(module for _, module in self._named_children())

    def named_children(self):
        """The same with their names."""
        return _Many(self._with_all()._named_children())

    def apply(self, fn):
        """Calls a function with every module, those below first."""
        for _, child in self._named_children():
            child.apply(fn)
        fn(self)
        return self

    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """Values by their dotted names, without histories; with keep_vars the parameters and buffers themselves."""
        found = super(Module, self._with_all()).state_dict()
        if keep_vars:
            found.update({name: one for name, one in (*_under_every_name(self), *self._named_buffers()) if name in found})
        with_extras = self._with_extra_state()
        if with_extras:
            found = _with_extras(found, {path: one.get_extra_state() for path, one in with_extras})
        found = {prefix + name: one for name, one in found.items()} if prefix else found
        if destination is None:
            return found
        destination.update(found)
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies values in by name; returns the names that were missing and those that were unexpected."""
        if any(_loads_itself(module) for module in self.modules()):
            return self._load_module_by_module(state_dict, strict, assign)
        extras = {path + _EXTRA: module for path, module in self._with_all()._with_extra_state()}
        if extras:
            return self._load_with_extras(state_dict, extras, strict, assign)
        missing, unexpected = self._load_state_dict(state_dict, strict, assign)
        if not strict:  # one tensor of several names is missing under each that is not there
            missing = [name for name in self.state_dict() if name not in state_dict]
        return IncompatibleKeys(missing, unexpected)

    def _load_module_by_module(self, state_dict, strict, assign):
        """As PyTorch does it, for the sake of classes with a _load_from_state_dict() of their own."""
        given, missing, unexpected, errors = dict(state_dict), [], [], []
        for name, module in self.named_modules(remove_duplicate=False):
            metadata = {"assign_to_params_buffers": assign}
            module._load_from_state_dict(given, f"{name}." if name else "", metadata, True, missing, unexpected, errors)
        if strict:
            errors = [f"{what} {', '.join(names)}" for what, names in (("missing", missing), ("unexpected", unexpected)) if names] + errors
        if errors:
            raise _tenon.Error(f"[load_state_dict] {'; '.join(errors)}")
        return IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Takes the values of this module, without those below it, from under a prefix; a class may override this."""
        own = [name for name in super(Module, self).state_dict() if "." not in name]
        given = {name: state_dict[prefix + name] for name in own if prefix + name in state_dict}
        try:
            self._load_state_dict(given, False, local_metadata.get("assign_to_params_buffers", False))
        except _tenon.Error as error:
            error_msgs.append(f"{prefix}{str(error).removeprefix('[load_state_dict] ')}")
        known = [*own, *(name for name, _ in self._named_children())]
        if type(self).set_extra_state is not Module.set_extra_state:
            known.append(_EXTRA)
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            elif strict:
                missing_keys.append(prefix + _EXTRA)
        if strict:
            missing_keys += [prefix + name for name in own if name not in given]
            unexpected_keys += [key for key in state_dict
                                if key.startswith(prefix) and key[len(prefix):].partition(".")[0] not in known]

    def get_extra_state(self):
        """What else a state dict keeps of this module, under NAME._extra_state: a class that has such a thing overrides this."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state):
        """Takes what get_extra_state() gave."""
        raise NotImplementedError(f"{type(self).__name__} takes no extra state")

    def _with_extra_state(self):
        """Paths of modules that have one, each with its dot."""
        if not _Extra.is_used:
            return []
        return [(f"{name}." if name else "", module) for name, module in self.named_modules(remove_duplicate=False)
                if type(module).get_extra_state is not Module.get_extra_state]

    def _load_with_extras(self, state_dict, extras, strict, assign):
        plain = {name: one for name, one in state_dict.items() if name not in extras}
        absent = [name for name in extras if name not in state_dict]
        if strict and absent:
            raise _tenon.Error(f"[load_state_dict] missing: {', '.join(absent)}")
        missing, unexpected = self._load_state_dict(plain, strict, assign)
        for name, module in extras.items():
            if name in state_dict:
                module.set_extra_state(state_dict[name])
        return IncompatibleKeys(([] if strict else [name for name in self.state_dict() if name not in state_dict]), unexpected)

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        _Extra.is_used = _Extra.is_used or "get_extra_state" in cls.__dict__

    # ---- dtype and device ----

    def to(self, *args, device=None, dtype=None, non_blocking=False):
        """Moves all parameters and buffers, or converts the floating-point ones."""
        for arg in args:
            if isinstance(arg, _tenon.dtype):
                dtype = arg
            else:
                device = arg
        self._to(device, dtype)
        return self

    def cpu(self):
        """Moves it to the host's memory."""
        return self.to("cpu")

    def cuda(self, device=None):
        """Moves it to the device "cuda"."""
        return self.to("cuda" if device is None or isinstance(device, int) else device)

    def float(self):
        """In float32."""
        return self.to(_tenon.float32)

    def half(self):
        """In float16."""
        return self.to(_tenon.float16)

    def bfloat16(self):
        """In bfloat16."""
        return self.to(_tenon.bfloat16)

    def double(self):
        """In float64."""
        return self.to(_tenon.float64)

    # ---- shown, copied, kept in files ----

    def extra_repr(self):
        """What stands in the brackets of a module without modules below."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__constants__
                         if name in self.__dict__ and not (name == "inplace" and not self.inplace))

    def __repr__(self):
        name = self._type_name if type(self) is ModuleOfCpp else type(self).__name__
        lines = self.extra_repr().split("\n")
        if not self._named_children():
            return f"{name}({lines[0]})" if len(lines) == 1 else "\n  ".join([f"{name}(", *lines]) + "\n)"
        lines = [line for line in lines if line] if type(self).extra_repr is not Module.extra_repr else []
        lines += [f"({key}): " + repr(child).replace("\n", "\n  ") for key, child in self._named_children()]
        return "\n  ".join([f"{name}(", *lines]) + "\n)"

    def _kept(self):
        """The attributes that a copy has."""
        return {name: value for name, value in self.__dict__.items() if name not in _SKIPPED and not name.startswith("_captured_")}

    def _restore(self, attributes, buffers, training):
        for name, value in attributes.items():
            if name in buffers:
                self.register_buffer(name, value, buffers[name])
            else:
                setattr(self, name, value)
        self.train(training)

    def __deepcopy__(self, memo):
        """A module with parameters of its own, of the same values; what was one parameter is one again."""
        attributes, made = self._kept(), _remade(type(self))
        memo[id(self)] = made
        buffers = self.__dict__.get("_buffer_names", {})
        made._restore({name: copy.deepcopy(value, memo) for name, value in attributes.items()}, buffers, self.training)
        return made

    def __reduce_ex__(self, protocol):
        attributes = {name: value for name, value in self._kept().items() if name != "_hooks"}
        return _remade, (type(self),), (attributes, self.__dict__.get("_buffer_names", {}), self.training)

    def __setstate__(self, state):
        self._restore(*state)

    # ---- hooks ----

    register_forward_hook = hooks.register_forward_hook
    register_forward_pre_hook = hooks.register_forward_pre_hook
    register_full_backward_hook = hooks.register_full_backward_hook


def _remade(kind):
    """An object of a class of modules as its own constructor has not seen it."""
    return kind.__new__(kind)


class ModuleOfCpp(Module):
    """A model of C++, and what is inside of one: its members are attributes."""

    _library_kind = "cpp"

    def __getattr__(self, name):
        if not name.startswith("_"):
            for key, found in (*self._named_children(), *self._named_parameters(), *self._named_buffers()):
                if key == name:
                    return found
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getitem__(self, i):
        return [child for _, child in self._named_children()][i]

    def __len__(self):
        return len(self._named_children())

    def __bool__(self):
        return True

    def forward(self, *args, **kwargs):
        return self._forward_of_library(*args, **kwargs)

    def extra_repr(self):
        return ", ".join(f"{name}={tuple(one.shape)}" for name, one in self.named_parameters(recurse=False))

    def _kept(self):
        raise TypeError(f"a {self._type_name} is neither copied nor pickled; save it and load it")


_tenon._nn._set_inside_type(ModuleOfCpp)
_tenon._models._bind_models(ModuleOfCpp)


_MOST = 1 << 63, 1 << 16  # sizes are numbers of 64 bits; layers are made one by one


def check_sizes(layer, **sizes):
    """Refuses what is no positive integer."""
    for name, size in sizes.items():
        if type(size) is int and 0 < size < _MOST[True]:
            continue
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"{type(layer).__name__}() needs an integer for '{name}', not {type(size).__name__}")
        if size < 1:
            raise _tenon.Error(f"[{type(layer).__name__}] {name} must be positive, got {size}")
        if size >= _MOST[name == "num_layers"]:
            raise _tenon.Error(f"[{type(layer).__name__}] {name} is too large: {size}")


def summary(module, *inputs):
    """The table of a call with these inputs: what every module gives, its parameters and FLOPs. Nothing is computed.

    >>> from tenon import nn, ones
    >>> print(nn.summary(nn.Sequential(nn.Linear(2, 4), nn.ReLU()), ones(3, 2)).splitlines()[-1])
    12 parameters, 12 trainable, 48 bytes; 48 FLOPs
    """
    if not isinstance(module, Module):
        raise TypeError(f"summary() needs a module, not {type(module).__name__}")
    return module._summary_of_call(lambda: module(*inputs))
