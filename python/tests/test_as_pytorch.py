"""What programs written for PyTorch call, beyond what the other files test."""

import math
import os
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
        with self.assertRaisesRegex(ValueError, "there is no rounding mode 'up'; there are None, 'floor' and 'trunc'"):
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
        self.assertEqual((schedule.get_last_lr(), schedule.state_dict()), ([0.5], {"last_epoch": 1}))
        schedule.load_state_dict({"last_epoch": 3})
        self.assertEqual(optimizer.lr, 0.125)
        plateau = lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=0)
        for loss in (1.0, 2.0):
            plateau.step(loss)
        self.assertTrue(math.isclose(plateau.get_last_lr()[0], 0.0125, rel_tol=1e-6))


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
        with self.assertRaisesRegex(ValueError, "there is no norm 2 of matrices"):
            tenon.linalg.norm(x, 2)

    def test_states_of_chance_and_threads(self):
        tenon.manual_seed(7)
        self.assertEqual(tenon.initial_seed(), 7)
        state = tenon.get_rng_state()
        first = tenon.rand(3).tolist()
        tenon.set_rng_state(state)
        self.assertEqual(tenon.rand(3).tolist(), first)
        self.assertEqual(tenon.seed(), tenon.initial_seed())
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


if __name__ == "__main__":
    unittest.main()
