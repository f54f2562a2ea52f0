"""PyTorch's place for functions of mathematics: those that Tenon has."""

from ._tenon import (  # noqa: F401
    digamma, digamma as psi, erf, erfc, exp2, expm1, lgamma as gammaln, log1p, log_softmax, logit, logsumexp, round, sigmoid as expit, sinc, softmax)
from ._tenon import erfinv, xlogy  # noqa: F401
