"""Optimizers, schedules and loss scaling.

>>> import tenon
>>> w = tenon.nn.Parameter(tenon.ones(2))
>>> optimizer = tenon.optim.SGD([w], lr=0.5)
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> w.detach()
tensor([0., 0.])
"""

from .. import _tenon

globals().update({name: value for name, value in vars(_tenon._optim).items() if not name.startswith("_")})
from . import lr_scheduler  # noqa: E402,F401


class _Group:
    """One group of parameters, as PyTorch's dict: its "lr" can be read and set."""

    def __init__(self, optimizer, place):
        self._optimizer, self._place = optimizer, place

    def __getitem__(self, name):
        if name != "lr":
            raise KeyError(f"a group shows its 'lr', not '{name}'")
        return self._optimizer.group_lr(self._place)

    def __setitem__(self, name, value):
        if name != "lr":
            raise KeyError(f"of a group the 'lr' can be set, not '{name}'")
        if self._optimizer.groups == 1:
            self._optimizer.lr = value
        else:
            self._optimizer.set_group_lr(self._place, value)

    def __contains__(self, name):
        return name == "lr"

    def keys(self):
        return ["lr"]


_tenon._optim.Optimizer.param_groups = property(lambda self: [_Group(self, i) for i in range(self.groups)])
