"""Fourier transforms over complex numbers that are pairs: a complex tensor of shape (...) is a real one of shape (..., 2).

Dims are those of the complex tensor. FFTW transforms float32 and float64 on the host (Debian's libfftw3-single3 and
libfftw3-double3), with one transfer each way for a tensor of a GPU; such a function computes at once and is refused inside
compiled functions. All have gradients, of every order.

>>> import tenon
>>> tenon.fft.rfft(tenon.tensor([1., 0., 0., 0.]))
tensor([[1., 0.],
        [1., 0.],
        [1., 0.]])
"""

from ._tenon._fft import (  # noqa: F401
    fft, fft2, fftfreq, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftfreq, rfftn)
