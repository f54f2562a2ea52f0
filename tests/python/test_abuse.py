"""Calls that no program should make: each is refused with an exception, and none ends the process."""

import gc
import os
import subprocess
import sys
import unittest
import weakref

import tenon
from tenon import models, nn


def outcome(program, seconds=120):
    """Exit code and errors of a program in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                         timeout=seconds)
    return run.returncode, run.stdout + run.stderr[-2000:]


# Every function of every class, with None, a text and an object that was never made as self.
EVERY_METHOD = """
import warnings
warnings.simplefilter("ignore")
import inspect, tenon, tenon.models, tenon.data, tenon.text, tenon.training, tenon.linalg, tenon.amp
seen = set()
def classes(module):
    for value in list(vars(module).values()):
        if inspect.ismodule(value) and value.__name__.startswith("tenon") and value not in seen:
            seen.add(value)
            yield from classes(value)
        elif inspect.isclass(value) and value.__module__.startswith("tenon") and value not in seen:
            seen.add(value)
            yield value
for one in list(classes(tenon)):
    if issubclass(one, BaseException):
        continue
    try:
        raw = one.__new__(one)
    except Exception:
        raw = "y"
    for name in dir(one):
        if name in ("__class__", "__subclasshook__", "__init_subclass__", "__new__", "__del__", "wait"):
            continue
        try:
            member = inspect.getattr_static(one, name)
        except AttributeError:
            continue
        if isinstance(member, (staticmethod, classmethod)) or not hasattr(member, "__get__"):
            continue
        if not getattr(type(member), "__module__", "").startswith("tenon") and name in vars(object):
            continue
        for self in (None, "x", raw):
            for arguments in ((), (None,), ("x", "name"), ("x", "name", 1)):
                try:
                    member.fget(self) if isinstance(member, property) else getattr(one, name)(self, *arguments)
                except Exception:
                    pass
print("all are there")
"""


class WrongSelf(unittest.TestCase):
    def test_is_a_type_error(self):
        calls = [lambda: nn.Linear.zero_grad(None), lambda: list(nn.Linear.buffers(None)),
                 lambda: nn.Module.register_buffer("x", "name", tenon.ones(1)), lambda: tenon.optim.SGD.gather(None),
                 lambda: tenon.optim.Scheduler.get_last_lr(None), lambda: tenon.data.TensorDataset.__len__(None),
                 lambda: models.GPT2.__new__(models.GPT2).training]
        for i, call in enumerate(calls):
            with self.subTest(i), self.assertRaises((TypeError, AttributeError)):
                call()

    def test_of_any_method_ends_no_process(self):
        self.assertEqual(outcome(EVERY_METHOD), (0, "all are there\n"))


class Blocks(unittest.TestCase):
    def test_that_were_not_entered_are_not_left(self):
        for block in (tenon.no_grad(), tenon.enable_grad(), tenon.inference_mode(), tenon.autocast()):
            with self.assertRaisesRegex(RuntimeError, "not entered"):
                block.__exit__(None, None, None)
            with block:
                pass
            with self.assertRaisesRegex(RuntimeError, "not entered"):
                block.__exit__(None, None, None)
        self.assertTrue(tenon.is_grad_enabled())


class Paths(unittest.TestCase):
    def test_that_no_file_has_are_value_errors(self):
        for path in ("\ud800", "a\0b", b"a\0b", "a\0b.npy", "a\0b.npz"):
            with self.subTest(repr(path)), self.assertRaises(ValueError):
                tenon.load(path)


class Members(unittest.TestCase):
    MAKERS = [lambda: models.CNN(), lambda: models.GPT2(layers=1, heads=1, width=8, vocabulary=10),
              lambda: models.Llama(layers=1, heads=1, kv_heads=1, width=8, vocabulary=10),
              lambda: nn.TransformerEncoderLayer(8, 1), lambda: nn.Sequential(nn.Linear(2, 2), nn.ReLU())]

    def test_keep_what_they_are_members_of(self):
        for make in self.MAKERS:
            children, modules = list(make().children()), list(make().modules())[1:]
            below = [module for child in make().children() for module in child.modules()]
            gc.collect()
            for module in children + modules + below:
                self.assertTrue(repr(module))
                for parameter in module.parameters():
                    parameter.sum().item()

    def test_are_collected_in_a_circle(self):
        model = models.CNN()
        model.first = list(model.children())[0]
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())


class Threads(unittest.TestCase):
    def test_that_compute_when_the_process_ends_are_left_alone(self):
        for work in ("(x * 2).sum().backward()", "(x * 2).detach().numpy()", "x.register_hook(lambda g: g * 2).remove()"):
            program = f"""
import threading, time, tenon
def loop():
    x = tenon.ones(100, requires_grad=True)
    while True:
        {work}
        x.grad = None
for _ in range(4): threading.Thread(target=loop, daemon=True).start()
time.sleep(0.3)
"""
            for _ in range(3):
                self.assertEqual(outcome(program), (0, ""))


if __name__ == "__main__":
    unittest.main()
