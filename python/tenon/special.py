"""PyTorch's place for functions of mathematics: those that Tenon has."""

from ._tenon import (  # noqa: F401
    digamma, digamma as psi, erf, erfc, exp2, expm1, lgamma as gammaln, log1p, log_softmax, logit, logsumexp, sigmoid as expit, sinc, softmax)
from .extras import round  # noqa: F401
from .values import erfinv, xlogy  # noqa: F401
