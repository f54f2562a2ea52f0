"""Layers that give values mean 0 and variance 1, over different dims."""

from .. import _tenon
from . import functional as F
from . import init
from .module import Module, as_parameter, check_sizes
from .rows import kinds_of, layers_of


def _check_eps(layer, eps):
    if not eps >= 0:
        raise _tenon.Error(f"[{type(layer).__name__}] eps cannot be negative, got {eps}")


class _Norm(Module):
    """What all share: a weight that begins as ones and a bias that begins as zeros, where there are such."""

    def _add_parameters(self, shape, weight, bias, device, dtype):
        self.weight = as_parameter(_tenon.ones(shape, device=device, dtype=dtype)) if weight else None
        self.bias = as_parameter(_tenon.zeros(shape, device=device, dtype=dtype)) if bias else None

    def reset_parameters(self):
        """The values that the layer began with."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class _OverTrailing(_Norm):
    """What norms over the trailing dims share."""

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    def _fill(self, normalized_shape, eps, elementwise_affine, device, dtype):
        if eps is not None:
            _check_eps(self, eps)
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = as_parameter(_tenon.ones(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_OverTrailing):
    """Mean 0 and variance 1 over the trailing dims, scaled and shifted."""

    def __init__(self, normalized_shape, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device=None, dtype=None):
        super().__init__()
        self._fill(normalized_shape, eps, elementwise_affine, device, dtype)
        has_bias = elementwise_affine and bias
        self.bias = as_parameter(_tenon.zeros(self.normalized_shape, device=device, dtype=dtype)) if has_bias else None

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_OverTrailing):
    """Mean square 1 over the trailing dims, scaled; an eps of None is that of the dtype of what a call is given."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine: bool = True, device=None, dtype=None):
        super().__init__()
        self._fill(normalized_shape, eps, elementwise_affine, device, dtype)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Norm):
    """Mean 0 and variance 1 over groups of channels."""

    __constants__ = ("num_groups", "num_channels", "eps", "affine")

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device=None, dtype=None):
        super().__init__()
        check_sizes(self, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise _tenon.Error(f"[GroupNorm] {num_channels} channels cannot be divided into {num_groups} groups")
        _check_eps(self, eps)
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_parameters(num_channels, affine, affine, device, dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _Channels(_Norm):
    """What norms of channels share: running statistics as buffers."""

    __constants__ = ("num_features", "eps", "momentum", "affine", "track_running_stats")

    def __init__(self, num_features: int, eps: float, momentum, affine: bool, track_running_stats: bool, device, dtype):
        super().__init__()
        check_sizes(self, num_features=num_features)
        _check_eps(self, eps)
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        self._add_parameters(num_features, affine, affine, device, dtype)
        kept = track_running_stats
        self.register_buffer("running_mean", _tenon.zeros(num_features, device=device, dtype=dtype) if kept else None)
        self.register_buffer("running_var", _tenon.ones(num_features, device=device, dtype=dtype) if kept else None)
        self.register_buffer("num_batches_tracked", _tenon.zeros((), device=device, dtype=_tenon.int64) if kept else None)

    def reset_running_stats(self):
        """The statistics before the first batch."""
        if self.running_mean is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """The values that the layer began with, statistics as well."""
        self.reset_running_stats()
        super().reset_parameters()

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class BatchNorm(_Channels):
    """What BatchNorm1d, BatchNorm2d and BatchNorm3d share."""

    _dims, _takes = (2, 3, 4, 5), "(batch, channels, ...)"

    def __init__(self, num_features: int, eps: float = 1e-5, momentum=0.1, affine: bool = True, track_running_stats: bool = True,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        if not isinstance(input, _tenon.Tensor):
            raise TypeError(f"{type(self).__name__}.forward() needs a tensor for 'input', not {type(input).__name__}")
        if input.ndim not in self._dims or input.shape[1] != self.num_features:
            raise _tenon.Error(f"[{type(self).__name__}] takes {self._takes} with {self.num_features} channels, got {tuple(input.shape)}")
        has_statistics, training = self.running_mean is not None, self.training
        if training and has_statistics and self.track_running_stats:
            return F._batch_norm_counted(input, self.running_mean, self.running_var, self.num_batches_tracked, self.weight, self.bias,
                                         self.momentum, self.eps)
        reads = has_statistics and not training
        return F.batch_norm(input, self.running_mean if reads else None, self.running_var if reads else None, self.weight, self.bias,
                            not reads, 0.0, self.eps)


globals().update(kinds_of(__name__, BatchNorm, {
    "BatchNorm1d": ("Mean 0 and variance 1 over all but the channels of (batch, channels) or (batch, channels, length).",
                    {"_dims": (2, 3), "_takes": "(batch, channels) or (batch, channels, length)"}),
    "BatchNorm2d": ("Mean 0 and variance 1 over all but the channels of pictures.",
                    {"_dims": (4,), "_takes": "(batch, channels, height, width)"}),
    "BatchNorm3d": ("Mean 0 and variance 1 over all but the channels of volumes.",
                    {"_dims": (5,), "_takes": "(batch, channels, depth, height, width)"})}))


class _InstanceNorm(_Channels):
    """Mean 0 and variance 1 over every channel of every sample."""

    _dims = 2

    def __init__(self, num_features: int, eps: float = 1e-5, momentum=0.1, affine: bool = False, track_running_stats: bool = False,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        if input.ndim not in (self._dims + 1, self._dims + 2) or input.shape[-self._dims - 1] != self.num_features:
            raise _tenon.Error(f"[{type(self).__name__}] {self.num_features} channels and {self._dims} dims behind them are needed, "
                               f"got {tuple(input.shape)}")
        batch = input if input.ndim == self._dims + 2 else input.unsqueeze(0)
        result = F.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or self.running_mean is None, self.momentum, self.eps)
        return result if batch is input else result[0]


globals().update(kinds_of(__name__, _InstanceNorm, {
    "InstanceNorm1d": ("Mean 0 and variance 1 over every channel of every sequence.", {"_dims": 1}),
    "InstanceNorm2d": ("Mean 0 and variance 1 over every channel of every image.", {})}))
globals().update(layers_of(__name__, """
LocalResponseNorm(size, alpha: float = 1e-4, beta: float = 0.75, k=1.0) = local_response_norm(input, size, alpha, beta, k) ; Divides by what neighbouring channels hold.
"""))
