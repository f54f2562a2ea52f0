# Written by scripts/make_python_stubs.py; do not edit.

from ..autograd import autocast as autocast
from ..optim import GradScaler as GradScaler
