"""Tokenizers."""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._text).items() if not name.startswith("_")})
