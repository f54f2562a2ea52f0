"""Activations: layers around one function of single elements, or of a dim."""

from .. import _tenon, checks
from . import functional as F
from .module import Module, as_parameter, check_sizes


class _InPlace(Module):
    """What layers share that may write what they are given."""

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace):
    """max(x, 0)."""

    def forward(self, input):
        return F.relu(input, self.inplace)


class ReLU6(_InPlace):
    """min(max(x, 0), 6)."""

    def forward(self, input):
        return F.relu6(input, self.inplace)


class SELU(_InPlace):
    """ELU with numbers that keep means and variances."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x)."""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x))."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class Hardswish(_InPlace):
    """x * relu6(x + 3) / 6."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """Hyperbolic tangents."""

    def forward(self, input):
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input):
        return F.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x))."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input):
        return F.tanhshrink(input)


class LeakyReLU(Module):
    """x, or negative_slope * x below 0."""

    __constants__ = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(Module):
    """x, or alpha * (exp(x) - 1) below 0."""

    __constants__ = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(ELU):
    """x, or alpha * (exp(x / alpha) - 1) below 0."""

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class Hardtanh(Module):
    """x between min_val and max_val."""

    __constants__ = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(Module):
    """x above a threshold, else a value."""

    __constants__ = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value, inplace: bool = False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(Module):
    """x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits."""

    __constants__ = ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardshrink(Module):
    """x, or 0 between -lambd and lambd."""

    __constants__ = ("lambd",)

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(Hardshrink):
    """x moved by lambd towards 0, and 0 between -lambd and lambd."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta."""

    __constants__ = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class GELU(Module):
    """x times the probability that a normal number is below x."""

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise _tenon.Error(f"[GELU] approximate is 'none' or 'tanh', not {checks.shown(approximate)}")
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, self.approximate)


class PReLU(Module):
    """x, or weight * x below 0: one weight for all, or one for each channel."""

    __constants__ = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init=0.25, device=None, dtype=None):
        super().__init__()
        check_sizes(self, num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = as_parameter(_tenon.full((num_parameters,), init, dtype=dtype or _tenon.float32, device=device))

    def forward(self, input):
        return F.prelu(input, self.weight)


class _OfDim(Module):
    """What functions of a dim share."""

    __constants__ = ("dim",)

    def __init__(self, dim):
        super().__init__()
        self.dim = dim


class Softmax(_OfDim):
    """exp(x) / sum(exp(x)) along a dim."""

    def forward(self, input):
        return F.softmax(input, self.dim)


class LogSoftmax(_OfDim):
    """log(softmax(x)) along a dim."""

    def forward(self, input):
        return F.log_softmax(input, self.dim)


class Softmin(_OfDim):
    """softmax(-x) along a dim."""

    def forward(self, input):
        return F.softmin(input, self.dim)


class GLU(_OfDim):
    """The first half times the sigmoid of the second."""

    def __init__(self, dim=-1):
        super().__init__(dim)

    def forward(self, input):
        return F.glu(input, self.dim)
