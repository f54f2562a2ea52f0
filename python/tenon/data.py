"""Datasets, transforms and loaders."""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._data).items() if not name.startswith("_")})
from .loaders import (  # noqa: E402,F401
    BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, SequentialSampler,
    StackDataset, Subset, SubsetRandomSampler, WeightedRandomSampler, default_collate, default_convert, get_worker_info,
    random_split, transformed)
