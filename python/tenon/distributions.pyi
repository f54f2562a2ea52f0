# Written by scripts/make_python_stubs.py; do not edit.

from typing import Any, Callable, Iterator, Sequence, Union
from . import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor

class Distribution:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    batch_shape: Any
    def entropy(self) -> Tensor: ...
    event_shape: Any
    has_rsample: Any
    def log_prob(self, value: Tensor) -> Tensor: ...
    mean: Any
    def rsample(self, sample_shape: Sequence[int] | int = ..., generator: "Generator" = ...) -> Tensor: ...
    def sample(self, sample_shape: Sequence[int] | int = ..., generator: "Generator" = ...) -> Tensor: ...
    stddev: Any
    variance: Any
class Bernoulli(Distribution):
    def __init__(self, probs: Any = ..., logits: Any = ..., validate_args: Any = ...) -> None: ...
    logits: Any
    probs: Any
class Beta(Distribution):
    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = ...) -> None: ...
    concentration0: Any
    concentration1: Any
class Categorical(Distribution):
    def __init__(self, probs: Tensor | None = ..., logits: Tensor | None = ..., validate_args: Any = ...) -> None: ...
    logits: Any
    probs: Any
class Dirichlet(Distribution):
    def __init__(self, concentration: Tensor, validate_args: Any = ...) -> None: ...
    concentration: Any
class Gamma(Distribution):
    def __init__(self, concentration: Any, rate: Any, validate_args: Any = ...) -> None: ...
    concentration: Any
    rate: Any
class Normal(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: Any = ...) -> None: ...
    loc: Any
    scale: Any
class Uniform(Distribution):
    def __init__(self, low: Any, high: Any, validate_args: Any = ...) -> None: ...
    high: Any
    low: Any
def kl_divergence(p: "Distribution", q: "Distribution") -> Tensor: ...
