"""Gradients, functions of one's own, hooks, captured functions, Ctrl-C."""

import collections
import copy
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

import numpy as np

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


class WritesInPlace(unittest.TestCase):
    """Values are PyTorch's; scripts/fuzz_autograd.py compares random programs with it."""

    def setUp(self):
        self.w = tenon.tensor([1.0, 2.0], requires_grad=True)
        self.y = self.w * 2

    def test_a_hook_on_a_view_stays_with_the_value_before_a_write(self):
        seen, view = [], self.y[0]
        view.register_hook(lambda g: seen.append(g.item()))
        used = view * 5
        view.mul_(3)
        view.register_hook(lambda g: seen.append(("new", g.item())))
        (self.y.sum() + used + view * 7).backward()
        self.assertEqual((seen, self.w.grad.tolist()), ([("new", 7), 5], [58, 2]))

    def test_a_gradient_that_is_kept_changes_its_shape_with_its_tensor(self):
        y = tenon.ones(2, 3, requires_grad=True) * 2
        y.retain_grad()
        weight = tenon.arange(6.0).reshape(2, 3)
        (y * weight).sum().backward()
        y.transpose_(0, 1)
        self.assertEqual(y.grad.tolist(), weight.t().tolist())
        (y * weight.t() * 10).sum().backward()
        self.assertEqual(y.grad.tolist(), (weight.t() * 11).tolist())

    def test_a_tensor_whose_shape_was_changed_in_place_sees_writes_through_its_views(self):
        for change in (lambda y: y.unsqueeze_(0), lambda y: y.unsqueeze_(1).t_(), lambda y: y.unsqueeze_(1).transpose_(0, 1).squeeze_().unsqueeze_(0)):
            y, seen = self.w * 2, []
            self.w.grad = None
            before = y[1:]
            change(y)
            y.register_hook(lambda g: seen.append(g.tolist()))
            y.retain_grad()
            y[0, :1].mul_(3)
            before.mul_(5)
            (y * 7).sum().backward()
            self.assertEqual((seen, y.grad.tolist(), self.w.grad.tolist()), ([[[21, 35]]], [[7, 7]], [42, 70]))

    def test_a_view_whose_shape_was_changed_in_place_is_one_of_the_whole(self):
        outer = self.y[:]
        inner, seen = outer[1:], []
        inner.unsqueeze_(0)
        outer.register_hook(lambda g: seen.append(g.tolist()))
        (inner * 3 + self.y).sum().backward()
        self.assertEqual((seen, self.w.grad.tolist()), ([], [2, 14]))
        for view in (self.w[0], self.w[:1]):
            with self.assertRaisesRegex(tenon.Error, "unsqueeze_. a view of a leaf"):
                view.unsqueeze_(0)
            with tenon.no_grad():
                self.assertEqual(view.unsqueeze_(0).shape[0], 1)

    def test_a_gradient_that_is_retained_takes_the_shape_that_its_tensor_gets(self):
        self.y.retain_grad()
        view = self.y[:1]
        view.retain_grad()
        self.y.unsqueeze_(0)
        view.unsqueeze_(0)
        (self.y * 3 + view).sum().backward()
        self.assertEqual((self.y.grad.tolist(), view.grad.tolist(), self.w.grad.tolist()), ([[5, 3]], [[2]], [10, 6]))

    def test_hooks_on_a_tensor_before_its_shape_is_changed_in_place_see_the_old_shape(self):
        seen = []
        self.y.register_hook(lambda g: seen.append(g.tolist()))
        self.y.unsqueeze_(0)
        with tenon.no_grad():
            self.y[0, :1].mul_(3)
        self.y.register_hook(lambda g: seen.append(g.tolist()))
        self.y.sum().backward()
        self.assertEqual((seen, self.w.grad.tolist()), ([[[1, 1]], [1, 1]], [2, 2]))

    def test_a_shape_that_was_changed_under_no_grad_takes_values_with_gradients_later(self):
        x = tenon.zeros(2)
        with tenon.no_grad():
            x.unsqueeze_(0)
        x.add_(self.w)
        x.sum().backward()
        self.assertEqual(self.w.grad.tolist(), [1, 1])

    def test_a_view_that_changes_nothing_has_hooks_of_its_own(self):
        number = (self.w * 2).sum()
        for x, view in ((self.y, self.y.t()), (self.y, self.y[...]), (number, number[...]), (number, number[()]), (number, number.t())):
            seen = []
            view.register_hook(lambda g: seen.append(g.tolist()))
            (x * 3).sum().backward(retain_graph=True)
            self.assertEqual(seen, [])
            (view * 3).sum().backward(retain_graph=True)
            self.assertEqual(len(seen), 1)

    def test_what_flatten_and_broadcast_tensors_leave_as_it_is_is_the_tensor(self):
        self.assertIs(self.y.flatten(), self.y)
        seen, (same, other) = [], tenon.broadcast_tensors(self.y, self.w[:1])
        same.register_hook(lambda g: seen.append(g.tolist()))
        (self.y + other).sum().backward()
        self.assertEqual(seen, [[1, 1]])

    def test_hooks_on_views_from_before_end_where_the_shape_of_their_memory_is_changed_in_place(self):
        for change in (lambda y: y.t_(), lambda y: y.unsqueeze_(0), lambda y: y.detach().t_(), lambda y: y.detach()[:1].unsqueeze_(0)):
            y, seen = self.w * 2, []
            view = y[:1]
            view.register_hook(lambda g: seen.append(g.tolist()))
            change(y)
            (view * 3).sum().backward()
            self.assertEqual((seen, self.w.grad.tolist()), ([], [6, 0]))
            self.w.grad = None
        view = self.w[:1]
        view.register_hook(lambda g: seen.append(g.tolist()))
        self.w.detach().t_()
        (view * 3).sum().backward()
        self.assertEqual((seen, self.w.grad.tolist()), ([], [3, 0]))

    def test_a_view_of_what_was_written_under_no_grad_after_its_shape_was_changed_has_a_gradient_of_its_own(self):
        for write in (lambda y: y.add_(1), lambda y: y[:1].add_(1), lambda y: y.detach().add_(1)):
            y = self.w * 2
            y.squeeze_(0)
            with tenon.no_grad():
                write(y)
            view = y[:]
            (gradient,) = tenon.autograd.grad((view * 3).sum() + (y * y).sum(), view)
            self.assertEqual(gradient.tolist(), [3, 3])

    def test_hooks_on_values_stay_where_the_values_are_written(self):
        functions = [lambda x: x.max(1)[0], lambda x: x.min(0).values, lambda x: x.topk(2)[0], lambda x: x.median(1)[0],
                     lambda x: x.kthvalue(2)[0], lambda x: x.mode(1)[0], lambda x: x.quantile(0.5, dim=1), lambda x: x.rot90(),
                     lambda x: tenon.kron(x, tenon.ones(2, 2)), lambda x: tenon.diag_embed(x)]
        for function in functions:
            x = tenon.tensor([[3., 1., 2.], [4., 6., 5.]], requires_grad=True)
            values = function(x)
            values.register_hook(lambda g: g * 2)
            values.add_(1)
            values.sum().backward()
            twice, x.grad = x.grad, None
            function(x).sum().backward()
            self.assertEqual(twice.tolist(), (x.grad * 2).tolist())

    def test_a_hook_on_a_quotient_is_none_of_its_derivative(self):
        x = tenon.tensor([0.5, 2.0], requires_grad=True)
        y = x / (x * x + 1)
        y.register_hook(lambda g: g * 2)
        gradient, = tenon.autograd.grad(y.sum(), x, create_graph=True)
        gradient.sum().backward()
        slopes = [2 * (2 * v**3 - 6 * v) / (v**2 + 1)**3 for v in (0.5, 2.0)]  # twice the second derivative of x / (x^2 + 1)
        for got, expected in zip(x.grad.tolist(), slopes):
            self.assertAlmostEqual(got, expected, 5)

    def test_hooks_see_uses_from_before(self):
        used = (self.y * 5).sum()
        self.y.register_hook(lambda g: g * 10)
        (used + self.y.sum()).backward()
        self.assertEqual(self.w.grad.tolist(), [120, 120])

    def test_retained_gradients_follow_writes(self):
        view = self.y[0]
        self.y.retain_grad()
        view.retain_grad()
        self.y.mul_(3)
        (self.y.sum() + view * 2).backward()
        self.assertEqual((self.y.grad.tolist(), view.grad.item()), ([3, 1], 2))

    def test_a_write_under_no_grad_keeps_the_history(self):
        used = (self.y * 5).sum()
        self.y.retain_grad()
        with tenon.no_grad():
            self.y.mul_(3)
        (used + self.y.sum()).backward()
        self.assertEqual((self.y.grad.tolist(), self.w.grad.tolist(), self.y.tolist()), ([6, 6], [12, 12], [6, 12]))

    def test_what_overwrites_everything_gives_zeros(self):
        for overwrite in (lambda y: y.zero_(), lambda y: y.fill_(3), lambda y: y.copy_(tenon.ones(2)), lambda y: y.__setitem__(..., 2),
                          lambda y: y.uniform_()):
            y = self.w * 2
            overwrite(y)
            self.assertTrue(y.requires_grad)
            self.w.grad = None
            y.sum().backward()
            self.assertEqual(self.w.grad.tolist(), [0, 0])

    def test_what_a_mask_picks_has_its_gradient_wherever_it_is_read_first(self):
        picked = self.y[self.y > 3]
        with tenon.no_grad():
            self.assertEqual(picked.tolist(), [4])
        picked.sum().backward()
        self.assertEqual(self.w.grad.tolist(), [0, 2])

    def test_values_that_ops_were_recorded_with_stay(self):
        square = self.y * self.y  # PyTorch: "modified by an inplace operation"
        self.y.mul_(10)
        square.sum().backward()
        self.assertEqual(self.w.grad.tolist(), [8, 16])

    def test_views_made_under_no_grad_are_written_there(self):
        with tenon.no_grad():
            view = self.y[0]
            view.mul_(3)
        with self.assertRaisesRegex(tenon.Error, "view that was made under tenon.no_grad.. is written with gradients on"):
            view.mul_(3)
        self.assertEqual(self.y.tolist(), [6, 4])


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

    def test_results_that_nobody_uses_have_zeros(self):
        seen = []

        class Two(tenon.autograd.Function):
            @staticmethod
            def forward(ctx, x, materializes):
                ctx.set_materialize_grads(materializes)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                seen.append(b if b is None else b.tolist())
                return a * 2, None

        x = tenon.ones(2, requires_grad=True)
        for materializes in (True, False):
            Two.apply(x, materializes)[0].sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([[0, 0], None], [4, 4]))

    def test_results_without_gradients(self):
        class Top(tenon.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                twice = x * 2
                ctx.mark_non_differentiable(twice)
                return x * 3, twice

            @staticmethod
            def backward(ctx, grad, _):
                return grad * 3

        x = tenon.ones(2, requires_grad=True)
        thrice, twice = Top.apply(x)
        self.assertEqual((thrice.requires_grad, twice.requires_grad), (True, False))
        thrice.sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 3])

    def test_a_context_that_is_set_up_apart(self):
        class Power(tenon.autograd.Function):
            @staticmethod
            def forward(x, n):
                return x**n

            @staticmethod
            def setup_context(ctx, inputs, output):
                x, ctx.n = inputs
                ctx.save_for_backward(x)

            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return grad * ctx.n * x ** (ctx.n - 1), None

        x = tenon.tensor([1.0, 2.0], requires_grad=True)
        Power.apply(x, 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 12])

    def test_gradcheck_takes_one_tensor(self):
        self.assertTrue(tenon.autograd.gradcheck(lambda x: x * x, tenon.ones(3, dtype=tenon.float64, requires_grad=True)))

    def test_what_layers_take_is_called_input(self):
        x = tenon.ones(3, 1, 2)
        self.assertEqual(tenon.nn.Linear(2, 3)(input=x).shape, (3, 1, 3))
        self.assertEqual(tenon.nn.LSTM(2, 4)(input=x, hx=None)[0].shape, (3, 1, 4))
        self.assertEqual(tenon.nn.Sequential(tenon.nn.LogSoftmax(-1))(input=x).shape, (3, 1, 2))

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
        g = tenon.compile(lambda x: x * 1)
        with self.assertRaisesRegex(TypeError, r"takes tensors, not arrays, .*; pass tenon.from_numpy\(array\)"):
            g(np.ones(2))
        with self.assertRaisesRegex(TypeError, "a captured function returns .* not float"):
            g(2.0)
        with self.assertRaisesRegex(TypeError, "a captured function returns a tensor or a tuple of tensors, or lists and dicts of them, not int"):
            tenon.compile(lambda x: 3)(tenon.ones(1))
        with self.assertRaisesRegex(TypeError, "a function is needed, not int"):
            tenon.compile(3)

    def test_arguments_of_any_kind(self):
        calls = []

        @tenon.compile(mode="reduce-overhead", fullgraph=True, dynamic=False)
        def f(x, factor, *, name=None, more=()):
            calls.append(name)
            total = x * factor
            for one in more["all"] if isinstance(more, dict) else more:
                total = total + one
            return total

        ones = tenon.ones(2)
        for i in range(6):
            self.assertEqual(f(ones * i, 3).tolist(), [3 * i] * 2)
            self.assertEqual(f(ones * i, 2, name="a", more=[ones, ones * i]).tolist(), [3 * i + 1] * 2)
            self.assertEqual(f(x=ones, factor=0.5, more={"all": (ones * i,)}).tolist(), [i + 0.5] * 2)
        self.assertEqual(f.recordings, 3)
        self.assertLess(len(calls), 18)
        self.assertEqual(f(ones, True).tolist(), [1, 1])  # not that of the number 1

    def test_results_of_any_kind(self):
        Pair = collections.namedtuple("Pair", "a b")
        f = tenon.compile(lambda x: {"twice": x * 2, "pair": Pair(x + 1, [x, None])})
        for i in range(5):
            result = f(tenon.full((1,), float(i)))
            self.assertEqual((result["twice"].item(), result["pair"].a.item(), result["pair"].b[0].item()), (2 * i, i + 1, i))
            self.assertIsNone(result["pair"].b[1])

    def test_a_value_that_always_changes_ends_it_with_a_line(self):
        program = """if True:
            import tenon
            f = tenon.compile(lambda x, i: x * i)
            assert [f(tenon.ones(1), i).item() for i in range(30)] == list(range(30))
            assert f.recordings == 0
        """
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"^\[tenon\] a captured function is called every time .*; pass it as a tensor, or as a tenon.Scalar")

    def test_decorated_methods_belong_to_their_objects(self):
        class Net(tenon.nn.Module):
            def __init__(self, factor):
                super().__init__()
                self.w = tenon.nn.Parameter(tenon.full((2,), factor))

            @tenon.compile
            def forward(self, x, scale=1):
                return self.w * x * scale

        nets = [Net(3.0), Net(5.0)]
        for _ in range(5):
            self.assertEqual([net(tenon.ones(2)).tolist() for net in nets], [[3, 3], [5, 5]])
            self.assertEqual(nets[0](tenon.ones(2), scale=2).tolist(), [6, 6])
        copied = copy.deepcopy(nets[0])
        with tenon.no_grad():
            copied.w.fill_(7)
        self.assertEqual((copied(tenon.ones(2)).tolist(), nets[0](tenon.ones(2)).tolist()), ([7, 7], [3, 3]))
        gone = weakref.ref(nets[0])
        del nets
        gc.collect()
        self.assertIsNone(gone())

    def test_a_module_that_is_captured(self):
        model = tenon.compile(tenon.nn.Linear(2, 3))
        self.assertEqual([model(tenon.ones(i, 2)).shape for i in (1, 1, 1, 2)], [(1, 3)] * 3 + [(2, 3)])
        self.assertEqual((len(list(model.parameters())), model.eval().training), (2, False))

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
