"""Distributions of random numbers: draws with gradients, logarithms of densities, entropies, KL divergences.

Parameters are tensors or numbers that broadcast. Those outside of what is allowed are an error where their values are
there already, else they give NaN; validate_args is taken and not needed. A seed draws the same on every device.

>>> import tenon
>>> policy = tenon.distributions.Normal(tenon.zeros(3), 2.0)
>>> policy.log_prob(policy.mean)
tensor([-1.6120857, -1.6120857, -1.6120857])
>>> policy.rsample((4,)).shape
(4, 3)
"""

from ._tenon._distributions import (  # noqa: F401
    Bernoulli, Beta, Categorical, Dirichlet, Distribution, Gamma, Normal, Uniform, kl_divergence)
