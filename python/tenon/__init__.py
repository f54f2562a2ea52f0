"""Tenon: tensors, gradients and training, recorded lazily and computed in few kernels.

>>> import tenon
>>> x = tenon.tensor([1., 2., 3.], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])

Names and meanings are PyTorch's. What differs stands in docs/python.md.
"""

from . import _tenon
from ._tenon import *  # noqa: F401,F403 - the ops
from ._tenon import (  # noqa: F401 - what a star leaves out or checkers should know
    Error, Generator, HookHandle, OutOfRange, Scalar, Tensor, bool, device, dtype)
from . import autograd, cuda, data, linalg, models, nn, optim, text, training
from . import amp, utils  # what the others have, under other names
from .captured import Captured
from .autograd import autocast, compile, enable_grad, inference_mode, no_grad, set_grad_enabled
from .files import load, save
from .extras import (
    BFloat16Tensor, BoolTensor, ByteTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, cartesian_prod,
    combinations, cross, get_default_dtype, histc, kron, logspace, normal, randint, round, set_default_dtype, set_printoptions,
    std_mean, var_mean, where)
from .limits import finfo, iinfo

__version__ = "0.1.0"

double = float64 = _tenon.float64
half = float16 = _tenon.float16
long = int64 = _tenon.int64
float = float32 = _tenon.float32
int = int32 = _tenon.int32
Size = _tenon.Size
inf, nan, pi = 1e999, 1e999 - 1e999, 3.141592653589793


def as_tensor(data, dtype=None, device=None):
    """A tensor itself, in another dtype or on another device where those are given; an array shares its memory.

    An array whose memory cannot be shared (read-only, of negative strides, of another dtype) is copied, as is anything else.
    """
    if not isinstance(data, Tensor):
        if not hasattr(data, "__array_interface__") or type(data).__module__ != "numpy" or not hasattr(data, "ctypes"):
            return _tenon.tensor(data, dtype=dtype, device=device)
        try:
            data = _tenon.from_numpy(data)
        except (TypeError, ValueError):
            return _tenon.tensor(data, dtype=dtype, device=device)
    return data if dtype is None and device is None else data.to(dtype=dtype, device=device)


def is_tensor(x):
    """Whether x is a tensor."""
    return isinstance(x, Tensor)


def get_rng_state():
    """Where the default generator stands: its seed and how much was drawn."""
    return _tenon.default_generator().get_state()


def set_rng_state(state):
    """The default generator goes on from there."""
    _tenon.default_generator().set_state(state)


def initial_seed():
    """The seed of the default generator."""
    return _tenon.default_generator().seed()


def seed():
    """Seeds the default generator with a number that nobody knows, and returns it."""
    import secrets

    chosen = secrets.randbits(63)
    _tenon.manual_seed(chosen)
    return chosen


def _register_hook(self, hook):
    """Calls hook(gradient) in every backward pass; what it returns takes the gradient's place."""
    return _tenon._register_hook(self, hook)


def _format(self, spec):
    if type(self) is Tensor and self.ndim == 0:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _dtype_called(name):
    return getattr(_tenon, name)


def _rebuild(data, shape, kind, requires_grad, is_parameter=False):
    made = _tenon._from_bytes(data, shape, kind)
    if is_parameter:
        return nn.Parameter(made, requires_grad)
    made.requires_grad_(requires_grad)
    return made


def _reduce(self, _protocol):
    return _rebuild, (self.detach()._to_bytes(), self.shape, self.dtype, self.requires_grad and self.is_leaf,
                      isinstance(self, nn.Parameter))


def _deepcopy(self, _memo):
    if not self.is_leaf:
        raise Error("[deepcopy] only leaves are copied with their flags; call detach() first")
    made = type(self)(self.detach().clone())
    made.requires_grad_(self.requires_grad)
    return made


def _copy(self):
    """Another tensor over the same memory."""
    if not self.is_leaf:
        raise Error("[copy] only leaves are copied with their flags; call detach() first")
    made = type(self)(self.detach())
    made.requires_grad_(self.requires_grad)
    return made


def _cuda(self, device=None, non_blocking=False):
    """On the device "cuda"."""
    return self.to("cuda" if device is None or isinstance(device, type(0)) else device)


Tensor.register_hook = _register_hook
Tensor.__format__ = _format
Tensor.is_cuda = property(lambda self: self.device.name == "cuda", doc="Whether it lives on a GPU of NVIDIA's.")
Tensor.__reduce_ex__ = _reduce
Tensor.__deepcopy__ = _deepcopy
Tensor.__copy__ = _copy
Tensor.cuda = _cuda
Tensor.pin_memory = lambda self: self
