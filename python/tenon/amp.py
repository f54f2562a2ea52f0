"""PyTorch's place for products in lower types and for loss scaling."""

from .autograd import autocast as autocast
from .optim import GradScaler as GradScaler
