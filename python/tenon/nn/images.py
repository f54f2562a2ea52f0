"""Layers that move the pixels of images: padding, shuffling, windows as columns."""

from . import functional as F
from .module import Module
from .rows import kinds_of, layers_of


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


globals().update(kinds_of(__name__, ConstantPad1d, {
    "ConstantPad2d": ("A number around images.", {"_sides": 4}), "ConstantPad3d": ("A number around volumes.", {"_sides": 6})}))
_MODES = {"Zero": ("constant", "Zeros"), "Reflection": ("reflect", "What lies inside, mirrored,"),
          "Replication": ("replicate", "The outermost elements again,"), "Circular": ("circular", "The elements of the other side,")}
for _name, (_mode, _about) in _MODES.items():
    for _axes, _where in ((1, "before and after"), (2, "around images"), (3, "around volumes")):
        globals().update(kinds_of(__name__, _Padding, {f"{_name}Pad{_axes}d": (f"{_about} {_where}.", {"_sides": 2 * _axes, "_mode": _mode})}))

globals().update(layers_of(__name__, """
PixelShuffle(upscale_factor: int) = pixel_shuffle(input, upscale_factor) ; Channels become pixels.
PixelUnshuffle(downscale_factor: int) = pixel_unshuffle(input, downscale_factor) ; Pixels become channels.
ChannelShuffle(groups: int) = channel_shuffle(input, groups) ; The channels, which are in groups, in an order in which each group has some of all.
Unfold(kernel_size, dilation=1, padding=0, stride=1) = unfold(input, kernel_size, dilation, padding, stride) ; All windows of an image as columns.
Fold(output_size, kernel_size, dilation=1, padding=0, stride=1) = fold(input, output_size, kernel_size, dilation, padding, stride) ; Sums columns of windows into an image.
"""))
