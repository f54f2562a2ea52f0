"""The same as tenon.data, where programs for PyTorch look for it.

>>> from tenon.utils.data import DataLoader, TensorDataset
"""

from ... import data as _data

globals().update({name: value for name, value in vars(_data).items() if not name.startswith("_")})
