"""Activations: layers around one function of single elements, or of a dim."""

from .. import _tenon, checks
from . import functional as F
from .module import Module, as_parameter, check_sizes
from .rows import layers_of

globals().update(layers_of(__name__, """
ReLU(inplace: bool = False) = relu(input, inplace) ; max(x, 0).
ReLU6(inplace: bool = False) = relu6(input, inplace) ; min(max(x, 0), 6).
SELU(inplace: bool = False) = selu(input, inplace) ; ELU with numbers that keep means and variances.
SiLU(inplace: bool = False) = silu(input, inplace) ; x * sigmoid(x).
Mish(inplace: bool = False) = mish(input, inplace) ; x * tanh(softplus(x)).
Hardswish(inplace: bool = False) = hardswish(input, inplace) ; x * relu6(x + 3) / 6.
Hardsigmoid(inplace: bool = False) = hardsigmoid(input, inplace) ; relu6(x + 3) / 6.
Tanh() = tanh(input) ; Hyperbolic tangents.
Sigmoid() = sigmoid(input) ; 1 / (1 + exp(-x)).
LogSigmoid() = logsigmoid(input) ; log(sigmoid(x)).
Softsign() = softsign(input) ; x / (1 + |x|).
Tanhshrink() = tanhshrink(input) ; x - tanh(x).
LeakyReLU(negative_slope: float = 0.01, inplace: bool = False) = leaky_relu(input, negative_slope, inplace) ; x, or negative_slope * x below 0.
ELU(alpha: float = 1.0, inplace: bool = False) = elu(input, alpha, inplace) ; x, or alpha * (exp(x) - 1) below 0.
CELU(alpha: float = 1.0, inplace: bool = False) = celu(input, alpha, inplace) ; x, or alpha * (exp(x / alpha) - 1) below 0.
Hardtanh(min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) = hardtanh(input, min_val, max_val, inplace) ; x between min_val and max_val.
Threshold(threshold: float, value, inplace: bool = False) = threshold(input, threshold, value, inplace) ; x above a threshold, else a value.
RReLU(lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) = rrelu(input, lower, upper, training, inplace) ; x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits.
Hardshrink(lambd: float = 0.5) = hardshrink(input, lambd) ; x, or 0 between -lambd and lambd.
Softshrink(lambd: float = 0.5) = softshrink(input, lambd) ; x moved by lambd towards 0, and 0 between -lambd and lambd.
Softplus(beta: float = 1.0, threshold: float = 20.0) = softplus(input, beta, threshold) ; log(1 + exp(beta * x)) / beta.
Softmax(dim=None) = softmax(input, dim) ; exp(x) / sum(exp(x)) along a dim.
LogSoftmax(dim=None) = log_softmax(input, dim) ; log(softmax(x)) along a dim.
Softmin(dim=None) = softmin(input, dim) ; softmax(-x) along a dim.
GLU(dim=-1) = glu(input, dim) ; The first half times the sigmoid of the second.
"""))


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
