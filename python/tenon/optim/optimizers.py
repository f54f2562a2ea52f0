"""What optimizers have in Python beyond those of C++: groups as dicts, whole states, and errors without tensors."""

import ast
import collections.abc
import copy
import functools
import inspect
import math

from .. import _tenon

Optimizer = _tenon._optim.Optimizer

# What schedules remember of a group.
_NOTES = ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum")


# What PyTorch's optimizers are told about how to compute; nothing here needs it.
_PASSED_OVER = ("foreach", "fused", "capturable", "differentiable")

# ---- an optimizer that has taken the place of another ----

# Groups and most settings of an optimizer of C++ are fixed when it is made. Where they change, another one is made with
# the same parameters and moments, and takes the place of the first behind the same object of Python's.


def _core(optimizer):
    return optimizer.__dict__.get("_instead", optimizer)


def _delegate(name):
    member = vars(Optimizer)[name]
    if isinstance(member, property):
        setattr(Optimizer, name, property(lambda self: member.fget(_core(self)),
                                          member.fset and (lambda self, value: member.fset(_core(self), value)), doc=member.__doc__))
        return

    @functools.wraps(getattr(Optimizer, name))
    def call(self, *args, **kwargs):
        return member(self.__dict__.get("_instead", self), *args, **kwargs)

    setattr(Optimizer, name, call)


for _name in ("step", "zero_grad", "clip_grad_norm", "keep_gradients", "accumulate", "gather", "keep_shadow", "keep_average",
              "swap_average", "_moments", "_load_moments", "steps", "lr", "group_lr", "set_group_lr", "_momentum",
              "_set_momentum", "_momentum_varies", "_group_decay", "_group_parameters", "groups"):
    _delegate(_name)

_let_go_of_gradients = Optimizer.zero_grad


def _zero_grad(self, set_to_none=True):
    """Lets go of all gradients, or with set_to_none=False makes them zeros."""
    if set_to_none:
        return _let_go_of_gradients(self)
    for group in self.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.zero_()


_zero_grad.__name__ = _zero_grad.__qualname__ = "zero_grad"
Optimizer.zero_grad = _zero_grad


def _remake(self, groups, settings):
    """The same object with other groups or settings, and the moments that it has."""
    before = self._moments()
    if "averaged" in before or getattr(_core(self), "_keeps_gradients", False):
        raise ValueError("an optimizer that keeps averages or gradients cannot change its groups or settings; make a new one")
    if self.__dict__.get("_has_schedule"):
        raise ValueError("an optimizer with a Scheduler or Plateau cannot change its groups or settings; make that behind the change")
    made = type(self)(groups, **settings)
    made._load_moments({name: before.get(name, value) for name, value in made._moments().items()})
    if self._momentum_varies():
        made._set_momentum(self._momentum())
    _core(self)._give_way()
    self._instead, self.defaults = made, made.defaults


def _note_schedules(kind):
    """A schedule of C++ holds the optimizer that it was made with."""
    make = kind.__init__

    @functools.wraps(make)
    def init(self, optimizer, *args, **kwargs):
        if not isinstance(optimizer, Optimizer):
            return make(self, optimizer, *args, **kwargs)
        if "_own_groups" in optimizer.__dict__:
            raise TypeError(f"{kind.__name__} takes the library's optimizers, not a {type(optimizer).__name__}; use one of lr_scheduler")
        optimizer._has_schedule = True
        return make(self, _core(optimizer), *args, **kwargs)

    kind.__init__ = init


for _kind in (_tenon._optim.Scheduler, _tenon._optim.Plateau):
    _note_schedules(_kind)


def _groups_as_given(self):
    return [{"params": group["params"], "lr": group["lr"], "weight_decay": group["weight_decay"]} for group in self.param_groups]


def add_param_group(self, param_group):
    """One more group of parameters, {"params": ..., "lr": ..., "weight_decay": ...}, which counts its steps with the others."""
    if not isinstance(param_group, dict):
        raise TypeError(f"a group of parameters is a dict, not {type(param_group).__name__}")
    _remake(self, [*_groups_as_given(self), *_plain([param_group])], self.defaults)


Optimizer.add_param_group = add_param_group


def _deepcopy(self, memo):
    """An optimizer of copies of the parameters; those of a model that is copied in the same call are the model's."""
    groups = [{**group, "params": [copy.deepcopy(one, memo) for one in group["params"]]} for group in _groups_as_given(self)]
    made = memo[id(self)] = type(self)(groups, **self.defaults)
    made.load_state_dict(self.flat_state_dict())
    return made


Optimizer.__deepcopy__ = _deepcopy


class _Group(collections.abc.MutableMapping):
    """One group of parameters, as PyTorch's dict: "params", "lr", "weight_decay" and the settings of the rule, and what
    schedules remember. All but "params" can be set; what is neither "lr" nor "weight_decay" is one for all groups."""

    def __init__(self, optimizer, place):
        self._optimizer, self._place = optimizer, place
        self._notes = optimizer.__dict__.setdefault("_notes", {}).setdefault(place, {})

    def __getitem__(self, name):
        if name == "lr":
            return self._optimizer.group_lr(self._place)
        if name == "weight_decay":
            return self._optimizer._group_decay(self._place)
        if name == "params":
            return self._optimizer._group_parameters(self._place)
        if name == self._momentum_name():
            momentum = self._optimizer._momentum()
            return momentum if name == "momentum" else (momentum, self._optimizer.defaults["betas"][1])
        if name in self._notes:
            return self._notes[name]
        if name in self._settings():
            return self._optimizer.defaults[name]
        raise KeyError(f"a group has {', '.join(map(repr, self))}, not '{name}'")

    def _settings(self):
        return [name for name in getattr(self._optimizer, "defaults", ()) if name not in ("lr", "weight_decay")]

    def _momentum_name(self):
        if self._optimizer._momentum() is None:
            return None
        return "betas" if "betas" in getattr(self._optimizer, "defaults", {}) else "momentum"

    def __setitem__(self, name, value):
        if name == "lr":
            self._optimizer.set_group_lr(self._place, float(value))
        elif name in _NOTES:
            self._notes[name] = float(value)
        elif name == "momentum" and self._momentum_name() == name:
            self._optimizer._set_momentum(float(value))
        elif name == "betas" and self._momentum_name() == name:
            first, second = value
            if second != self["betas"][1]:
                self._change(name, (float(first), float(second)))
            self._optimizer._set_momentum(float(first))
        elif name == "weight_decay" or name in self._settings():
            self._change(name, value)
        else:
            raise KeyError(f"of a group can be set {', '.join(repr(one) for one in self if one != 'params')}, not '{name}'")

    def _change(self, name, value):
        if self[name] == value:
            return
        optimizer = self._optimizer
        groups, settings = _groups_as_given(optimizer), dict(optimizer.defaults)
        if name == "weight_decay":
            groups[self._place][name] = float(value)
        else:
            settings[name] = value
        _remake(optimizer, groups, settings)

    def __delitem__(self, name):
        if name not in self._notes:
            raise KeyError(f"'{name}' of a group cannot be deleted")
        del self._notes[name]

    def __iter__(self):
        settings = self._settings()
        momentum = [self._momentum_name()] if self._momentum_name() not in (None, *settings) else []
        return iter(("params", "lr", "weight_decay", *momentum, *settings, *self._notes))

    def __len__(self):
        return len(list(iter(self)))

    def __repr__(self):
        shown = {name: value for name, value in self.items() if name != "params"}
        return f"{{'params': {len(self['params'])} tensors, {str(shown)[1:]}"


Optimizer.param_groups = property(lambda self: [_Group(self, i) for i in range(self.groups)])


def _rates(optimizer):
    """The rates under the names that they have in a state."""
    rates = {f"{name}.{i}": group[name] for i, group in enumerate(optimizer.param_groups)
             for name in ("lr", *_NOTES) if name in group}
    if optimizer._momentum_varies():
        rates.update({f"momentum.{i}": optimizer._momentum() for i in range(optimizer.groups)})
    return rates


def _is_rate(name):
    kind, _, place = name.partition(".")
    return kind in ("lr", "momentum", *_NOTES) and place.isdigit()


def flat_state_dict(self):
    """The step count, the moments of every parameter ("0.exp_avg", ...) and the rates ("lr.0", ...), all tensors: for
    .safetensors and for the C++ library."""
    rates = {name: _tenon.tensor(rate, dtype=_tenon.float64, device="cpu") for name, rate in _rates(self).items()}
    return {**self._moments(), **rates}


def state_dict(self):
    """PyTorch's form, which PyTorch loads: "state" has the moments of every parameter, "param_groups" the settings."""
    moments = self._moments()
    step, averaged = moments.pop("step").to(_tenon.float32), moments.pop("averaged", None)
    count = sum(len(group["params"]) for group in self.param_groups)
    state = {i: {"step": step} for i in range(count)}
    for name, value in moments.items():
        place, _, name = name.partition(".")
        if name == "log_mu_product":  # NAdam's, one number for all elements in PyTorch
            name, value = "mu_product", value.reshape(-1)[0].exp()
        state[int(place)][name] = value
    if averaged is not None:
        for kept in state.values():
            kept["averaged"] = averaged
    elif self.steps() == 0 and isinstance(_core(self), _tenon._optim.SGD):
        state = {}  # PyTorch's momentum begins with the first gradient
    groups, place = [], 0
    for group in self.param_groups:
        count = len(group["params"])
        settings = {name: value for name, value in group.items() if name != "params"}
        groups.append({**dict.fromkeys(_PASSED_OVER), **settings, "params": list(range(place, place + count))})
        place += count
    return {"state": state, "param_groups": groups}


def load_state_dict(self, state):
    """Copies a state back: of state_dict() or flat_state_dict(), or one of PyTorch's. Rates that it lacks stay. A call that
    fails has changed nothing."""
    if set(state) != {"state", "param_groups"}:
        rates = {name: float(state[name]) for name in state if _is_rate(name)}
        return _load(self, {name: state[name] for name in state if name not in rates}, rates)
    _check_groups(self, state["param_groups"])
    rule, decays = _other_settings(self, state["param_groups"])
    if not rule and not decays:
        return _load(self, *_of_pytorch(self, state))
    groups, settings, moments = _groups_as_given(self), self.defaults, self._moments()
    others = [{**group, "weight_decay": decays.get(i, group["weight_decay"])} for i, group in enumerate(groups)]
    _remake(self, others, {**settings, **rule})
    try:
        _load(self, *_of_pytorch(self, state))
    except BaseException:
        _remake(self, groups, settings)
        self._load_moments(moments)
        raise


def _load(self, moments, rates):
    for name, rate in rates.items():
        if int(name.partition(".")[2]) >= self.groups:
            raise ValueError(f"[load_state_dict] the state has {name}, the optimizer has {self.groups} groups")
        if not rate >= 0:
            raise ValueError(f"[load_state_dict] {name} must not be negative, got {rate}")
        if name.startswith("momentum.") and (self._momentum() is None or rate >= 1):
            raise ValueError(f"[load_state_dict] {name} is {rate}, which is no momentum of this optimizer")
    self._load_moments(moments)
    for name, rate in rates.items():
        kind, _, place = name.partition(".")
        if kind == "momentum":
            self._set_momentum(rate)
        else:
            self.param_groups[int(place)][kind] = rate


Optimizer.state_dict, Optimizer.flat_state_dict, Optimizer.load_state_dict = state_dict, flat_state_dict, load_state_dict


def _tensor_of(value):
    if isinstance(value, _tenon.Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        value = value.detach() if hasattr(value, "detach") else value
        return _tenon.from_dlpack(value.cpu() if hasattr(value, "cpu") else value)
    return _tenon.tensor(value)


def _check_groups(optimizer, groups):
    counts, own = ([len(group["params"]) for group in some] for some in (groups, optimizer.param_groups))
    if counts != own:
        raise ValueError(f"[load_state_dict] the state has other groups of parameters than the optimizer: {counts} and {own}")


def _of_pytorch(optimizer, state):
    """Moments and rates of a state dict of PyTorch's."""
    groups = state["param_groups"]
    rates = {f"{name}.{i}": float(group[name]) for i, group in enumerate(groups) for name in ("lr", *_NOTES)
             if name in group}
    rates.update({f"momentum.{i}": float(group["betas"][0] if "betas" in group else group["momentum"])
                  for i, group in enumerate(groups) if _has_moved_momentum(group)})
    if len({rate for name, rate in rates.items() if name.startswith("momentum.")}) > 1:
        raise ValueError("[load_state_dict] the groups of the state have different momentum; here it is one for all")
    of_parameter = {i: state["state"].get(key, {}) for i, key in
                    enumerate(key for group in groups for key in group["params"])}
    moments, steps, counts = {}, set(), any("step" in kept for kept in of_parameter.values())
    here = optimizer._moments()
    for i, kept in of_parameter.items():
        for name, value in kept.items():
            if name == "averaged":
                moments[name] = _tensor_of(value)
            elif name == "step":
                steps |= {int(value)} - {0}  # a parameter that has had no gradient yet
            elif name == "mu_product" and f"{i}.log_mu_product" in here:  # NAdam's, one number for all elements
                moments[f"{i}.log_mu_product"] = _tenon.full_like(here[f"{i}.log_mu_product"], math.log(float(value)))
            elif value is not None:
                moments[f"{i}.{name}"] = _tensor_of(value)
    if len(steps) > 1:
        raise ValueError(f"[load_state_dict] parameters of the state have made different numbers of steps: "
                         f"{sorted(steps)}; an optimizer here counts them for all together")
    counted = steps.pop() if steps else int(bool(moments) and not counts)  # PyTorch's SGD does not count
    for name, value in here.items():
        if name == "step":
            moments[name] = _tenon.tensor(counted, dtype=value.dtype)
        elif name != "averaged" and not name.endswith(".average") and name not in moments:
            moments[name] = _tenon.zeros_like(value)
    return moments, rates


def _has_moved_momentum(group):
    return "max_momentum" in group and ("betas" in group or "momentum" in group)


def _other_settings(optimizer, groups):
    """The settings that a state of PyTorch's has and the optimizer has not: those of the rule, and the weight decay of each group."""
    rule, decays = {}, {}
    for i, group in enumerate(groups):
        known = {**getattr(optimizer, "defaults", {}), "weight_decay": optimizer.param_groups[i]["weight_decay"]}
        for name, value in group.items():
            if name in ("params", "lr") or name not in known:
                continue
            value, ours = (tuple(one) if isinstance(one, (list, tuple)) else one for one in (value, known[name]))
            if name == "momentum" and _has_moved_momentum(group):
                continue
            if name == "betas" and _has_moved_momentum(group):
                value = (ours[0], value[1])
            if name == "weight_decay":
                decays[i] = float(value)
            elif rule.setdefault(name, value) != value:
                raise ValueError(f"[load_state_dict] the groups of the state have different {name}; here it is one for all")
    now = {name: tuple(one) if isinstance(one, list) else one for name, one in getattr(optimizer, "defaults", {}).items()}
    rule = {name: value for name, value in rule.items() if now[name] != value}
    return rule, {i: decay for i, decay in decays.items() if optimizer.param_groups[i]["weight_decay"] != decay}


def _plain(parameters):
    """Parameters as the library takes them, without the names that named_parameters() has."""
    if isinstance(parameters, _tenon.Tensor):
        return parameters

    def unnamed(some):
        some = [some] if isinstance(some, _tenon.Tensor) else some
        return [one[1] if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) else one for one in some]

    parameters = list(parameters)
    if parameters and all(isinstance(group, dict) and "params" in group for group in parameters):
        return [{**group, "params": unnamed(group["params"])} for group in parameters]
    return unnamed(parameters)


def _with_defaults(kind):
    """`defaults` has the settings, those that were given and those that were not."""
    make = kind.__init__
    written = make.__doc__.split("\n", 1)[0]
    arguments = ast.parse(f"def {written}: pass").body[0].args
    names = [argument.arg for argument in arguments.args][1:]
    defaults = dict(zip(names[1:], map(ast.literal_eval, arguments.defaults)))

    @functools.wraps(make)
    def init(self, *args, **kwargs):
        kwargs = {name: value for name, value in kwargs.items() if name not in _PASSED_OVER}
        maximize = bool(kwargs.pop("maximize", False))
        if "params" in kwargs:
            args = (kwargs.pop("params"), *args)
        if not args:
            raise TypeError(f"{kind.__name__}() lacks its argument 'params'")
        make(self, _plain(args[0]), *args[1:], **kwargs)
        self.defaults = {**defaults, **dict(zip(names[1:], args[1:])), **kwargs, "maximize": maximize}
        self._maximize(maximize)

    plain, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    init.__signature__ = inspect.Signature([
        *(inspect.Parameter(name, plain) for name in ("self", names[0])),
        *(inspect.Parameter(name, plain, default=default) for name, default in defaults.items()),
        *(inspect.Parameter(name, by_name, default=default) for name, default in {"maximize": False, **dict.fromkeys(_PASSED_OVER)}.items()
          if name not in defaults)])
    kind.__init__ = init


for _kind in list(vars(_tenon._optim).values()):
    if isinstance(_kind, type) and issubclass(_kind, Optimizer) and _kind is not Optimizer:
        _with_defaults(_kind)
