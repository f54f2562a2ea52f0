# Written by scripts/make_python_stubs.py; do not edit.

from . import digamma as digamma, digamma as psi, erf as erf, erfc as erfc, erfinv as erfinv, exp2 as exp2
from . import expm1 as expm1, lgamma as gammaln, log1p as log1p, log_softmax as log_softmax, logit as logit
from . import logsumexp as logsumexp, round as round, sigmoid as expit, sinc as sinc, softmax as softmax
from . import xlogy as xlogy
