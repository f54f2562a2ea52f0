"""Optimizers, schedules and loss scaling.

>>> import tenon
>>> w = tenon.nn.Parameter(tenon.ones(2))
>>> optimizer = tenon.optim.SGD([w], lr=0.5)
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> w.detach()
tensor([0., 0.])
"""

import collections.abc

from .. import _tenon

globals().update({name: value for name, value in vars(_tenon._optim).items() if not name.startswith("_")})
from . import lr_scheduler  # noqa: E402,F401


class _Group(collections.abc.Mapping):
    """One group of parameters, as PyTorch's dict: "params", "lr" and "weight_decay", of which "lr" can be set."""

    def __init__(self, optimizer, place):
        self._optimizer, self._place = optimizer, place

    def __getitem__(self, name):
        if name == "lr":
            return self._optimizer.group_lr(self._place)
        if name == "weight_decay":
            return self._optimizer._group_decay(self._place)
        if name == "params":
            return self._optimizer._group_parameters(self._place)
        raise KeyError(f"a group has 'params', 'lr' and 'weight_decay', not '{name}'")

    def __setitem__(self, name, value):
        if name != "lr":
            raise KeyError(f"of a group the 'lr' can be set, not '{name}'")
        if self._optimizer.groups == 1:
            self._optimizer.lr = value
        else:
            self._optimizer.set_group_lr(self._place, value)

    def __iter__(self):
        return iter(("params", "lr", "weight_decay"))

    def __len__(self):
        return 3

    def __repr__(self):
        return f"{{'params': {len(self['params'])} tensors, 'lr': {self['lr']}, 'weight_decay': {self['weight_decay']}}}"


_tenon._optim.Optimizer.param_groups = property(lambda self: [_Group(self, i) for i in range(self.groups)])
