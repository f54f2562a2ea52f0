"""Initial values, in place."""

import math

from .. import _tenon
from ..autograd import no_grad
from .. import checks as _checks

globals().update({name: value for name, value in vars(_tenon._nn.init).items() if not name.startswith("_")})

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
          "conv_transpose2d": 1.0, "conv_transpose3d": 1.0,
          "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity, param=None):
    """What a nonlinearity asks of the spread of weights before it.

    >>> from tenon import nn
    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"there is no gain of {_checks.shown(nonlinearity)}; there are {', '.join(map(repr, _GAINS))} and 'leaky_relu'")
    return _GAINS[nonlinearity]


def _spread(tensor, a, mode, nonlinearity):
    if tensor.ndim < 2:
        raise ValueError(f"weights of two dims or more have inputs and outputs, not {tuple(tensor.shape)}")
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"there is no mode {_checks.shown(mode)}; there are 'fan_in' and 'fan_out'")
    fan = tensor.shape[1 if mode == "fan_in" else 0] * math.prod(tensor.shape[2:])
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> "Tensor":
    """He et al., 2015."""
    bound = math.sqrt(3.0) * _spread(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)  # noqa: F821 - one of C++'s


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> "Tensor":
    """He et al., 2015."""
    return normal_(tensor, 0.0, _spread(tensor, a, mode, nonlinearity), generator)  # noqa: F821


def eye_(tensor) -> "Tensor":
    """1 on the diagonal of a matrix, 0 elsewhere."""
    if tensor.ndim != 2:
        raise ValueError(f"a matrix is needed, not {tuple(tensor.shape)}")
    with no_grad():
        tensor.copy_(_tenon.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor, groups=1) -> "Tensor":
    """Weights of a convolution that hands its channels on as they are."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise ValueError(f"weights of a convolution are needed, whose first size is a multiple of {_checks.shown(groups)}, not {tuple(tensor.shape)}")
    out = tensor.shape[0] // groups
    made = _tenon.zeros(tensor.shape, dtype=tensor.dtype)
    for group in range(groups):
        for i in range(min(out, tensor.shape[1])):
            made[(group * out + i, i, *(size // 2 for size in tensor.shape[2:]))] = 1
    with no_grad():
        tensor.copy_(made)
    return tensor


def orthogonal_(tensor, gain=1.0, generator=None) -> "Tensor":
    """Rows, or columns where there are fewer, at right angles to each other; Saxe et al., 2013."""
    if tensor.ndim < 2:
        raise ValueError(f"a tensor of two dims or more is needed, not {tuple(tensor.shape)}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    if not rows or not columns:
        return tensor
    drawn = _tenon.zeros((max(rows, columns), min(rows, columns)), device="cpu")
    normal_(drawn, 0.0, 1.0, generator)  # noqa: F821
    made = _at_right_angles(drawn.double())
    made = made if rows >= columns else made.T
    with no_grad():
        tensor.copy_((made * gain).reshape(tensor.shape).to(dtype=tensor.dtype, device=tensor.device))
    return tensor


def _at_right_angles(columns):
    """Gram and Schmidt's, twice for each block of columns, which float64 needs; blocks keep the number of steps small."""
    done = []
    for block in columns.split(32, 1):
        for _ in range(2):
            for before in done:
                block = block - before @ (before.T @ block)
        within = []
        for column in block.wait().unbind(1):
            for _ in range(2):
                for other in within:
                    column = column - other * (other * column).sum()
            within.append((column / column.square().sum().sqrt()).wait())
        done.append(_tenon.stack(within, 1).wait())
    return _tenon.cat(done, 1)


_checks.all_need_tensors(globals())
