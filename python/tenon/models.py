"""GPT-2, Llama, BERT, and the texts that they write and tell apart."""

import functools

from . import _tenon, nn  # noqa: F401 - which binds them

globals().update({name: value for name, value in vars(_tenon._models).items() if not name.startswith("_") and name not in ("KvCache", "RotaryEmbedding")})


def _follow_lora(model):
    """Layers of Python add their correction, or no longer do."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            if module._has_lora():
                module.forward = functools.partial(_corrected, module)
            else:
                module.__dict__.pop("forward", None)


def _corrected(layer, input):
    return layer._with_lora(type(layer).forward(layer, input), input)


def attach_lora(model, targets, rank=8, alpha=16.0, dropout=0.0):
    """Freezes a model and gives every layer of one of these names a small correction."""
    _tenon._models.attach_lora(model, targets, rank, alpha, dropout)
    _follow_lora(model)


def load_lora(model, folder):
    """Reads corrections."""
    _tenon._models.load_lora(model, folder)
    _follow_lora(model)


def merge_lora(model):
    """Adds all corrections to their weights."""
    _tenon._models.merge_lora(model)
    _follow_lora(model)
