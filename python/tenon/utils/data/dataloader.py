"""PyTorch's place for data loaders: the same as tenon.data."""

from ... import data as _data

globals().update({name: value for name, value in vars(_data).items() if not name.startswith("_")})
