"""What programs written for PyTorch call, beyond what the other files test."""

import copy
import io
import math
import os
import pickle
import tempfile
import unittest

import numpy as np

import tenon
from tenon import nn
from tenon.nn import functional as F
from tenon.optim import lr_scheduler
from tenon.optim.lr_scheduler import StepLR


class Tensors(unittest.TestCase):
    def test_a_number_is_formatted_as_one(self):
        self.assertEqual(f"{tenon.tensor(3.14159):.2f} {tenon.tensor(7):>3d} {tenon.tensor(2.)}", "3.14   7 2.0")
        self.assertEqual(f"{tenon.tensor([1., 2.])}", "tensor([1., 2.])")
        with self.assertRaises(TypeError):
            f"{tenon.tensor([1., 2.]):.2f}"

    def test_new_tensors_like_others(self):
        x = tenon.ones(2, 3, dtype=tenon.float64)
        for made, value in ((x.new_zeros(2), 0), (x.new_ones((2,)), 1), (x.new_full((2,), 5), 5), (x.new_tensor([7, 7]), 7)):
            self.assertEqual((made.tolist(), made.dtype), ([value, value], tenon.float64))
        self.assertIs(x.new_ones(2, dtype=tenon.int64).dtype, tenon.int64)
        self.assertEqual(x.new_empty(4).shape, (4,))
        y = tenon.rand_like(tenon.ones(2, 2, dtype=tenon.int64), dtype=tenon.float32, requires_grad=True)
        self.assertEqual((y.dtype, y.shape, y.requires_grad), (tenon.float32, (2, 2), True))
        self.assertIs(tenon.randn_like(x).dtype, tenon.float64)

    def test_shapes_and_sizes(self):
        x = tenon.arange(6)
        y = x.view_as(tenon.ones(2, 3))
        self.assertEqual((y.shape, y.ravel().tolist(), y.swapaxes(0, 1).shape), ((2, 3), x.tolist(), (3, 2)))
        self.assertEqual((x.nelement(), x.element_size(), x.is_cuda), (6, 8, False))
        self.assertEqual((tenon.tile(y, (2,)).tolist(), y.tile(2, 1).tolist()),
                         (np.tile(y.numpy(), (2,)).tolist(), np.tile(y.numpy(), (2, 1)).tolist()))
        self.assertEqual(tenon.concatenate([x, x], axis=0).shape, (12,))
        self.assertIs(x.type(tenon.float32).dtype, tenon.float32)
        self.assertEqual((x[range(2)].tolist(), tenon.tensor(range(3)).tolist()), ([0, 1], [0, 1, 2]))

    def test_arguments_of_reductions(self):
        x = tenon.tensor([200, 100], dtype=tenon.uint8)
        self.assertEqual((x.sum(dtype=tenon.int64).item(), x.mean(dtype=tenon.float32).item()), (300, 150))
        y = tenon.tensor([[1., 3.], [2., 6.]])
        a = y.numpy()
        for got, expected in ((y.std(unbiased=False), a.std()), (y.std(False), a.std()), (y.std(0, False), a.std(0)),
                              (y.var(1, unbiased=True), a.var(1, ddof=1)), (y.std(0), a.std(0, ddof=1))):
            np.testing.assert_allclose(got.tolist(), expected, rtol=1e-6)
        rows, columns = tenon.tensor([[0, 1], [1, 0]]).nonzero(as_tuple=True)
        self.assertEqual((rows.tolist(), columns.tolist()), ([0, 1], [1, 0]))
        self.assertEqual(F.one_hot(tenon.tensor([0, 2])).tolist(), [[1, 0, 0], [0, 0, 1]])

    def test_division_that_rounds(self):
        x = tenon.tensor([-7, 7])
        self.assertEqual(x.div(2, rounding_mode="floor").tolist(), [-4, 3])
        self.assertEqual(tenon.div(x, 2, rounding_mode="trunc").tolist(), [-3, 3])
        self.assertIs(tenon.div(x, 2, rounding_mode="trunc").dtype, tenon.int64)
        self.assertEqual(tenon.tensor([-7., 7.]).div(2, rounding_mode="trunc").tolist(), [-3, 3])
        self.assertEqual(x.div(2).tolist(), [-3.5, 3.5])
        with self.assertRaisesRegex(tenon.Error, "there is no rounding mode 'up'; there are 'floor' and 'trunc'"):
            x.div(2, rounding_mode="up")

    def test_limits(self):
        for name in ("float16", "float32", "float64"):
            ours, numpys = tenon.finfo(getattr(tenon, name)), np.finfo(name)
            self.assertEqual((ours.max, ours.min, ours.eps, ours.tiny, ours.bits),
                             (float(numpys.max), float(numpys.min), float(numpys.eps), float(numpys.tiny), numpys.bits))
        self.assertEqual((tenon.iinfo(tenon.uint8).max, tenon.iinfo(tenon.int32).min), (255, -2**31))
        with self.assertRaisesRegex(TypeError, "finfo is of floating-point dtypes, not of tenon.int64; use iinfo"):
            tenon.finfo(tenon.int64)

    def test_cuda_is_there_or_not(self):
        self.assertIn(tenon.cuda.is_available(), (True, False))
        self.assertEqual(tenon.ones(1, device="cuda" if tenon.cuda.is_available() else "cpu").item(), 1)


class Gradients(unittest.TestCase):
    def test_modes(self):
        w = tenon.ones(1, requires_grad=True)
        with tenon.set_grad_enabled(False):
            self.assertFalse((w * 2).requires_grad)
        self.assertTrue(tenon.is_grad_enabled())
        with tenon.inference_mode():
            self.assertFalse((w * 2).requires_grad)
            with tenon.set_grad_enabled(True):
                self.assertTrue((w * 2).requires_grad)
            self.assertFalse(tenon.is_grad_enabled())
        tenon.set_grad_enabled(False)
        self.assertFalse(tenon.is_grad_enabled())
        tenon.set_grad_enabled(True)
        self.assertTrue(tenon.is_grad_enabled())

        @tenon.inference_mode()
        def double(x):
            return x * 2

        @tenon.set_grad_enabled(False)
        def triple(x):
            return x * 3

        self.assertTrue(tenon.is_grad_enabled())
        self.assertFalse(double(w).requires_grad or triple(w).requires_grad)

    def test_keywords_of_grad(self):
        w, unused = tenon.ones(2, requires_grad=True), tenon.ones(3, requires_grad=True)
        found = tenon.autograd.grad(outputs=(w * w).sum(), inputs=[w, unused], grad_outputs=None, retain_graph=True,
                                    create_graph=True, allow_unused=True)
        self.assertEqual((found[0].tolist(), found[1]), ([2, 2], None))
        found = tenon.autograd.grad((w * w).sum(), [w, unused], materialize_grads=True)
        self.assertEqual(found[1].tolist(), [0, 0, 0])
        x = w * 3
        tenon.autograd.backward([x.sum(), (x * x).sum()])
        self.assertEqual(w.grad.tolist(), [21, 21])

    def test_backward_of_several_values_is_one_pass(self):
        w, seen = tenon.tensor([1., 2.], requires_grad=True), []
        w.register_hook(lambda g: seen.append(g.tolist()))
        a, b = w * 3, w * w
        tenon.autograd.backward([a.sum(), b], [None, tenon.tensor([1., 10.])])
        self.assertEqual((w.grad.tolist(), seen), ([5, 43], [[5, 43]]))
        self.assertRaisesRegex(tenon.Error, "used up", b.backward, tenon.ones(2))
        with self.assertRaisesRegex(tenon.Error, "2 gradients are too many for 1 tensors"):
            tenon.autograd.backward([w.sum()], [None, None])
        with self.assertRaisesRegex(tenon.Error, "pass its gradient"):
            tenon.autograd.backward([w.sum(), w * 2])
        tenon.autograd.backward(w.sum(), retain_graph=True)
        self.assertEqual(w.grad.tolist(), [6, 44])

    def test_autocast_of_a_device(self):
        x = tenon.ones(2, 2)
        with tenon.autocast("cpu", dtype=tenon.float16):
            self.assertIs((x @ x).dtype, tenon.float16)
        with tenon.autocast(device_type="cpu"):
            self.assertIs((x @ x).dtype, tenon.bfloat16)
        for off in (tenon.autocast("cpu", tenon.bfloat16, enabled=False), tenon.autocast(tenon.bfloat16, False)):
            with off:
                self.assertIs((x @ x).dtype, tenon.float32)


class Modules(unittest.TestCase):
    def test_parameters_are_an_iterator_and_a_list(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        self.assertIs(next(net.parameters()), net[0].weight)
        self.assertEqual(next(net.named_parameters())[0], "0.weight")
        every = net.parameters()
        self.assertIs(next(every), net[0].weight)
        self.assertIs(next(every), net[0].bias)
        self.assertEqual((len(net.parameters()), len(list(every)), len(net.parameters(recurse=False))), (4, 4, 0))
        self.assertIs(next(net.children()), net[0])
        self.assertEqual([name for name, _ in net[0].named_parameters(prefix="a")], ["a.weight", "a.bias"])

    def test_layers_know_what_they_were_made_with(self):
        layer = nn.Linear(4, out_features=3)
        self.assertEqual((layer.in_features, layer.out_features, layer.bias.shape), (4, 3, (3,)))
        conv = nn.Conv2d(1, 2, 3, padding=(1, 0))
        self.assertEqual((conv.in_channels, conv.kernel_size, conv.stride, conv.padding), (1, (3, 3), (1, 1), (1, 0)))
        self.assertEqual((nn.Embedding(5, 3).num_embeddings, nn.Dropout(0.2).p, nn.LayerNorm(4).normalized_shape),
                         (5, 0.2, (4,)))
        self.assertEqual((nn.BatchNorm2d(2).eps, nn.BatchNorm2d(2, momentum=None).momentum, nn.GELU().approximate),
                         (1e-5, None, "none"))

    def test_modules_that_hold_each_other(self):
        a, b = nn.Module(), nn.Module()
        a.weight = nn.Parameter(tenon.ones(1))
        a.below, b.above = b, a
        self.assertEqual(len(a.parameters()), 1)
        with tempfile.TemporaryDirectory() as folder:
            for call in (a.state_dict, lambda: a.load_state_dict({}), lambda: tenon.save(a, os.path.join(folder, "a.pt")),
                         lambda: tenon.save(a, os.path.join(folder, "a.safetensors"))):
                with self.assertRaisesRegex(RecursionError, "the module above holds itself"):
                    call()
        twice = nn.Module()
        twice.one = twice.two = nn.Linear(1, 1)
        self.assertEqual(len(twice.state_dict()), 4)


class Optimizers(unittest.TestCase):
    def test_rates_of_groups(self):
        a, b = nn.Parameter(tenon.ones(2)), nn.Parameter(tenon.ones(2))
        optimizer = tenon.optim.SGD([{"params": [a]}, {"params": [b], "weight_decay": 0.0}], lr=0.5)
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.5, 0.5])
        optimizer.lr = 0.25
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.25, 0.25])
        for group, lr in zip(optimizer.param_groups, (1.0, 0.1)):
            group["lr"] = lr
        (a.sum() + b.sum()).backward()
        optimizer.step()
        np.testing.assert_allclose(a.tolist() + b.tolist(), [0, 0, 0.9, 0.9], atol=1e-6)

    def test_a_step_without_gradients_does_nothing(self):
        w = nn.Parameter(tenon.ones(2))
        optimizer = tenon.optim.SGD([w], lr=0.5)
        optimizer.step()
        self.assertEqual((w.tolist(), optimizer.steps()), ([1, 1], 0))

    def test_schedules_are_pytorchs(self):
        def rates(make, steps=6):
            optimizer = tenon.optim.SGD([nn.Parameter(tenon.ones(1))], lr=0.1)
            schedule = make(optimizer)
            found = []
            for _ in range(steps):
                found.append(round(optimizer.param_groups[0]["lr"], 6))
                schedule.step()
            return found

        # What PyTorch 2 gives.
        for make, expected in [
            (lambda o: StepLR(o, 2, 0.5), [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]),
            (lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=10), [0.1, 0.097553, 0.090451, 0.079389, 0.065451, 0.05]),
            (lambda o: lr_scheduler.LambdaLR(o, lr_lambda=lambda e: 0.9**e), [0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049]),
            (lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=20), [0.004, 0.013167, 0.037167, 0.066833, 0.090833, 0.1]),
            (lambda o: lr_scheduler.MultiStepLR(o, [2, 4], gamma=0.1), [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]),
            (lambda o: lr_scheduler.LinearLR(o, start_factor=0.1, total_iters=4), [0.01, 0.0325, 0.055, 0.0775, 0.1, 0.1]),
            (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=3), [0.1, 0.075, 0.025, 0.1, 0.075, 0.025]),
            (lambda o: lr_scheduler.PolynomialLR(o, total_iters=4), [0.1, 0.075, 0.05, 0.025, 0, 0]),
            (lambda o: lr_scheduler.ConstantLR(o, factor=0.5, total_iters=3), [0.05, 0.05, 0.05, 0.1, 0.1, 0.1]),
        ]:
            np.testing.assert_allclose(rates(make), expected, atol=2e-6)

    def test_the_last_rate(self):
        optimizer = tenon.optim.SGD([nn.Parameter(tenon.ones(1))], lr=1.0)
        schedule = StepLR(optimizer, 1, 0.5)
        schedule.step()
        state = schedule.state_dict()
        self.assertEqual((schedule.get_last_lr(), state["last_epoch"], state["base_lrs"]), ([0.5], 1, [1.0]))
        schedule.load_state_dict({"last_epoch": 3})
        self.assertEqual(optimizer.lr, 0.125)
        plateau = lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=0)
        for loss in (1.0, 2.0):
            plateau.step(loss)
        self.assertTrue(math.isclose(plateau.get_last_lr()[0], 0.0125, rel_tol=1e-6))

    def test_a_group_of_its_own_rate_is_set_alone(self):
        optimizer = tenon.optim.SGD([{"params": [nn.Parameter(tenon.ones(1))], "lr": 0.5}], lr=0.1)
        optimizer.param_groups[0]["lr"] = 0.25
        self.assertEqual((optimizer.param_groups[0]["lr"], optimizer.defaults["lr"]), (0.25, 0.1))

    def test_a_closure_is_called_and_its_loss_returned(self):
        w = nn.Parameter(tenon.ones(2))
        optimizer = tenon.optim.SGD([w], lr=0.25)

        def closure():
            optimizer.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            return loss

        with tenon.no_grad():
            self.assertEqual((optimizer.step(closure).item(), w.tolist()), (2, [0.5, 0.5]))
        self.assertEqual((optimizer.step(closure=closure).item(), w.tolist()), (0.5, [0.25, 0.25]))
        w.sum().backward()
        self.assertIsNone(optimizer.step(when=tenon.tensor(False)))
        self.assertEqual(w.tolist(), [0.25, 0.25])
        with self.assertRaisesRegex(TypeError, "takes a closure or a GradScaler, not int"):
            optimizer.step(3)

    def test_wrong_arguments_are_named_without_tensors(self):
        w = nn.Parameter(tenon.ones(2))
        for call, text in [
            (lambda: tenon.optim.AdamW([w], lrate=1),
             "AdamW() has no argument 'lrate'; it has params, lr, betas, eps, weight_decay, amsgrad"),
            (lambda: tenon.optim.SGD([w], lr="fast"), "SGD() needs a number for 'lr', not str"),
            (lambda: tenon.optim.SGD([w], 0.1, lr=0.2), "SGD() is given its argument 'lr' twice"),
            (lambda: tenon.optim.Adam(lr=0.1), "Adam() lacks its argument 'params'"),
        ]:
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertEqual(str(caught.exception), text)


def two_groups(lrs=(0.1, 0.02), package=tenon):
    """SGD over two groups, of Tenon or of PyTorch."""
    ones = tenon.ones if package is tenon else package.ones
    return package.optim.SGD([{"params": [package.nn.Parameter(ones(2))], "lr": lr} for lr in lrs], lr=0.5, momentum=0.9)


def rates_of(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


# Schedules of a module, lr_scheduler or PyTorch's, on an optimizer.
SCHEDULES = {
    "LambdaLR": lambda m, o: m.LambdaLR(o, lambda e: 0.9**e),
    "LambdaLR of a list": lambda m, o: m.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda m, o: m.MultiplicativeLR(o, [lambda e: 0.9, lambda e: 1 / (1 + e)]),
    "StepLR": lambda m, o: m.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda m, o: m.MultiStepLR(o, [2, 4, 4, 9], 0.5),
    "ConstantLR": lambda m, o: m.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda m, o: m.LinearLR(o, 0.25, 0.75, 6),
    "ExponentialLR": lambda m, o: m.ExponentialLR(o, 0.8),
    "PolynomialLR": lambda m, o: m.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda m, o: m.CosineAnnealingLR(o, 5, 0.001),
    "CosineAnnealingWarmRestarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "OneCycleLR": lambda m, o: m.OneCycleLR(o, [0.1, 0.3], total_steps=30, cycle_momentum=False),
    "OneCycleLR of three phases": lambda m, o: m.OneCycleLR(o, 0.1, epochs=3, steps_per_epoch=10, three_phase=True,
                                                            anneal_strategy="linear", cycle_momentum=False),
    "CyclicLR": lambda m, o: m.CyclicLR(o, [0.01, 0.02], 0.1, 3, 5, cycle_momentum=False),
    "CyclicLR that shrinks": lambda m, o: m.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2", cycle_momentum=False),
    "CyclicLR by a power": lambda m, o: m.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.95, cycle_momentum=False),
    "SequentialLR": lambda m, o: m.SequentialLR(
        o, [m.LinearLR(o, 0.1, total_iters=4), m.CosineAnnealingLR(o, 10), m.LambdaLR(o, lambda e: 0.9**e)], [4, 9]),
    "ChainedScheduler": lambda m, o: m.ChainedScheduler([m.ConstantLR(o, 0.1, 4), m.ExponentialLR(o, 0.9)]),
}


class Schedules(unittest.TestCase):
    def follow(self, make, factors, start=0.1):
        """The rates of one group are the factors of a formula."""
        optimizer = tenon.optim.SGD([nn.Parameter(tenon.ones(1))], lr=start)
        schedule = make(optimizer)
        self.assertIsInstance(schedule, lr_scheduler.LRScheduler)
        for step, factor in enumerate(factors):
            self.assertEqual((schedule.last_epoch, schedule.optimizer), (step, optimizer))
            np.testing.assert_allclose(rates_of(optimizer) + schedule.get_last_lr(), [start * factor] * 2, rtol=1e-12,
                                       atol=1e-15, err_msg=f"step {step}")
            schedule.step()

    def test_follow_their_formulas(self):
        epochs = range(16)
        self.follow(lambda o: lr_scheduler.StepLR(o, 3, 0.5), [0.5 ** (e // 3) for e in epochs])
        self.follow(lambda o: lr_scheduler.ExponentialLR(o, 0.8), [0.8**e for e in epochs])
        self.follow(lambda o: lr_scheduler.MultiStepLR(o, [2, 4, 4], 0.5), [1, 1, 0.5, 0.5, 0.125, 0.125])
        self.follow(lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: e), [math.factorial(e) for e in epochs])
        self.follow(lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0), [max(1 - e / 6, 0) ** 2 for e in epochs])
        self.follow(lambda o: lr_scheduler.LinearLR(o, 0.25, 0.75, 6), [0.25 + 0.5 * min(e / 6, 1) for e in epochs])
        self.follow(lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.4, 4), [1 + 3 * (1 - abs(e / 4 % 2 - 1)) for e in epochs])
        self.follow(lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.4, 4, mode="triangular2"),
                    [1 + 3 * (1 - abs(e / 4 % 2 - 1)) / 2 ** (e // 8) for e in epochs])

    def test_a_line_to_zero_stays_there(self):
        for total in range(1, 60):
            for start in (0.1, 0.3, 0.7, 1.0):
                optimizer = tenon.optim.SGD([nn.Parameter(tenon.ones(1))], lr=0.1)
                schedule = lr_scheduler.LinearLR(optimizer, start, 0.0, total)
                for _ in range(total + 1):
                    schedule.step()
                self.assertAlmostEqual(optimizer.lr, 0, 14)

    def test_a_cosine_goes_up_again(self):
        self.follow(lambda o: lr_scheduler.CosineAnnealingLR(o, 5), [(1 + math.cos(math.pi * e / 5)) / 2 for e in range(25)])

    def test_restarts_get_longer(self):
        shares = [e / 2 for e in range(2)] + [e / 4 for e in range(4)] + [e / 8 for e in range(8)] + [0]
        self.follow(lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2),
                    [(1 + math.cos(math.pi * share)) / 2 for share in shares])

    def test_two_multiply(self):
        optimizer = two_groups()
        schedules = [lr_scheduler.ExponentialLR(optimizer, 0.9), lr_scheduler.StepLR(optimizer, 2, 0.5)]
        for step in range(6):
            np.testing.assert_allclose(rates_of(optimizer), [base * 0.9**step * 0.5 ** (step // 2) for base in (0.1, 0.02)])
            for schedule in schedules:
                schedule.step()
        chained = two_groups()
        both = lr_scheduler.ChainedScheduler([lr_scheduler.ExponentialLR(chained, 0.9), lr_scheduler.StepLR(chained, 2, 0.5)])
        for _ in range(6):
            both.step()
        self.assertEqual(both.get_last_lr(), rates_of(optimizer))

    def test_a_rate_set_by_hand_is_gone_on_from(self):
        optimizer = two_groups()
        schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
        schedule.step()
        optimizer.param_groups[0]["lr"] = 4.0
        schedule.step()
        self.assertEqual((rates_of(optimizer), schedule.base_lrs), ([2.0, 0.005], [0.1, 0.02]))

    def test_one_after_the_other(self):
        optimizer = two_groups((1.0, 2.0))
        schedule = lr_scheduler.SequentialLR(
            optimizer, [lr_scheduler.LinearLR(optimizer, 0.25, total_iters=3), lr_scheduler.ExponentialLR(optimizer, 0.5)], [3])
        for factor in (0.25, 0.5, 0.75, 1, 0.5, 0.25):
            np.testing.assert_allclose(rates_of(optimizer), [factor, 2 * factor])
            schedule.step()

    def test_one_cycle_has_a_peak_for_each_group(self):
        optimizer = two_groups()
        schedule = lr_scheduler.OneCycleLR(optimizer, [0.5, 1.0], total_steps=11, pct_start=0.4, anneal_strategy="linear",
                                           div_factor=10, final_div_factor=5)
        end = 0.4 * 11 - 1
        for step in range(11):
            share, first, last = (step / end, 0.1, 1) if step <= end else ((step - end) / (10 - end), 1, 0.02)
            np.testing.assert_allclose(rates_of(optimizer), [most * (first + (last - first) * share) for most in (0.5, 1.0)])
            schedule.step()
        with self.assertRaisesRegex(ValueError, "OneCycleLR was made for 11 steps, this is step 12"):
            schedule.step()
        refusing = tenon.optim.Adagrad([nn.Parameter(tenon.ones(1))])
        with self.assertRaisesRegex(ValueError, "OneCycleLR with cycle_momentum needs an optimizer with momentum or betas"):
            lr_scheduler.OneCycleLR(refusing, 0.5, total_steps=11)
        with self.assertRaisesRegex(ValueError, "max_momentum is one for all groups"):
            lr_scheduler.OneCycleLR(two_groups(), 0.5, total_steps=11, max_momentum=[0.9, 0.95])

    def test_momentum_goes_the_other_way(self):
        for kind, name in (("SGD", "momentum"), ("Adam", "betas")):
            optimizer = getattr(tenon.optim, kind)([nn.Parameter(tenon.ones(1))], lr=0.1)
            momentum = lambda: optimizer.param_groups[0][name] if name == "momentum" else optimizer.param_groups[0][name][0]
            schedule = lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=11, pct_start=0.6, anneal_strategy="linear")
            self.assertEqual(momentum(), 0.95)
            for _ in range(6):
                schedule.step()
            self.assertAlmostEqual(momentum(), 0.85 + 0.1 * (6 - 5.6) / (10 - 5.6), 12)
            other = getattr(tenon.optim, kind)([nn.Parameter(tenon.ones(1))], lr=0.1)
            lr_scheduler.OneCycleLR(other, 0.5, total_steps=11)
            other.load_state_dict(optimizer.state_dict())
            self.assertEqual(other.param_groups[0][name], optimizer.param_groups[0][name])

    def test_captured_steps_follow_the_momentum(self):
        def trained(captured):
            w = nn.Parameter(tenon.tensor([1.0, -2.0]))
            optimizer = tenon.optim.Adam([w], lr=0.1)
            def step(x):
                optimizer.zero_grad()
                loss = ((w * x) ** 2).sum()
                loss.backward()
                optimizer.step()
                return loss
            step = tenon.compile(step) if captured else step
            for _ in range(4):
                step(tenon.ones(2))
            schedule = lr_scheduler.CyclicLR(optimizer, 0.05, 0.2, 3)
            for _ in range(12):
                step(tenon.ones(2))
                schedule.step()
            return w.tolist()
        self.assertEqual(trained(True), trained(False))

    def test_a_plateau_of_each_kind(self):
        for settings, told, expected in [
            ({"mode": "min"}, [1.0, 0.95, 0.85, 0.84], [1, 0.5, 0.5, 0.25]),
            ({"mode": "max"}, [1.0, 1.05, 1.2, 1.3], [1, 0.5, 0.5, 0.25]),
            ({"mode": "min", "threshold_mode": "abs"}, [10.0, 9.95, 9.85, 9.8], [1, 0.5, 0.5, 0.25]),
            ({"mode": "max", "threshold_mode": "abs"}, [10.0, 10.05, 10.15, 10.2], [1, 0.5, 0.5, 0.25]),
            ({"cooldown": 2}, [1.0, 1.0, 1.0, 1.0, 1.0], [1, 0.5, 0.5, 0.5, 0.25]),
            ({"patience": 1}, [1.0, 1.0, 1.0, 1.0], [1, 1, 0.5, 0.5]),
            ({"min_lr": [0.6, 0.1]}, [1.0, 1.0, 1.0], [1, 0.6, 0.6]),
            ({"eps": 0.3}, [1.0, 1.0, 1.0], [1, 0.5, 0.5]),
        ]:
            optimizer = two_groups((1.0, 0.0))
            schedule = lr_scheduler.ReduceLROnPlateau(optimizer, **{"factor": 0.5, "patience": 0, "threshold": 0.1, **settings})
            found = []
            for value in told:
                schedule.step(tenon.tensor(value, dtype=tenon.float64))
                found.append(schedule.get_last_lr()[0])
            self.assertEqual(found, expected, settings)

    def test_go_on_from_a_file(self):
        for name, make in SCHEDULES.items():
            whole, half = two_groups(), two_groups()
            first, second = make(lr_scheduler, whole), make(lr_scheduler, half)
            for _ in range(7):
                first.step()
                second.step()
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "checkpoint.pt")
                tenon.save({"optimizer": half.state_dict(), "schedule": second.state_dict()}, path)
                found = tenon.load(path)
            again = two_groups((7.0, 7.0))
            third = make(lr_scheduler, again)
            again.load_state_dict(found["optimizer"])
            third.load_state_dict(found["schedule"])
            for _ in range(9):
                np.testing.assert_allclose(rates_of(again), rates_of(whole), rtol=1e-12, err_msg=name)
                first.step()
                third.step()

    def test_go_on_at_an_epoch(self):
        optimizer = two_groups()
        with self.assertRaisesRegex(KeyError, r"param_groups\[0\] has no 'initial_lr'"):
            lr_scheduler.StepLR(optimizer, 2, last_epoch=2)
        for group in optimizer.param_groups:
            group["initial_lr"] = 1.0
        schedule = lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch, last_epoch=2)
        self.assertEqual((rates_of(optimizer), schedule.last_epoch), ([0.125, 0.125], 3))

    def test_one_of_your_own(self):
        class Halving(lr_scheduler.LRScheduler):
            def get_lr(self):
                return [base / 2**self.last_epoch for base in self.base_lrs]

        optimizer = two_groups((1.0, 0.5))
        schedule = Halving(optimizer)
        schedule.step()
        self.assertEqual(rates_of(optimizer), [0.5, 0.25])
        with self.assertRaisesRegex(TypeError, "a schedule needs an optimizer, not list"):
            Halving([])
        with self.assertRaisesRegex(ValueError, "lr_lambda has 3 values for 2 groups"):
            lr_scheduler.LambdaLR(optimizer, [len, len, len])

    def test_captured_steps_follow(self):
        w = nn.Parameter(tenon.zeros(1))
        optimizer = tenon.optim.SGD([w], lr=1.0)
        schedules = [lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.StepLR(optimizer, 2, 0.5)]

        @tenon.compile
        def step(x):
            loss = (w * x).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        x, expected = tenon.ones(1), 0.0
        for i in range(6):
            expected -= 0.5**i * 0.5 ** (i // 2)
            step(x)
            self.assertEqual(w.item(), expected)
            for schedule in schedules:
                schedule.step()
        self.assertEqual(step.recordings, 1)


class StatesOfOptimizers(unittest.TestCase):
    def test_hold_the_rates(self):
        optimizer = two_groups()
        schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
        schedule.step()
        state = optimizer.flat_state_dict()
        self.assertEqual((state["lr.0"].item(), state["lr.1"].item(), state["lr.0"].dtype), (0.05, 0.01, tenon.float64))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "optimizer.safetensors")
            tenon.save(state, path)
            state = tenon.load(path)
        other = two_groups((1.0, 2.0))
        other.load_state_dict(state)
        self.assertEqual([group["initial_lr"] for group in other.param_groups], [0.1, 0.02])
        self.assertEqual(rates_of(other), [0.05, 0.01])

    def test_without_rates_leave_them(self):
        other = two_groups((1.0, 2.0))
        state = {name: value for name, value in two_groups().flat_state_dict().items() if "lr" not in name}
        other.load_state_dict(state)
        self.assertEqual(rates_of(other), [1, 2])

    def test_that_do_not_fit_change_nothing(self):
        optimizer = two_groups((1.0, 2.0))
        state = two_groups().flat_state_dict()
        for wrong, text in [({**state, "lr.2": tenon.tensor(1.0)}, r"the state has lr\.2, the optimizer has 2 groups"),
                            ({**state, "lr.0": tenon.tensor(-1.0)}, r"lr\.0 must not be negative"),
                            ({**state, "0.momentum_buffer": tenon.ones(3)}, r"shape \(2,\) expected")]:
            with self.assertRaisesRegex((ValueError, tenon.Error), text):
                optimizer.load_state_dict(wrong)
            self.assertEqual(rates_of(optimizer), [1, 2])

    def test_of_pytorch_are_loaded(self):
        w, unused = nn.Parameter(tenon.ones(2)), nn.Parameter(tenon.ones(3))
        optimizer = tenon.optim.Adam([w, unused], lr=1.0, betas=(0.5, 0.75))
        group = {"lr": 0.125, "betas": (0.5, 0.75), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False,
                 "foreach": None, "params": [0, 1], "initial_lr": 0.5}
        kept = {"step": tenon.tensor(3.0), "exp_avg": tenon.tensor([1.0, 2.0]), "exp_avg_sq": tenon.tensor([4.0, 16.0])}
        optimizer.load_state_dict({"state": {0: kept}, "param_groups": [group]})
        self.assertEqual((optimizer.steps(), rates_of(optimizer), optimizer.param_groups[0]["initial_lr"]), (3, [0.125], 0.5))
        (w * tenon.tensor([3.0, 1.0])).sum().backward()
        optimizer.step()
        mean, square = np.array([2.0, 1.5]), np.array([5.25, 12.25])
        expected = 1 - 0.125 * (mean / (1 - 0.5**4)) / (np.sqrt(square / (1 - 0.75**4)) + 1e-8)
        np.testing.assert_allclose(w.tolist(), expected, rtol=1e-6)
        self.assertEqual(unused.tolist(), [1, 1, 1])

        w = nn.Parameter(tenon.ones(2))
        optimizer = tenon.optim.SGD([w], lr=1.0, momentum=0.5)
        group = {"lr": 0.25, "momentum": 0.5, "dampening": 0, "nesterov": False, "weight_decay": 0, "params": [0]}
        optimizer.load_state_dict({"state": {0: {"momentum_buffer": np.array([2.0, 4.0], np.float32)}}, "param_groups": [group]})
        w.sum().backward()
        optimizer.step()
        self.assertEqual(w.tolist(), [0.5, 0.25])
        optimizer.load_state_dict({"state": {}, "param_groups": [{**group, "momentum": 0.75, "maximize": True}]})
        self.assertEqual([optimizer.param_groups[0][name] for name in ("momentum", "maximize")], [0.75, True])
        w.grad = None
        w.sum().backward()
        optimizer.step()
        self.assertEqual(w.tolist(), [0.75, 0.5])
        with self.assertRaisesRegex(ValueError, r"other groups of parameters than the optimizer: \[2\] and \[1\]"):
            optimizer.load_state_dict({"state": {}, "param_groups": [{**group, "params": [0, 1]}]})


class Scaling(unittest.TestCase):
    def run_steps(self, factors, clip=None, unscale=True, captured=False, **settings):
        """Weights and scale after each step on a loss whose gradient is the factor, for SGD with momentum."""
        w = nn.Parameter(tenon.zeros(2))
        optimizer = tenon.optim.SGD([w], lr=0.5, momentum=0.5)
        scaler = tenon.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2, **settings)

        def step(factor):
            scaler.scale((w * factor).sum()).backward()
            if unscale:
                scaler.unscale_(optimizer)
            if clip is not None:
                nn.utils.clip_grad_norm_([w], clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            return w.detach() + 0

        step = tenon.compile(step) if captured else step
        found = []
        for factor in factors:
            weights = step(tenon.tensor([factor, 0.0])).tolist()
            found.append((round(weights[0], 4), scaler.get_scale()))
        return found

    def test_the_usual_loop(self):
        for captured in (False, True):
            for unscale in (False, True):
                self.assertEqual(self.run_steps([1.0, math.inf, 2.0, 4.0, 0.0], unscale=unscale, captured=captured),
                                 [(-0.5, 1024), (-0.5, 512), (-1.75, 512), (-4.375, 1024), (-5.6875, 1024)])
            # Clipped to a norm of 1, gradients are 1 and 0.5.
            self.assertEqual(self.run_steps([4.0, math.nan, 0.5], clip=1.0, captured=captured),
                             [(-0.5, 1024), (-0.5, 512), (-1.0, 512)])

    def test_one_that_is_not_enabled_does_nothing(self):
        self.assertEqual(self.run_steps([1.0, 2.0], enabled=False), [(-0.5, 1), (-1.75, 1)])
        scaler = tenon.amp.GradScaler("cuda", enabled=False)
        self.assertEqual((scaler.is_enabled(), scaler.state_dict()), (False, {}))
        w = nn.Parameter(tenon.ones(1))
        w.sum().backward()
        tenon.optim.SGD([w], lr=0.5).step(scaler)
        self.assertEqual(w.tolist(), [0.5])

    def test_several_optimizers(self):
        a, b = nn.Parameter(tenon.ones(1)), nn.Parameter(tenon.ones(1))
        optimizers = [tenon.optim.SGD([w], lr=0.5) for w in (a, b)]
        scaler = tenon.amp.GradScaler(init_scale=8.0)
        first, second = scaler.scale([a.sum(), (b * math.inf).sum()])
        first.backward()
        second.backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        self.assertEqual(scaler.get_scale(), 8)
        scaler.update()
        self.assertEqual((a.tolist(), b.tolist(), scaler.get_scale()), ([0.5], [1], 4))

    def test_calls_out_of_order(self):
        w = nn.Parameter(tenon.ones(1))
        optimizer, scaler = tenon.optim.SGD([w], lr=0.5), tenon.amp.GradScaler()
        scaler.scale(w.sum()).backward()
        scaler.unscale_(optimizer)
        with self.assertRaisesRegex(RuntimeError, "unscale_\\(\\) was called twice since the last update"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        with self.assertRaisesRegex(RuntimeError, "step\\(\\) was called twice since the last update"):
            scaler.step(optimizer)
        with self.assertRaisesRegex(RuntimeError, "unscale_\\(\\) was called after step"):
            scaler.unscale_(optimizer)
        with self.assertRaisesRegex(RuntimeError, "takes an optimizer and nothing else, no closure either"):
            scaler.step(optimizer, lambda: None)
        scaler.update(new_scale=16.0)
        self.assertEqual(scaler.get_scale(), 16)

    def test_gradients_that_are_kept(self):
        w = nn.Parameter(tenon.ones(1))
        optimizer, scaler = tenon.optim.SGD([w], lr=0.25), tenon.amp.GradScaler(init_scale=4.0, growth_interval=1)
        optimizer.keep_gradients()
        for _ in range(2):
            scaler.scale(w.sum()).backward()
            optimizer.accumulate()
        with self.assertRaisesRegex(RuntimeError, "does not reach gradients that the optimizer keeps"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual((w.tolist(), scaler.get_scale()), ([0.5], 8))

    def test_states(self):
        scaler = tenon.amp.GradScaler(init_scale=32.0)
        other = tenon.amp.GradScaler()
        other.load_state_dict(scaler.state_dict())
        self.assertEqual(other.get_scale(), 32)
        pytorchs = {"scale": 64.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 7}
        other.load_state_dict(pytorchs)
        self.assertEqual((other.get_scale(), other.state_dict()["good_steps"].item()), (64, 7))
        with self.assertRaisesRegex(ValueError, "made with growth_interval=3, the scaler with growth_interval=2000"):
            other.load_state_dict({**pytorchs, "growth_interval": 3})


class BesidePyTorch(unittest.TestCase):
    """The same programs with both, where PyTorch is installed."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        self.torch = torch

    def test_schedules(self):
        for name, make in SCHEDULES.items():
            for by_hand in (False, True):
                theirs, ours = two_groups(package=self.torch), two_groups()
                expected, schedule = make(self.torch.optim.lr_scheduler, theirs), make(lr_scheduler, ours)
                for step in range(28):
                    np.testing.assert_allclose(rates_of(ours), rates_of(theirs), rtol=1e-12, atol=1e-15, err_msg=name)
                    np.testing.assert_allclose(schedule.get_last_lr(), expected.get_last_lr(), rtol=1e-12, atol=1e-15)
                    if by_hand and step == 7:
                        theirs.param_groups[0]["lr"] = ours.param_groups[0]["lr"] = 0.3
                    theirs.step()
                    expected.step()
                    schedule.step()

    def test_momentum(self):
        makers = [lambda m, o: m.OneCycleLR(o, 0.1, total_steps=24),
                  lambda m, o: m.OneCycleLR(o, 0.1, total_steps=24, three_phase=True, anneal_strategy="linear"),
                  lambda m, o: m.CyclicLR(o, 0.01, 0.1, 3, 5, base_momentum=0.7),
                  lambda m, o: m.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.95)]
        for kind, settings in [("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}),
                               ("RMSprop", {"momentum": 0.5}), ("Adam", {}), ("AdamW", {"amsgrad": True})]:
            for i, make in enumerate(makers):
                weights, states = [], []
                for package, schedules in ((self.torch, self.torch.optim.lr_scheduler), (tenon, lr_scheduler)):
                    w = package.nn.Parameter(package.tensor(np.linspace(-1, 1, 6, dtype=np.float32)))
                    optimizer = getattr(package.optim, kind)([w], **{**settings, "lr": 0.1})
                    schedule, seen = make(schedules, optimizer), []
                    for step in range(22):
                        optimizer.zero_grad()
                        (w * w * (step % 3 + 1)).sum().backward()
                        optimizer.step()
                        schedule.step()
                        group = optimizer.param_groups[0]
                        seen.append(group["betas"][0] if "betas" in group else group["momentum"])
                    weights.append(w.detach().numpy())
                    states.append((seen, optimizer.state_dict()))
                np.testing.assert_allclose(states[1][0], states[0][0], rtol=1e-9, err_msg=f"{kind} {i}")
                np.testing.assert_allclose(weights[1], weights[0], rtol=2e-4, atol=2e-6, err_msg=f"{kind} {i}")
                if settings.get("momentum") is not None or kind != "SGD":
                    other = getattr(tenon.optim, kind)([nn.Parameter(tenon.ones(6))], **{**settings, "lr": 0.1})
                    other.load_state_dict(states[0][1])
                    group = other.param_groups[0]
                    self.assertAlmostEqual(group["betas"][0] if "betas" in group else group["momentum"], states[0][0][-1])

    def test_plateaus(self):
        random = np.random.default_rng(0)
        for _ in range(100):
            settings = {"mode": str(random.choice(["min", "max"])), "threshold_mode": str(random.choice(["rel", "abs"])),
                        "patience": int(random.integers(3)), "cooldown": int(random.integers(3)), "factor": 0.5,
                        "threshold": float(random.choice([1e-4, 0.1])), "eps": float(random.choice([1e-8, 1e-2]))}
            theirs, ours = two_groups(package=self.torch), two_groups()
            expected = self.torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **settings)
            schedule = lr_scheduler.ReduceLROnPlateau(ours, **settings)
            for value in random.normal(size=30):
                expected.step(value)
                schedule.step(value)
                self.assertEqual(rates_of(ours), rates_of(theirs), settings)

    def test_states(self):
        for kind, settings in [("SGD", {}), ("SGD", {"momentum": 0.9, "dampening": 0.3}),
                               ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
                               ("Adam", {"betas": (0.8, 0.95), "amsgrad": True}), ("AdamW", {})]:
            results, state, start = [], None, np.linspace(-1, 1, 6, dtype=np.float32)
            for package, tensor in ((self.torch, self.torch.tensor), (tenon, tenon.tensor)):
                w = package.nn.Parameter(tensor(start.copy()))
                optimizer = getattr(package.optim, kind)([w], **{**settings, "lr": 0.1})
                if state is not None:
                    optimizer.load_state_dict(state)
                for step in range(8):
                    if package is tenon and step < 4:
                        continue
                    if package is self.torch and step == 4:
                        start, state = w.detach().numpy().copy(), copy.deepcopy(optimizer.state_dict())
                    optimizer.zero_grad()
                    (w * w * w).sum().backward()
                    optimizer.step()
                results.append(w.detach().numpy())
            np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6, err_msg=kind)

    def test_scaling(self):
        for clip in (None, 0.5):
            for unscale in (False, True):
                results = []
                for package, tensor in ((self.torch, self.torch.tensor), (tenon, tenon.tensor)):
                    w = package.nn.Parameter(tensor(np.linspace(-1, 1, 6, dtype=np.float32)))
                    optimizer = package.optim.AdamW([w], lr=0.1)
                    scaler = package.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
                    found = []
                    for factor in (1.0, 2.0, math.inf, -1.0, 3.0, math.nan, 0.5, 1.0, 1.0):
                        scaler.scale((w * w * factor).sum()).backward()
                        if unscale:
                            scaler.unscale_(optimizer)
                        if clip is not None:
                            package.nn.utils.clip_grad_norm_([w], clip)
                        scaler.step(optimizer)
                        scaler.update()
                        optimizer.zero_grad()
                        found.append(w.detach().numpy().tolist() + [scaler.get_scale()])
                    results.append(found)
                np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)


class OtherNames(unittest.TestCase):
    def test_places_of_pytorch(self):
        from tenon.utils.data import DataLoader, TensorDataset

        loader = DataLoader(TensorDataset(tenon.arange(4)), batch_size=2)
        self.assertEqual([batch[0].tolist() for batch in loader], [[0, 1], [2, 3]])
        with tenon.amp.autocast("cpu", dtype=tenon.bfloat16):
            self.assertEqual((tenon.ones(2, 2) @ tenon.ones(2, 2)).dtype, tenon.bfloat16)
        self.assertIs(tenon.amp.GradScaler, tenon.optim.GradScaler)
        self.assertIsInstance(tenon.ones(2).shape, tenon.Size)
        self.assertEqual(str(tenon.device("cpu:0")), "cpu")

    def test_norms(self):
        x = tenon.tensor([[3.0, 4.0], [0.0, 0.0]])
        self.assertEqual(tenon.linalg.norm(x).item(), 5)
        self.assertEqual(tenon.linalg.norm(x, "fro").item(), 5)
        self.assertEqual(tenon.linalg.norm(x, dim=1).tolist(), [5, 0])
        self.assertEqual(tenon.linalg.norm(x[0], 1).item(), 7)
        self.assertEqual(tenon.linalg.vector_norm(x, 1).item(), 7)
        self.assertAlmostEqual(tenon.linalg.norm(x, 2).item(), 5, places=5)
        with self.assertRaisesRegex(tenon.Error, "there is no norm 3 of matrices"):
            tenon.linalg.norm(x, 3)

    def test_states_of_chance_and_threads(self):
        tenon.manual_seed(7)
        self.assertEqual(tenon.initial_seed(), 7)
        state = tenon.get_rng_state()
        first = tenon.rand(3).tolist()
        tenon.set_rng_state(state)
        self.assertEqual(tenon.rand(3).tolist(), first)
        self.assertEqual(tenon.seed(), tenon.initial_seed())
        self.assertEqual(tenon.devices()[0], tenon.device("cpu"))
        self.assertNotIn("null", [each.type for each in tenon.devices()])
        threads = tenon.get_num_threads()
        tenon.set_num_threads(1)
        self.assertEqual(tenon.get_num_threads(), 1)
        tenon.set_num_threads(threads)

    def test_a_loader_of_tokens_goes_on(self):
        make = lambda: tenon.data.TokenLoader(list(range(100)), batch_size=2, length=4, order="shuffled")
        loader = make()
        loader.next()
        state = loader.state()
        expected = [loader.next()[0].tolist() for _ in range(3)]
        again = make()
        again.restore(state)
        self.assertEqual([again.next()[0].tolist() for _ in range(3)], expected)
        with self.assertRaisesRegex(tenon.Error, r"\[loader\]"):
            again.restore("{}")
        with self.assertRaisesRegex(tenon.Error, "shufled"):
            tenon.data.TokenLoader([1, 2, 3, 4, 5, 6], order="shufled", length=2)


class Checkpoints(unittest.TestCase):
    def test_nested_dicts_with_numbers(self):
        net = nn.Linear(2, 3)
        optimizer = tenon.optim.Adam(net.parameters())
        net(tenon.ones(1, 2)).sum().backward()
        optimizer.step()
        given = {"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "loss": 0.5, "name": "run ä",
                 "best": None, "done": False, "sizes": [1, (2, -3)], "big": 2**40, "by number": {0: tenon.ones(1)},
                 "numpys": np.float32(1.5), "half": tenon.ones(2, dtype=tenon.bfloat16), "empty": {}}
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("pt", "bin"):
                path = os.path.join(folder, "checkpoint." + kind)
                tenon.save(given, path)
                found = tenon.load(path, map_location="cpu", weights_only=True)
                self.assertEqual(list(found), list(given))
                for name in ("epoch", "loss", "name", "best", "done", "sizes", "big", "empty"):
                    self.assertEqual(found[name], given[name])
                self.assertEqual((found["numpys"], found["by number"][0].tolist()), (1.5, [1]))
                self.assertIs(found["half"].dtype, tenon.bfloat16)
                other = nn.Linear(2, 3)
                other.load_state_dict(found["model"])
                self.assertTrue(tenon.equal(other.weight, net.weight))
                again = tenon.optim.Adam(other.parameters())
                again.load_state_dict(found["optimizer"])
                self.assertEqual(again.steps(), 1)
            self.assertEqual(sorted(os.listdir(folder)), ["checkpoint.bin", "checkpoint.pt"])

    def test_plain_files_of_every_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("pt", "pth", "bin", "safetensors", "xyz"):
                path = os.path.join(folder, "x." + kind)
                tenon.save({"b": tenon.ones(2), "a.b": tenon.zeros(1)}, path)
                self.assertEqual({name: x.tolist() for name, x in tenon.load(path).items()}, {"b": [1, 1], "a.b": [0]})

    def test_what_is_refused(self):
        endless = {}
        endless["self"] = endless
        with tempfile.TemporaryDirectory() as folder:
            for name, value, error, text in [
                ("a.pt", {"a": object()}, TypeError, "a checkpoint holds tensors, numbers, texts, None, .* not object"),
                ("a.pt", {1.5: 1}, TypeError, "keys of a checkpoint are texts and integers, not float"),
                ("a.pt", endless, ValueError, "nested more than 60 deep, or one holds itself"),
                ("a.safetensors", {"a": 3}, TypeError, "one that holds other things is saved as a .pt file"),
            ]:
                with self.assertRaisesRegex(error, text):
                    tenon.save(value, os.path.join(folder, name))
            self.assertEqual(os.listdir(folder), [])


# What PyTorch 2.15 gives, rounded; x and z are those of the test below, T is the module.
VALUES = [
    ('F.relu6(x)', [[0.0, 0.0, 0.0, 6.0]]),
    ('F.hardtanh(x)', [[-1.0, -0.5, 0.0, 1.0]]),
    ('F.hardsigmoid(x)', [[0.0, 0.4167, 0.5, 1.0]]),
    ('F.celu(x, 0.5)', [[-0.4988, -0.3161, 0.0, 7.0]]),
    ('F.selu(x)', [[-1.6706, -0.6918, 0.0, 7.3549]]),
    ('F.glu(x)', [[-1.5, -0.4995]]),
    ('F.logsigmoid(x)', [[-3.0486, -0.9741, -0.6931, -0.0009]]),
    ('F.logsigmoid(T.tensor([-float("inf")]))', [-math.inf]),
    ('F.celu(T.tensor([-float("inf")]))', [-1.0]),
    ('F.selu(T.tensor([-float("inf")]))', [-1.7581]),
    ('F.softsign(x)', [[-0.75, -0.3333, 0.0, 0.875]]),
    ('F.tanhshrink(x)', [[-2.0049, -0.0379, 0.0, 6.0]]),
    ('nn.Softmin(dim=1)(x)', [[0.8835, 0.0725, 0.044, 0.0]]),
    ('nn.Hardtanh(-0.6, 2.0)(x)', [[-0.6, -0.5, 0.0, 2.0]]),
    ('nn.Hardswish()(x)', [[0.0, -0.2083, 0.0, 7.0]]),
    ('F.pad(z, (1, 2, 2, 1), mode="reflect")',
     [[[[8.0, 7.0, 8.0, 10.0, 8.0, 7.0], [5.0, 4.0, 5.0, 6.0, 5.0, 4.0], [2.0, 1.0, 2.0, 3.0, 2.0, 1.0], [5.0, 4.0, 5.0,
      6.0, 5.0, 4.0], [8.0, 7.0, 8.0, 10.0, 8.0, 7.0], [5.0, 4.0, 5.0, 6.0, 5.0, 4.0]]]]),
    ('F.pad(z, (1, 0, 0, 0), mode="replicate")', [[[[1.0, 1.0, 2.0, 3.0], [4.0, 4.0, 5.0, 6.0], [7.0, 7.0, 8.0, 10.0]]]]),
    ('F.pad(z, (1, 1, 0, 0), mode="circular")',
     [[[[3.0, 1.0, 2.0, 3.0, 1.0], [6.0, 4.0, 5.0, 6.0, 4.0], [10.0, 7.0, 8.0, 10.0, 7.0]]]]),
    ('nn.ZeroPad2d((1, 0, 0, 0))(z)', [[[[0.0, 1.0, 2.0, 3.0], [0.0, 4.0, 5.0, 6.0], [0.0, 7.0, 8.0, 10.0]]]]),
    ('nn.ReflectionPad2d(1)(z)',
     [[[[5.0, 4.0, 5.0, 6.0, 5.0], [2.0, 1.0, 2.0, 3.0, 2.0], [5.0, 4.0, 5.0, 6.0, 5.0], [8.0, 7.0, 8.0, 10.0, 8.0], [5.0,
      4.0, 5.0, 6.0, 5.0]]]]),
    ('nn.ReplicationPad2d((0, 1, 1, 0))(z)',
     [[[[1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 3.0], [4.0, 5.0, 6.0, 6.0], [7.0, 8.0, 10.0, 10.0]]]]),
    ('F.unfold(z, 2)', [[[1.0, 2.0, 4.0, 5.0], [2.0, 3.0, 5.0, 6.0], [4.0, 5.0, 7.0, 8.0], [5.0, 6.0, 8.0, 10.0]]]),
    ('F.unfold(z, (2, 3), padding=1, stride=(2, 1))',
     [[[0.0, 0.0, 0.0, 0.0, 4.0, 5.0], [0.0, 0.0, 0.0, 4.0, 5.0, 6.0], [0.0, 0.0, 0.0, 5.0, 6.0, 0.0], [0.0, 1.0, 2.0, 0.0,
      7.0, 8.0], [1.0, 2.0, 3.0, 7.0, 8.0, 10.0], [2.0, 3.0, 0.0, 8.0, 10.0, 0.0]]]),
    ('F.pixel_shuffle(T.arange(8.0).reshape(1, 4, 1, 2), 2)', [[[[0.0, 2.0, 1.0, 3.0], [4.0, 6.0, 5.0, 7.0]]]]),
    ('F.pixel_unshuffle(T.arange(8.0).reshape(1, 1, 2, 4), 2)', [[[[0.0, 2.0]], [[1.0, 3.0]], [[4.0, 6.0]], [[5.0, 7.0]]]]),
    ('nn.InstanceNorm2d(1)(z)', [[[[-1.486, -1.1245, -0.7631], [-0.4016, -0.0402, 0.3213], [0.6827, 1.0442, 1.7671]]]]),
    ('nn.InstanceNorm1d(3)(z[0])', [[[-1.2247, 0.0, 1.2247], [-1.2247, 0.0, 1.2247], [-1.069, -0.2673, 1.3363]]]),
    ('nn.CosineSimilarity(dim=1)(x, x * 2 + 1)', [0.9924]),
    ('nn.PairwiseDistance()(x, x * 2)', [7.6322]),
    ('T.where(T.tensor([[True, False], [False, True]]))', [[0, 1], [0, 1]]),
    ('T.round(T.tensor([1.2345, -9.8765]), decimals=2)', [1.23, -9.88]),
    ('T.tensor([123.0, -456.0]).round(decimals=-1)', [120.0, -460.0]),
    ('T.histc(T.tensor([1.0, 2.0, 1.0, 4.0, 9.0]), bins=4, min=0, max=4)', [0.0, 2.0, 1.0, 1.0]),
    ('T.logspace(0, 2, 3)', [1.0, 10.0, 100.0]),
    ('T.cartesian_prod(T.tensor([1, 2]), T.tensor([3, 4]))', [[1, 3], [1, 4], [2, 3], [2, 4]]),
    ('T.combinations(T.tensor([1, 2, 3]))', [[1, 2], [1, 3], [2, 3]]),
    ('T.var_mean(x)', [18.3958, 0.875]),
    ('T.std_mean(x, dim=1, keepdim=True)', [[[4.289]], [[0.875]]]),
    ('T.kron(T.tensor([[1.0, 2.0]]), T.tensor([[3.0], [4.0]]))', [[3.0, 6.0], [4.0, 8.0]]),
    ('T.kron(T.eye(2), T.ones(2))', [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]),
    ('T.cross(T.tensor([[1.0, 2.0, 3.0]]), T.tensor([[4.0, 5.0, 7.0]]), dim=1)', [[-1.0, 5.0, -3.0]]),
    ('T.FloatTensor([1, 2])', [1.0, 2.0]),
    ('nn.utils.rnn.pad_sequence([T.ones(2), T.zeros(1)], batch_first=True, padding_value=7.0)', [[1.0, 1.0], [0.0, 7.0]]),
    ('nn.init.dirac_(T.empty(4, 2, 3), groups=2)',
     [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0,
      0.0, 0.0], [0.0, 1.0, 0.0]]]),
    ('nn.init.calculate_gain("leaky_relu", 0.2)', 1.3868),
    ('nn.Transformer.generate_square_subsequent_mask(2)[1]', [0.0, 0.0]),
]


def rounded(value):
    if isinstance(value, (tuple, list)):
        return [rounded(one) for one in value]
    if isinstance(value, tenon.Tensor):
        return rounded(value.detach().tolist())
    return round(value, 4) + 0.0 if isinstance(value, float) else value


class Names(unittest.TestCase):
    """Functions and classes that PyTorch has under these names."""

    def test_values_are_pytorchs(self):
        names = {"T": tenon, "nn": nn, "F": nn.functional, "x": tenon.tensor([[-3.0, -0.5, 0.0, 7.0]]),
                 "z": tenon.tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]]])}
        for expression, expected in VALUES:
            with self.subTest(expression):
                self.assertEqual(rounded(eval(expression, dict(names))), expected)

    def test_rules_of_optimizers(self):
        expected = {
            "NAdam": ({"weight_decay": 0.1, "lr": 0.1}, [0.5303, -1.3932, 2.4162]),
            "RAdam": ({"lr": 0.1}, [0.5933, -0.3159, 0.6994]),
            "Adamax": ({"lr": 0.1}, [0.4674, -1.2697, 2.2998]),
            "Adadelta": ({"weight_decay": 0.3, "rho": 0.8}, [0.9801, -1.9799, 2.9813]),
            "SGD": ({"lr": 0.1, "maximize": True}, [2.6499, -8.9296, 12.0495]),
            "Adam": ({"maximize": True, "foreach": False, "fused": None}, [1.008, -2.008, 3.0079]),
        }
        for name, (settings, weights) in expected.items():
            w = nn.Parameter(tenon.tensor([1.0, -2.0, 3.0]))
            optimizer = getattr(tenon.optim, name)([("w", w)], **settings)
            for i in range(8):
                optimizer.zero_grad()
                ((w - tenon.tensor([0.5, 0.1, i * 0.1])) ** 2).sum().backward()
                optimizer.step()
            for ours, theirs in zip(w.tolist(), weights):
                self.assertAlmostEqual(ours, theirs, delta=1e-4, msg=name)

    def test_a_rule_of_python_is_captured_and_saved(self):
        w = nn.Parameter(tenon.tensor([1.0, -2.0, 3.0]))
        optimizer = tenon.optim.NAdam([w], lr=0.1)

        @tenon.compile
        def step(target):
            optimizer.zero_grad()
            loss = ((w - target) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(tenon.zeros(3)).item() for _ in range(8)]
        self.assertEqual((step.recordings, losses[0] > losses[-1]), (1, True))
        again = tenon.optim.NAdam([nn.Parameter(tenon.zeros(3))], lr=0.1)
        again.load_state_dict(optimizer.state_dict())
        self.assertEqual(again.flat_state_dict()["0.exp_avg"].tolist(), optimizer.flat_state_dict()["0.exp_avg"].tolist())

    def test_settings_of_groups_are_read_and_written(self):
        w = nn.Parameter(tenon.tensor([1.0, -2.0, 3.0]))
        optimizer = tenon.optim.Adam([w], weight_decay=0.1)
        group = optimizer.param_groups[0]
        self.assertEqual((group["eps"], group["betas"], group["weight_decay"], group["amsgrad"]), (1e-8, (0.9, 0.999), 0.1, False))

        def steps(count, target):
            for i in range(count):
                optimizer.zero_grad()
                sum(((one - target(i)) ** 2).sum() for group in optimizer.param_groups for one in group["params"]).backward()
                optimizer.step()
            return rounded(w)

        steps(8, lambda i: tenon.tensor([0.5, 0.1, i * 0.1]))
        for setting, expected in (({"weight_decay": 0.5}, [0.9868, -1.9869, 2.987]), ({"eps": 0.1}, [0.9818, -1.9818, 2.982]),
                                  ({"betas": (0.8, 0.9)}, [0.9741, -1.9734, 2.9735])):
            group.update(setting)
            for ours, theirs in zip(steps(5, lambda i: 0.3), expected):  # moments and step count go on
                self.assertAlmostEqual(ours, theirs, delta=2e-4)
        with self.assertRaises(KeyError):
            group["nothing"] = 1

    def test_groups_are_added(self):
        w, v = (nn.Parameter(tenon.ones(2)) for _ in range(2))
        optimizer = tenon.optim.SGD([w], lr=0.1, momentum=0.5)
        schedule = tenon.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        for _ in range(2):
            optimizer.zero_grad()
            (w.sum() + v.sum()).backward()
            optimizer.step()
        optimizer.add_param_group({"params": [("v", v)], "lr": 0.01})
        optimizer.zero_grad()
        (w.sum() + v.sum()).backward()
        optimizer.step()
        self.assertEqual((rounded(w), rounded(v)), ([0.575] * 2, [0.99] * 2))  # 0.1 * (1 + 1.5 + 1.75)
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.1, 0.01])
        self.assertEqual(schedule.get_last_lr(), [0.1])

    def test_a_schedule_of_the_library_keeps_the_groups_as_they_are(self):
        optimizer = tenon.optim.SGD([nn.Parameter(tenon.ones(1))], lr=0.1)
        optimizer.add_param_group({"params": [nn.Parameter(tenon.ones(1))]})
        schedule = tenon.optim.Scheduler(optimizer, tenon.optim.cosine(10))
        schedule.step()
        self.assertLess(optimizer.param_groups[1]["lr"], 0.1)
        with self.assertRaisesRegex(ValueError, "an optimizer with a Scheduler"):
            optimizer.param_groups[0]["weight_decay"] = 0.5

    def test_copies_of_optimizers_go_with_copies_of_models(self):
        net = nn.Linear(2, 1)
        optimizer = tenon.optim.Adam(net.parameters(), lr=0.1)
        net(tenon.ones(2)).sum().backward()
        optimizer.step()
        copied, its = copy.deepcopy((net, optimizer))
        self.assertIs(its.param_groups[0]["params"][0], copied.weight)
        self.assertEqual(its.flat_state_dict()["0.exp_avg"].tolist(), optimizer.flat_state_dict()["0.exp_avg"].tolist())
        its.zero_grad()
        copied(tenon.ones(2)).sum().backward()
        its.step()
        self.assertNotEqual(copied.weight.tolist(), net.weight.tolist())

    def test_initial_values(self):
        for shape in ((3, 5), (5, 3), (40, 40), (4, 2, 3)):
            w = nn.init.orthogonal_(tenon.empty(*shape), gain=2.0).reshape(shape[0], -1)
            product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
            self.assertLess((product - 4 * tenon.eye(len(product))).abs().max().item(), 1e-5)
        tenon.manual_seed(0)
        normal = nn.init.kaiming_normal_(tenon.empty(1000, 100), mode="fan_out", nonlinearity="relu")
        self.assertAlmostEqual(normal.std().item(), (2 / 1000) ** 0.5, delta=5e-4)
        uniform = nn.init.kaiming_uniform_(tenon.empty(100, 50), a=5**0.5)
        self.assertAlmostEqual(uniform.abs().max().item(), 50**-0.5, delta=1e-3)
        self.assertEqual(nn.init.eye_(nn.Parameter(tenon.zeros(2, 2))).tolist(), [[1, 0], [0, 1]])
        layer = nn.Linear(3, 2)
        before = layer.weight.tolist()
        layer.reset_parameters()
        self.assertNotEqual(layer.weight.tolist(), before)

    def test_gradients_are_clipped_in_other_ways(self):
        def with_gradient():
            w = nn.Parameter(tenon.ones(3))
            (w * tenon.tensor([3.0, -4.0, 12.0])).sum().backward()
            return w

        w = with_gradient()
        self.assertEqual(nn.utils.clip_grad_norm_([w], 1.9, norm_type=1).item(), 19)
        self.assertEqual(rounded(w.grad), [0.3, -0.4, 1.2])
        self.assertEqual(nn.utils.clip_grad_norm_(with_gradient(), 6.0, norm_type=float("inf")).item(), 12)
        w = with_gradient()
        nn.utils.clip_grad_value_([w], 3.5)
        self.assertEqual(w.grad.tolist(), [3, -3.5, 3.5])
        w.grad = tenon.full((3,), float("inf"))
        with self.assertRaisesRegex(tenon.Error, "the norm of the gradients is inf"):
            nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
        layer = nn.Linear(2, 1)
        nn.utils.vector_to_parameters(tenon.tensor([1.0, 2.0, 3.0]), layer.parameters())
        self.assertEqual(nn.utils.parameters_to_vector(layer.parameters()).tolist(), [1, 2, 3])
        self.assertEqual((layer.weight.tolist(), layer.bias.tolist()), ([[1, 2]], [3]))

    def test_what_is_inside_of_layers(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 2)
        self.assertEqual((len(encoder.layers), encoder.layers[1].linear1.weight.shape), (2, (2048, 4)))
        self.assertEqual(encoder.layers[0].self_attn.in_proj_weight.shape, (12, 4))
        self.assertEqual(nn.LSTM(2, 3).weight_ih_l0.shape, (12, 2))
        self.assertIn("(out_proj): Linear(in_features=4, out_features=4, bias=True)", repr(encoder))
        self.assertIn("(layers): ModuleList(", repr(encoder))
        with self.assertRaisesRegex(AttributeError, "'Linear' object has no attribute 'nothing'"):
            nn.Linear(1, 1).nothing
        self.assertEqual(nn.Transformer(8, 2, 1, 1, 16)(tenon.ones(3, 1, 8), tenon.ones(2, 1, 8)).shape, (2, 1, 8))
        table = nn.Embedding.from_pretrained(tenon.ones(3, 2))
        self.assertEqual((table.weight.requires_grad, table(tenon.tensor([1])).tolist()), (False, [[1, 1]]))
        nn.GRU(2, 3).flatten_parameters()

    def test_containers_change(self):
        modules = nn.ModuleList([nn.ReLU()])
        modules.insert(0, nn.Tanh())
        modules += [nn.Sigmoid()]
        self.assertEqual([type(one).__name__ for one in modules], ["Tanh", "ReLU", "Sigmoid"])
        self.assertEqual([name for name, _ in modules.named_children()], ["0", "1", "2"])
        one = nn.ReLU()
        twice = nn.ModuleList([one, one])
        twice.insert(1, nn.Tanh())
        self.assertEqual([name for name, _ in twice.named_children()], ["0", "1", "2"])
        self.assertIs(twice[2], one)
        steps = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
        steps[1] = nn.Linear(2, 5)
        self.assertEqual((steps(tenon.ones(2)).shape, steps.state_dict()["1.weight"].shape), ((5,), (5, 2)))
        self.assertIsInstance(steps.pop(0), nn.Linear)
        self.assertEqual((len(steps), list(steps.state_dict())), (1, ["0.weight", "0.bias"]))
        both = nn.ParameterDict({"a": tenon.ones(2)})
        both["b"] = tenon.zeros(1)
        self.assertEqual((list(both.state_dict()), "b" in both, len(both)), (["a", "b"], True, 2))

    def test_modules_are_pickled(self):
        class_of = Pickled()
        class_of.layer.p = 0.25
        again = pickle.loads(pickle.dumps(class_of.eval()))
        self.assertIs(again.a.weight, again.b.weight)
        self.assertEqual((again.training, again.layer.p, again.notes, again.table.tolist()), (False, 0.25, {"x": 1}, [1, 1]))
        self.assertEqual(list(again.state_dict()), list(class_of.state_dict()))
        self.assertEqual(again(tenon.ones(2)).tolist(), class_of(tenon.ones(2)).tolist())
        self.assertEqual((len(again.parameters()), len(again.named_parameters(remove_duplicate=False))), (7, 8))

    def test_open_files_are_written_and_read(self):
        file = io.BytesIO()
        tenon.save({"a": tenon.ones(2), "n": 3}, file)
        file.seek(0)
        loaded = tenon.load(file)
        self.assertEqual((loaded["a"].tolist(), loaded["n"]), ([1, 1], 3))
        with self.assertRaisesRegex(tenon.Error, "an open file: 4 bytes are too few"):
            tenon.load(io.BytesIO(b"none"))
        for name in ("none.pt", "none.safetensors", "none.npy"):
            with self.assertRaises(FileNotFoundError) as caught:
                tenon.load(os.path.join(tempfile.gettempdir(), "tenon-is-not-here", name))
            self.assertIsInstance(caught.exception, tenon.Error)

    def test_of_tensors(self):
        self.assertEqual(tenon.randint(high=5, size=(2,)).shape, (2,))
        self.assertEqual((tenon.randint(3, 4, (2,)).tolist(), tenon.randint(4, (3,)).shape), ([3, 3], (3,)))
        x = tenon.ones(2, requires_grad=True)
        self.assertEqual((x.type(), x.type(tenon.float64).dtype, x.type("torch.LongTensor").dtype),
                         ("tenon.FloatTensor", tenon.float64, tenon.int64))
        self.assertEqual((x * 2).numpy(force=True).tolist(), [2, 2])
        self.assertEqual((tenon.device("cpu").type, tenon.device("cpu").index), ("cpu", None))
        self.assertEqual(tenon.Generator(device="cpu").manual_seed(3).seed(), 3)
        tenon.manual_seed(0)
        self.assertAlmostEqual(tenon.empty(20000).exponential_(2.0).mean().item(), 0.5, delta=0.02)
        drawn = tenon.empty(100000, dtype=tenon.bfloat16).exponential_()
        self.assertLess((drawn == 0).sum().item(), 3)
        self.assertGreater(drawn.max().item(), 7)  # beyond what 8 bits of a uniform number reach
        self.assertAlmostEqual(tenon.normal(2.0, 0.1, size=(10000,)).mean().item(), 2, delta=0.01)
        self.assertEqual(tenon.normal(tenon.zeros(3), tenon.ones(3)).shape, (3,))
        chosen = nn.functional.gumbel_softmax(tenon.zeros(5, 3), hard=True)
        self.assertEqual(chosen.sum(1).tolist(), [1] * 5)
        tenon.set_default_dtype(tenon.float32)
        with self.assertRaisesRegex(ValueError, "the default dtype is float32 and stays it"):
            tenon.set_default_dtype(tenon.float64)
        tenon.set_printoptions(precision=2)
        try:
            self.assertEqual(repr(tenon.tensor([1.23456])), "tensor([1.23])")
        finally:
            tenon.set_printoptions(profile="default")
        self.assertEqual(repr(tenon.tensor([1.5])), "tensor([1.5])")

    def test_shapes_are_tuples_that_count_elements(self):
        shape = tenon.ones(2, 3, 4).shape
        self.assertEqual((shape.numel(), shape[1:].numel(), shape[-1], shape), (24, 12, 4, (2, 3, 4)))
        self.assertEqual((repr(shape), tenon.Size([2, 5]).numel(), hash(shape)), ("(2, 3, 4)", 10, hash((2, 3, 4))))
        self.assertEqual((type(pickle.loads(pickle.dumps(shape))), tenon.ones(()).size().numel()), (tenon.Size, 1))
        self.assertEqual(tenon.zeros(shape[:2] + (5,)).shape, (2, 3, 5))

    def test_checkpoint_is_a_plain_call(self):
        from tenon.utils.checkpoint import checkpoint

        x = tenon.ones(2, requires_grad=True)
        checkpoint(lambda x: x * 3, x, use_reentrant=False).sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 3])

    def test_errors_have_words_of_python(self):
        w = tenon.ones(2, requires_grad=True)
        with self.assertRaisesRegex(tenon.Error, r"under tenon.no_grad\(\)"):
            w.add_(1)


class Pickled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.layer, self.memory = nn.Linear(2, 2), nn.Linear(2, 2), nn.Dropout(0.5), nn.LSTM(2, 2)
        self.b.weight = self.a.weight
        self.register_buffer("table", tenon.ones(2))
        self.notes = {"x": 1}

    def forward(self, x):
        return self.memory(self.layer(self.b(self.a(x))).reshape(1, 1, 2))[0] + self.table


if __name__ == "__main__":
    unittest.main()
