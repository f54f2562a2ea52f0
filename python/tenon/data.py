"""Datasets, transforms and loaders."""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._data).items() if not name.startswith("_")})


class Dataset:
    """Samples by number: a class with __len__ and __getitem__, which gives a tensor or a tuple of tensors."""

    def __len__(self):
        raise NotImplementedError("a dataset has __len__")

    def __getitem__(self, i):
        raise NotImplementedError("a dataset has __getitem__")
