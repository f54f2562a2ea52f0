"""What programs for PyTorch ask of TorchScript: functions and modules stay what they are."""


def is_scripting():
    """False: nothing is scripted."""
    return False


def is_tracing():
    """False: nothing is traced."""
    return False


def script(obj=None, *_, **__):
    """The function or module itself; tenon.compile captures it."""
    return obj if obj is not None else script


def trace(func, example_inputs=None, *_, **__):
    """The function or module itself; tenon.compile captures it."""
    return func


ignore = unused = export = script
