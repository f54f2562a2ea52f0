"""What optimizers have in Python beyond those of C++: groups as dicts, whole states, and errors without tensors."""

import ast
import collections.abc
import functools

from .. import _tenon

Optimizer = _tenon._optim.Optimizer

# What schedules remember of a group.
_NOTES = ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum")


class _Group(collections.abc.MutableMapping):
    """One group of parameters, as PyTorch's dict: "params", "lr", "weight_decay" and "momentum" or "betas", where the rule
    has them, and what schedules remember. "lr", "momentum" and the first of "betas" can be set; the momentum is one for all
    groups."""

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
        raise KeyError(f"a group has {', '.join(map(repr, self))}, not '{name}'")

    def _momentum_name(self):
        if self._optimizer._momentum() is None:
            return None
        return "betas" if "betas" in getattr(self._optimizer, "defaults", {}) else "momentum"

    def __setitem__(self, name, value):
        if name == "lr":
            self._optimizer.set_group_lr(self._place, float(value))
        elif name == "momentum" and self._momentum_name() == name:
            self._optimizer._set_momentum(float(value))
        elif name == "betas" and self._momentum_name() == name:
            first, second = value
            if second != self["betas"][1]:
                raise ValueError(f"the second of betas is fixed when the optimizer is made, {self['betas'][1]}, not {second}")
            self._optimizer._set_momentum(float(first))
        elif name in _NOTES:
            self._notes[name] = float(value)
        else:
            raise KeyError(f"of a group the 'lr' and the momentum can be set, not '{name}'")

    def __delitem__(self, name):
        if name not in self._notes:
            raise KeyError(f"'{name}' of a group cannot be deleted")
        del self._notes[name]

    def __iter__(self):
        momentum = self._momentum_name()
        return iter(("params", "lr", "weight_decay", *([momentum] if momentum else []), *self._notes))

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


def state_dict(self):
    """The step count, the moments of every parameter ("0.exp_avg", ...) and the rates ("lr.0", ...), all tensors."""
    rates = {name: _tenon.tensor(rate, dtype=_tenon.float64, device="cpu") for name, rate in _rates(self).items()}
    return {**self._moments(), **rates}


def load_state_dict(self, state):
    """Copies a state back, also one of PyTorch's. Rates that it lacks stay. A call that fails has changed nothing."""
    if set(state) == {"state", "param_groups"}:
        moments, rates = _of_pytorch(self, state)
    else:
        rates = {name: float(state[name]) for name in state if _is_rate(name)}
        moments = {name: state[name] for name in state if name not in rates}
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


Optimizer.state_dict, Optimizer.load_state_dict = state_dict, load_state_dict


def _tensor_of(value):
    if isinstance(value, _tenon.Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        value = value.detach() if hasattr(value, "detach") else value
        return _tenon.from_dlpack(value.cpu() if hasattr(value, "cpu") else value)
    return _tenon.tensor(value)


def _of_pytorch(optimizer, state):
    """Moments and rates of a state dict of PyTorch's."""
    groups, own = state["param_groups"], optimizer.param_groups
    if [len(group["params"]) for group in groups] != [len(group["params"]) for group in own]:
        raise ValueError("[load_state_dict] the state has other groups of parameters than the optimizer: "
                         f"{[len(group['params']) for group in groups]} and {[len(group['params']) for group in own]}")
    _check_settings(optimizer, groups)
    rates = {f"{name}.{i}": float(group[name]) for i, group in enumerate(groups) for name in ("lr", *_NOTES)
             if name in group}
    rates.update({f"momentum.{i}": float(group["betas"][0] if "betas" in group else group["momentum"])
                  for i, group in enumerate(groups) if _has_moved_momentum(group)})
    if len({rate for name, rate in rates.items() if name.startswith("momentum.")}) > 1:
        raise ValueError("[load_state_dict] the groups of the state have different momentum; here it is one for all")
    of_parameter = {i: state["state"].get(key, {}) for i, key in
                    enumerate(key for group in groups for key in group["params"])}
    moments, steps, counts = {}, set(), any("step" in kept for kept in of_parameter.values())
    for i, kept in of_parameter.items():
        for name, value in kept.items():
            if name == "step":
                steps |= {int(value)} - {0}  # a parameter that has had no gradient yet
            elif value is not None:
                moments[f"{i}.{name}"] = _tensor_of(value)
    if len(steps) > 1:
        raise ValueError(f"[load_state_dict] parameters of the state have made different numbers of steps: "
                         f"{sorted(steps)}; an optimizer here counts them for all together")
    counted = steps.pop() if steps else int(bool(moments) and not counts)  # PyTorch's SGD does not count
    for name, value in optimizer._moments().items():
        if name == "step":
            moments[name] = _tenon.tensor(counted, dtype=value.dtype)
        elif name != "averaged" and not name.endswith(".average") and name not in moments:
            moments[name] = _tenon.zeros_like(value)
    return moments, rates


def _has_moved_momentum(group):
    return "max_momentum" in group and ("betas" in group or "momentum" in group)


def _check_settings(optimizer, groups):
    """PyTorch takes settings over with a state; here they are fixed when the optimizer is made."""
    for i, group in enumerate(groups):
        expected = {**getattr(optimizer, "defaults", {}), "maximize": False,
                    "weight_decay": optimizer.param_groups[i]["weight_decay"]}
        for name, value in group.items():
            if name in ("params", "lr") or name not in expected:
                continue
            ours = expected[name]
            if name == "momentum" and _has_moved_momentum(group):
                continue
            if name == "betas" and _has_moved_momentum(group):
                value, ours = value[1], ours[1]
            value, ours = (tuple(x) if isinstance(x, (list, tuple)) else x for x in (value, ours))
            if value != ours:
                raise ValueError(f"[load_state_dict] the state was made with {name}={value}, the optimizer with "
                                 f"{name}={ours}; make it with the same")


def _with_defaults(kind):
    """`defaults` has the settings, those that were given and those that were not."""
    make = kind.__init__
    written = make.__doc__.split("\n", 1)[0]
    arguments = ast.parse(f"def {written}: pass").body[0].args
    names = [argument.arg for argument in arguments.args][1:]
    defaults = dict(zip(names[1:], map(ast.literal_eval, arguments.defaults)))

    @functools.wraps(make)
    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        self.defaults = {**defaults, **dict(zip(names[1:], args[1:])), **kwargs}
        self.defaults.pop("params", None)

    kind.__init__ = init


for _kind in list(vars(_tenon._optim).values()):
    if isinstance(_kind, type) and issubclass(_kind, Optimizer) and _kind is not Optimizer:
        _with_defaults(_kind)
