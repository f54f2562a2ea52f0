"""Gradient clipping and parameters as one vector, under PyTorch's names."""

from ... import _tenon
from ...autograd import no_grad
from ... import checks as _checks
from . import rnn  # noqa: F401


def _gradients(parameters):
    parameters = _checks.several_tensors("clip_grad_value_", parameters)
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of several tensors together."""
    tensors = _checks.several_tensors("get_total_norm", tensors)
    total = _tenon._optim._total_norm(tensors, float(norm_type))
    if error_if_nonfinite and not total.isfinite().item():
        raise _tenon.Error(f"[clip_grad_norm_] the norm of the gradients is {total.item()}; without error_if_nonfinite they "
                           "would be scaled by it")
    return total


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients so that their norm together is at most max_norm, and returns the norm they had."""
    parameters = _checks.several_tensors("clip_grad_norm_", parameters)
    if all(parameter.grad is None for parameter in parameters):
        return _tenon.tensor(0.0)
    if float(norm_type) == 2.0 and not error_if_nonfinite:
        return _tenon._optim.clip_grad_norm_(parameters, max_norm)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    _tenon._optim._clip_grads_with_norm(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Bounds every element of all gradients by -clip_value and clip_value."""
    with no_grad():
        for one in _gradients(parameters):
            one.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters):
    """All parameters as one vector."""
    return _tenon.cat([parameter.reshape(-1) for parameter in _checks.several_tensors("parameters_to_vector", parameters)])


def vector_to_parameters(vec, parameters):
    """Copies a vector back into the parameters."""
    if not isinstance(vec, _tenon.Tensor):
        raise TypeError(f"vector_to_parameters() needs a tensor for 'vec', not {type(vec).__name__}")
    begin = 0
    with no_grad():
        for parameter in _checks.several_tensors("vector_to_parameters", parameters):
            parameter.copy_(vec[begin:begin + parameter.numel()].reshape(parameter.shape))
            begin += parameter.numel()
