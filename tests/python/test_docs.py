"""The examples in docstrings."""

import contextlib
import doctest
import importlib
import io
import os
import re
import unittest

import tenon

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

MODULES = ["tenon", "tenon.autograd", "tenon.files", "tenon.nn", "tenon.nn.module", "tenon.optim",
           "tenon.optim.lr_scheduler", "tenon.optim.grad_scaler", "tenon.limits", "tenon.random", "tenon.backends", "tenon.nn.modules", "tenon.cuda", "tenon.loaders",
           "tenon.nn.adaptive_softmax", "tenon.nn.container", "tenon.nn.embedding", "tenon.nn.linear", "tenon.nn.hooks", "tenon.func", "tenon.distributions", "tenon.fft", "tenon.linalg", "tenon.nn.init", "tenon.nn.utils.rnn", "tenon.utils.checkpoint"]


class Docstrings(unittest.TestCase):
    def test_examples_of_the_package(self):
        tried = 0
        for name in MODULES:
            result = doctest.testmod(importlib.import_module(name))
            self.assertEqual(result.failed, 0, name)
            tried += result.attempted
        self.assertGreater(tried, 20)

    def test_examples_of_the_extension(self):
        runner = doctest.DocTestRunner()
        tried = 0
        objects = {name: value for name, value in vars(tenon._tenon).items() if not name.startswith("_")}
        objects.update({f"Tensor.{name}": value for name, value in vars(tenon.Tensor).items()})
        objects.update({f"nn.{name}": value for name, value in vars(tenon._tenon._nn).items()})
        for name, value in objects.items():
            doc = getattr(value, "__doc__", None)
            if not doc or ">>>" not in doc:
                continue
            test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
            runner.run(test)
            tried += len(test.examples)
        self.assertEqual(runner.summarize(verbose=False).failed, 0)
        self.assertGreater(tried, 20)

    def test_programs_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertEqual(len(programs), 2)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            for program in programs:
                exec(program, names)
        self.assertLess(float(shown.getvalue()), 0.5)
        self.assertEqual((names["recorded"].tolist(), names["computed"].tolist()), ([10] * 3, [3] * 3))

    def test_everything_has_a_docstring(self):
        for module in (tenon, tenon.nn.functional, tenon.optim):
            for name, value in vars(module).items():
                if callable(value) and not name.startswith("_"):
                    self.assertTrue(value.__doc__, f"{module.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
