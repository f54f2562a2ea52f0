"""Hooks of modules: functions that are called before and after forward(), and in the backward pass.

A call of a module that has some runs them; the library looks.
"""

from .. import _tenon
from ..autograd import Function


class RemovableHandle:
    """What the register functions return; at the end of a `with` block the hook is gone, too."""

    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook

    def remove(self):
        """Takes the hook away again."""
        self._hooks[:] = [one for one in self._hooks if one is not self._hook]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class _Hook:
    def __init__(self, kind, function, with_kwargs=False):
        if not callable(function):
            raise TypeError(f"a hook is a function, not {type(function).__name__}")
        self.kind, self.function, self.with_kwargs = kind, function, with_kwargs


class _Around(Function):
    """Hands tensors on as they are, and tells of their gradients."""

    @staticmethod
    def forward(ctx, told, *tensors):
        ctx.told = told
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.told(grads)


def _with(values, told):
    """The same values, with those that gradients reach told of; and whether there are some."""
    places = [i for i, value in enumerate(values) if isinstance(value, _tenon.Tensor) and value.requires_grad]
    if not places:
        return values, False

    def all_told(grads):
        given = [None] * len(values)
        for place, grad in zip(places, grads):
            given[place] = grad
        given = told(tuple(given))
        return tuple(given[place] for place in places)

    made = list(values)
    for place, tensor in zip(places, _Around.apply(all_told, *[values[i] for i in places])):
        made[place] = tensor
    return tuple(made), True


class _Backward:
    """One call of a module: the gradients of its results are kept until those of its inputs are there."""

    def __init__(self, module, hooks):
        self._module, self._hooks, self._grads = module, hooks, ()
        self._reaches_inputs = False

    def inputs(self, args):
        args, self._reaches_inputs = _with(args, self._inputs_told)
        self._count = len(args)
        return args

    def results(self, result):
        is_one = not isinstance(result, (tuple, list))
        made, _ = _with((result,) if is_one else tuple(result), self._results_told)
        return made[0] if is_one else type(result)(made)

    def _results_told(self, grads):
        self._grads = grads
        if not self._reaches_inputs:
            self._call((None,) * self._count)
        return grads

    def _inputs_told(self, grads):
        return self._call(grads)

    def _call(self, grads):
        for hook in self._hooks:
            given = hook.function(self._module, grads, self._grads)
            if given is not None:
                grads = given if isinstance(given, tuple) else (given,)
        return grads


def _run(self, hooks, args, kwargs):
    hooks, kwargs = list(hooks), kwargs or {}
    for hook in hooks:
        if hook.kind != "before":
            continue
        given = hook.function(self, args, kwargs) if hook.with_kwargs else hook.function(self, args)
        if given is None:
            continue
        if hook.with_kwargs:
            args, kwargs = given
        else:
            args = given if isinstance(given, tuple) else (given,)
    in_backward = [hook for hook in hooks if hook.kind == "backward"]
    backward = _Backward(self, in_backward) if in_backward else None
    if backward:
        args = backward.inputs(args)
    result = self.forward(*args, **kwargs)
    for hook in hooks:
        if hook.kind != "behind":
            continue
        given = hook.function(self, args, kwargs, result) if hook.with_kwargs else hook.function(self, args, result)
        if given is not None:
            result = given
    return backward.results(result) if backward else result


_tenon._nn._set_hook_runner(_run)


def _register(module, hook, first):
    hooks = module.__dict__.setdefault("_hooks", [])
    hooks.insert(0 if first else len(hooks), hook)
    return RemovableHandle(hooks, hook)


def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
    """Calls hook(module, args) before forward(); what it returns takes the place of the arguments.

    >>> from tenon import nn, ones
    >>> layer = nn.Linear(2, 2)
    >>> with layer.register_forward_pre_hook(lambda module, args: print(args[0].shape)):
    ...     y = layer(ones(3, 2))
    (3, 2)
    """
    return _register(self, _Hook("before", hook, with_kwargs), prepend)


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
    """Calls hook(module, args, result) behind forward(); what it returns takes the place of the result.

    >>> from tenon import nn, ones
    >>> seen = {}
    >>> net = nn.Sequential(nn.Linear(2, 4), nn.ReLU())
    >>> handle = net[0].register_forward_hook(lambda module, args, result: seen.update(first=result))
    >>> y = net(ones(3, 2))
    >>> seen["first"].shape
    (3, 4)
    """
    return _register(self, _Hook("behind", hook, with_kwargs), prepend)


def register_full_backward_hook(self, hook, prepend=False):
    """Calls hook(module, grad_input, grad_output) once the gradients of the inputs are there.

    Both are tuples with None for what has no gradient; what the hook returns takes the place of grad_input.
    """
    return _register(self, _Hook("backward", hook), prepend)
