"""GPT-2, Llama, and the texts that they write."""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._models).items() if not name.startswith("_")})
