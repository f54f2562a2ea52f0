"""Largest elements and means of windows, and pictures in another size."""

from . import functional as F
from .module import Module


class _MaxPool(Module):
    """The largest element of every window; with return_indices, and where it lies."""

    __constants__ = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPool):
    """The largest element of every window; with return_indices, and where it lies."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest element of every window; with return_indices, and where it lies."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest element of every window; with return_indices, and where it lies."""

    _function = staticmethod(F.max_pool3d)


class _AvgPool(Module):
    """The mean of every window."""

    __constants__ = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of every window."""

    _function = staticmethod(F.avg_pool1d)


class AvgPool2d(_AvgPool):
    """The mean of every window."""

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of every window."""

    _function = staticmethod(F.avg_pool3d)


class _Adaptive(Module):
    """So many parts; None leaves an axis of a picture as it is."""

    __constants__ = ("output_size",)

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    """Means over so many parts."""

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means over so many parts; None leaves an axis as it is."""

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """The largest elements of so many parts."""

    def __init__(self, output_size, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The largest elements of so many parts; None leaves an axis as it is."""

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class Upsample(Module):
    """An image in another size."""

    __constants__ = ("size", "scale_factor", "mode", "align_corners")

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ValueError(f"{type(self).__name__} needs a size or a scale_factor")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)

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
