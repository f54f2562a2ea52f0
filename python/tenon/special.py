"""PyTorch's place for functions of mathematics: those that Tenon has."""

from ._tenon import (  # noqa: F401
    digamma, digamma as psi, erf, erfc, erfinv, exp2, expm1, i0, lgamma as gammaln, log1p, log_softmax, logit, logsumexp,
    mvlgamma as multigammaln, polygamma, round, sigmoid as expit, sinc, softmax, xlogy)
from ._tenon import (  # noqa: F401
    special_entr as entr, special_erfcx as erfcx, special_i0e as i0e, special_i1 as i1, special_i1e as i1e,
    special_log_ndtr as log_ndtr, special_ndtr as ndtr, special_ndtri as ndtri, special_xlog1py as xlog1py)
