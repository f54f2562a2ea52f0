"""Layers that are put together of others, with PyTorch's names, arguments and state dicts."""

import math

from .. import _tenon
from . import functional as F
from .module import Module, Parameter, _arguments_of

_nn = _tenon._nn


class LogSoftmax(Module):
    """log(softmax(x)) along a dim."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return input.log_softmax(self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Dropout2d(Module):
    """In training, zeroes whole channels with probability p and scales the others."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"a probability lies between 0 and 1, not at {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}"


class Dropout1d(Dropout2d):
    """In training, zeroes whole channels of (batch, channels, length) with probability p and scales the others."""

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout2d):
    """In training, sets elements to SELU's lowest value with probability p, and keeps mean and variance."""

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class UpsamplingNearest2d(Module):
    """Images in another size, each pixel that of the nearest place."""

    _settings = {"mode": "nearest"}

    def __init__(self, size=None, scale_factor=None):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ValueError(f"{type(self).__name__} needs a size or a scale_factor")
        self.size, self.scale_factor = size, scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, **self._settings)

    def extra_repr(self):
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self._settings['mode']!r}"


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Images in another size, between the pixels, whose outermost ones stay where they are."""

    _settings = {"mode": "bilinear", "align_corners": True}


class Unflatten(Module):
    """Takes a dim apart.

    >>> from tenon import nn, ones
    >>> nn.Unflatten(1, (2, 3))(ones(4, 6)).shape
    (4, 2, 3)
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class ChannelShuffle(Module):
    """The channels, which are in groups, in an order in which each group has some of all."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"


class Bilinear(Module):
    """input1 @ weight[i] @ input2 for each of the outputs, plus bias.

    >>> from tenon import nn, ones
    >>> nn.Bilinear(3, 4, 5)(ones(2, 3), ones(2, 4)).shape
    (2, 5)
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features < 1:
            raise ValueError(f"Bilinear() needs an input at least, not {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(_tenon.zeros(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.bias = Parameter(_tenon.zeros(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        bound = 1 / math.sqrt(self.in1_features)
        for one in self.parameters():
            one.detach().uniform_(-bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of a table: of a row of input each, or of what lies between two offsets.

    >>> from tenon import nn, tensor
    >>> nn.EmbeddingBag(10, 3, mode="sum")(tensor([1, 2, 4, 5]), tensor([0, 3])).shape
    (2, 3)
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            raise ValueError("EmbeddingBag() has neither max_norm nor scale_grad_by_freq")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"padding_idx {padding_idx} is none of {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        given = _tenon.zeros(num_embeddings, embedding_dim, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(given)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self):
        """Draws the table anew, as when the layer was made."""
        drawn = self.weight.detach().normal_()
        if self.padding_idx is not None:
            drawn[self.padding_idx].zero_()

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **settings):
        """An EmbeddingBag with the rows of a matrix; freeze: they are not trained."""
        if embeddings.ndim != 2:
            raise ValueError(f"a matrix of embeddings is needed, not {tuple(embeddings.shape)}")
        made = cls(*embeddings.shape, _weight=embeddings.detach(), **settings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
                               include_last_offset=self.include_last_offset, padding_idx=self.padding_idx)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class PReLU(Module):
    """x, or weight * x below 0: one weight for all, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_tenon.full((num_parameters,), init, dtype=dtype or _tenon.float32, device=device))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class AdaptiveMaxPool1d(Module):
    """The largest elements of so many parts."""

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool2d(Module):
    """The largest elements of so many parts; None leaves an axis as it is."""

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _Cell(Module):
    """One step of a recurrent layer."""

    _gates = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        rows = self._gates * hidden_size

        def drawn(*shape):
            return Parameter(_tenon.zeros(shape, dtype=dtype, device=device).uniform_(-bound, bound))

        self.weight_ih, self.weight_hh = drawn(rows, input_size), drawn(rows, hidden_size)
        if bias:
            self.bias_ih, self.bias_hh = drawn(rows), drawn(rows)
        else:
            self.bias_ih = self.bias_hh = None

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def _none(self, x):
        return _tenon.zeros(x.shape[:-1] + (self.hidden_size,), dtype=x.dtype, device=x.device)

    def _products(self, x, h):
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise _tenon.Error(f"[{type(self).__name__}] an input (batch, {self.input_size}) or ({self.input_size},) is "
                               f"needed, got {tuple(x.shape)}")
        if h.shape != x.shape[:-1] + (self.hidden_size,):
            raise _tenon.Error(f"[{type(self).__name__}] a state {x.shape[:-1] + (self.hidden_size,)} is needed, got "
                               f"{tuple(h.shape)}")
        return F.linear(x, self.weight_ih, self.bias_ih), F.linear(h, self.weight_hh, self.bias_hh)


class RNNCell(_Cell):
    """h = tanh(W x + U h + b), one step; or relu in the place of tanh."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"there is no nonlinearity '{nonlinearity}'; there are 'tanh' and 'relu'")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        of_input, of_state = self._products(input, self._none(input) if hx is None else hx)
        return getattr(_tenon, self.nonlinearity)(of_input + of_state)


class LSTMCell(_Cell):
    """One step of long short-term memory; gives and takes (h, c)."""

    _gates = 4

    def forward(self, input, hx=None):
        h, c = (self._none(input),) * 2 if hx is None else hx
        of_input, of_state = self._products(input, h)
        keep, forget, new, out = (of_input + of_state).chunk(4, -1)
        c = forget.sigmoid() * c + keep.sigmoid() * new.tanh()
        return out.sigmoid() * c.tanh(), c


class GRUCell(_Cell):
    """One step of gated recurrent units."""

    _gates = 3

    def forward(self, input, hx=None):
        h = self._none(input) if hx is None else hx
        of_input, of_state = (product.chunk(3, -1) for product in self._products(input, h))
        reset = (of_input[0] + of_state[0]).sigmoid()
        update = (of_input[1] + of_state[1]).sigmoid()
        new = (of_input[2] + reset * of_state[2]).tanh()
        return new + update * (h - new)


def summary(module, *inputs):
    """The table of a call with these inputs: what every module gives, its parameters and FLOPs. Nothing is computed.

    >>> from tenon import nn, ones
    >>> print(nn.summary(nn.Sequential(nn.Linear(2, 4), nn.ReLU()), ones(3, 2)).splitlines()[-1])
    12 parameters, 12 trainable, 48 bytes; 48 FLOPs
    """
    if not isinstance(module, Module):
        raise TypeError(f"summary() needs a module, not {type(module).__name__}")
    return module._summary_of_call(lambda: module(*inputs))


def _takes_a_layer(kind, layer_kind, layer_name):
    """PyTorch's form, TransformerEncoder(layer, num_layers, norm): every layer has the values of the one that is given."""
    make = kind.__init__
    names = [name for name, _ in _arguments_of(layer_kind)]

    def of_layer(self, layer, num_layers, norm=None, enable_nested_tensor=None, mask_check=None):
        if type(layer) is not layer_kind:
            raise TypeError(f"{kind.__name__}() needs a {layer_kind.__name__}, not {type(layer).__name__}; put layers of your "
                            "own into a ModuleList")
        _, args, kwargs = layer.__dict__["_made_with"]
        if norm is not None:
            shape, eps = getattr(norm, "normalized_shape", None), getattr(norm, "eps", None)
            fits = type(norm) is _nn.LayerNorm and tuple(shape) == (layer.d_model,) and eps == layer.layer_norm_eps
            if not fits or set(norm.state_dict()) != ({"weight", "bias"} if layer.bias else {"weight"}):
                raise ValueError(f"the norm of a {kind.__name__} is a LayerNorm of {layer.d_model} elements, with the eps and "
                                 "the bias of its layers")
        make(self, num_layers, **dict(zip(names, args)), **kwargs, final_norm=norm is not None)
        state = {f"layers.{i}.{name}": value for i in range(num_layers) for name, value in layer.state_dict().items()}
        if norm is not None:
            state.update({f"norm.{name}": value for name, value in norm.state_dict().items()})
        one = layer.parameters()[0]
        self.to(device=one.device, dtype=one.dtype)
        self.load_state_dict(state)
        for name, parameter in layer.named_parameters():
            if not parameter.requires_grad:
                self.freeze(f"layers.*.{name}")
        self.train(layer.training)

    def init(self, *args, **kwargs):
        if layer_name in kwargs:
            args = (kwargs.pop(layer_name), *args)
        (of_layer if args and isinstance(args[0], Module) else make)(self, *args, **kwargs)

    init.__doc__ = (make.__doc__ or "") + f"\n\nOr {kind.__name__}({layer_name}, num_layers, norm=None), as PyTorch has it."
    kind.__init__ = init


_takes_a_layer(_nn.TransformerEncoder, _nn.TransformerEncoderLayer, "encoder_layer")
_takes_a_layer(_nn.TransformerDecoder, _nn.TransformerDecoderLayer, "decoder_layer")
