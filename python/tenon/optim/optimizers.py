"""The library's optimizers: groups as dicts, and whole states, around objects of C++."""

import collections.abc
import copy

from .. import _tenon
from ..checks import SignatureOf
from .optimizer import Optimizer, _groups_fit, _plain, _tensor_of

_native = _tenon._optim

# What schedules remember of a group.
_NOTES = ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum")
# What PyTorch's optimizers are told about how to compute; nothing here needs it.
_PASSED_OVER = ("foreach", "fused", "capturable", "differentiable")


def _settings_of(rule, defaults, args, kwargs):
    """The parameters and the settings of a call, all of them, in their order."""
    names = ("params", *defaults)
    if len(args) > len(names):
        raise TypeError(f"{rule}() takes at most {len(names)} arguments, got {len(args)}")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in given:
            raise TypeError(f"{rule}() is given its argument '{name}' twice")
        if name in names:
            given[name] = value
        elif name not in _PASSED_OVER:
            raise TypeError(f"{rule}() has no argument '{name}'; it has {', '.join(names)}")
    if "params" not in given:
        raise TypeError(f"{rule}() lacks its argument 'params'")
    parameters, settings = given.pop("params"), {**defaults, **given}
    for name, default in defaults.items():
        value = settings[name]
        if isinstance(default, tuple) and not (isinstance(value, (tuple, list)) and len(value) == 2):
            raise TypeError(f"{rule}() needs a pair of numbers for '{name}', not {type(value).__name__}")
    return parameters, settings


def _init_of(rule, defaults):
    """The constructor of a rule; `defaults` of an object has the settings, those that were given and those that were not."""

    def __init__(self, *args, maximize=False, **kwargs):
        params, self.defaults = _settings_of(rule, defaults, args, kwargs)
        self.defaults["maximize"] = bool(maximize)
        self._core = self._made(_plain(params), self.defaults)

    return __init__


def _signature_of(kind):
    rule = next((one for one in kind.__mro__ if "__init__" in vars(one)), kind)
    if "_rule_defaults" not in vars(rule):
        return None  # a class of the user's with a constructor of its own
    import inspect

    plain, by_name, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return inspect.Signature([
        inspect.Parameter("params", plain),
        *(inspect.Parameter(name, plain, default=default, annotation=type(default) if isinstance(default, (bool, float)) else empty)
          for name, default in rule._rule_defaults.items()),
        *(inspect.Parameter(name, by_name, default=default) for name, default in {"maximize": False, **dict.fromkeys(_PASSED_OVER)}.items())])


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
            return self._optimizer._core._group_decay(self._place)
        if name == "params":
            return self._optimizer._core._group_parameters(self._place)
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
        groups, settings = optimizer._groups_as_given(), dict(optimizer.defaults)
        if name == "weight_decay":
            groups[self._place][name] = float(value)
        else:
            settings[name] = value
        optimizer._remake(groups, settings)

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


def _rates(optimizer):
    """The rates under the names that they have in a state."""
    rates = {f"{name}.{i}": group[name] for i, group in enumerate(optimizer.param_groups)
             for name in ("lr", *_NOTES) if name in group}
    if optimizer._core._momentum_varies():
        rates.update({f"momentum.{i}": optimizer._momentum() for i in range(optimizer.groups)})
    return rates


def _is_rate(name):
    kind, _, place = name.partition(".")
    return kind in ("lr", "momentum", *_NOTES) and place.isdigit()


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
    here = optimizer._core._moments()
    for i, kept in of_parameter.items():
        for name, value in kept.items():
            if name == "averaged":
                moments[name] = _tensor_of(value)
            elif name == "step":
                steps |= {int(value)} - {0}  # a parameter that has had no gradient yet
            elif name == "mu_product" and f"{i}.log_mu_product" in here:  # NAdam's, one number for all elements
                moments[f"{i}.log_mu_product"] = _tenon.full_like(here[f"{i}.log_mu_product"], _native._log(float(value)))
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


class _OfLibrary(Optimizer):
    """An optimizer of C++. Its groups and most settings are fixed when it is made: where they change, another one with the same
    parameters and moments takes its place."""

    __signature__ = SignatureOf(_signature_of)

    def __init_subclass__(cls, rule=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if rule is not None:
            cls._rule, cls._rule_defaults, cls.__init__ = cls.__name__, rule, _init_of(cls.__name__, rule)

    def _made(self, groups, settings):
        made = _native._make(self._rule, groups, {name: value for name, value in settings.items() if name != "maximize"})
        made._maximize(settings["maximize"])
        return made

    @property
    def param_groups(self):
        return [_Group(self, i) for i in range(self.groups)]

    def step(self, closure=None, when=None, scaler=None):
        """Updates every parameter that has a gradient; with a closure, calls it first and returns its loss."""
        return self._core.step(closure, when, scaler)

    def zero_grad(self, set_to_none=True):
        if set_to_none:
            return self._core.zero_grad()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.zero_()

    def _momentum(self):
        return self._core._momentum()

    def _set_momentum(self, momentum):
        self._core._set_momentum(momentum)

    # ---- groups ----

    def _groups_as_given(self):
        return [{"params": group["params"], "lr": group["lr"], "weight_decay": group["weight_decay"]} for group in self.param_groups]

    def add_param_group(self, param_group):
        if not isinstance(param_group, dict):
            raise TypeError(f"a group of parameters is a dict, not {type(param_group).__name__}")
        self._remake([*self._groups_as_given(), *_plain([param_group])], self.defaults)

    def _remake(self, groups, settings):
        """Other groups or settings, and the moments that it has."""
        before = self._core._moments()
        if "averaged" in before or getattr(self, "_keeps_gradients", False):
            raise ValueError("an optimizer that keeps averages or gradients cannot change its groups or settings; make a new one")
        if self.__dict__.get("_has_schedule"):
            raise ValueError("an optimizer with a Scheduler or Plateau cannot change its groups or settings; make that after the change")
        made = self._made(groups, settings)
        made._load_moments({name: before.get(name, value) for name, value in made._moments().items()})
        if self._core._momentum_varies():
            made._set_momentum(self._momentum())
        self._core._give_way()
        self._core, self.defaults = made, dict(settings)

    def __deepcopy__(self, memo):
        """An optimizer of copies of the parameters; those of a model that is copied in the same call are the model's."""
        groups = [{**group, "params": [copy.deepcopy(one, memo) for one in group["params"]]} for group in self._groups_as_given()]
        made = memo[id(self)] = type(self).__new__(type(self))
        made._core, made.defaults = made._made(groups, self.defaults), dict(self.defaults)
        made.load_state_dict(self.flat_state_dict())
        return made

    # ---- states ----

    @property
    def state(self):
        """The moments and the step count of every parameter."""
        moments, state = self._core._moments(), collections.defaultdict(dict)
        step = moments.pop("step", None)
        parameters = [p for group in self.param_groups for p in group["params"]]
        for name, value in moments.items():
            place, _, kind = name.partition(".")
            if place.isdigit():
                state[parameters[int(place)]].setdefault("step", step)
                state[parameters[int(place)]][kind] = value
        return state

    def flat_state_dict(self):
        rates = {name: _tenon.tensor(rate, dtype=_tenon.float64, device="cpu") for name, rate in _rates(self).items()}
        return {**self._core._moments(), **rates}

    def state_dict(self):
        moments = self._core._moments()
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
        elif self.steps() == 0 and isinstance(self, SGD):
            state = {}  # PyTorch's momentum begins with the first gradient
        groups, place = [], 0
        for group in self.param_groups:
            count = len(group["params"])
            settings = {name: value for name, value in group.items() if name != "params"}
            groups.append({**dict.fromkeys(_PASSED_OVER), **settings, "params": list(range(place, place + count))})
            place += count
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state):
        if set(state) != {"state", "param_groups"}:
            rates = {name: float(state[name]) for name in state if _is_rate(name)}
            return self._load({name: state[name] for name in state if name not in rates}, rates)
        _groups_fit(state["param_groups"], self.param_groups)
        rule, decays = _other_settings(self, state["param_groups"])
        if not rule and not decays:
            return self._load(*_of_pytorch(self, state))
        groups, settings, moments = self._groups_as_given(), self.defaults, self._core._moments()
        others = [{**group, "weight_decay": decays.get(i, group["weight_decay"])} for i, group in enumerate(groups)]
        self._remake(others, {**settings, **rule})
        try:
            self._load(*_of_pytorch(self, state))
        except BaseException:
            self._remake(groups, settings)
            self._core._load_moments(moments)
            raise

    def _load(self, moments, rates):
        for name, rate in rates.items():
            if int(name.partition(".")[2]) >= self.groups:
                raise ValueError(f"[load_state_dict] the state has {name}, the optimizer has {self.groups} groups")
            if not rate >= 0:
                raise ValueError(f"[load_state_dict] {name} must not be negative, got {rate}")
            if name.startswith("momentum.") and (self._momentum() is None or rate >= 1):
                raise ValueError(f"[load_state_dict] {name} is {rate}, which is no momentum of this optimizer")
        self._core._load_moments(moments)
        for name, rate in rates.items():
            kind, _, place = name.partition(".")
            if kind == "momentum":
                self._set_momentum(rate)
            else:
                self.param_groups[int(place)][kind] = rate


class SGD(_OfLibrary, rule={"lr": 1e-3, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}):
    """Gradient descent, with momentum if wanted."""


class Adam(_OfLibrary, rule={"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False}):
    """Kingma and Ba, 2014."""


class AdamW(Adam, rule={"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "amsgrad": False}):
    """Adam with decoupled weight decay."""


class RMSprop(_OfLibrary, rule={"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False}):
    """Divides by a mean of squares."""


class Adagrad(_OfLibrary, rule={"lr": 1e-2, "lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "eps": 1e-10}):
    """Divides by all squares so far."""


class Lion(_OfLibrary, rule={"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0.0}):
    """Chen et al., 2023."""


class Adadelta(_OfLibrary, rule={"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0}):
    """Zeiler, 2012."""


class Adamax(_OfLibrary, rule={"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}):
    """Adam with the largest gradient in the place of the mean square; Kingma and Ba, 2014."""


class NAdam(_OfLibrary, rule={"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "momentum_decay": 4e-3,
                              "decoupled_weight_decay": False}):
    """Adam with Nesterov's momentum; Dozat, 2016."""


class RAdam(_OfLibrary, rule={"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "decoupled_weight_decay": False}):
    """Adam whose first steps are shortened; Liu et al., 2019."""


class Rprop(_OfLibrary, rule={"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50.0)}):
    """Steps that grow while a gradient keeps its sign and shrink when it turns, whatever its size; Riedmiller and Braun, 1993."""


# ---- schedules of C++, each on the optimizer that it was made with ----


def _core_for(schedule, optimizer):
    if isinstance(optimizer, Optimizer) and not isinstance(optimizer, _OfLibrary):
        raise TypeError(f"{schedule} takes the library's optimizers, not a {type(optimizer).__name__}; use one of lr_scheduler")
    if not isinstance(optimizer, _OfLibrary):
        return optimizer  # which the library refuses
    optimizer._has_schedule = True
    return optimizer._core


class Scheduler(_native.Scheduler):
    """Sets the rates of an optimizer: base rate times a factor of the step."""

    def __init__(self, optimizer, schedule):
        super().__init__(_core_for("Scheduler", optimizer), schedule)


class Plateau(_native.Plateau):
    """Lowers the rate when an observed loss stops falling."""

    def __init__(self, optimizer, factor: float = 0.1, patience: int = 10, threshold: float = 1e-4, cooldown: int = 0,
                 min_lr: float = 0.0, warmup: int = 0):
        super().__init__(_core_for("Plateau", optimizer), factor, patience, threshold, cooldown, min_lr, warmup)
