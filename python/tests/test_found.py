"""What users of PyTorch stumbled over."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tenon
from tenon import nn

try:
    import torch
except ImportError:
    torch = None


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.embedding.weight
        self.frozen = nn.Parameter(tenon.ones(2), requires_grad=False)


class Copies(unittest.TestCase):
    def test_what_was_one_parameter_is_one_again(self):
        copied = copy.deepcopy(Tied())
        self.assertIs(copied.out.weight, copied.embedding.weight)
        self.assertEqual(len(copied.parameters()), len(Tied().parameters()))
        self.assertFalse(copied.frozen.requires_grad)

    def test_a_copy_has_its_own_memory(self):
        net = Tied()
        copied = copy.deepcopy(net)
        with tenon.no_grad():
            net.embedding.weight.fill_(7)
        self.assertFalse((copied.out.weight == 7).any())

    def test_a_pickled_parameter_is_one(self):
        again = pickle.loads(pickle.dumps(nn.Parameter(tenon.ones(2), requires_grad=False)))
        self.assertIsInstance(again, nn.Parameter)
        self.assertFalse(again.requires_grad)

    def test_a_shallow_copy_shares_memory(self):
        x = tenon.zeros(2)
        y = copy.copy(x)
        x[0] = 3
        self.assertEqual(y.tolist(), [3, 0])


class Tensors(unittest.TestCase):
    def test_the_class_makes_float32(self):
        self.assertEqual(tenon.Tensor([1, 2]).dtype, tenon.float32)
        self.assertEqual(tenon.Tensor(2, 3).shape, (2, 3))
        self.assertEqual(tenon.Tensor().shape, (0,))

    def test_arrays_of_parameters_that_are_one_number(self):
        for weight in (nn.LayerNorm(3).weight, nn.BatchNorm2d(3).weight, tenon.ones(3, requires_grad=True)):
            self.assertEqual(weight.detach().numpy().tolist(), [1, 1, 1])
            weight.sum().backward()
            self.assertEqual(weight.grad.tolist(), [1, 1, 1])
        layer = nn.Linear(2, 2)
        nn.init.constant_(layer.weight, 2)
        shown = layer.weight.detach().numpy()
        with tenon.no_grad():
            layer.weight.add_(1)
        self.assertEqual(layer.weight.tolist(), [[3, 3], [3, 3]])
        self.assertEqual(shown.tolist(), [[3, 3], [3, 3]])  # one memory

    def test_moves_take_what_pytorchs_take(self):
        x = tenon.ones(2)
        self.assertEqual(x.to("cpu", non_blocking=True).tolist(), [1, 1])
        self.assertEqual(nn.Linear(1, 1).to("cpu", non_blocking=True).weight.shape, (1, 1))
        other = x.to(tenon.float32, copy=True)
        x += 1
        self.assertEqual(other.tolist(), [1, 1])
        self.assertEqual(x.pin_memory().tolist(), [2, 2])

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_of_pytorch_are_taken(self):
        theirs = torch.arange(3, dtype=torch.float32, requires_grad=True)
        self.assertEqual(tenon.tensor(theirs).tolist(), [0, 1, 2])
        self.assertEqual((tenon.ones(3) + theirs).tolist(), [1, 2, 3])


class Layers(unittest.TestCase):
    def test_a_parameter_is_not_replaced_by_a_plain_tensor(self):
        layer = nn.Linear(2, 2)
        with self.assertRaisesRegex(TypeError, "the parameter weight can be replaced by a Parameter or None"):
            layer.weight = tenon.ones(2, 2)
        layer.weight = nn.Parameter(tenon.ones(2, 2))
        self.assertEqual(layer(tenon.ones(1, 2)).shape, (1, 2))
        norm = nn.BatchNorm1d(2)
        norm.running_mean = tenon.ones(2)  # a buffer is no parameter
        self.assertEqual(norm.running_mean.tolist(), [1, 1])

    def test_members_by_dotted_names(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.assertIs(net.get_submodule("0"), net[0])
        self.assertIs(net.get_parameter("0.weight"), net[0].weight)
        self.assertEqual(net.get_buffer("1.running_mean").shape, (3,))
        with self.assertRaisesRegex(AttributeError, "Sequential has no module '2'"):
            net.get_submodule("2")

    def test_what_loading_says_has_names(self):
        found = nn.Linear(2, 2).load_state_dict({"weight": tenon.ones(2, 2), "x": tenon.ones(1)}, strict=False)
        self.assertEqual((found.missing_keys, found.unexpected_keys), (["bias"], ["x"]))

    def test_extra_repr(self):
        class Scale(nn.Module):
            def extra_repr(self):
                return "by=2"

        self.assertEqual(repr(Scale()), "Scale(by=2)")


class Functions(unittest.TestCase):
    def test_own_functions_are_captured(self):
        class Double(tenon.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return grad * 2 + x * 0

        weight = nn.Parameter(tenon.ones(3))
        optimizer = tenon.optim.SGD([weight], lr=0.5)
        calls = []

        @tenon.compile(verify_every=0)
        def step(x):
            calls.append(1)
            loss = Double.apply(weight * x).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        losses = [step(tenon.ones(3)).item() for _ in range(10)]
        self.assertEqual(losses, [6.0 - 6.0 * i for i in range(10)])
        self.assertLess(len(calls), 6)


class Batches(unittest.TestCase):
    def test_of_dicts_are_dicts(self):
        samples = [{"x": tenon.full((2,), i), "y": i} for i in range(4)]
        for workers in (0, 2):
            batches = list(tenon.data.DataLoader(samples, batch_size=2, num_workers=workers))
            self.assertEqual(batches[1]["x"].tolist(), [[2, 2], [3, 3]])
            self.assertEqual(batches[1]["y"].tolist(), [2, 3])
        collated = tenon.data.DataLoader([(tenon.ones(1),)] * 2, batch_size=2,
                                         collate_fn=lambda samples: {"all": tenon.stack([one[0] for one in samples])})
        self.assertEqual(next(iter(collated))["all"].shape, (2, 1))


class Files(unittest.TestCase):
    def test_files_of_pytorch_give_what_was_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.pt")
            for saved in (tenon.ones(2), [tenon.ones(1), 3, "text"], {"b": tenon.ones(1), "a": tenon.zeros(1)}):
                tenon.save(saved, path)
                loaded = tenon.load(path)
                self.assertEqual(str(loaded), str(saved))  # in the same order
                if torch is not None:
                    self.assertEqual(type(torch.load(path)).__name__, type(saved).__name__)
            other = os.path.join(folder, "x.ckpt")
            os.rename(path, other)
            self.assertEqual(list(tenon.load(other)), ["b", "a"])

    def test_a_damaged_file_of_pytorch_is_one_line_that_names_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.pt")
            tenon.save({"w": tenon.zeros(3), "step": 3, "name": "x"}, path)
            with open(path, "rb") as file:
                good = file.read()
            name = good.find(b"data.pkl")
            pickled = good.find(b"\x80\x02")
            last = good.rfind(b"data.pkl")
            for place in (name, last, *range(pickled, pickled + 60)):
                damaged = bytearray(good)
                damaged[place] ^= 1
                with open(path, "wb") as file:
                    file.write(damaged)
                with self.assertRaisesRegex(tenon.Error, r"^\[torch\] .*a\.pt: [^\n]*$", msg=str(place)):
                    tenon.load(path)


class Devices(unittest.TestCase):
    def test_importing_asks_for_no_device(self):
        program = ("import tenon\n"
                   "try:\n    tenon.ones(2)\n"
                   "except tenon.Error as error:\n    print(error)")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                             env={**os.environ, "TENON_DEVICE": "nonsense"})
        self.assertEqual(run.stderr, "")
        self.assertRegex(run.stdout, r"^\[device\] unknown device 'nonsense'; known: [^\n]*\n$")


class Loops(unittest.TestCase):
    def test_a_running_sum_that_is_read_at_the_end(self):
        weight = nn.Parameter(tenon.ones(50_000))
        optimizer = tenon.optim.SGD([weight], lr=0.0)
        total, before = tenon.zeros(1), tenon.memory_allocated()
        for _ in range(300):
            optimizer.zero_grad()
            loss = (weight * weight).sum()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        self.assertLess(tenon.memory_allocated() - before, 100 * weight.nbytes)
        self.assertEqual(total.item(), 300 * 50_000)


if __name__ == "__main__":
    unittest.main()
