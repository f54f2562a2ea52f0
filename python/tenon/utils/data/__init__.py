"""The same as tenon.data, where programs for PyTorch look for it.

>>> from tenon.utils.data import DataLoader, TensorDataset
"""

from ...data import *  # noqa: F401,F403
