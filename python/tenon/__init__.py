"""Tenon: tensors, gradients and training, recorded lazily and computed in few kernels.

>>> import tenon
>>> x = tenon.tensor([1., 2., 3.], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])

Names and meanings are PyTorch's. What differs stands in docs/python.md.
"""

import atexit as _atexit

from . import _tenon
from ._tenon import *  # noqa: F401,F403 - the ops
from ._tenon import (  # noqa: F401 - what a star leaves out or checkers should know
    Error, Generator, HookHandle, OutOfRange, Scalar, Tensor, bool, device, dtype)
from . import autograd, backends, data, distributions, fft, linalg, models, nn, optim, rl, text, training
from . import amp, cuda, pickles, random, utils
from . import accelerator, compiler, func, jit, profiler, sparse, special, testing
from .cuda import amp as _amp_of_cuda  # noqa: F401 - behind optim, which it needs
from .captured import Captured
from .autograd import autocast, compile, enable_grad, inference_mode, no_grad, set_grad_enabled
from .files import load, save
from .func import vmap
from .conversion import (
    BFloat16Tensor, BoolTensor, ByteTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, as_tensor, asarray)
from .limits import finfo, iinfo
from .linalg import matrix_exp  # noqa: F401
from .printing import set_printoptions
from .sparse import sparse_coo_tensor, sparse_csr_tensor, spmm  # noqa: F401
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .switches import (
    are_deterministic_algorithms_enabled, get_default_dtype, get_float32_matmul_precision, set_default_dtype,
    set_float32_matmul_precision, use_deterministic_algorithms)

__version__ = "0.1.0"

double = float64 = _tenon.float64
half = float16 = _tenon.float16
long = int64 = _tenon.int64
float = float32 = _tenon.float32
int = int32 = _tenon.int32
Size = _tenon.Size
inf, nan, pi, e = 1e999, 1e999 - 1e999, 3.141592653589793, 2.718281828459045
newaxis = None
# Taken by to(), contiguous() and clone() and not needed: plans choose how values lie in memory.
contiguous_format, preserve_format, channels_last, channels_last_3d = "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"


def is_tensor(x):
    """Whether x is a tensor."""
    return isinstance(x, Tensor)


def _dtype_called(name):
    return getattr(_tenon, name)


def _rebuild(data, shape, kind, requires_grad, is_parameter=False):
    made = _tenon._from_bytes(data, shape, kind)
    if is_parameter:
        return nn.Parameter(made, requires_grad)
    made.requires_grad_(requires_grad)
    return made


_atexit.register(_tenon._let_interrupts_end_the_process)  # the last that is registered here is the first that is called
