"""Convolutions over one axis, pictures and volumes, and their gradients as layers of their own."""

from .. import _tenon, checks
from . import functional as F
from . import init
from .module import Module, as_parameter, check_sizes
from .rows import kinds_of

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def per_axis(value, axes, least=None, what="size"):
    """A size for each axis; one counts for all."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    if len(sizes) == 1:
        sizes *= axes
    if len(sizes) != axes:
        counted = {1: "one size is", 2: "a size or two are", 3: "a size or three are"}[axes]
        raise ValueError(f"{counted} needed, got {len(sizes)}")
    for one in sizes:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"a size is needed for '{what}', not {type(one).__name__}")
        if least is not None and one < least:
            raise _tenon.Error(f"[conv{axes}d] {what} must be at least {least}, got {value}")
    return sizes


class _Conv(Module):
    """What convolutions share: their sizes, parameters and initial values."""

    __constants__ = ("stride", "padding", "dilation", "output_padding", "groups", "padding_mode", "in_channels", "out_channels", "kernel_size")
    _axes, _is_transposed = 1, False

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True,
                 padding_mode: str = "zeros", device=None, dtype=None):
        super().__init__()
        name, axes = type(self).__name__, self._axes
        check_sizes(self, in_channels=in_channels, out_channels=out_channels, groups=groups)
        for channels in (in_channels, out_channels):
            if channels % groups:
                raise _tenon.Error(f"[{name}] {channels} channels cannot be divided into {groups} groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"{name} has no padding_mode {checks.shown(padding_mode)}; there are {', '.join(map(repr, PADDING_MODES))}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise _tenon.Error(f"[{name}] '{padding}' is no padding; it can be same, valid or a number")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = per_axis(kernel_size, axes, 1, "kernel_size")
        self.stride = per_axis(stride, axes, 1, "stride")
        self.padding = padding if isinstance(padding, str) else per_axis(padding, axes, 0, "padding")
        self.dilation = per_axis(dilation, axes, 1, "dilation")
        self.groups, self.padding_mode = groups, padding_mode
        outer, inner = (in_channels, out_channels) if self._is_transposed else (out_channels, in_channels)
        self.weight = as_parameter(_tenon.empty(outer, inner // groups, *self.kernel_size, device=device, dtype=dtype))
        self.bias = as_parameter(_tenon.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        init.kaiming_uniform_(self.weight, 5 ** 0.5)
        if self.bias is not None:
            init._within_(self.bias, self.weight[0].numel())

    def _sides(self):
        """How much is added before and after each axis, the last one first."""
        if self.padding == "same":
            totals = [step * (size - 1) for step, size in zip(per_axis(self.dilation, self._axes), self.weight.shape[2:])]
            sides = [(total // 2, total - total // 2) for total in totals]
        else:
            sides = [(size, size) for size in per_axis(self.padding, self._axes)]
        return [size for pair in reversed(sides) for size in pair]

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":  # functions of convolution add zeros alone
            input, padding = F.pad(input, self._sides(), self.padding_mode), 0
        return self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self):
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, plain in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name, plain) not in (plain, (plain,) * self._axes):
                shown.append(f"{name}={getattr(self, name)!r}")
        shown += [f"groups={self.groups}"] * (self.groups != 1) + ["bias=False"] * (self.bias is None)
        return ", ".join(shown + [f"padding_mode={self.padding_mode!r}"] * (self.padding_mode != "zeros"))


class _ConvTranspose(_Conv):
    """What the gradients of convolutions share; the order of their arguments is PyTorch's."""

    _is_transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1,
                 bias: bool = True, dilation=1,
                 padding_mode: str = "zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__} has no padding_mode {checks.shown(padding_mode)}; there is 'zeros'")
        super().__init__(in_channels, out_channels, kernel_size, stride, per_axis(padding, self._axes, 0, "padding"), dilation, groups,
                         bias, device=device, dtype=dtype)
        self.output_padding = per_axis(output_padding, self._axes, 0, "output_padding")

    def forward(self, input):
        return self._function(input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation)


for _axes, _where in ((1, "one axis"), (2, "height and width"), (3, "depth, height and width")):
    globals().update(kinds_of(__name__, _Conv, {f"Conv{_axes}d": (
        f"Convolution over {_where}.", {"_axes": _axes, "_function": staticmethod(getattr(F, f"conv{_axes}d"))})}))
    globals().update(kinds_of(__name__, _ConvTranspose, {f"ConvTranspose{_axes}d": (
        f"The gradient of Conv{_axes}d, as a layer of its own.",
        {"_axes": _axes, "_function": staticmethod(getattr(F, f"conv_transpose{_axes}d"))})}))
