"""Attributes of layers of C++ that can be set: d.p = 0.1 of a Dropout, the eps of a norm, the stride of a convolution.

A layer of C++ keeps what it was made with. One that is set gets a forward() of its own, which reads the attributes in
every call; the others are called as before and cost nothing. What cannot be set is refused.
"""

import functools
import weakref

from .. import _tenon
from . import functional as F
from . import hooks

# Names that come behind the others in PyTorch, where the layers of C++ have no argument for them.
INPLACE = {"ReLU": 0, "LeakyReLU": 1, "ELU": 1, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Dropout": 1}


def _batch_norm(self, x):
    has_statistics = self.running_mean is not None
    if self.training and self.track_running_stats and has_statistics:
        return _tenon._nn.functional._batch_norm_counted(x, self.running_mean, self.running_var, self.num_batches_tracked,
                                                         self.weight, self.bias, self.momentum, self.eps)
    reads = has_statistics and not self.training
    return F.batch_norm(x, self.running_mean if reads else None, self.running_var if reads else None, self.weight, self.bias,
                        self.training or not has_statistics, 0.0, self.eps)


def _buffer(self, name):
    """Of a loss: the tensor that it holds now, which to() may have moved."""
    return dict(self.named_buffers()).get(name)


_NORM = (("eps",), lambda self, x: F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps))
_CONVOLUTION = ("stride", "padding", "dilation", "padding_mode")
_TRANSPOSED = ("stride", "padding", "output_padding", "dilation")
_MAX_POOL = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
_MEAN_POOL = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")


# What stands around images: only zeros are the library's own.
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _convolution(function):
    def compute(self, x):
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            x, padding = F.pad(x, _sides_of(self), self.padding_mode), 0
        return function(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    return _CONVOLUTION, compute


def _sides_of(self):
    """How much a convolution adds before and after each dim, the last one first."""
    def per_dim(value):
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims

    dims = self.weight.ndim - 2
    if self.padding == "same":
        totals = [step * (size - 1) for step, size in zip(per_dim(self.dilation), self.weight.shape[2:])]
        sides = [(total // 2, total - total // 2) for total in totals]
    else:
        sides = [(size, size) for size in per_dim(self.padding)]
    return [size for pair in reversed(sides) for size in pair]


def _transposed(function):
    return _TRANSPOSED, lambda self, x: function(x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
                                                 self.groups, self.dilation)


def _max_pool(function):
    return _MAX_POOL, lambda self, x: function(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


def _mean_pool(function):
    return _MEAN_POOL, lambda self, x: function(x, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                                                self.count_include_pad)


def _plain_loss(function, *names):
    return ("reduction", *names), lambda self, x, target: function(
        x, target, reduction=self.reduction, **{name: getattr(self, name) for name in names})


def _pair_loss(function):
    return ("margin", "reduction"), lambda self, a, b, target: function(a, b, target, self.margin, self.reduction)


# What can be set of a kind of layer, and what it computes then.
_BY_NAME = {
    "ReLU": ((), lambda self, x: x.relu()),
    "LeakyReLU": (("negative_slope",), lambda self, x: _tenon.leaky_relu(x, self.negative_slope)),
    "ELU": (("alpha",), lambda self, x: _tenon.elu(x, self.alpha)),
    "SiLU": ((), lambda self, x: _tenon.silu(x)),
    "Mish": ((), lambda self, x: _tenon.mish(x)),
    "Hardswish": ((), lambda self, x: _tenon.hardswish(x)),
    "Softplus": (("beta", "threshold"), lambda self, x: _tenon.softplus(x, self.beta, self.threshold)),
    "GELU": (("approximate",), lambda self, x: _tenon.gelu(x, self.approximate)),
    "Softmax": (("dim",), lambda self, x: _tenon.softmax(x, self.dim)),
    "Flatten": (("start_dim", "end_dim"), lambda self, x: x.flatten(self.start_dim, self.end_dim)),
    "Dropout": (("p",), lambda self, x: F.dropout(x, self.p, self.training)),
    "BatchNorm1d": (("eps", "momentum", "track_running_stats"), _batch_norm),
    "BatchNorm2d": (("eps", "momentum", "track_running_stats"), _batch_norm),
    "BatchNorm3d": (("eps", "momentum", "track_running_stats"), _batch_norm),
    "LayerNorm": _NORM,
    "RMSNorm": (("eps",), lambda self, x: F.rms_norm(x, self.normalized_shape, self.weight, self.eps)),
    "GroupNorm": (("eps",), lambda self, x: F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)),
    "Conv1d": _convolution(F.conv1d),
    "Conv2d": _convolution(F.conv2d),
    "Conv3d": _convolution(F.conv3d),
    "ConvTranspose1d": _transposed(F.conv_transpose1d),
    "ConvTranspose2d": _transposed(F.conv_transpose2d),
    "ConvTranspose3d": _transposed(F.conv_transpose3d),
    "MaxPool1d": _max_pool(F.max_pool1d),
    "MaxPool2d": _max_pool(F.max_pool2d),
    "MaxPool3d": _max_pool(F.max_pool3d),
    "AvgPool1d": _mean_pool(F.avg_pool1d),
    "AvgPool2d": _mean_pool(F.avg_pool2d),
    "AvgPool3d": _mean_pool(F.avg_pool3d),
    "AdaptiveAvgPool1d": (("output_size",), lambda self, x: F.adaptive_avg_pool1d(x, self.output_size)),
    "AdaptiveAvgPool2d": (("output_size",), lambda self, x: F.adaptive_avg_pool2d(x, self.output_size)),
    "Upsample": (("size", "scale_factor", "mode", "align_corners"), lambda self, x: F.interpolate(
        x, self.size, self.scale_factor, self.mode, self.align_corners)),
    "MSELoss": _plain_loss(F.mse_loss),
    "L1Loss": _plain_loss(F.l1_loss),
    "SoftMarginLoss": _plain_loss(F.soft_margin_loss),
    "HuberLoss": _plain_loss(F.huber_loss, "delta"),
    "SmoothL1Loss": _plain_loss(F.smooth_l1_loss, "beta"),
    "HingeEmbeddingLoss": _plain_loss(F.hinge_embedding_loss, "margin"),
    "CosineEmbeddingLoss": _pair_loss(F.cosine_embedding_loss),
    "MarginRankingLoss": _pair_loss(F.margin_ranking_loss),
    "CrossEntropyLoss": (("ignore_index", "reduction", "label_smoothing"), lambda self, x, target: F.cross_entropy(
        x, target, _buffer(self, "weight"), ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing)),
    "NLLLoss": (("ignore_index", "reduction"), lambda self, x, target: F.nll_loss(
        x, target, _buffer(self, "weight"), ignore_index=self.ignore_index, reduction=self.reduction)),
    "BCELoss": (("reduction",), lambda self, x, target: F.binary_cross_entropy(
        x, target, _buffer(self, "weight"), reduction=self.reduction)),
    "BCEWithLogitsLoss": (("reduction",), lambda self, x, target: F.binary_cross_entropy_with_logits(
        x, target, _buffer(self, "weight"), reduction=self.reduction, pos_weight=_buffer(self, "pos_weight"))),
    "MultiMarginLoss": (("p", "margin", "reduction"), lambda self, x, target: F.multi_margin_loss(
        x, target, self.p, self.margin, _buffer(self, "weight"), reduction=self.reduction)),
    "TripletMarginLoss": (("margin", "p", "eps", "swap", "reduction"), lambda self, a, b, c: F.triplet_margin_loss(
        a, b, c, self.margin, self.p, self.eps, self.swap, reduction=self.reduction)),
}


def check_padding_mode(kind, mode):
    if mode not in PADDING_MODES:
        raise ValueError(f"{kind.__name__} has no padding_mode {mode!r}; there are {', '.join(map(repr, PADDING_MODES))}")


_HOLD_TENSORS = ("BatchNorm", "LayerNorm", "RMSNorm", "GroupNorm", "Conv")


class Forward:
    """The forward() of a layer whose attributes were set."""

    def __init__(self, layer, compute):
        self._layer, self._compute = weakref.ref(layer), compute

    def __call__(self, *args, **kwargs):
        layer = self._layer()
        given = kwargs.pop("input", None)  # the name that layers have for what they take
        args = args if given is None else (given, *args)
        result = self._compute(layer, *args, **kwargs)
        if not getattr(layer, "inplace", False) or result is args[0]:
            return result
        args[0].copy_(result)
        return args[0]


def _looks_for_settings(kind):
    """From now on a subclass's super().forward() reads what is set, too."""
    native = kind.forward

    @functools.wraps(native)
    def forward(self, *args, **kwargs):
        own = self.__dict__.get("_set_forward")
        return native(self, *args, **kwargs) if own is None else own(*args, **kwargs)

    forward.looks_for_settings = True
    kind.forward = forward


def reads_attributes(layer, kind):
    """From now on calls read what is set."""
    if _has_own_forward(layer, kind):
        if not hasattr(kind.forward, "looks_for_settings"):
            _looks_for_settings(kind)
        layer.__dict__["_set_forward"] = Forward(layer, _BY_NAME[kind.__name__][1])
    elif "forward" not in layer.__dict__:
        layer.__dict__["forward"] = Forward(layer, _BY_NAME[kind.__name__][1])
        hooks.look(type(layer))


_MARK = "_settings"
_marks = []


def tell_captured_functions(layer):
    """They notice that a module has another tensor: every change gives the layer another buffer, which nobody sees."""
    if not _marks:  # by turns: one that has gone might come again at the same address
        _marks.extend(_tenon.zeros((), device="cpu") for _ in range(61))
    _marks.append(_marks.pop(0))
    layer._set_buffer(_MARK, _marks[0], False)


def without_marks(named):
    """Names and buffers, less those that tell of changes."""
    return [(name, one) for name, one in named if name.rpartition(".")[2] != _MARK]


def is_other_setting(layer, name, value):
    """Whether one of the library's own layers is given another number, size or name."""
    return (name in layer.__dict__ and not name.startswith("_") and type(layer).__module__.startswith("tenon.")
            and not _is_same(layer.__dict__[name], value))


def _has_own_forward(layer, kind):
    return any("forward" in vars(base) for base in type(layer).__mro__[:type(layer).__mro__.index(kind)])


def _is_same(now, value):
    if now is value:
        return True
    if isinstance(now, _tenon.Tensor) or isinstance(value, _tenon.Tensor):
        return False
    return type(now) in (type(value), int, float) and now == value


def set_attribute(self, kind, order, name, value):
    """Sets an argument of a layer, or refuses it."""
    made_with = self.__dict__.get("_made_with")
    if made_with is not None and name in self.__dict__ and _is_same(self.__dict__[name], value):
        return None
    names, _ = _BY_NAME.get(kind.__name__, ((), None))
    if _has_own_forward(self, kind) and (made_with is None or name not in names):
        return object.__setattr__(self, name, value)  # the class computes something of its own
    if kind.__name__ in INPLACE:
        names = (*names, "inplace")
    if made_with is None or name not in names:
        where = " that is inside of another" if made_with is None else ""
        what = f"; {' and '.join(names)} can be set" if names and made_with is not None else ""
        raise AttributeError(f"'{name}' of this {kind.__name__}{where} is fixed when it is made{what}; make a new one")
    if name == "padding_mode":
        check_padding_mode(kind, value)
    layer, args, kwargs = made_with
    if kwargs.get("generator") is not None:
        raise AttributeError(f"'{name}' of this {kind.__name__} with a generator of its own is fixed when it is made; make a new one")
    if name == "kernel_size" and "stride" not in order[:len(args)]:
        kwargs = {**kwargs, "stride": self.stride}  # that of the first windows, as in PyTorch
    if name in order[:len(args)]:
        args = tuple(value if at == name else arg for at, arg in zip(order, args))
    else:
        kwargs = {**kwargs, name: value}
    if not kind.__name__.startswith(_HOLD_TENSORS):
        try:
            layer(*args, **kwargs)  # refuses what it does not know
        except _tenon.Error:
            if not _has_own_forward(self, kind):
                raise
            return object.__setattr__(self, name, value)  # a class with a forward() of its own may mean something else
    if name != "track_running_stats":  # a copy would be made without the statistics that this one has
        self.__dict__["_made_with"] = (layer, args, kwargs)
    self.__dict__[name] = value
    tell_captured_functions(self)
    return reads_attributes(self, kind)
