"""Switches of cuDNN, which Tenon does not use: they can be set, and change nothing."""

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False
benchmark_limit = None


def is_available():
    """Whether there is cuDNN: never."""
    return False


def version():
    """The version of cuDNN: there is none."""
    return None
