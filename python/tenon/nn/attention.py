"""Attention of several heads, and transformers; Vaswani et al., 2017."""

import copy

from .. import _tenon, checks
from . import functional as F
from . import init
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module, as_parameter, check_sizes
from .norm import LayerNorm


class MultiheadAttention(Module):
    """Attention of several heads; in masks of bools True means "may not look", as in PyTorch's layers."""

    __constants__ = ("embed_dim", "num_heads", "dropout", "batch_first")

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = False, device=None,
                 dtype=None, kdim=None, vdim=None):
        super().__init__()
        kdim, vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        check_sizes(self, embed_dim=embed_dim, num_heads=num_heads, kdim=kdim, vdim=vdim)
        if embed_dim % num_heads:
            raise _tenon.Error(f"[MultiheadAttention] a width of {embed_dim} cannot be divided among {num_heads} heads")
        if not 0 <= dropout < 1:
            raise _tenon.Error(f"[MultiheadAttention] dropout must lie in 0..1, got {dropout}")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim, vdim
        out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)

        def weight(rows, width):
            return as_parameter(_tenon.empty(rows, width, device=device, dtype=dtype))

        # As in PyTorch: one weight for all where all have one width, else three.
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if kdim == vdim == embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight = (weight(embed_dim, width) for width in (embed_dim, kdim, vdim))
        self.in_proj_bias = as_parameter(_tenon.zeros(3 * embed_dim, device=device, dtype=dtype)) if bias else None
        self.out_proj = out_proj
        for one in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if one is not None:
                init.xavier_uniform_(one)
        if bias:
            init.zeros_(out_proj.bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=False, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        """The result, and the weights of attention without dropout, or None unless they are asked for."""
        weight = self.q_proj_weight if self.in_proj_weight is None else self.in_proj_weight
        others = [] if weight is self.in_proj_weight else [self.k_proj_weight, self.v_proj_weight]
        own = (weight, others, self.in_proj_bias, self.num_heads, self.batch_first, attn_mask, key_padding_mask, is_causal)
        dropout = self.dropout if self.training else 0.0
        result = self.out_proj(F._attend(query, key, value, dropout, *own))
        if query.ndim == 2:
            result = result.squeeze(0)
        elif not self.batch_first:
            result = result.transpose(0, 1)
        if not need_weights:
            return result, None
        return result, F._attention_weights(query, key, average_attn_weights, *own)


class _Layer(Module):
    """What a layer of an encoder and one of a decoder share: attention, an MLP, each with its norm."""

    __constants__ = ("norm_first", "activation")

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation="relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device=None, dtype=None):
        super().__init__()
        if activation not in ("relu", "gelu") and not callable(activation):
            raise _tenon.Error(f"[{type(self).__name__}] activation {checks.shown(activation)} is not known; it can be 'relu' or 'gelu'")
        self.norm_first, self.activation = norm_first, activation
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first, **made)
        if self._attentions == 2:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        for i in range(1, self._attentions + 2):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, True, bias, **made))
        for i in range(1, self._attentions + 2):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _thinks(self, x):
        activation = self.activation if callable(self.activation) else getattr(F, self.activation)
        return self.linear2(self.dropout(activation(self.linear1(x))))

    def _add(self, x, branch, norm, dropout):
        """The sum of x and a branch, with the norm before the branch or after the sum."""
        return F._residual(x, branch, norm, dropout, self.norm_first)


class TransformerEncoderLayer(_Layer):
    """Attention and an MLP, each with its norm."""

    _attentions = 1

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def looks(y):
            return self.self_attn(y, y, y, src_key_padding_mask, False, src_mask, True, is_causal)[0]

        x = self._add(src, looks, self.norm1, self.dropout1)
        return self._add(x, self._thinks, self.norm2, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Attention to itself and to a memory, and an MLP, each with its norm."""

    _attentions = 2

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        def looks(y):
            return self.self_attn(y, y, y, tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)[0]

        def asks(y):
            return self.multihead_attn(y, memory, memory, memory_key_padding_mask, False, memory_mask, True, memory_is_causal)[0]

        x = self._add(tgt, looks, self.norm1, self.dropout1)
        x = self._add(x, asks, self.norm2, self.dropout2)
        return self._add(x, self._thinks, self.norm3, self.dropout3)


class _Stack(Module):
    """Layers one after the other: copies of one that is given, or layers that are made, with initial values of their own."""

    def __init__(self, given, num_layers: int, norm, sizes, final_norm: bool, settings):
        super().__init__()
        if isinstance(given, Module):
            if sizes or settings:
                raise TypeError(f"{type(self).__name__}() takes a layer, num_layers and a norm, or the settings of its layers")
            check_sizes(self, num_layers=num_layers)
            self.layers = ModuleList(copy.deepcopy(given) for _ in range(num_layers))
        else:
            if given is None:
                count, sizes, norm = num_layers, (), None
            else:
                count, sizes, norm = given, [one for one in (num_layers, norm, *sizes) if one is not None], None
            check_sizes(self, num_layers=count)
            self.layers = ModuleList(self._kind(*sizes, **settings) for _ in range(count))
            if final_norm:
                norm = copy.deepcopy(self.layers[0].norm1)
        self.num_layers, self.norm = len(self.layers), norm


class TransformerEncoder(_Stack):
    """Encoder layers one after the other: TransformerEncoder(layer, num_layers, norm=None), as PyTorch has it.

    TransformerEncoder(num_layers, d_model, nhead, ...) makes the layers; final_norm=True: and a norm after them.
    """

    _kind = TransformerEncoderLayer

    def __init__(self, encoder_layer=None, num_layers=None, norm=None, *sizes, final_norm: bool = False, enable_nested_tensor=None,
                 mask_check=None, **settings):
        super().__init__(encoder_layer, num_layers, norm, sizes, final_norm, settings)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=False):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Decoder layers one after the other: TransformerDecoder(layer, num_layers, norm=None), as PyTorch has it.

    TransformerDecoder(num_layers, d_model, nhead, ...) makes the layers; final_norm=True: and a norm after them.
    """

    _kind = TransformerDecoderLayer

    def __init__(self, decoder_layer=None, num_layers=None, norm=None, *sizes, final_norm: bool = False, **settings):
        super().__init__(decoder_layer, num_layers, norm, sizes, final_norm, settings)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                        memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder, each with a norm after its layers; Vaswani et al., 2017."""

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device=None, dtype=None):
        super().__init__()
        settings = {"dim_feedforward": dim_feedforward, "dropout": dropout, "activation": activation,
                    "layer_norm_eps": layer_norm_eps, "batch_first": batch_first, "norm_first": norm_first, "bias": bias,
                    "final_norm": True, "device": device, "dtype": dtype}
        self.encoder = custom_encoder or TransformerEncoder(num_encoder_layers, d_model, nhead, **settings)
        self.decoder = custom_decoder or TransformerDecoder(num_decoder_layers, d_model, nhead, **settings)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask, bool(src_is_causal) and src_mask is None)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            bool(tgt_is_causal) and tgt_mask is None, memory_is_causal and memory_mask is None)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """0 where a token may look, -inf at those after it."""
        hidden = _tenon.full((sz, sz), float("-inf"), dtype=dtype or _tenon.float32, device=device)
        return hidden.triu(1)
