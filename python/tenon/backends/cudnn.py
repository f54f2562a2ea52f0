"""Switches of cuDNN: they can be set, and change nothing. Its algorithms are deterministic ones, chosen by timing; tf32 is
that of backends.cuda.matmul."""

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
