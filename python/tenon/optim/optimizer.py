"""What optimizers derive from: those of the library, and classes of your own that have a step(), as in PyTorch.

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

Groups are dicts with whatever the class puts there, `state` has a dict for every parameter. The library's own optimizers hold
an object of C++ that has both: see optimizers.py.
"""

import collections
import copy
import functools

from .. import _tenon

_Core = _tenon._optim.Optimizer


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


def _tensor_of(value):
    if isinstance(value, _tenon.Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        value = value.detach() if hasattr(value, "detach") else value
        return _tenon.from_dlpack(value.cpu() if hasattr(value, "cpu") else value)
    return _tenon.tensor(value)


def _groups_fit(groups, own):
    counts, own = ([len(group["params"]) for group in some] for some in (groups, own))
    if counts != own:
        raise ValueError(f"[load_state_dict] the state has other groups of parameters than the optimizer: {counts} and {own}")


def _loaded(value, parameter):
    if not isinstance(value, _tenon.Tensor) and not hasattr(value, "__dlpack__"):
        return copy.deepcopy(value)
    tensor = _tensor_of(value).detach()
    if parameter is not None and tensor.ndim and tensor.is_floating_point():
        tensor = tensor.to(device=parameter.device, dtype=parameter.dtype)
    return tensor.clone()


def _of_core(name):
    """A method of the library's optimizers."""
    method = getattr(_Core, name)

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if self._core is None:
            raise TypeError(f"{name}() is one of the library's optimizers, not of {type(self).__name__}")
        return method(self._core, *args, **kwargs)

    return call


class Optimizer:
    """What all optimizers have."""

    param_groups: list
    state: dict
    defaults: dict
    _core = None  # the optimizer of C++

    def __init__(self, params, defaults):
        if type(self) is Optimizer:
            raise TypeError("Optimizer is what optimizers derive from; make one of them")
        groups = _plain(params)
        if isinstance(groups, _tenon.Tensor):
            raise TypeError("an optimizer takes a list of parameters, not one tensor")
        if not groups:
            raise ValueError("an optimizer needs at least one parameter")
        self.param_groups, self.defaults, self.state = [], dict(defaults), collections.defaultdict(dict)
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def step(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def add_param_group(self, param_group):
        """One more group of parameters, {"params": ..., "lr": ..., "weight_decay": ...}, which counts its steps with the others."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError("a group of parameters is a dict with 'params'")
        group = {**param_group, "params": _plain(param_group["params"])}
        group["params"] = [group["params"]] if isinstance(group["params"], _tenon.Tensor) else group["params"]
        known = {id(p) for one in self.param_groups for p in one["params"]}
        for parameter in group["params"]:
            if not isinstance(parameter, _tenon.Tensor):
                raise TypeError(f"an optimizer takes tensors, not {type(parameter).__name__}")
            if not parameter.is_leaf:
                raise ValueError("a parameter is the result of an op; only leaves can be optimized")
            if id(parameter) in known:
                raise ValueError("a parameter is in two groups")
            known.add(id(parameter))
        self.param_groups.append({**group, **{name: value for name, value in self.defaults.items() if name not in group}})

    def zero_grad(self, set_to_none=True):
        """Lets go of all gradients, or with set_to_none=False makes them zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None:
                    parameter.grad = None
                else:
                    parameter.grad = _tenon.zeros_like(parameter.grad)

    def state_dict(self):
        """PyTorch's form, which PyTorch loads: "state" has the moments of every parameter, "param_groups" the settings."""
        places = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = [{**group, "params": [places[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {places.get(id(key), key) if isinstance(key, _tenon.Tensor) else key: kept for key, kept in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state):
        """Copies a state back: of state_dict() or flat_state_dict(), or one of PyTorch's. Rates that it lacks stay. A call that
        fails has changed nothing."""
        if set(state) != {"state", "param_groups"}:
            raise ValueError("[load_state_dict] a state has 'state' and 'param_groups'")
        groups = state["param_groups"]
        _groups_fit(groups, self.param_groups)
        keys = (i for group in groups for i in group["params"])
        parameters = dict(zip(keys, (p for group in self.param_groups for p in group["params"])))
        made = collections.defaultdict(dict)
        for key, kept in state["state"].items():
            made[parameters.get(key, key)] = {name: _loaded(value, parameters.get(key)) for name, value in kept.items()}
        for group, loaded in zip(self.param_groups, groups):
            group.update({name: copy.deepcopy(value) for name, value in loaded.items() if name != "params"})
        self.state = made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        groups = [{**copy.deepcopy({name: value for name, value in group.items() if name != "params"}, memo),
                   "params": [copy.deepcopy(p, memo) for p in group["params"]]} for group in self.param_groups]
        Optimizer.__init__(made, groups, copy.deepcopy(self.defaults, memo))
        made.load_state_dict(self.state_dict())
        for name, value in self.__dict__.items():
            if name not in ("param_groups", "state", "defaults"):
                made.__dict__[name] = copy.deepcopy(value, memo)
        return made

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *(f"    {name}: {group[name]}" for name in sorted(group) if name != "params")]
        return "\n".join([*lines, ")"])

    # ---- what schedules move: the momentum, or the first of betas ----

    def _momentum(self):
        group = self.param_groups[0]
        return group["betas"][0] if "betas" in group else group.get("momentum")

    def _set_momentum(self, momentum):
        for group in self.param_groups:
            group.update({"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum})

    # ---- of the library's optimizers ----

    clip_grad_norm, accumulate, gather = _of_core("clip_grad_norm"), _of_core("accumulate"), _of_core("gather")
    keep_shadow, keep_average, swap_average = _of_core("keep_shadow"), _of_core("keep_average"), _of_core("swap_average")
    steps, group_lr, set_group_lr = _of_core("steps"), _of_core("group_lr"), _of_core("set_group_lr")

    def flat_state_dict(self):
        """The step count, the moments of every parameter ("0.exp_avg", ...) and the rates ("lr.0", ...), all tensors: for
        .safetensors and for the C++ library."""
        raise TypeError(f"flat_state_dict() is one of the library's optimizers, not of {type(self).__name__}")

    def keep_gradients(self) -> "None":
        """Keeps gradients between calls, to collect them."""
        _of_core("keep_gradients")(self)
        self._keeps_gradients = True

    @property
    def lr(self):
        """The learning rate; set, it is that of all groups that had it."""
        return self._core.lr

    @lr.setter
    def lr(self, rate):
        self._core.lr = rate

    @property
    def groups(self):
        """How many groups of parameters there are."""
        return self._core.groups
