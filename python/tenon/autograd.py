"""Gradients, functions with gradients of their own, and captured functions."""

import functools
import os
import sys
import threading

from . import _tenon
from . import checks as _checks
from ._tenon import grad, is_grad_enabled  # noqa: F401
from .captured import Captured  # noqa: F401

functional = sys.modules[__name__ + ".functional"] = _tenon._functional


_GENERATOR = 0x20  # of the flags of code: inspect.CO_GENERATOR, which takes a while to import
_entered = threading.local()  # blocks that are open, for those who enter one and keep no object


def _opened(block):
    if not hasattr(_entered, "blocks"):
        _entered.blocks = []
    _entered.blocks.append(block)


def _closed(block):
    blocks = getattr(_entered, "blocks", [])
    for i in range(len(blocks) - 1, -1, -1):
        if blocks[i] is block:
            del blocks[i]
            break


def _inside(block, function):
    """A function, or a generator, whose code runs inside of a block; between its values a generator is outside."""
    if not getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with block():
                return function(*args, **kwargs)

        return wrapped

    @functools.wraps(function)
    def generating(*args, **kwargs):
        generator = function(*args, **kwargs)
        go_on, given = generator.send, None
        while True:
            try:
                with block():
                    value = go_on(given)
            except StopIteration as end:
                return end.value
            try:
                go_on, given = generator.send, (yield value)
            except GeneratorExit:
                with block():
                    generator.close()
                raise
            except BaseException as error:
                go_on, given = generator.throw, error

    return generating


class _Block:
    """A context manager that is a decorator, too."""

    def __enter__(self):
        self._block.enter()
        _opened(self)
        return self

    def __exit__(self, *_):
        self._block.leave()
        _closed(self)

    def __call__(self, function):
        return _inside(lambda: self, function)


class no_grad(_Block):
    """Inside, ops record no gradient.

    >>> import tenon
    >>> w = tenon.ones(1, requires_grad=True)
    >>> with tenon.no_grad():
    ...     (w * 2).requires_grad
    False
    """

    def __new__(cls, function=None):
        block = super().__new__(cls)
        block._block = _tenon._NoGrad()
        return block if function is None else block(function)

    def __init__(self, function=None):
        pass


class enable_grad(_Block):
    """Inside, ops record gradients even within no_grad()."""

    def __init__(self):
        self._block = _tenon._EnableGrad()


class set_grad_enabled(_Block):
    """From now on, or until the end of a `with` block, ops record gradients or do not."""

    def __init__(self, mode):
        self._mode, self._before = mode, is_grad_enabled()
        _tenon._set_grad_enabled(mode)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _tenon._set_grad_enabled(self._before)

    def __call__(self, function):
        _tenon._set_grad_enabled(self._before)
        return _inside(lambda: set_grad_enabled(self._mode), function)


class inference_mode(_Block):
    """As no_grad(), under the name of PyTorch's stricter mode."""

    def __new__(cls, mode=True):
        block = super().__new__(cls)
        block._block = _tenon._EnableGrad() if mode is False else _tenon._NoGrad()
        return block(mode) if callable(mode) else block

    def __init__(self, mode=True):
        pass


class autocast(_Block):
    """Inside, products and attention take their operands in a lower type.

    >>> import tenon
    >>> with tenon.autocast(tenon.bfloat16):
    ...     (tenon.ones(2, 2) @ tenon.ones(2, 2)).dtype
    tenon.bfloat16
    """

    def __init__(self, device_type=None, dtype=None, enabled=True, cache_enabled=None):
        if isinstance(device_type, _tenon.dtype):  # autocast(tenon.bfloat16, False)
            device_type, dtype, enabled = None, device_type, enabled if dtype is None else dtype
        if device_type is not None and not isinstance(device_type, (str, _tenon.device)):
            raise TypeError(f"autocast() needs a dtype or the name of a device, not {type(device_type).__name__}")
        self._block = _tenon._Autocast(dtype or _tenon.bfloat16, enabled)


# The library reads the variable once, when it computes first.
_looks_for_nan = os.environ.get("TENON_CHECK_NAN") == "1"


def _look_for_nan(mode):
    if mode and not _looks_for_nan:
        raise _tenon.Error("[detect_anomaly] ops are looked into where the program is started with TENON_CHECK_NAN=1 in its environment")


class detect_anomaly(_Block):
    """Asks that NaN is an error of the op that makes it, as TENON_CHECK_NAN=1 in the environment does for the whole program.

    Without that variable it is refused: nothing can be switched on later.
    """

    def __init__(self, check_nan=True):
        _look_for_nan(check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class set_detect_anomaly(detect_anomaly):
    """As detect_anomaly(), from now on; set_detect_anomaly(False) is taken and not needed."""

    def __init__(self, mode, check_nan=True):
        _look_for_nan(mode)


def is_anomaly_enabled():
    """Whether NaN is an error of the op that makes it."""
    return _looks_for_nan


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False):
    """Adds the gradients of several values to every leaf below them."""
    tensors = _checks.several_tensors("backward", tensors)
    if not tensors:
        return
    given = [grad_tensors] if grad_tensors is None or isinstance(grad_tensors, _tenon.Tensor) else list(grad_tensors)
    _tenon._backward(tensors, given, bool(create_graph if retain_graph is None else retain_graph), create_graph)


def gradcheck(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_):
    """Compares the gradients of a function with differences, at inputs of float64; inputs are a tensor or several."""
    inputs = [inputs] if isinstance(inputs, _tenon.Tensor) else list(inputs)
    try:
        return _tenon.gradcheck(func, inputs, eps, atol, rtol)
    except _tenon.Error:
        if raise_exception:
            raise
        return False


class FunctionContext:
    """What forward() keeps for backward()."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self._to_save = ()
        self._not_differentiable = ()
        self._materializes = True
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        """Keeps inputs, results or anything computed on the way."""
        self._to_save = tensors

    def mark_non_differentiable(self, *results):
        """Results that no gradient goes through, such as positions."""
        self._not_differentiable = results

    def set_materialize_grads(self, value):
        """Whether backward() gets zeros for results that nobody has used (True), or None."""
        self._materializes = bool(value)


class Function:
    """A function with its own gradient: a class with forward(ctx, ...) and backward(ctx, ...).

    >>> import tenon
    >>> class Cube(tenon.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return grad * 3 * x * x
    >>> x = tenon.tensor(2., requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad.item()
    12.0

    A class with setup_context(ctx, inputs, output) has a forward(...) without ctx, as in PyTorch.
    """

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("a Function has a forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("a Function may have a setup_context(ctx, inputs, output)")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("a Function has a backward(ctx, ...)")

    @classmethod
    def apply(cls, *args):
        """Calls forward(); gradients go through backward()."""
        places = [i for i, arg in enumerate(args) if isinstance(arg, _tenon.Tensor)]
        context = FunctionContext(tuple(isinstance(arg, _tenon.Tensor) and arg.requires_grad for arg in args))
        returns_one, shapes, not_differentiable = [False], [], []
        count, given = len(args), list(args)  # what the graph keeps holds no tensors but those that are saved

        def forward(*tensors):
            for place, tensor in zip(places, tensors):
                given[place] = tensor
            if cls.setup_context is Function.setup_context:
                result = cls.forward(context, *given)
            else:
                result = cls.forward(*given)
                cls.setup_context(context, tuple(given), result)
            given.clear()
            returns_one[0] = isinstance(result, _tenon.Tensor)
            results = (result,) if returns_one[0] else result
            if isinstance(results, (tuple, list)):
                shapes[:] = [(one.shape, one.dtype, one.device) if isinstance(one, _tenon.Tensor) else None for one in results]
                not_differentiable[:] = [any(one is other for other in context._not_differentiable) for one in results]
            to_save, context._to_save, context._not_differentiable = context._to_save, (), ()
            return result, [t for t in to_save if t is not None]

        def backward(saved, grads):
            context.saved_tensors = saved
            if context._materializes:
                grads = tuple(_tenon.zeros(shape[0], dtype=shape[1], device=shape[2]) if grad is None and shape else grad
                              for grad, shape in zip(grads, shapes))
            result = cls.backward(context, *grads)
            context.saved_tensors = ()
            if not isinstance(result, (tuple, list)):
                result = (result,)
            if len(result) > count and all(one is None for one in result[count:]):
                result = result[:count]
            if len(result) != count:
                raise TypeError(f"{cls.__name__}.backward() gives {len(result)} gradients for {count} arguments")
            return tuple(result[place] for place in places)

        results = _tenon._apply(cls.__name__, forward, backward, [args[i] for i in places])
        if any(not_differentiable):
            results = tuple(one.detach() if is_marked else one for one, is_marked in zip(results, not_differentiable))
        return results[0] if returns_one[0] else results


def compile(model=None, *, verify_every=None, fullgraph=None, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """Captures a function of tensors: recorded in its first calls, then replayed with almost no host work.

    >>> import tenon
    >>> @tenon.compile
    ... def double(x):
    ...     return x + x
    >>> for i in range(4):
    ...     y = double(tenon.full((2,), i))
    >>> y
    tensor([6, 6])

    A call gives what the function itself would give. Arguments may be tensors, lists and dicts of them, and anything else,
    which belongs to the recording: another value is recorded anew. Results are tensors, and tuples, lists and dicts of
    them. What may differ between calls, and what is refused, is that of docs/capture.md; verify_every compares every n-th
    replay with the function, 0: none. PyTorch's fullgraph, dynamic, backend, mode and options are taken and not needed.
    A module is captured as the function of its calls.
    """
    if model is None:
        return lambda function: compile(function, verify_every=verify_every, disable=disable)
    if not callable(model):
        raise TypeError(f"a function is needed, not {type(model).__name__}")
    return model if disable else Captured(model, verify_every)
