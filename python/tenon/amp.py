"""PyTorch's place for products in lower types and for loss scaling."""

from .autograd import autocast  # noqa: F401
from .optim import GradScaler  # noqa: F401
