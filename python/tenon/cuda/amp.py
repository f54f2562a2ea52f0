"""PyTorch's older place for autocast and GradScaler, which name no device."""

from ..autograd import autocast as _autocast
from ..optim import GradScaler as GradScaler


class autocast(_autocast):
    """tenon.autocast("cuda"), whose dtype it has unless another is given."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=None):
        super().__init__("cuda", dtype=dtype, enabled=enabled)
