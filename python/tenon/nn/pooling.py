"""Largest elements and means of windows, and pictures in another size."""

from . import functional as F
from .module import Module
from .rows import layers_of

globals().update(layers_of(__name__, """
MaxPool1d(kernel_size, stride=kernel_size, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False) = max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) shows kernel_size, stride, padding, dilation, ceil_mode ; The largest element of every window; with return_indices, and where it lies.
MaxPool2d(kernel_size, stride=kernel_size, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False) = max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) shows kernel_size, stride, padding, dilation, ceil_mode ; The largest element of every window; with return_indices, and where it lies.
MaxPool3d(kernel_size, stride=kernel_size, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False) = max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) shows kernel_size, stride, padding, dilation, ceil_mode ; The largest element of every window; with return_indices, and where it lies.
AvgPool1d(kernel_size, stride=kernel_size, padding=0, ceil_mode: bool = False, count_include_pad: bool = True) = avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad) shows kernel_size, stride, padding ; The mean of every window.
AvgPool2d(kernel_size, stride=kernel_size, padding=0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override=None) = avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) shows kernel_size, stride, padding ; The mean of every window.
AvgPool3d(kernel_size, stride=kernel_size, padding=0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override=None) = avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) shows kernel_size, stride, padding ; The mean of every window.
AdaptiveAvgPool1d(output_size) = adaptive_avg_pool1d(input, output_size) ; Means over so many parts.
AdaptiveAvgPool2d(output_size) = adaptive_avg_pool2d(input, output_size) ; Means over so many parts; None leaves an axis as it is.
AdaptiveMaxPool1d(output_size, return_indices: bool = False) = adaptive_max_pool1d(input, output_size, return_indices) shows output_size ; The largest elements of so many parts.
AdaptiveMaxPool2d(output_size, return_indices: bool = False) = adaptive_max_pool2d(input, output_size, return_indices) shows output_size ; The largest elements of so many parts; None leaves an axis as it is.
"""))


class Upsample(Module):
    """An image in another size."""

    __constants__ = ("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ValueError(f"{type(self).__name__} needs a size or a scale_factor")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images in another size, each pixel that of the nearest place."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Images in another size, between the pixels, whose outermost ones stay where they are."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)
