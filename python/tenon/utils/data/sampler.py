"""PyTorch's place for samplers: the same as tenon.data."""

from ... import data as _data

globals().update({name: value for name, value in vars(_data).items() if not name.startswith("_")})
