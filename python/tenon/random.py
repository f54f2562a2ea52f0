"""The default generator of random numbers, which is that of all devices.

>>> import tenon
>>> generator = tenon.manual_seed(1)
>>> first = tenon.rand(2)
>>> _ = tenon.random.manual_seed(1)
>>> tenon.equal(first, tenon.rand(2))
True
"""

import contextlib

from . import _tenon


def manual_seed(seed):
    """Seeds the default generator, and returns it."""
    _tenon.manual_seed(int(seed))
    return _tenon.default_generator()


def get_rng_state():
    """Where the default generator stands: its seed and how much was drawn."""
    return _tenon.default_generator().get_state()


def set_rng_state(state):
    """The default generator goes on from there."""
    _tenon.default_generator().set_state(state)


def initial_seed():
    """The seed of the default generator."""
    return _tenon.default_generator().seed()


def seed():
    """Seeds the default generator with a number that nobody knows, and returns it."""
    import secrets

    chosen = secrets.randbits(63)
    _tenon.manual_seed(chosen)
    return chosen


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True):
    """Behind the block the default generator stands where it stood before it."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
