"""The first stops of somebody who comes with a program for PyTorch."""

import importlib
import inspect
import os
import tempfile
import unittest

import tenon
from tenon import nn

F = nn.functional

try:
    import torch
except ImportError:
    torch = None


class Signatures(unittest.TestCase):
    def test_optimizers_show_their_arguments(self):
        shown = inspect.signature(tenon.optim.AdamW).parameters
        self.assertEqual(list(shown)[:2], ["params", "lr"])
        self.assertEqual(shown["betas"].default, (0.9, 0.999))
        self.assertIn("fused", shown)

    def test_layers_show_their_arguments(self):
        shown = inspect.signature(nn.Linear).parameters
        self.assertEqual(list(shown)[:3], ["in_features", "out_features", "bias"])
        self.assertIs(shown["in_features"].default, inspect.Parameter.empty)
        self.assertIs(shown["bias"].default, True)
        self.assertEqual(inspect.signature(nn.GLU).parameters["dim"].default, -1)
        self.assertIn("padding_mode", inspect.signature(nn.Conv2d).parameters)
        for layer in (nn.LSTM, nn.ReLU, nn.CrossEntropyLoss, nn.LayerNorm, nn.MultiheadAttention, nn.RMSNorm, nn.MaxPool2d):
            with self.subTest(layer.__name__):
                inspect.signature(layer)


class Modules(unittest.TestCase):
    def test_zero_grad_takes_set_to_none(self):
        net = nn.Linear(2, 1)
        net(tenon.ones(1, 2)).sum().backward()
        net.zero_grad(set_to_none=False)
        self.assertEqual(net.weight.grad.tolist(), [[0, 0]])
        net.zero_grad(set_to_none=True)
        self.assertIsNone(net.weight.grad)
        net.zero_grad(set_to_none=False)
        self.assertIsNone(net.weight.grad)

    def test_a_list_may_have_empty_places(self):
        several = nn.ModuleList([None, nn.Linear(1, 1)])
        self.assertIsNone(several[0])
        self.assertEqual((len(several), [name for name, _ in several.named_parameters()]), (2, ["1.weight", "1.bias"]))
        several[0] = nn.Linear(1, 1)
        self.assertEqual(len(several.parameters()), 4)
        with self.assertRaises(TypeError):
            nn.Sequential(None)

    def test_losses_take_the_words_of_old(self):
        x, y = tenon.tensor([1.0, 3.0]), tenon.zeros(2)
        self.assertEqual(F.mse_loss(x, y, size_average=False).item(), 10)
        self.assertEqual(F.mse_loss(x, y, reduce=False).tolist(), [1, 9])
        self.assertEqual(nn.MSELoss(size_average=False)(x, y).item(), 10)
        self.assertEqual(nn.L1Loss(reduce=False)(x, y).tolist(), [1, 3])
        self.assertEqual(nn.MSELoss(size_average=True).reduction, "mean")

    def test_one_device_in_parallel(self):
        net = nn.DataParallel(nn.Linear(2, 1))
        self.assertEqual(list(net.state_dict()), ["module.weight", "module.bias"])
        self.assertEqual(net(tenon.ones(3, 2)).shape, (3, 1))
        with self.assertRaises(RuntimeError):
            nn.parallel.DistributedDataParallel(net)


class Tensors(unittest.TestCase):
    def test_kinds_of_tensors(self):
        x = tenon.ones(1)
        self.assertFalse(x.is_xpu or x.is_sparse or x.is_quantized or x.is_meta or x.is_mps)

    def test_shapes_are_changed_in_place(self):
        x = tenon.zeros(1, 3)
        y = x
        self.assertIs(x.squeeze_(), x)
        self.assertEqual(y.shape, (3,))
        self.assertEqual(x.unsqueeze_(1).shape, (3, 1))
        self.assertEqual(x.t_().shape, (1, 3))
        self.assertEqual(x.add_(2).clip_(max=1).tolist(), [[1, 1, 1]])
        with self.assertRaises(tenon.Error):
            nn.Parameter(tenon.ones(1, 2)).squeeze_()

    def test_a_tensor_is_cut_from_its_history(self):
        w = tenon.ones(2, requires_grad=True)
        y = w * 2
        self.assertIs(y.detach_(), y)
        self.assertFalse(y.requires_grad)
        self.assertFalse(w.detach_().requires_grad)


class Sparse(unittest.TestCase):
    def test_products_with_sparse_matrices_take_dense_ones(self):
        a, b = tenon.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True), tenon.tensor([[1.0], [10.0]])
        for product in (tenon.spmm, tenon.sparse.mm):
            self.assertEqual(product(a, b).tolist(), [[21], [30]])
        self.assertEqual(tenon.sparse.addmm(b, a, b, beta=2, alpha=3).tolist(), [[65], [110]])
        tenon.spmm(a, b).sum().backward()
        self.assertEqual(a.grad.tolist(), [[1, 10], [1, 10]])

    def test_sparse_tensors_are_refused_by_name(self):
        for make in (tenon.sparse_coo_tensor, tenon.sparse_csr_tensor, tenon.sparse.FloatTensor):
            with self.assertRaisesRegex(tenon.Error, f"{make.__name__}. tensors are dense here; make zeros"):
                make(tenon.tensor([[0], [1]]), tenon.ones(1), (2, 2))
        with self.assertRaisesRegex(TypeError, "sparse.mm.. takes tensors of Tenon's, which are dense"):
            tenon.spmm(object(), tenon.ones(2, 2))
        with self.assertRaisesRegex(tenon.Error, "reduce='amax'"):
            tenon.sparse.mm(tenon.ones(2, 2), tenon.ones(2, 2), "amax")


class Packages(unittest.TestCase):
    def test_places_of_pytorch(self):
        loaders = importlib.import_module("tenon.utils.data.dataloader")
        self.assertIs(loaders.DataLoader, tenon.data.DataLoader)
        self.assertEqual(loaders.default_collate([1, 2]).tolist(), [1, 2])
        for name, wanted in (("utils.data.dataset", "Dataset"), ("utils.data.sampler", "RandomSampler"), ("cuda.amp", "GradScaler"),
                             ("nn.parallel", "DistributedDataParallel"), ("accelerator", "is_available"), ("testing", "assert_close"),
                             ("jit", "is_scripting"), ("compiler", "is_compiling")):
            with self.subTest(name):
                self.assertTrue(hasattr(importlib.import_module(f"tenon.{name}"), wanted))
        with tenon.cuda.amp.autocast(dtype=tenon.bfloat16):
            self.assertEqual((tenon.ones(2, 2) @ tenon.ones(2, 2)).dtype, tenon.bfloat16)
            self.assertTrue(tenon.is_autocast_enabled())
        self.assertFalse(tenon.is_autocast_enabled())

    def test_memory_of_a_device_that_may_be_missing(self):
        self.assertGreaterEqual(tenon.cuda.memory_allocated(), 0)
        self.assertGreaterEqual(tenon.cuda.max_memory_allocated(), tenon.cuda.memory_allocated())
        self.assertEqual(tenon.cuda.is_bf16_supported(), tenon.cuda.is_available())

    def test_close_tensors(self):
        tenon.testing.assert_close(tenon.ones(2) / 3, tenon.tensor([1 / 3, 1 / 3]))
        tenon.testing.assert_close({"a": [tenon.ones(1), 2.0]}, {"a": [tenon.ones(1), 2.0]})
        for actual, expected, words in ((tenon.ones(2), tenon.ones(3), "shapes"), (tenon.ones(2), tenon.ones(2).double(), "dtypes"),
                                        (tenon.tensor([1.0, 2.0]), tenon.tensor([1.0, 2.5]), "1 of 2 elements"), ([1], [1, 2], "lengths")):
            with self.subTest(words), self.assertRaisesRegex(AssertionError, words):
                tenon.testing.assert_close(actual, expected)


class OptimizerStates(unittest.TestCase):
    def trained(self, kind, **settings):
        w = nn.Parameter(tenon.tensor([1.0, -2.0]))
        optimizer = kind([w], **settings)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        return w, optimizer

    def test_they_have_pytorchs_form(self):
        _, optimizer = self.trained(tenon.optim.AdamW, lr=0.1)
        state = optimizer.state_dict()
        self.assertEqual(set(state), {"state", "param_groups"})
        self.assertEqual(set(state["state"][0]), {"step", "exp_avg", "exp_avg_sq"})
        self.assertEqual((state["state"][0]["step"].item(), state["param_groups"][0]["params"]), (3, [0]))
        self.assertEqual(state["param_groups"][0]["betas"], (0.9, 0.999))

    def test_both_forms_are_loaded(self):
        for kind in (tenon.optim.AdamW, tenon.optim.SGD, tenon.optim.NAdam, tenon.optim.RMSprop, tenon.optim.Adagrad):
            settings = {"momentum": 0.9} if kind is tenon.optim.SGD else {}
            for form in ("state_dict", "flat_state_dict"):
                with self.subTest((kind.__name__, form)):
                    w, optimizer = self.trained(kind, lr=0.1, **settings)
                    again = nn.Parameter(w.detach().clone())
                    other = kind([again], lr=0.1, **settings)
                    other.load_state_dict(getattr(optimizer, form)())
                    for one, its in ((w, optimizer), (again, other)):
                        its.zero_grad()
                        (one * one).sum().backward()
                        its.step()
                    tenon.testing.assert_close(w.detach(), again.detach())

    @unittest.skipIf(torch is None, "PyTorch is not there")
    def test_pytorch_goes_on_with_them(self):
        cases = {"AdamW": {}, "Adam": {"amsgrad": True}, "SGD": {"momentum": 0.9}, "NAdam": {}, "RMSprop": {}, "Adagrad": {}, "Adamax": {}, "RAdam": {}, "Adadelta": {}}
        for name, settings in cases.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                w, optimizer = self.trained(getattr(tenon.optim, name), lr=0.1, **settings)
                path = os.path.join(folder, "state.pt")
                tenon.save(optimizer.state_dict(), path)
                theirs = torch.nn.Parameter(torch.tensor(w.tolist()))
                other = getattr(torch.optim, name)([theirs], lr=0.5, **settings)
                other.load_state_dict(torch.load(path, weights_only=True))
                other.zero_grad()
                (theirs * theirs).sum().backward()
                other.step()
                optimizer.zero_grad()
                (w * w).sum().backward()
                optimizer.step()
                self.assertTrue(torch.allclose(theirs.detach(), torch.tensor(w.tolist()), atol=1e-5), (theirs, w))


if __name__ == "__main__":
    unittest.main()
