"""Gradients, functions of one's own, hooks, captured functions, Ctrl-C."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import weakref

import tenon


class Gradients(unittest.TestCase):
    def test_backward_collects(self):
        w = tenon.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(2):
            (w * w).sum().backward()
        self.assertEqual(w.grad.tolist(), [4, 8])
        w.grad = None
        self.assertIsNone(w.grad)

    def test_grad(self):
        x = tenon.tensor(3.0, requires_grad=True)
        (first,) = tenon.autograd.grad(x**3, x, create_graph=True)
        (second,) = tenon.autograd.grad(first, x)
        self.assertEqual((first.item(), second.item()), (27, 18))

    def test_no_grad(self):
        w = tenon.ones(2, requires_grad=True)
        with tenon.no_grad():
            self.assertFalse((w * 2).requires_grad)
            with tenon.enable_grad():
                self.assertTrue((w * 2).requires_grad)

        @tenon.no_grad
        def plain(x):
            return x * 2

        @tenon.no_grad()
        def called(x):
            return x * 2

        self.assertFalse(plain(w).requires_grad or called(w).requires_grad)
        self.assertTrue(tenon.is_grad_enabled())

    def test_hooks_that_are_removed_let_go_of_their_functions(self):
        class Watcher:
            def __call__(self, gradient):
                return gradient * self.tensor.detach()
        w, watcher = tenon.ones(3, requires_grad=True), Watcher()
        watcher.tensor = w
        gone = weakref.ref(watcher)
        handle = w.register_hook(watcher)
        (w * 2).sum().backward()
        self.assertEqual(w.grad.tolist(), [2, 2, 2])
        del watcher, w
        handle.remove()
        self.assertIsNone(gone())

    def test_hooks(self):
        w = tenon.ones(2, requires_grad=True)
        seen = []
        handle = w.register_hook(lambda g: seen.append(g.tolist()))
        h = w * 3
        h.register_hook(lambda g: g * 10)
        h.sum().backward()
        self.assertEqual((w.grad.tolist(), seen), ([30, 30], [[30, 30]]))
        handle.remove()
        (w * 1).sum().backward()
        self.assertEqual(len(seen), 1)

    def test_gradcheck(self):
        x = tenon.rand(3, dtype=tenon.float64, requires_grad=True)
        self.assertTrue(tenon.gradcheck(lambda x: x.exp() * x.sin(), [x]))

    def test_errors(self):
        with self.assertRaisesRegex(tenon.Error, "backward"):
            tenon.ones(2).backward()
        w = tenon.ones(2, requires_grad=True)
        with self.assertRaisesRegex(tenon.Error, "a leaf that requires grad cannot be written in place"):
            w += 1


class Scale(tenon.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, offset):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor + offset, x + 1

    @staticmethod
    def backward(ctx, grad, other):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor * 100 + other * x, None, grad


class Functions(unittest.TestCase):
    def test_a_function_has_its_own_gradient(self):
        x, offset = tenon.ones(2, requires_grad=True), tenon.zeros(2, requires_grad=True)
        a, b = Scale.apply(x, 2.0, offset)
        (a + b).sum().backward()
        self.assertEqual((a.tolist(), x.grad.tolist(), offset.grad.tolist()), ([2, 2], [201, 201], [1, 1]))

    def test_it_works_in_captured_functions(self):
        x = tenon.ones(2, requires_grad=True)

        @tenon.compile
        def step(offset):
            x.grad = None
            a, b = Scale.apply(x, 2.0, offset)
            (a + b).sum().backward()
            return x.grad

        for _ in range(5):
            self.assertEqual(step(tenon.zeros(2)).tolist(), [201, 201])

    def test_errors_of_python_pass_through(self):
        class Bad(tenon.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            Bad.apply(tenon.ones(1, requires_grad=True)).backward()

    def test_too_few_gradients(self):
        class Short(Scale):
            @staticmethod
            def backward(ctx, grad, other):
                return grad

        a, _ = Short.apply(tenon.ones(2, requires_grad=True), 1.0, tenon.ones(2))
        with self.assertRaisesRegex(TypeError, r"Short.backward\(\) gives 1 gradients for 3 arguments"):
            a.sum().backward()


class Captured(unittest.TestCase):
    def test_replays_and_counts(self):
        calls = []

        @tenon.compile(verify_every=0)
        def f(x):
            calls.append(1)
            return x * 2, x + 1

        for i in range(10):
            a, b = f(tenon.full((2,), float(i)))
            self.assertEqual((a.tolist(), b.tolist()), ([2 * i] * 2, [i + 1] * 2))
        self.assertLess(len(calls), 5)
        self.assertEqual(f.recordings, 1)
        f(tenon.ones(3))
        f(tenon.ones(3))
        self.assertEqual(f.recordings, 2)

    def test_a_number_that_changes_is_an_error(self):
        factor = 2.0
        f = tenon.compile(lambda x: x * factor, verify_every=1)
        for _ in range(4):
            f(tenon.ones(2))
        factor = 3.0
        with self.assertRaisesRegex(tenon.Error, r"\[compile\] a captured function has changed .* make it a Scalar"):
            f(tenon.ones(2))

    def test_a_scalar_may_change(self):
        factor = tenon.Scalar(2.0)
        f = tenon.compile(lambda x: x * factor, verify_every=1)
        for i in range(5):
            factor.set(i)
            self.assertEqual(f(tenon.ones(1)).item(), i)

    def test_what_is_refused(self):
        f = tenon.compile(lambda x: x * x.sum().item())
        with self.assertRaisesRegex(tenon.Error, "a value cannot be read inside a captured function; return it"):
            f(tenon.ones(2))
        g = tenon.compile(lambda x: x)
        with self.assertRaisesRegex(TypeError, "a captured function takes tensors, and argument 1 is float; a number"):
            g(2.0)
        with self.assertRaisesRegex(TypeError, "a captured function takes its tensors by position"):
            g(x=tenon.ones(1))
        with self.assertRaisesRegex(TypeError, "a captured function returns a tensor or a tuple of tensors, not int"):
            tenon.compile(lambda x: 3)(tenon.ones(1))
        with self.assertRaisesRegex(TypeError, "a function is needed, not int"):
            tenon.compile(3)

    def test_errors_of_python_pass_through(self):
        f = tenon.compile(lambda x: x[5])
        with self.assertRaises(IndexError):
            f(tenon.ones(2))

    def test_methods(self):
        class Model:
            def __init__(self):
                self.w = tenon.full((2,), 3.0)

            def _forward(self, x):
                return self.w * x

        model = Model()
        model.forward = tenon.compile(model._forward)
        for _ in range(4):
            self.assertEqual(model.forward(tenon.ones(2)).tolist(), [3, 3])

    def test_cycles_are_collected(self):
        class Model:
            def __init__(self):
                self.step = tenon.compile(self._step)

            def _step(self, x):
                return x * 2

        model = Model()
        for _ in range(4):
            model.step(tenon.ones(2))
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_threads_take_turns(self):
        f = tenon.compile(lambda x: x * 2)
        wrong = []

        def work(i):
            for _ in range(50):
                if f(tenon.full((4,), float(i))).tolist() != [2 * i] * 4:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


LONG = """
    import tenon
    x = tenon.rand(1500, 1500).wait()
    def long():
        y = x
        for _ in range({count}):
            y = y @ x * 1e-3
        return y.sum()
"""


class Interrupts(unittest.TestCase):
    def run_child(self, count, code):
        program = textwrap.dedent(LONG.format(count=count)) + textwrap.dedent(code)
        return subprocess.Popen([sys.executable, "-u", "-c", program],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)

    def test_ctrl_c_ends_a_long_evaluation(self):
        child = self.run_child(400, """
            value = long()
            print("waiting")
            try:
                value.item()
                print("done")
            except KeyboardInterrupt:
                print("interrupted")
            import os; os._exit(0)
        """)
        self.assertEqual(child.stdout.readline().strip(), "waiting")
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate()[0].strip(), "interrupted")

    def test_other_threads_run_meanwhile(self):
        child = self.run_child(30, """
            import threading, time
            ticks = []
            def tick():
                for _ in range(20):
                    time.sleep(0.01)
                    ticks.append(1)
            thread = threading.Thread(target=tick)
            value = long()
            thread.start()
            value.item()
            print(len(ticks))
        """)
        self.assertEqual(child.communicate()[0].strip(), "20")


if __name__ == "__main__":
    unittest.main()
