"""Functions of functions: vmap(), and derivatives that are functions themselves, under the names of torch.func.

>>> import tenon
>>> tenon.vmap(tenon.dot)(tenon.ones(2, 3), tenon.ones(2, 3))
tensor([3., 3.])
>>> tenon.vmap(tenon.func.grad(lambda x: x ** 3))(tenon.tensor([1., 2.]))
tensor([ 3., 12.])
"""

import functools

from . import _tenon
from .autograd import functional
from .captured import _put_together


def _pairs(value, dims):
    """Every tensor of a value with its dim of examples; a dim, or None, counts for all tensors below it."""
    if isinstance(value, _tenon.Tensor):
        return [(value, dims)]
    if not isinstance(value, (tuple, list, dict)):
        return []
    each = dims if isinstance(dims, (tuple, list, dict)) else [dims] * len(value)
    if len(each) != len(value):
        raise ValueError(f"vmap() is given {len(each)} dims for {len(value)} tensors or lists of them")
    if isinstance(value, dict):
        value, each = value.values(), [each[key] for key in value] if isinstance(each, dict) else each
    return [pair for part in zip(value, each) for pair in _pairs(*part)]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function of batches that calls func for each example: once, on tensors without values. Dims may be nested as arguments are.

    Ops without a rule, reads of values, backward() and writes to tensors from outside are refused by name. randomness is "error" or "same".
    """
    if randomness not in ("error", "same"):
        raise ValueError(f"randomness is 'error' or 'same', not {randomness!r}; draw outside and pass what was drawn")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        given, returned = _pairs(args, in_dims) + _pairs(kwargs, 0), []

        def of_example(*examples):
            own_args, own_kwargs = _put_together((args, kwargs), iter(examples))
            returned[:] = [func(*own_args, **own_kwargs)]
            return [tensor for tensor, _ in _pairs(returned[0], 0)]

        made = _tenon._vmap(of_example, [tensor for tensor, _ in given], [dim for _, dim in given], randomness == "same", chunk_size)
        dims = [dim for _, dim in _pairs(returned[0], out_dims)]
        return _put_together(returned[0], iter([one.movedim(0, dim) if dim else one for one, dim in zip(made, dims)]))

    return mapped


def grad(func, argnums=0):
    """The gradient of a function that gives a single number, by one argument or several: tensors, or lists and dicts of them."""
    @functools.wraps(func)
    def slopes(*args, **kwargs):
        picked = args[argnums] if isinstance(argnums, int) else [args[i] for i in argnums]
        leaves = tuple(tensor for tensor, _ in _pairs((picked,), 0))

        def of_leaves(*tensors):
            own, all_args = _put_together(picked, iter(tensors)), list(args)
            for i, one in [(argnums, own)] if isinstance(argnums, int) else zip(argnums, own):
                all_args[i] = one
            return func(*all_args, **kwargs)

        found = functional.vjp(of_leaves, leaves, create_graph=any(one.requires_grad for one in leaves))[1]
        made = _put_together(picked, iter(found))
        return made if isinstance(argnums, int) else tuple(made)

    return slopes


def jacrev(func, argnums=0):
    """The Jacobian of a function by one argument."""
    return lambda *args: functional.jacobian(lambda x: func(*args[:argnums], x, *args[argnums + 1:]), args[argnums],
                                             create_graph=args[argnums].requires_grad)


def hessian(func, argnums=0):
    """The second derivatives of a function by one argument."""
    return jacrev(jacrev(func, argnums), argnums)


jacfwd, jvp = jacrev, functional.jvp
