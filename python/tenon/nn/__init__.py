"""Modules, layers and losses.

>>> import tenon
>>> from tenon import nn
>>> class Net(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.hidden = nn.Linear(2, 8)
...         self.out = nn.Linear(8, 1)
...     def forward(self, x):
...         return self.out(self.hidden(x).relu())
>>> net = Net()
>>> [name for name, _ in net.named_parameters()]
['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
>>> net(tenon.ones(3, 2)).shape
(3, 1)
"""

from .. import _tenon

globals().update({name: value for name, value in vars(_tenon._nn).items()
                  if not name.startswith("_") and name not in ("functional", "init")})
from . import functional, init  # noqa: E402,F401
from .module import Buffer, Module, ModuleDict, ModuleList, Parameter, ParameterDict, ParameterList, Sequential  # noqa: E402,F401
from .layers import (  # noqa: E402,F401
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AlphaDropout, Bilinear, ChannelShuffle, Dropout1d, Dropout2d, EmbeddingBag, GRUCell, LogSoftmax, LSTMCell, PReLU, RNNCell,
    Unflatten, UpsamplingBilinear2d, UpsamplingNearest2d, summary)
from .loss_layers import (  # noqa: E402,F401
    CTCLoss, GaussianNLLLoss, KLDivLoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, PoissonNLLLoss, TripletMarginWithDistanceLoss)
from .activations import (  # noqa: E402,F401
    CELU, GLU, SELU, CircularPad1d, CircularPad2d, ConstantPad1d, ConstantPad2d, CosineSimilarity, Fold, Hardshrink,
    Hardsigmoid, Hardtanh, InstanceNorm1d, InstanceNorm2d, LocalResponseNorm, LogSigmoid, PairwiseDistance, PixelShuffle, PixelUnshuffle, ReflectionPad1d,
    ReflectionPad2d, ReLU6, ReplicationPad1d, ReplicationPad2d, RReLU, Softmin, Softshrink, Softsign, Tanhshrink, Threshold,
    Transformer, Unfold, ZeroPad1d, ZeroPad2d)
from . import parallel, parameter, utils  # noqa: E402,F401
from .parallel import DataParallel  # noqa: E402,F401


def __getattr__(name):
    if name != "modules":
        raise AttributeError(f"module 'tenon.nn' has no attribute '{name}'")
    import importlib

    return importlib.import_module(".modules", __name__)
