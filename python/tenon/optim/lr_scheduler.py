"""PyTorch's names for schedules: each is a Scheduler of a function from the step to a factor of the base rate.

>>> import tenon
>>> from tenon.optim.lr_scheduler import StepLR
>>> optimizer = tenon.optim.SGD([tenon.nn.Parameter(tenon.ones(1))], lr=1.0)
>>> schedule = StepLR(optimizer, step_size=1, gamma=0.5)
>>> schedule.step()
>>> schedule.get_last_lr()
[0.5]
"""

import bisect
import math

from .. import _tenon


def _scheduler(optimizer, schedule, last_epoch=-1):
    made = _tenon._optim.Scheduler(optimizer, schedule)
    if last_epoch > 0:
        made.set(last_epoch)
    return made


def _half_cosine(start, end, share):
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def LambdaLR(optimizer, lr_lambda, last_epoch=-1):
    """A function of the step."""
    return _scheduler(optimizer, lr_lambda, last_epoch)


def StepLR(optimizer, step_size, gamma=0.1, last_epoch=-1):
    """Times gamma every step_size steps."""
    return _scheduler(optimizer, _tenon._optim.stepwise(step_size, gamma), last_epoch)


def MultiStepLR(optimizer, milestones, gamma=0.1, last_epoch=-1):
    """Times gamma at each of the steps given."""
    steps = sorted(milestones)
    return _scheduler(optimizer, lambda step: gamma ** bisect.bisect_right(steps, step), last_epoch)


def ConstantLR(optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
    """A factor for the first steps, then 1."""
    return _scheduler(optimizer, lambda step: factor if step < total_iters else 1.0, last_epoch)


def LinearLR(optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
    """Evenly from one factor to another."""
    return _scheduler(optimizer, lambda step: start_factor + (end_factor - start_factor) * min(step / total_iters, 1.0),
                      last_epoch)


def PolynomialLR(optimizer, total_iters=5, power=1.0, last_epoch=-1):
    """Falls to 0 as a power of the steps that are left."""
    return _scheduler(optimizer, lambda step: (1 - min(step / total_iters, 1.0)) ** power, last_epoch)


def ExponentialLR(optimizer, gamma, last_epoch=-1):
    """Times gamma every step."""
    return _scheduler(optimizer, _tenon._optim.exponential(gamma), last_epoch)


def CosineAnnealingLR(optimizer, T_max, eta_min=0.0, last_epoch=-1):
    """Half a cosine from the rate to eta_min at step T_max."""
    return _scheduler(optimizer, _tenon._optim.cosine(T_max, last=eta_min / optimizer.lr), last_epoch)


def CosineAnnealingWarmRestarts(optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
    """Half cosines one after the other, each T_mult times as long as the one before."""
    least = eta_min / optimizer.lr

    def factor(step):
        length = T_0
        while step >= length:
            step -= length
            length *= T_mult
        return _half_cosine(1.0, least, step / length)

    return _scheduler(optimizer, factor, last_epoch)


def OneCycleLR(optimizer, max_lr=None, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
               div_factor=25.0, final_div_factor=1e4, last_epoch=-1):
    """Rises to max_lr over the first pct_start of all steps, then falls far below, both as half cosines."""
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        total_steps = epochs * steps_per_epoch
    if max_lr is not None:
        optimizer.lr = max_lr
    rise, last = pct_start * total_steps - 1, total_steps - 1
    first, end = 1 / div_factor, 1 / (div_factor * final_div_factor)

    def factor(step):
        if step <= rise:
            return _half_cosine(first, 1.0, step / rise if rise > 0 else 1.0)
        return _half_cosine(1.0, end, min((step - rise) / (last - rise), 1.0) if last > rise else 1.0)

    return _scheduler(optimizer, factor, last_epoch)


def ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                      min_lr=0.0, eps=1e-8):
    """Lowers the rate when the loss that step() is told stops falling."""
    if mode != "min" or threshold_mode != "rel":
        raise ValueError("ReduceLROnPlateau looks at a loss that falls: mode='min' and threshold_mode='rel'")
    return _tenon._optim.Plateau(optimizer, factor, patience, threshold, cooldown, min_lr)
