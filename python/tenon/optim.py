"""Optimizers, schedules and loss scaling.

>>> import tenon
>>> w = tenon.nn.Parameter(tenon.ones(2))
>>> optimizer = tenon.optim.SGD([w], lr=0.5)
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> w.detach()
tensor([0., 0.])
"""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._optim).items() if not name.startswith("_")})


class lr_scheduler:
    """PyTorch's names for schedules."""

    @staticmethod
    def LambdaLR(optimizer, lr_lambda):
        return _tenon._optim.Scheduler(optimizer, lr_lambda)

    @staticmethod
    def StepLR(optimizer, step_size, gamma=0.1):
        return _tenon._optim.Scheduler(optimizer, _tenon._optim.stepwise(step_size, gamma))

    @staticmethod
    def ExponentialLR(optimizer, gamma):
        return _tenon._optim.Scheduler(optimizer, _tenon._optim.exponential(gamma))

    @staticmethod
    def CosineAnnealingLR(optimizer, T_max, eta_min=0.0):
        return _tenon._optim.Scheduler(optimizer, _tenon._optim.cosine(T_max, last=eta_min / optimizer.lr))

    @staticmethod
    def OneCycleLR(optimizer, total_steps, pct_start=0.3, div_factor=25.0, final_div_factor=1e4):
        return _tenon._optim.Scheduler(
            optimizer, _tenon._optim.one_cycle(total_steps, pct_start, div_factor, final_div_factor))

    ReduceLROnPlateau = _tenon._optim.Plateau


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


_tenon._optim.Optimizer.param_groups = property(lambda self: [_Group(self, i) for i in range(self.groups)])
