"""Runs the samples of one entry of PyTorch's table through PyTorch and Tenon, and reports what differs.

Values, shapes and dtypes of every sample in every dtype that both have, as a function, as a method and in place; gradients of
floating-point samples; captured functions, called four times, against the same function uncaptured; error inputs, which must be
refused.
"""

import inspect
import random
import warnings

import tenon
import torch

import translate
from compare import difference, most_serious
from known_differences import DRAWN, NAMES_EQUALS, PARTS_OF_DRIVERS, WITHOUT_SIGNS

_CALLS_OF_CAPTURED = 4


class Report:
    """Where findings go: `now(...)` says what runs next, in case that it is the last, and `note(kind, text)` what was found of it."""

    def __init__(self, write):
        self._write = write
        self._now = {}

    def note(self, kind, text="", off=float("inf")):
        """off: by how many tolerances of the largest element."""
        self._write({"kind": kind} if kind == "passed" else {**self._now, "kind": kind, "text": text[:300], "off": off})

    def now(self, number, dtype, where, given):
        self._now = {"dtype": dtype, "where": where, "given": described(given)}
        self._write({"now": number, **self._now})


def described(value):
    """Arguments in a line: tensors by their shape and dtype, everything else as it is."""
    if isinstance(value, torch.Tensor):
        made = f"{str(value.dtype)[6:]}{list(value.shape)}"
        return made if value.numel() != 1 or value.ndim else f"{made}={value.item()}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={described(one)}" for name, one in value.items())
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(described, value))})"
    return repr(value)[:100]


def _seeded():
    torch.manual_seed(1)
    random.seed(1)


def _in_double(value):
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return value.detach().to(torch.complex128).requires_grad_(value.requires_grad)
        return value.detach().double().requires_grad_(value.requires_grad) if value.is_floating_point() else value
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_in_double(one) for one in value)
    if isinstance(value, dict):
        return {name: _in_double(one) for name, one in value.items()}
    return value


def _tensors(value):
    """All floating-point and complex tensors of a result, or of arguments, in order."""
    if isinstance(value, (torch.Tensor, tenon.Tensor)):
        return [value] if value.is_floating_point() or value.dtype in translate.DTYPES_OF_PAIRS else []
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in _tensors(part)]
    if isinstance(value, dict):
        return [one for part in value.values() for one in _tensors(part)]
    return []


class Sample:
    """One sample: its arguments, PyTorch's results and gradients."""

    def __init__(self, sample, form, function, processed=None):
        """processed: makes of results what is compared; None where nothing."""
        self.form, self.function, self.processed = form, function, processed
        self.arguments = (sample.input, *sample.args)
        self.named = sample.kwargs

    def translated(self):
        """The arguments as Tenon's."""
        given, made = (self.arguments, self.named), {}
        return tuple(translate.to_tenon(one, made) for one in (translate.pairs(given) if self.processed is translate.pairs else given))

    def called(self, function, arguments, named):
        if self.form == "in place":
            arguments = (arguments[0].clone(), *arguments[1:])
        results = function(*arguments, **named)
        return self.processed(results) if self.processed else results

    def theirs(self):
        return self.called(self.function, self.arguments, self.named)

    def exact(self):
        """In float64, or None where PyTorch has no such function."""
        try:
            return self.called(self.function, _in_double(self.arguments), _in_double(self.named))
        except Exception:
            return None

    def gradients(self):
        return _gradients(self.theirs(), self.arguments, self.named, torch)

    def exact_gradients(self):
        try:
            arguments, named = _in_double(self.arguments), _in_double(self.named)
            return _gradients(self.called(self.function, arguments, named), arguments, named, torch)
        except Exception:
            return None


def _gradients(results, arguments, named, library):
    """Of a sum of all results, weighted so that no two elements count the same."""
    outputs = [one for one in _tensors(results) if one.requires_grad]
    leaves = [one for one in _tensors((arguments, named)) if one.requires_grad]
    if not outputs or not leaves:
        return []
    weights = []
    for one in outputs:
        counted = library.arange(one.numel(), dtype=library.float32)
        weights.append(((counted % 7 + 1) / 4).to(one.dtype).reshape(tuple(one.shape)))
    for one in leaves:
        one.grad = None
    library.autograd.backward(outputs, weights)
    return [translate.pairs(one.grad) for one in leaves]


def _refused(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _compare_gradients(report, sample, mine, arguments, named, is_drawn):
    """is_drawn: gradients depend on random numbers, but where PyTorch's are 0."""
    try:
        theirs = sample.gradients()
    except Exception:
        return  # PyTorch itself has none
    if not theirs:
        return
    outputs = [one for one in _tensors(mine) if one.requires_grad]
    if not outputs:
        if any(one is not None and one.abs().sum() != 0 for one in theirs):
            report.note("gradient missing")
        else:
            report.note("passed")
        return
    try:
        ours = _gradients(mine, arguments, named, tenon)
    except MemoryError as error:
        return report.note("crash", _refused(error))
    except Exception as error:
        return report.note("gradient refused", _refused(error))
    exact, found = None, []
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one is None or other is None:
            there = other if one is None else one
            if there is not None and there.abs().sum() != 0:
                return report.note("gradient missing" if one is None else "wrong gradient", "one where PyTorch has None")
            continue
        if is_drawn and other.abs().sum() != 0:
            continue
        if exact is None:
            exact = sample.exact_gradients() or [None] * len(theirs)
        found.append(difference(one, other, lambda i=i: exact[i]))
    worst = most_serious(found)
    if worst:
        report.note("rounding" if worst.kind == "rounding" else "wrong gradient", f"{worst.kind}: {worst.text}", worst.off)
    else:
        report.note("passed")


def _compare_captured(report, function, sample, plain):
    """A captured function gives the bits of the function, in every of its calls."""
    captured = tenon.compile(lambda arguments, named: sample.called(function, arguments, named))
    for _ in range(_CALLS_OF_CAPTURED):
        arguments, named = sample.translated()
        try:
            with tenon.no_grad():
                result = captured(arguments, named)
        except MemoryError as error:
            return report.note("crash", _refused(error))
        except Exception:
            return  # values that decide shapes, say; docs/capture.md lists what is refused
        if len(_all_tensors(result)) != len(_all_tensors(plain)):
            return report.note("captured differs")
        for one, other in zip(_all_tensors(result), _all_tensors(plain)):
            a, b = translate.to_torch(one), translate.to_torch(other)
            if a.dtype != b.dtype or not _are_equal(a, b):
                return report.note("captured differs")
    report.note("passed")


def _all_tensors(value):
    if isinstance(value, tenon.Tensor):
        return [value]
    return [one for part in value for one in _all_tensors(part)] if isinstance(value, (tuple, list)) else []


def _are_equal(a, b):
    """Element by element, with NaN where the other has it."""
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def _names_equals(op, sample, mine, theirs):
    """Whether the values are PyTorch's and the places, no two alike, hold the same elements as PyTorch's places."""
    if not isinstance(theirs, torch.Tensor):
        if difference(mine[0], theirs[0]):
            return False
        mine, theirs = mine[1], theirs[1]
    made = translate.to_torch(mine)
    if made.shape != theirs.shape or made.dtype != theirs.dtype:
        return False
    at = NAMES_EQUALS[op.name]
    dim = sample.named.get("dim", sample.arguments[at] if len(sample.arguments) > at else -1)
    x = sample.arguments[0].detach()
    if not x.ndim:
        return torch.equal(made, theirs)
    if made.ndim < x.ndim:
        made, theirs = made.unsqueeze(dim), theirs.unsqueeze(dim)
    places = made.sort(dim).values
    if made.shape[dim] > 1 and (places.diff(dim=dim) == 0).any():
        return False
    return _are_equal(torch.take_along_dim(x, made, dim), torch.take_along_dim(x, theirs, dim))


def _draws(op, named):
    """Whether values are random numbers."""
    if op.name in DRAWN:
        return named.get("training", _trains(op)) and named.get("p", 0.5) not in (0, 1)
    return named.get("dropout_p", 0) > 0


def _trains(op):
    """What `training` is by default; True where there is no such argument."""
    try:
        return inspect.signature(op.op).parameters["training"].default
    except (KeyError, ValueError):
        return True


def _run_sample(report, op, sample, function, dtype, with_gradient):
    try:
        theirs = sample.theirs()
    except Exception:
        return  # what PyTorch refuses is asked for among the error inputs
    try:
        arguments, named = sample.translated()
    except translate.NotTranslated:
        return
    try:
        mine = sample.called(function, arguments, named)
        found = difference(mine, theirs, sample.exact, values=not _draws(op, sample.named))
        if found and op.name in NAMES_EQUALS and _names_equals(op, sample, mine, theirs):
            found = None
    except MemoryError as error:
        return report.note("crash", _refused(error))
    except Exception as error:
        return report.note("refused", _refused(error))
    if found:
        report.note(found.kind, found.text, found.off)
        if found.kind in ("wrong shape", "wrong dtype"):
            return
    else:
        report.note("passed")
    if with_gradient:
        _compare_gradients(report, sample, mine, arguments, named, _draws(op, sample.named))
    elif sample.form == "function" and dtype in (torch.float32, torch.int64) and not _draws(op, sample.named):
        _compare_captured(report, function, sample, mine)


def _processing(op, sample):
    """A function that makes of results what both libraries must have alike, or None."""
    if op.name.startswith("fft."):
        return translate.pairs
    if op.name in WITHOUT_SIGNS:
        return sample.output_process_fn_grad
    if op.name == "linalg.lstsq":
        return lambda results: [results[i] for i in PARTS_OF_DRIVERS[sample.kwargs["driver"]] if i < len(results)]
    return None


def _samples(op, dtype, requires_grad, most):
    _seeded()
    try:
        found = op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
        for i, sample in enumerate(found):
            if most and i >= most:
                return
            yield sample
    except Exception as error:  # PyTorch cannot make them on this machine
        warnings.warn(f"{op.name}: {error}")


def run(op, report, start=0, most=0, only_errors=False):
    """All samples from number `start` on, of each dtype at most `most`, unless that is 0; then the error inputs."""
    number = 0
    forms = translate.forms_of(op)
    dtypes = {**translate.DTYPES, **translate.DTYPES_OF_PAIRS} if op.name.startswith("fft.") else translate.DTYPES
    for dtype in () if only_errors else dtypes:
        for requires_grad in (False, True):
            kinds = op.supported_backward_dtypes("cpu") if requires_grad else op.supported_dtypes("cpu")
            if dtype not in kinds or (requires_grad and not (op.supports_autograd and (dtype.is_floating_point or dtype.is_complex))):
                continue
            for i, given in enumerate(_samples(op, dtype, requires_grad, most)):
                for form, theirs, mine in forms:
                    number += 1
                    if number <= start or (form == "in place" and not isinstance(given.input, torch.Tensor)):
                        continue
                    with_gradient = requires_grad and (form != "in place" or op.supports_inplace_autograd)
                    if requires_grad and not with_gradient:
                        continue
                    where = f"{str(dtype)[6:]}, {form}, sample {i}{', gradient' if requires_grad else ''}"
                    report.now(number, str(dtype)[6:], where, ((given.input, *given.args), given.kwargs))
                    _run_sample(report, op, Sample(given, form, theirs, _processing(op, given)), mine, dtype, with_gradient)
    _run_errors(op, report, number, start)


def _run_errors(op, report, number, start):
    """What PyTorch refuses is refused, by an exception, whichever form it is called in."""
    if op.error_inputs_func is None:
        return
    _seeded()
    try:
        errors = list(op.error_inputs("cpu"))
    except Exception:
        return
    for i, error in enumerate(errors):
        for form, theirs, mine in translate.forms_of(op):
            number += 1
            given = error.sample_input
            if number <= start or (form != "function" and not isinstance(given.input, torch.Tensor)):
                continue
            report.now(number, "", f"error input {i}, {form}", ((given.input, *given.args), given.kwargs))
            _run_error(report, Sample(given, form, theirs), mine)


def _run_error(report, sample, function):
    try:
        sample.theirs()
        return  # this PyTorch takes it
    except Exception as theirs:
        reason = str(theirs).splitlines()[0] if str(theirs) else type(theirs).__name__
    try:
        arguments, named = sample.translated()
    except translate.NotTranslated:
        return
    try:
        for one in _all_tensors(sample.called(function, arguments, named)):
            one.eval().wait()
    except MemoryError as error:
        report.note("crash", _refused(error))
    except Exception:
        report.note("passed")
    else:
        report.note("error accepted", reason)
