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
from .grad_scaler import GradScaler  # noqa: E402,F401
from .optimizer import Optimizer  # noqa: E402,F401
from .optimizers import (  # noqa: E402,F401
    SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lion, NAdam, Plateau, RAdam, RMSprop, Rprop, Scheduler)
