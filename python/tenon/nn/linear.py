"""Linear and bilinear layers, and those that only change the shape of what they are given."""


from .. import _tenon
from . import functional as F
from . import init
from .module import Module, as_parameter, check_sizes


class Identity(Module):
    """x; any arguments are taken."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x @ weight.T + bias.

    >>> from tenon import nn, ones
    >>> nn.Linear(3, 2)(ones(4, 3)).shape
    (4, 2)
    """

    __constants__ = ("in_features", "out_features")
    _library_kind = "linear"

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__()
        check_sizes(self, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = as_parameter(_tenon.empty(out_features, in_features, device=device, dtype=dtype))
        self.bias = as_parameter(_tenon.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        init.kaiming_uniform_(self.weight, 5 ** 0.5)
        if self.bias is not None:
            init._within_(self.bias, self.in_features)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """input1 @ weight[i] @ input2 for each of the outputs, plus bias.

    >>> from tenon import nn, ones
    >>> nn.Bilinear(3, 4, 5)(ones(2, 3), ones(2, 4)).shape
    (2, 5)
    """

    __constants__ = ("in1_features", "in2_features", "out_features")

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__()
        check_sizes(self, in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = as_parameter(_tenon.empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.bias = as_parameter(_tenon.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        for one in self.parameters():
            init._within_(one, self.in1_features)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class Flatten(Module):
    """Joins dims; by default all but that of the batch."""

    __constants__ = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Takes a dim apart.

    >>> from tenon import nn, ones
    >>> nn.Unflatten(1, (2, 3))(ones(4, 6)).shape
    (4, 2, 3)
    """

    __constants__ = ("dim", "unflattened_size")

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)
