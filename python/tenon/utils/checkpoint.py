"""PyTorch's place for calls whose values are computed again in the backward pass.

Tenon plans the memory of a whole step and keeps what the backward pass reads. checkpoint() is a plain call here: results
and gradients are those of PyTorch's, and nothing is saved by it.

>>> import tenon
>>> from tenon.utils.checkpoint import checkpoint
>>> checkpoint(lambda x: x * 2, tenon.ones(2), use_reentrant=False)
tensor([2., 2.])
"""


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None, determinism_check=None, debug=False,
               **kwargs):
    """function(*args, **kwargs)."""
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **_):
    """The functions, each applied to the result of the one before."""
    for function in functions:
        input = function(input)
    return input
