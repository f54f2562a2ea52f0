"""Optimizers of your own: classes that derive from Optimizer and have a step(), as in PyTorch.

>>> import tenon
>>> class Descent(tenon.optim.Optimizer):
...     def __init__(self, params, lr=0.1):
...         super().__init__(params, {"lr": lr})
...     @tenon.no_grad()
...     def step(self, closure=None):
...         for group in self.param_groups:
...             for p in group["params"]:
...                 if p.grad is not None:
...                     p.add_(p.grad, alpha=-group["lr"])
>>> w = tenon.nn.Parameter(tenon.ones(2))
>>> optimizer = Descent([w], lr=0.5)
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> w.detach()
tensor([0., 0.])

Groups are dicts with whatever the class puts there, `state` has a dict for every parameter. The library's own
optimizers have their groups and states elsewhere: see optimizers.py.
"""

import collections
import copy
import functools

from .. import _tenon
from .optimizers import Optimizer, _plain, _tensor_of

_make = Optimizer.__init__


class OptimizerOfYourOwn:
    """Stands where the library's functions look for an optimizer that does the work: they refuse it by this name."""


def _is_own(optimizer):
    return "_own_groups" in optimizer.__dict__


def _init(self, params, defaults):
    """The parameters, or groups of them, and the settings of groups that do not say otherwise."""
    if type(self) is Optimizer:
        raise TypeError("Optimizer is what optimizers derive from; make one of them")
    _make(self)
    groups = _plain(params)
    if isinstance(groups, _tenon.Tensor):
        raise TypeError("an optimizer takes a list of parameters, not one tensor")
    if not groups:
        raise ValueError("an optimizer needs at least one parameter")
    self.__dict__.update(_own_groups=[], _instead=OptimizerOfYourOwn(), defaults=dict(defaults),
                         _own_state=collections.defaultdict(dict))
    for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
        self.add_param_group(group)


def _add_param_group(self, param_group):
    if not isinstance(param_group, dict) or "params" not in param_group:
        raise TypeError("a group of parameters is a dict with 'params'")
    group = {**param_group, "params": _plain(param_group["params"])}
    group["params"] = [group["params"]] if isinstance(group["params"], _tenon.Tensor) else group["params"]
    known = {id(p) for one in self._own_groups for p in one["params"]}
    for parameter in group["params"]:
        if not isinstance(parameter, _tenon.Tensor):
            raise TypeError(f"an optimizer takes tensors, not {type(parameter).__name__}")
        if not parameter.is_leaf:
            raise ValueError("a parameter is the result of an op; only leaves can be optimized")
        if id(parameter) in known:
            raise ValueError("a parameter is in two groups")
        known.add(id(parameter))
    self._own_groups.append({**group, **{name: value for name, value in self.defaults.items() if name not in group}})


def _zero_grad(self, set_to_none=True):
    for group in self._own_groups:
        for parameter in group["params"]:
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = _tenon.zeros_like(parameter.grad)


def _step(self, closure=None):
    raise NotImplementedError(f"{type(self).__name__} has no step()")


def _places(self):
    """The numbers that parameters have in states."""
    return {id(p): i for i, p in enumerate(p for group in self._own_groups for p in group["params"])}


def _state_dict(self):
    places = _places(self)
    groups = [{**group, "params": [places[id(p)] for p in group["params"]]} for group in self._own_groups]
    state = {places.get(id(key), key) if isinstance(key, _tenon.Tensor) else key: kept for key, kept in self.state.items()}
    return {"state": state, "param_groups": groups}


def _load_state_dict(self, state):
    if set(state) != {"state", "param_groups"}:
        raise ValueError("[load_state_dict] a state has 'state' and 'param_groups'")
    groups = state["param_groups"]
    counts, own = ([len(group["params"]) for group in some] for some in (groups, self._own_groups))
    if counts != own:
        raise ValueError(f"[load_state_dict] the state has other groups of parameters than the optimizer: {counts} and {own}")
    parameters = dict(zip((i for group in groups for i in group["params"]), (p for group in self._own_groups for p in group["params"])))
    made = collections.defaultdict(dict)
    for key, kept in state["state"].items():
        made[parameters.get(key, key)] = {name: _loaded(value, parameters.get(key)) for name, value in kept.items()}
    for group, loaded in zip(self._own_groups, groups):
        group.update({name: copy.deepcopy(value) for name, value in loaded.items() if name != "params"})
    self.state = made


def _loaded(value, parameter):
    is_array = isinstance(value, _tenon.Tensor) or hasattr(value, "__dlpack__")
    if not is_array:
        return copy.deepcopy(value)
    tensor = _tensor_of(value).detach()
    if parameter is not None and tensor.ndim and tensor.is_floating_point():
        tensor = tensor.to(device=parameter.device, dtype=parameter.dtype)
    return tensor.clone()


def _deepcopy(self, memo):
    made = memo[id(self)] = type(self).__new__(type(self))
    groups = [{**copy.deepcopy({name: value for name, value in group.items() if name != "params"}, memo),
               "params": [copy.deepcopy(p, memo) for p in group["params"]]} for group in self._own_groups]
    Optimizer.__init__(made, groups, copy.deepcopy(self.defaults, memo))
    made.load_state_dict(self.state_dict())
    for name, value in self.__dict__.items():
        if name not in ("_own_groups", "_own_state", "_instead", "defaults"):
            made.__dict__[name] = copy.deepcopy(value, memo)
    return made


def _momentum(self):
    """What schedules move: the momentum, or the first of betas."""
    group = self._own_groups[0]
    return group["betas"][0] if "betas" in group else group.get("momentum")


def _set_momentum(self, momentum):
    for group in self._own_groups:
        group.update({"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum})


def _momentum_varies(self):
    return False


def _or_own(name, own):
    """The method of the library's optimizers, or of those that are made in Python."""
    others = getattr(Optimizer, name)

    @functools.wraps(others)
    def call(self, *args, **kwargs):
        return (own if "_own_groups" in self.__dict__ else others)(self, *args, **kwargs)

    setattr(Optimizer, name, call)


for _name, _own in {"add_param_group": _add_param_group, "zero_grad": _zero_grad, "step": _step, "state_dict": _state_dict,
                    "load_state_dict": _load_state_dict, "__deepcopy__": _deepcopy, "_momentum": _momentum,
                    "_set_momentum": _set_momentum, "_momentum_varies": _momentum_varies}.items():
    _or_own(_name, _own)

def _state(self):
    """The moments and the step count of every parameter."""
    if _is_own(self):
        return self.__dict__["_own_state"]
    moments, state = self._moments(), collections.defaultdict(dict)
    step = moments.pop("step", None)
    parameters = [p for group in self.param_groups for p in group["params"]]
    for name, value in moments.items():
        place, _, kind = name.partition(".")
        if place.isdigit():
            state[parameters[int(place)]].setdefault("step", step)
            state[parameters[int(place)]][kind] = value
    return state


def _set_state(self, state):
    if not _is_own(self):
        raise AttributeError("the state of the library's optimizers is set by load_state_dict()")
    self.__dict__["_own_state"] = state


def _repr(self):
    lines = [f"{type(self).__name__} ("]
    for i, group in enumerate(self.param_groups):
        lines += [f"Parameter Group {i}", *(f"    {name}: {group[name]}" for name in sorted(group) if name != "params")]
    return "\n".join([*lines, ")"])


Optimizer.state, Optimizer.__repr__ = property(_state, _set_state, doc=_state.__doc__), _repr
_groups = Optimizer.param_groups.fget
Optimizer.param_groups = property(lambda self: self.__dict__["_own_groups"] if _is_own(self) else _groups(self),
                                  lambda self, groups: self.__dict__.update(_own_groups=list(groups)) if _is_own(self) else _fixed())
Optimizer.__init__ = _init


def _fixed():
    raise AttributeError("param_groups of the library's optimizers cannot be replaced; set what is in them")
