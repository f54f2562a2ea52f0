"""Every function, layer and method, given whatever comes: an exception of the usual kinds, of one line."""

import os
import tempfile
import unittest

import tenon
from tenon import data, models, nn, optim, text
from tenon.nn import functional as F

_NOT_CALLED = {"seed", "set_num_threads", "manual_seed", "set_printoptions", "train", "set_rng_state", "share_memory_"}
_EXPECTED = (TypeError, ValueError, IndexError, KeyError, OverflowError, MemoryError, OSError, NotImplementedError, StopIteration,
             tenon.Error)


class _Odd:
    pass


def _values(x):
    return [None, "x", 3, -1, 2.5, [1], [], {}, (1, 2), x, _Odd(), b"a", True, float("nan"), {"a": 1}, lambda *_: None,
            tenon.tensor([True]), tenon.float32, range(3), nn.Linear(2, 2), _Odd, 1 << 70]


def _functions():
    for module in (tenon, F, nn, optim, optim.lr_scheduler, data, text, models, tenon.linalg, tenon.autograd, nn.init, nn.utils,
                   tenon.cuda, tenon.amp):
        for name, value in sorted(vars(module).items()):
            if not name.startswith("_") and callable(value) and name not in _NOT_CALLED:
                yield f"{module.__name__}.{name}", value
    x = tenon.ones(2, 2)
    for name in dir(tenon.Tensor):
        if not name.startswith("_") and callable(getattr(tenon.Tensor, name)) and name not in _NOT_CALLED:
            yield f"Tensor.{name}", getattr(x, name)


class Garbage(unittest.TestCase):
    def check(self, name, function, *args):
        try:
            result = function(*args)
            if isinstance(result, tenon.Tensor):
                result.wait()
        except _EXPECTED as error:
            said = str(error)
            self.assertNotIn("\n", said, (name, args))
            self.assertLess(len(said), 600, (name, args))
        except Exception as error:
            self.fail(f"{name}{tuple(type(one).__name__ for one in args)}: {type(error).__name__}: {error}")

    def test_is_refused_in_one_line(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for name, function in _functions():
                    for value in _values(tenon.ones(2, 2)):
                        x = tenon.ones(2, 2)
                        for before_it in ((), (x,), (x, x), (3, 3), ([nn.Parameter(tenon.ones(1))],)):
                            self.check(name, function, *before_it, value)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
