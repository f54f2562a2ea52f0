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
from . import functional, init  # noqa: F401
from .module import Buffer, Module, ModuleOfCpp, Parameter, summary  # noqa: F401
from .activation import (  # noqa: F401
    CELU, ELU, GELU, GLU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6, RReLU,
    SELU, Sigmoid, SiLU, Softmax, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold)
from .adaptive_softmax import AdaptiveLogSoftmaxWithLoss  # noqa: F401
from .attention import (  # noqa: F401
    MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer)
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: F401
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d  # noqa: F401
from .dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d  # noqa: F401
from .embedding import Embedding, EmbeddingBag  # noqa: F401
from .images import (  # noqa: F401
    ChannelShuffle, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, Fold, PixelShuffle,
    PixelUnshuffle, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, Unfold,
    ZeroPad1d, ZeroPad2d, ZeroPad3d)
from .lazy import (  # noqa: F401
    LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d,
    LazyConvTranspose3d, LazyInstanceNorm1d, LazyInstanceNorm2d, LazyLinear)
from .linear import Bilinear, Flatten, Identity, Linear, Unflatten  # noqa: F401
from .loss import (  # noqa: F401
    BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CosineSimilarity, CrossEntropyLoss, CTCLoss, GaussianNLLLoss, HingeEmbeddingLoss,
    HuberLoss, KLDivLoss, L1Loss, MarginRankingLoss, MSELoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss,
    PairwiseDistance, PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss, TripletMarginWithDistanceLoss)
from .norm import (  # noqa: F401
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, LayerNorm, LocalResponseNorm, RMSNorm)
from .pooling import (  # noqa: F401
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d,
    MaxPool3d, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d)
from .recurrent import GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell  # noqa: F401
from . import parallel, parameter, utils  # noqa: F401
from .parallel import DataParallel  # noqa: F401

KvCache, RotaryEmbedding = _tenon._models.KvCache, _tenon._models.RotaryEmbedding
load_module, save_module = _tenon._nn.load_module, _tenon._nn.save_module


def __getattr__(name):
    if name != "modules":
        raise AttributeError(f"module 'tenon.nn' has no attribute '{name}'")
    import importlib

    return importlib.import_module(".modules", __name__)
