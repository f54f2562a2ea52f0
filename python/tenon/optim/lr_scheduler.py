"""PyTorch's schedules: its classes, arguments and states around the formulas of tenon/optim/schedule.h.

Most go on from the rate that a group has now: several on one optimizer multiply, and a rate that is set by hand is gone on
from. Rates are numbers that captured steps read, so that nothing is recorded again when they change.

>>> import tenon
>>> from tenon.optim.lr_scheduler import StepLR
>>> optimizer = tenon.optim.SGD([tenon.nn.Parameter(tenon.ones(1))], lr=1.0)
>>> schedule = StepLR(optimizer, step_size=1, gamma=0.5)
>>> schedule.step()
>>> schedule.get_last_lr()
[0.5]
"""

import bisect
import collections
import math
import types

from .. import _tenon
from .. import checks as _checks
from .optimizer import Optimizer as _Optimizer

_rates_of = _tenon._optim  # the formulas


def _groups_of(optimizer):
    if not isinstance(optimizer, _Optimizer):
        raise TypeError(f"a schedule needs an optimizer, not {type(optimizer).__name__}")
    return optimizer.param_groups


def _per_group(name, value, optimizer):
    """One value for every group."""
    groups = _groups_of(optimizer)
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"{name} has {len(value)} values for {len(groups)} groups of parameters")
    return list(value)


def _cycle_momentum(schedule, optimizer, base, most, last_epoch):
    """Begins to move the momentum, or the first of betas, between two values; gives those of every group."""
    groups = _groups_of(optimizer)
    if optimizer._momentum() is None:
        raise ValueError(f"{schedule} with cycle_momentum needs an optimizer with momentum or betas; make "
                         f"{type(optimizer).__name__} with one, or set cycle_momentum=False")
    bounds = _per_group("base_momentum", base, optimizer), _per_group("max_momentum", most, optimizer)
    for name, values in zip(("base_momentum", "max_momentum"), bounds):
        if len(set(values)) > 1:
            raise ValueError(f"{name} is one for all groups, not {values}")
    if last_epoch == -1:
        for group, least, highest in zip(groups, *bounds):
            group.update(base_momentum=least, max_momentum=highest)
        optimizer._set_momentum(bounds[1][0])
    return bounds


class LRScheduler:
    """What all schedules have. One of your own has get_lr(), which gives the rates of the groups at last_epoch."""

    optimizer: object
    base_lrs: list
    last_epoch: int
    _is_initial = False
    _not_saved = ("optimizer",)

    def __init__(self, optimizer, last_epoch=-1):
        for i, group in enumerate(_groups_of(optimizer)):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param_groups[{i}] has no 'initial_lr', from which a schedule goes on at last_epoch="
                               f"{last_epoch}; load the optimizer's state first, or set it")
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._is_initial = True
        try:
            self.step()
        finally:
            del self._is_initial

    def get_lr(self):
        """The rates at last_epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def get_last_lr(self):
        """The rates that were set last, one of each group."""
        return self._last_lr

    def step(self, epoch=None):
        """After the updates of a step or an epoch: sets the rates of the next; or goes to an epoch."""
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        self._set_rates(self.get_lr() if epoch is None or closed is None else closed())

    def _set_rates(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates()

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """What it needs to go on; the rates themselves are part of the optimizer's state."""
        return {name: value for name, value in self.__dict__.items() if name not in self._not_saved}

    def load_state_dict(self, state_dict):
        """Goes on from a state. One that is {"last_epoch": n} alone sets the rates of that epoch, too."""
        self.__dict__.update(state_dict)
        if "_last_lr" not in state_dict and "last_epoch" in state_dict:
            self.step(state_dict["last_epoch"])


class _OfFormula(LRScheduler):
    """A schedule whose rates are those of a formula, which _course() gives for the settings of now."""

    def get_lr(self):
        return self._course().next(self.last_epoch, self._rates(), self.base_lrs, self._is_initial)

    def _get_closed_form_lr(self):
        return self._course().at(self.last_epoch, self.base_lrs)


class _OfFunctions(LRScheduler):
    """A schedule of functions: objects that can be called are saved with what they hold, functions are not."""

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = _per_group("lr_lambda", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda is a function of the epoch, not {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        held = [None if isinstance(function, types.FunctionType) else dict(vars(function))
                if hasattr(function, "__dict__") else None for function in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": held}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        for function, held in zip(self.lr_lambdas, state.pop("lr_lambdas", ())):
            if held is not None:
                function.__dict__.update(held)
        super().load_state_dict(state)


class LambdaLR(_OfFunctions):
    """The first rate times a function of the epoch; a list has a function for each group."""

    def get_lr(self):
        return _rates_of._times(self.base_lrs, [function(self.last_epoch) for function in self.lr_lambdas])


class MultiplicativeLR(_OfFunctions):
    """Times a function of the epoch, every step."""

    def get_lr(self):
        if self._is_initial:
            return self._rates()
        return _rates_of._times(self._rates(), [function(self.last_epoch) for function in self.lr_lambdas])


class StepLR(_OfFormula):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.StepLR(self.step_size, self.gamma)


class MultiStepLR(_OfFormula):
    """Times gamma at each of the steps given."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = collections.Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.MultiStepLR(list(collections.Counter(self.milestones).elements()), self.gamma)


class ConstantLR(_OfFormula):
    """A factor for the first steps, then 1."""

    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        if not 0 < factor <= 1:
            raise ValueError(f"the factor of ConstantLR lies above 0 and is at most 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.ConstantLR(self.factor, self.total_iters)


class LinearLR(_OfFormula):
    """Evenly from one factor to another."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError(f"start_factor lies above 0 and is at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"end_factor lies between 0 and 1, got {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.LinearLR(self.start_factor, self.end_factor, self.total_iters)


class ExponentialLR(_OfFormula):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.ExponentialLR(self.gamma)


class PolynomialLR(_OfFormula):
    """Falls to 0 as a power of the steps that are left."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.PolynomialLR(self.total_iters, self.power)


class CosineAnnealingLR(_OfFormula):
    """A cosine from the rate to eta_min at step T_max, and back, and so on."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _course(self):
        return _rates_of.CosineAnnealingLR(self.T_max, self.eta_min)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines one after the other, each T_mult times as long as the one before."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 < 1:
            raise ValueError(f"T_0 is a whole number of at least 1, got {_checks.shown(T_0)}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"T_mult is a whole number of at least 1, got {_checks.shown(T_mult)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [_rates_of._half_cosine(base, self.eta_min, self.T_cur, self.T_i) for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on by one, or to an epoch, which may lie between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur, self.T_i = _rates_of._next_restart(self.T_cur, self.T_i, self.T_mult)
        elif epoch < 0:
            raise ValueError(f"an epoch is not negative, got {epoch}")
        else:
            self.T_cur, self.T_i = _rates_of._restart_at(epoch, self.T_0, self.T_mult)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr())


class OneCycleLR(LRScheduler):
    """Rises to max_lr over the first pct_start of all steps, then falls far below; the momentum does the opposite."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps < 1:
            raise ValueError(f"OneCycleLR needs at least one step, got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start lies between 0 and 1, got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy is 'cos' or 'linear', not '{anneal_strategy}'")
        self.total_steps, self._cycle = total_steps, (total_steps, pct_start, bool(three_phase), anneal_strategy)
        highest = _per_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, highest):
                first, last = _rates_of._one_cycle_ends(most, div_factor, final_div_factor)
                group.update(initial_lr=first, max_lr=most, min_lr=last)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _cycle_momentum("OneCycleLR", optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR was made for {self.total_steps} steps, this is step {self.last_epoch}")
        groups = self.optimizer.param_groups

        def now(group, first, top, last):
            return _rates_of._one_cycle(*self._cycle, self.last_epoch, group[first], group[top], group[last])

        if self.cycle_momentum:
            self.optimizer._set_momentum(now(groups[0], "max_momentum", "base_momentum", "max_momentum"))
        return [now(group, "initial_lr", "max_lr", "min_lr") for group in groups]


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr and down again, over and over; the momentum does the opposite."""

    _not_saved = ("optimizer", "_scale_fn")

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1):
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"mode is 'triangular', 'triangular2' or 'exp_range', not {_checks.shown(mode)}")
        base_lrs, self.max_lrs = (_per_group(name, value, optimizer) for name, value in
                                  (("base_lr", base_lr), ("max_lr", max_lr)))
        if last_epoch == -1:
            for group, base in zip(optimizer.param_groups, base_lrs):
                group["lr"] = base
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = _cycle_momentum("CyclicLR", optimizer, base_momentum, max_momentum,
                                                                      last_epoch)
        self.total_size, self.step_ratio = _rates_of._cycle_sizes(step_size_up, step_size_down)
        self.mode, self.gamma, self._scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """How high the cycle, or step, x rises."""
        if self._scale_fn is not None:
            return self._scale_fn(x)
        return _rates_of._cycle_height(self.mode, self.gamma, x)

    def get_lr(self):
        cycle, share = _rates_of._cycle_at(self.last_epoch, self.total_size, self.step_ratio)
        height = self.scale_fn(int(cycle) if self.scale_mode == "cycle" else self.last_epoch)

        def now(base, most):
            return _rates_of._cyclic(base, most, share, height)

        if self.cycle_momentum:
            self.optimizer._set_momentum(now(self.max_momentums[0], self.base_momentums[0]))
        return [now(base, most) for base, most in zip(self.base_lrs, self.max_lrs)]


def _check_parts(name, optimizer, schedulers):
    for i, one in enumerate(schedulers):
        if not isinstance(one, LRScheduler) or isinstance(one, ReduceLROnPlateau):
            raise TypeError(f"{name} cannot hold {type(one).__name__} (at {i}); it takes schedules whose step() needs nothing")
        if one.optimizer is not optimizer:
            raise ValueError(f"the schedules of {name} belong to one optimizer, that at {i} to another")


class _OfSchedules(LRScheduler):
    _not_saved = ("optimizer", "_schedulers")

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        parts = state.pop("_schedulers")
        if len(parts) != len(self._schedulers):
            raise ValueError(f"[load_state_dict] the state is of {len(parts)} schedules, not of {len(self._schedulers)}")
        self.__dict__.update(state)
        for one, part in zip(self._schedulers, parts):
            one.load_state_dict(part)


class SequentialLR(_OfSchedules):
    """One schedule after the other; each begins at its milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) != len(milestones) + 1:
            raise ValueError(f"SequentialLR takes a milestone between every two schedules: {len(schedulers)} of them and "
                             f"{len(milestones)} milestones do not fit")
        _check_parts("SequentialLR", optimizer, schedulers)
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.base_lrs = list(self._schedulers[0].base_lrs)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # every schedule has set the rates of its beginning
            group["lr"] = group["initial_lr"]
        _undo(self)
        first = self._schedulers[bisect.bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self):
        """Sets the rates of the next step."""
        self.last_epoch += 1
        place = bisect.bisect_right(self._milestones, self.last_epoch)
        current = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            current._update_lr(0)
        else:
            current.step()
        self._last_lr = current.get_last_lr()


def _undo(schedule):
    """Takes back the step that a schedule made when it was made."""
    if isinstance(schedule, _OfSchedules):
        for one in schedule._schedulers:
            _undo(one)
    else:
        schedule.last_epoch -= 1


class ChainedScheduler(_OfSchedules):
    """Several schedules at once: their factors multiply."""

    def __init__(self, schedulers, optimizer=None):
        if not schedulers:
            raise ValueError("ChainedScheduler needs at least one schedule")
        optimizer = getattr(schedulers[0], "optimizer", None) if optimizer is None else optimizer
        _check_parts("ChainedScheduler", optimizer, schedulers)
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self.base_lrs, self.last_epoch = list(schedulers[0].base_lrs), schedulers[0].last_epoch
        self._last_lr = self._rates()

    def step(self):
        """A step of each."""
        for one in self._schedulers:
            one.step()
        self.last_epoch = self._schedulers[0].last_epoch
        self._last_lr = self._rates()


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rates when what step() is told gets no better."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0.0, eps=1e-8):
        if factor >= 1:
            raise ValueError(f"the factor is below 1, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode is 'min' or 'max', not {_checks.shown(mode)}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode is 'rel' or 'abs', not '{threshold_mode}'")
        self.min_lrs = _per_group("min_lr", min_lr, optimizer)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.last_epoch, self.cooldown_counter, self.num_bad_epochs = 0, 0, 0
        self.best = math.inf if mode == "min" else -math.inf
        self._last_lr = self._rates()
        self.base_lrs = list(self._last_lr)

    @property
    def in_cooldown(self):
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Takes a loss, or another measure, of the epoch that has ended."""
        now = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.best, self.num_bad_epochs, self.cooldown_counter, falls = _rates_of._observe(
            self.best, self.num_bad_epochs, self.cooldown_counter, now, self.patience, self.threshold, self.cooldown,
            self.mode == "max", self.threshold_mode == "abs")
        if falls:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                group["lr"] = _rates_of._lowered(group["lr"], self.factor, least, self.eps)
        self._last_lr = self._rates()

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)
