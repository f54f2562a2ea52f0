"""Layers that move the pixels of images: padding, shuffling, windows as columns."""

from . import functional as F
from .module import Module


class _Padding(Module):
    """Elements before and after the last dims: one size for all sides, or one for each."""

    __constants__ = ("padding", "value")
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

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


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


class PixelShuffle(Module):
    """Channels become pixels."""

    __constants__ = ("upscale_factor",)

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Pixels become channels."""

    __constants__ = ("downscale_factor",)

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """The channels, which are in groups, in an order in which each group has some of all."""

    __constants__ = ("groups",)

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


class Unfold(Module):
    """All windows of an image as columns."""

    __constants__ = ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Sums columns of windows into an image."""

    __constants__ = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
