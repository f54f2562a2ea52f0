"""PyTorch's places for the classes of nn: tenon.nn.modules.conv.Conv2d is tenon.nn.Conv2d.

>>> from tenon import nn
>>> from tenon.nn.modules.module import Module
>>> Module is nn.Module
True
"""

import re
import sys
import types

from ... import nn as _nn

_PLACES = {
    "module": "Module", "container": "Sequential|Module(List|Dict)|Parameter(List|Dict)", "linear": "(Lazy)?Linear|Identity",
    "conv": "(Lazy)?Conv.*", "batchnorm": "(Lazy)?BatchNorm.*", "instancenorm": "(Lazy)?InstanceNorm.*", "dropout": ".*Dropout.*", "sparse": "Embedding",
    "normalization": "(Layer|RMS|Group|LocalResponse)Norm", "rnn": "RNN|LSTM|GRU|.*Cell", "pooling": ".*Pool.*", "padding": ".*Pad.*",
    "loss": ".*Loss", "transformer": "Transformer.*", "upsampling": "Upsampl.*", "flatten": "Flatten|Unflatten",
    "fold": "Fold|Unfold", "distance": "PairwiseDistance|CosineSimilarity", "pixelshuffle": "Pixel.*",
    "activation": "MultiheadAttention|Threshold|Tanh|.*([Rr]e?LU|ELU|GLU|LU|[Ss]igmoid|[Tt]anh|[Ss]hrink|Soft(max|min|plus|sign)|"
                  "Mish|swish|shrink)[0-9]?",
}

_classes = {name: value for name, value in vars(_nn).items() if isinstance(value, type) and issubclass(value, _nn.Module)}
globals().update(_classes)

for _place, _pattern in _PLACES.items():
    _made = types.ModuleType(f"{__name__}.{_place}", f"Classes of tenon.nn that PyTorch keeps in nn.modules.{_place}.")
    vars(_made).update({name: value for name, value in _classes.items() if re.fullmatch(_pattern, name)})
    sys.modules[_made.__name__] = globals()[_place] = _made
