"""Whether there is PyTorch's device for Apple's GPUs, which Tenon does not have."""


def is_available():
    """Whether there is a device "mps": never."""
    return False


def is_built():
    """Whether the library can use a device "mps": it cannot."""
    return False
