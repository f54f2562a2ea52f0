"""Activations, padding and the like: layers around one function of nn.functional, with PyTorch's names and arguments."""

import inspect

from . import functional as F
from . import init
from .module import Module, Parameter, Sequential  # noqa: F401
from .. import _tenon
from .. import signatures

_NO_DEFAULT = inspect.Parameter.empty


def _layer(name, function, doc, **defaults):
    """A class whose arguments are its attributes, which forward() reads in every call."""
    names = list(defaults)
    needed = [key for key, default in defaults.items() if default is _NEEDED]

    def init(self, *args, **kwargs):
        Module.__init__(self)
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments, not {len(args)}")
        given = {**dict(zip(names, args)), **kwargs}
        for key in given:
            if key not in defaults:
                raise TypeError(f"{name}() has no argument '{key}'")
        for key in needed:
            if key not in given:
                raise TypeError(f"{name}() lacks its argument '{key}'")
        for key, default in defaults.items():
            object.__setattr__(self, key, given.get(key, default))

    init.__signature__ = signatures.of([("self", _NO_DEFAULT), *((key, _NO_DEFAULT if default is _NEEDED else default)
                                                                 for key, default in defaults.items())])

    def forward(self, input):
        return function(input, **{key: getattr(self, key) for key in names})

    def extra_repr(self):
        return ", ".join(f"{key}={getattr(self, key)}" for key in names if key != "inplace" or self.inplace)

    return type(name, (Module,), {"__doc__": doc, "__module__": "tenon.nn", "__init__": init, "forward": forward,
                                  "extra_repr": extra_repr})


_NEEDED = object()

ReLU6 = _layer("ReLU6", F.relu6, "min(max(x, 0), 6).", inplace=False)
SELU = _layer("SELU", F.selu, "ELU with numbers that keep means and variances.", inplace=False)
CELU = _layer("CELU", F.celu, "x, or alpha * (exp(x / alpha) - 1) below 0.", alpha=1.0, inplace=False)
GLU = _layer("GLU", F.glu, "The first half times the sigmoid of the second.", dim=-1)
Hardtanh = _layer("Hardtanh", F.hardtanh, "x between min_val and max_val.", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _layer("Hardsigmoid", F.hardsigmoid, "relu6(x + 3) / 6.", inplace=False)
LogSigmoid = _layer("LogSigmoid", F.logsigmoid, "log(sigmoid(x)).")
Softsign = _layer("Softsign", F.softsign, "x / (1 + |x|).")
Softmin = _layer("Softmin", F.softmin, "softmax(-x) along a dim.", dim=_NEEDED)
Tanhshrink = _layer("Tanhshrink", F.tanhshrink, "x - tanh(x).")
Threshold = _layer("Threshold", F.threshold, "x above a threshold, else a value.", threshold=_NEEDED, value=_NEEDED, inplace=False)
Hardshrink = _layer("Hardshrink", F.hardshrink, "x, or 0 between -lambd and lambd.", lambd=0.5)
Softshrink = _layer("Softshrink", F.softshrink, "x moved by lambd towards 0, and 0 between -lambd and lambd.", lambd=0.5)
PixelShuffle = _layer("PixelShuffle", F.pixel_shuffle, "Channels become pixels.", upscale_factor=_NEEDED)
PixelUnshuffle = _layer("PixelUnshuffle", F.pixel_unshuffle, "Pixels become channels.", downscale_factor=_NEEDED)
Unfold = _layer("Unfold", F.unfold, "All windows of an image as columns.", kernel_size=_NEEDED, dilation=1, padding=0, stride=1)
Fold = _layer("Fold", F.fold, "Sums columns of windows into an image.", output_size=_NEEDED, kernel_size=_NEEDED, dilation=1, padding=0, stride=1)
LocalResponseNorm = _layer("LocalResponseNorm", F.local_response_norm, "Divides by what neighbouring channels hold.",
                           size=_NEEDED, alpha=1e-4, beta=0.75, k=1.0)


class RReLU(Module):
    """x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits."""

    def __init__(self, lower=1 / 8, upper=1 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}"


class _Padding(Module):
    """Elements before and after the last dims: one size for all sides, or one for each."""

    _sides, _mode = 4, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * self._sides if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != self._sides:
            raise ValueError(f"{type(self).__name__} needs one size or {self._sides}, not {len(self.padding)}")

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return str(self.padding)


class ZeroPad2d(_Padding):
    """Zeros around images."""


class ZeroPad1d(_Padding):
    """Zeros before and after."""

    _sides = 2


class ConstantPad1d(_Padding):
    """A number before and after."""

    _sides = 2

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad2d(ConstantPad1d):
    """A number around images."""

    _sides = 4


class ReflectionPad1d(_Padding):
    """What lies inside, mirrored."""

    _sides, _mode = 2, "reflect"


class ReflectionPad2d(_Padding):
    """What lies inside, mirrored."""

    _mode = "reflect"


class ReplicationPad1d(_Padding):
    """The outermost elements again."""

    _sides, _mode = 2, "replicate"


class ReplicationPad2d(_Padding):
    """The outermost elements again."""

    _mode = "replicate"


class CircularPad1d(_Padding):
    """The elements of the other side."""

    _sides, _mode = 2, "circular"


class CircularPad2d(_Padding):
    """The elements of the other side."""

    _mode = "circular"


class CosineSimilarity(Module):
    """The cosine of the angle between two along a dim."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)

    def extra_repr(self):
        return f"dim={self.dim}, eps={self.eps}"


class PairwiseDistance(Module):
    """The p-norm of a difference along the last dim."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class _InstanceNorm(Module):
    """Mean 0 and variance 1 over every channel of every sample."""

    _dims = 2

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        self.weight = Parameter(_tenon.ones(num_features, device=device, dtype=dtype)) if affine else None
        self.bias = Parameter(_tenon.zeros(num_features, device=device, dtype=dtype)) if affine else None
        if track_running_stats:
            self.register_buffer("running_mean", _tenon.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", _tenon.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", _tenon.zeros((), dtype=_tenon.int64, device=device))
        else:
            self.running_mean = self.running_var = None

    def forward(self, input):
        if input.ndim not in (self._dims + 1, self._dims + 2) or input.shape[-self._dims - 1] != self.num_features:
            raise _tenon.Error(f"[{type(self).__name__}] {self.num_features} channels and {self._dims} dims behind them are needed, "
                               f"got {tuple(input.shape)}")
        batch = input if input.ndim == self._dims + 2 else input.unsqueeze(0)
        result = F.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or self.running_mean is None, self.momentum, self.eps)
        return result if batch is input else result[0]

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 over every channel of every sequence."""

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 over every channel of every image."""


class Transformer(Module):
    """An encoder and a decoder, each with a norm behind its layers; Vaswani et al., 2017."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        settings = {"dim_feedforward": dim_feedforward, "dropout": dropout, "activation": activation,
                    "layer_norm_eps": layer_norm_eps, "batch_first": batch_first, "norm_first": norm_first, "bias": bias,
                    "final_norm": True, "device": device, "dtype": dtype}
        self.encoder = custom_encoder or _tenon._nn.TransformerEncoder(num_encoder_layers, d_model, nhead, **settings)
        self.decoder = custom_decoder or _tenon._nn.TransformerDecoder(num_decoder_layers, d_model, nhead, **settings)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask, bool(src_is_causal) and src_mask is None)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            bool(tgt_is_causal) and tgt_mask is None, memory_is_causal and memory_mask is None)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """0 where a token may look, -inf at those behind it."""
        hidden = _tenon.full((sz, sz), float("-inf"), dtype=dtype or _tenon.float32, device=device)
        return hidden.triu(1)
