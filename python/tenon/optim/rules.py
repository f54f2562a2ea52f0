"""Optimizers whose rules are written in Python, of ops: NAdam, RAdam, Adamax, Adadelta and Rprop, with PyTorch's formulas.

Everything around the rule is the library's: parameters in one stretch of memory, captured steps, scalers, states.
"""

import functools
import math

from .. import _tenon
from .optimizers import _PASSED_OVER, _plain


class _Ruled(_tenon._optim._Rule):
    """An optimizer with a rule of Python's."""

    _names = ("exp_avg", "exp_avg_sq")

    def __init__(self, params, lr, weight_decay, settings, others):
        unknown = [name for name in others if name not in (*_PASSED_OVER, "maximize")]
        if unknown:
            raise TypeError(f"{type(self).__name__}() has no argument '{unknown[0]}'")
        for name, value in {"lr": lr, "weight_decay": weight_decay, "eps": settings.get("eps", 0)}.items():
            if not value >= 0:
                raise ValueError(f"[{type(self).__name__.lower()}] {name} must not be negative, got {value}")
        for beta in (*settings.get("betas", ()), settings.get("rho", 0)):
            if not 0 <= beta < 1:
                raise ValueError(f"[{type(self).__name__.lower()}] betas and rho lie in 0..1, got {beta}")
        rule = functools.partial(type(self)._rule, **settings)
        super().__init__(_plain(params), lr, weight_decay, list(self._names), rule)
        self._maximizes = bool(others.get("maximize", False))
        self.defaults = {"lr": lr, "weight_decay": weight_decay, **settings, "maximize": self._maximizes}


def _decayed(weights, gradient, lr, weight_decay, is_decoupled=False):
    if is_decoupled:
        return weights * (1 - lr * weight_decay), gradient
    return weights, gradient + weight_decay * weights


def _means(moments, gradient, betas):
    first, second = moments[:2]
    return first + (gradient - first) * (1 - betas[0]), second * betas[1] + gradient * gradient * (1 - betas[1])


def _correction(beta, step):
    """1 - beta ** step, without losing digits."""
    return -(step * math.log(beta)).expm1() if beta else _tenon.ones_like(step)


class Adadelta(_Ruled):
    """Zeiler, 2012."""

    _names = ("square_avg", "acc_delta")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, **others):
        super().__init__(params, lr, weight_decay, {"rho": rho, "eps": eps}, others)

    @staticmethod
    def _rule(weights, gradient, step, lr, weight_decay, moments, rho, eps):
        _, gradient = _decayed(weights, gradient, lr, weight_decay)
        squares = moments[0] * rho + gradient * gradient * (1 - rho)
        move = (moments[1] + eps).sqrt() / (squares + eps).sqrt() * gradient
        return weights - lr * move, [squares, moments[1] * rho + move * move * (1 - rho)]


class Adamax(_Ruled):
    """Adam with the largest gradient in the place of the mean square; Kingma and Ba, 2014."""

    _names = ("exp_avg", "exp_inf")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **others):
        super().__init__(params, lr, weight_decay, {"betas": tuple(betas), "eps": eps}, others)

    @staticmethod
    def _rule(weights, gradient, step, lr, weight_decay, moments, betas, eps):
        _, gradient = _decayed(weights, gradient, lr, weight_decay)
        mean = moments[0] + (gradient - moments[0]) * (1 - betas[0])
        largest = _tenon.maximum(moments[1] * betas[1], gradient.abs() + eps)
        return weights - lr / _correction(betas[0], step) * (mean / largest), [mean, largest]


class NAdam(_Ruled):
    """Adam with Nesterov's momentum; Dozat, 2016."""

    _names = ("exp_avg", "exp_avg_sq", "log_mu_product")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, **others):
        super().__init__(params, lr, weight_decay, {"betas": tuple(betas), "eps": eps, "momentum_decay": momentum_decay,
                                                    "decoupled_weight_decay": decoupled_weight_decay}, others)

    @staticmethod
    def _rule(weights, gradient, step, lr, weight_decay, moments, betas, eps, momentum_decay, decoupled_weight_decay):
        weights, gradient = _decayed(weights, gradient, lr, weight_decay, decoupled_weight_decay)
        mean, squares = _means(moments, gradient, betas)
        log_decay = momentum_decay * math.log(0.96)
        now, following = (betas[0] * (1 - 0.5 * ((step + i) * log_decay).exp()) for i in (0, 1))
        log_product = moments[2] + now.log()
        divisor = (squares / _correction(betas[1], step)).sqrt() + eps
        weights = weights - lr * (1 - now) / -log_product.expm1() * (gradient / divisor)
        weights = weights - lr * following / -(log_product + following.log()).expm1() * (mean / divisor)
        return weights, [mean, squares, log_product]


class RAdam(_Ruled):
    """Adam whose first steps are shortened; Liu et al., 2019."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False, **others):
        super().__init__(params, lr, weight_decay, {"betas": tuple(betas), "eps": eps,
                                                    "decoupled_weight_decay": decoupled_weight_decay}, others)

    @staticmethod
    def _rule(weights, gradient, step, lr, weight_decay, moments, betas, eps, decoupled_weight_decay):
        weights, gradient = _decayed(weights, gradient, lr, weight_decay, decoupled_weight_decay)
        mean, squares = _means(moments, gradient, betas)
        # 1999 - 1998 in the first step: float32 has too few digits where there are more
        wide = step.to(_tenon.float64) if step.device.type in ("cpu", "cuda") else step
        most = 2 / (1 - betas[1]) - 1
        correction = _correction(betas[1], wide)
        length = most - 2 * wide * (1 - correction) / correction
        shortened = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)).clamp_min(0).sqrt() * correction.sqrt()
        move = mean / _correction(betas[0], step)
        factor = _tenon.where((length > 5), shortened.to(weights.dtype) / (squares.sqrt() + eps), _tenon.ones_like(weights))
        return weights - lr * move * factor, [mean, squares]


class Rprop(_Ruled):
    """Steps that grow while a gradient keeps its sign and shrink when it turns, whatever its size; Riedmiller and Braun, 1993."""

    _names = ("prev", "step_size")

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), **others):
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"[rprop] etas lie below and above 1, got {tuple(etas)}")
        others.pop("weight_decay", None)  # which settings of all optimizers have
        super().__init__(params, lr, 0.0, {"etas": tuple(etas), "step_sizes": tuple(step_sizes)}, others)

    @staticmethod
    def _rule(weights, gradient, step, lr, weight_decay, moments, etas, step_sizes):
        before, size = moments[0], _tenon.where(step == 1, lr + 0 * moments[1], moments[1])
        turned = (gradient * before).sign()
        factor = _tenon.where(turned > 0, etas[1], _tenon.where(turned < 0, etas[0], _tenon.ones_like(gradient)))
        size = (size * factor).clamp(step_sizes[0], step_sizes[1])
        gradient = _tenon.where(turned < 0, 0.0, gradient)
        return weights - gradient.sign() * size, [gradient, size]
