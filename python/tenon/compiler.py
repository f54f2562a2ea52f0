"""What programs for PyTorch ask of the compiler; tenon.compile captures functions."""


def is_compiling():
    """Whether a function is being captured: it runs as it is written, so this is always False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself."""
    return fn if fn is not None else lambda function: function


def reset():
    """Taken and not needed."""
