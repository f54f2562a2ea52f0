"""What users of PyTorch stumbled over."""

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
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


    def test_bounds_of_random_integers_are_those_of_the_dtype(self):
        outside = {"uint8": [(0, 1000), (0, 257), (-1, 5), (-5, None)], "bool": [(0, 3), (-1, 2)], "int32": [(0, 2**31 + 1), (-2**31 - 1, 5)],
                   "float16": [(0, 70000), (-70000, 5)]}
        inside = {"uint8": [(0, 256)], "int32": [(-2**31, 2**31 - 1)], "int64": [(-2**63, None)], "float16": [(0, 65505)], "bfloat16": [(0, 1000)]}
        for dtype, bounds in outside.items():
            for low, high in bounds:
                with self.assertRaisesRegex(RuntimeError, "random_.*out of range"):
                    tenon.zeros(3, dtype=getattr(tenon, dtype)).random_(low, high)
        for dtype, bounds in inside.items():
            for low, high in bounds:
                drawn = tenon.zeros(200, dtype=getattr(tenon, dtype)).random_(low, high)
                self.assertGreaterEqual(drawn.min().item(), low)
                if high:
                    self.assertLessEqual(drawn.max().item(), high)
                self.assertTrue(high or drawn.min().item() < 0 < drawn.max().item())

    def test_recurrent_layers_give_pytorchs_types_under_autocast(self):
        """As PyTorch 2.15 on the CPU: the low type, but a GRU's where its input is f32."""
        x = tenon.rand(5, 3, 4)
        for low in (tenon.bfloat16, tenon.float16):
            for make, dtype in ((nn.RNN, low), (nn.LSTM, low), (nn.GRU, tenon.float32)):
                net = make(4, 6, 2, bidirectional=True)
                y, state = net(x)
                with tenon.autocast("cpu", dtype=low):
                    lower, lower_state = net(x)
                    lowest, _ = net(x.to(low))
                states = lower_state if make is nn.LSTM else (lower_state,)
                self.assertEqual([one.dtype for one in (lower, lowest, *states)], [dtype, low] + [dtype] * len(states))
                self.assertLess((lower.float() - y).abs().max().item(), 0.02)
            for make, dtype in ((nn.RNNCell, low), (nn.GRUCell, tenon.float32), (nn.LSTMCell, tenon.float32)):
                with tenon.autocast("cpu", dtype=low):
                    made = make(4, 6)(x[0])
                self.assertEqual((made[0] if make is nn.LSTMCell else made).dtype, dtype)

    def test_inputs_of_another_dtype_name_the_layer(self):
        for make in (nn.RNN, nn.LSTM, nn.GRU):
            with self.assertRaisesRegex(RuntimeError, rf"\[{make.__name__.lower()}\] takes inputs of"):
                make(4, 6)(tenon.rand(5, 3, 4).double())

    def test_slopes_of_nothing_times_a_logarithm(self):
        inf, nan = float("inf"), float("nan")
        for function, begin in ((tenon.xlogy, 0.0), (tenon.special.xlog1py, -1.0)):
            x = tenon.zeros(4, requires_grad=True)
            y = tenon.tensor([begin, begin - 1, begin + 1, inf], requires_grad=True)
            made = function(x, y)
            made.sum().backward()
            self.assertEqual(made.tolist(), [0, 0, 0, 0])
            self.assertEqual(x.grad.tolist(), [0, 0, 0, inf])
            self.assertEqual(str(y.grad.tolist()), str([nan, 0.0, 0.0, 0.0]))


    def test_huge_arguments_take_no_time(self):
        started = time.monotonic()
        for make in (nn.RNN, nn.LSTM, nn.GRU):
            with self.assertRaisesRegex(RuntimeError, "num_layers is too large"):
                make(2, 2, num_layers=10**9)
        with self.assertRaisesRegex(RuntimeError, "num_layers is too large"):
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 10**9)
        with self.assertRaisesRegex(ValueError, "too many"):
            tenon.combinations(tenon.rand(40), 20)
        x = tenon.rand(1, 3, 5)
        wide = x / (1 + 1e-4 * (x * x).sum(1, keepdim=True) / 10**9) ** 0.75
        self.assertLess((nn.functional.local_response_norm(x, 10**9) - wide).abs().max().item(), 1e-6)
        self.assertEqual(nn.functional.adaptive_max_pool1d(x, 10**9).shape, (1, 3, 10**9))
        self.assertLess(time.monotonic() - started, 20)

    def test_gradients_of_volumes_are_added_in_float32(self):
        tenon.manual_seed(0)
        shapes = (1, 4, 10, 11, 12), (4, 4, 4, 4, 4)
        x, w = ((tenon.rand(*shape) * 18 - 9).to(tenon.bfloat16) for shape in shapes)
        g = (tenon.rand(*shapes[0]) * 2 - 1).to(tenon.bfloat16)

        def gradient(dtype):
            volume = x.detach().to(dtype).clone().requires_grad_()
            (nn.functional.conv3d(volume, w.to(dtype), padding="same") * g.to(dtype)).sum().backward()
            return volume.grad.double()

        self.assertLess(((gradient(tenon.bfloat16) - gradient(tenon.float64)) ** 2).mean().sqrt().item(), 0.11)

    def test_small_local_responses_are_as_before(self):
        """Next to PyTorch: a window that is wider than the channels."""
        x = tenon.arange(1, 4).float().reshape(1, 3, 1)
        for size, wanted in ((2, [0.8458970, 1.0886621, 1.0135136]), (5, [0.5186108, 1.0372216, 1.5558324]), (9, [0.6495190, 1.2990381, 1.9485571])):
            made = nn.functional.local_response_norm(x, size, alpha=0.5, beta=0.75).flatten().tolist()
            for a, b in zip(made, wanted):
                self.assertAlmostEqual(a, b, 5)

    def test_schedules_name_themselves_and_their_arguments(self):
        optimizer = tenon.optim.SGD([tenon.rand(2, requires_grad=True)], lr=1)
        with self.assertRaisesRegex(TypeError, r"^StepLR\(\) needs a number for 'step_size', not str"):
            tenon.optim.lr_scheduler.StepLR(optimizer, "a")
        with self.assertRaisesRegex(TypeError, r"^CosineAnnealingLR\(\) needs a number for 'T_max', not str"):
            tenon.optim.lr_scheduler.CosineAnnealingLR(optimizer, "a")

    def test_lists_that_are_nested_deeply_are_refused(self):
        """In a process of its own: it would end there."""
        program = """
import sys
sys.setrecursionlimit(10**6)
import tenon
def deep(x):
    for _ in range(100_000):
        x = [x]
    return x
for function, argument in ((lambda a: tenon.ones(2), deep(1)), (lambda a: tenon.ones(2), {"a": (deep(1),)}), (deep, tenon.ones(2))):
    try:
        tenon.compile(function)(argument)
    except ValueError as error:
        print(error, flush=True)
nested = [tenon.ones(2)]
for _ in range(100):
    nested = [nested]
tenon.compile(lambda a: a)(nested)
__import__("os")._exit(0)
"""
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(made.stdout.count("nested more than 128 deep"), 3, made.stdout)


class Settings(unittest.TestCase):
    """Attributes of layers that are set after they were made."""

    def test_the_chance_of_a_dropout_can_fall(self):
        layer = nn.Dropout(0.5)
        layer.p = 0.0
        self.assertEqual(layer(tenon.ones(64)).sum().item(), 64)
        self.assertEqual(layer.forward(tenon.ones(64)).sum().item(), 64)
        self.assertEqual(repr(layer), "Dropout(p=0.0, inplace=False)")
        self.assertEqual(copy.deepcopy(layer)(tenon.ones(64)).sum().item(), 64)
        layer.p = 1.0
        self.assertEqual(layer(tenon.ones(64)).sum().item(), 0)
        self.assertEqual(layer.eval()(tenon.ones(64)).sum().item(), 64)
        layer.p = 3
        with self.assertRaisesRegex(tenon.Error, "p must lie in 0..1"):
            layer.train()(tenon.ones(64))

    def test_batch_norms_take_momentum_eps_and_whether_they_track(self):
        layer = nn.BatchNorm1d(2)
        x = tenon.tensor([[1.0, 2.0], [3.0, 6.0]])
        layer.momentum = 1.0
        layer(x)
        self.assertEqual((layer.running_mean.tolist(), layer.running_var.tolist()), ([2, 4], [2, 8]))
        self.assertEqual(layer.num_batches_tracked.item(), 1)
        layer.track_running_stats = False
        layer(x * 10)
        self.assertEqual(layer.running_mean.tolist(), [2, 4])
        layer.eps = 2.0
        self.assertEqual(layer.eval()(x)[:, 0].tolist(), [-0.5, 0.5])
        self.assertEqual(copy.deepcopy(layer)(x)[:, 0].tolist(), [-0.5, 0.5])

    def test_of_other_layers(self):
        x = tenon.tensor([[1.0, 3.0]])
        norm = nn.LayerNorm(2)
        norm.eps = 3.0
        self.assertEqual((norm(x).tolist(), repr(norm)), ([[-0.5, 0.5]], "LayerNorm((2,), eps=3.0, elementwise_affine=True)"))
        leaky = nn.LeakyReLU()
        leaky.negative_slope = 0.5
        self.assertEqual(leaky(-x).tolist(), [[-0.5, -1.5]])
        softmax = nn.Softmax(0)
        softmax.dim = 1
        self.assertEqual(softmax(tenon.ones(2, 4)).tolist(), [[0.25] * 4] * 2)
        convolution = nn.Conv2d(1, 1, 3)
        convolution.stride = 2
        convolution.padding = (1, 1)
        self.assertEqual(convolution(tenon.ones(1, 1, 7, 7)).shape, (1, 1, 4, 4))
        pool = nn.MaxPool2d(2)
        self.assertEqual(pool.stride, 2)
        pool.kernel_size = 3
        self.assertEqual(pool(tenon.ones(1, 1, 7, 7)).shape, (1, 1, 3, 3))
        self.assertEqual(copy.deepcopy(pool)(tenon.ones(1, 1, 7, 7)).shape, (1, 1, 3, 3))

    def test_of_losses(self):
        loss = nn.CrossEntropyLoss(weight=tenon.tensor([2.0, 1.0, 1.0, 1.0]))
        loss.reduction = "none"
        self.assertEqual([round(x, 4) for x in loss(tenon.zeros(2, 4), tenon.tensor([0, 1])).tolist()], [2.7726, 1.3863])
        squares = nn.MSELoss()
        squares.reduction = "sum"
        self.assertEqual(squares(tenon.ones(3), tenon.zeros(3)).item(), 3)
        squares.reduction = "most"
        with self.assertRaisesRegex(ValueError, "there is no reduction 'most'"):
            squares(tenon.ones(3), tenon.zeros(3))

    def test_captured_functions_notice(self):
        layer = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
        f = tenon.compile(lambda x: layer[1](x), verify_every=1)
        for chance, expected in ((None, None), (0.0, 64), (1.0, 0), (0.0, 64)):
            if chance is not None:
                layer[1].p = chance
            for _ in range(5):
                total = f(tenon.ones(64)).sum().item()
                self.assertIn(expected, (None, total))
        self.assertEqual((f.recordings, layer.named_buffers(), layer.buffers()), (1, [], []))
        self.assertEqual(list(layer.state_dict()), ["0.weight", "0.bias"])

    def test_of_layers_inside_of_others(self):
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5)
        for name in ("dropout", "dropout1", "dropout2"):
            layer.get_submodule(name).p = 0.0
        layer.self_attn.dropout = 0.0
        x = tenon.randn(3, 1, 4)
        self.assertEqual(layer(x).tolist(), layer.eval()(x).tolist())

    def test_of_many_layers_are_noticed_each(self):
        layers = [nn.Dropout(0.0) for _ in range(61)]

        @tenon.compile
        def f(x):
            for layer in layers:
                x = layer(x)
            return x

        for chance in (0.0, 1.0, 0.0, 1.0):
            for layer in layers:
                layer.p = chance
            for _ in range(3):
                self.assertEqual(f(tenon.ones(8)).sum().item(), 8 * (1 - chance))

    def test_a_class_that_computes_itself_sets_what_it_likes(self):
        class Scaled(nn.Dropout):
            def forward(self, x):
                return x * self.p

        layer = Scaled(0.5)
        layer.p = 3
        self.assertEqual(layer(tenon.ones(2)).tolist(), [3, 3])

    def test_a_forward_that_is_assigned_is_called(self):
        layer, loss = nn.Linear(2, 2), nn.MSELoss()
        layer.forward = lambda x: x * 0
        loss.forward = lambda x, y: x + y
        self.assertEqual(layer(tenon.ones(2)).tolist(), [0, 0])
        self.assertEqual(nn.Linear(2, 3)(tenon.ones(2)).shape, (3,))
        self.assertEqual(loss(tenon.ones(1), tenon.ones(1)).tolist(), [2])


class InPlace(unittest.TestCase):
    def test_layers_write_what_they_are_given(self):
        for layer, expected in ((nn.ReLU(inplace=True), [0, 2]), (nn.LeakyReLU(0.5, True), [-0.5, 2]),
                                (nn.Dropout(1.0, inplace=True), [0, 0]), (nn.ReLU(True), [0, 2])):
            x = tenon.tensor([-1.0, 2.0])
            self.assertIs(layer(x), x)
            self.assertEqual(x.tolist(), expected)
            self.assertIn("inplace=True", repr(layer))
        x = tenon.tensor([-1.0, 2.0])
        nn.Dropout(1.0, inplace=True).eval()(x)
        self.assertEqual(x.tolist(), [-1, 2])

    def test_functions_do(self):
        x = tenon.tensor([-1.0, 2.0])
        nn.functional.relu(x, inplace=True)
        self.assertEqual(x.tolist(), [0, 2])
        nn.functional.dropout(x, 1.0, inplace=True)
        self.assertEqual(x.tolist(), [0, 0])

    def test_gradients_go_through(self):
        w = tenon.tensor([-1.0, 2.0], requires_grad=True)
        hidden = w * 3
        nn.Sequential(nn.ReLU(inplace=True), nn.LeakyReLU(0.5, inplace=True))(hidden).sum().backward()
        self.assertEqual((w.grad.tolist(), hidden.tolist()), ([0, 3], [0, 6]))


class Modes(unittest.TestCase):
    def test_generators_run_inside_of_their_block(self):
        @tenon.no_grad()
        def numbers():
            try:
                given = yield tenon.is_grad_enabled()
                yield given, tenon.is_grad_enabled()
            except KeyError:
                yield "caught", tenon.is_grad_enabled()
            return 7

        one = numbers()
        self.assertEqual((next(one), tenon.is_grad_enabled(), one.send(5)), (False, True, (5, False)))
        self.assertEqual(one.throw(KeyError()), ("caught", False))
        with self.assertRaises(StopIteration) as end:
            next(one)
        self.assertEqual(end.exception.value, 7)
        def mode():
            yield tenon.is_grad_enabled()

        self.assertEqual(list(tenon.inference_mode()(mode)()), [False])
        self.assertEqual(list(tenon.set_grad_enabled(False)(mode)()), [False])
        with tenon.no_grad():
            self.assertEqual(list(tenon.enable_grad()(mode)()), [True])
        self.assertTrue(tenon.is_grad_enabled())

        @tenon.autocast("cpu", dtype=tenon.bfloat16)
        def products():
            yield (tenon.ones(2, 2) @ tenon.ones(2, 2)).dtype

        self.assertEqual(list(products()), [tenon.bfloat16])

    def test_a_block_that_is_entered_lasts_though_nobody_keeps_it(self):
        block = tenon.enable_grad()
        tenon.no_grad().__enter__()
        gc.collect()
        try:
            self.assertFalse(tenon.is_grad_enabled())
            with block:
                self.assertTrue(tenon.is_grad_enabled())
            self.assertFalse(tenon.is_grad_enabled())
        finally:
            tenon.autograd._entered.blocks[-1].__exit__()
        self.assertTrue(tenon.is_grad_enabled())


class Arrays(unittest.TestCase):
    def test_as_tensor_shares_the_memory_of_an_array(self):
        array = np.ones(3, np.float32)
        tenon.as_tensor(array)[0] = 5
        self.assertEqual(array.tolist(), [5, 1, 1])
        self.assertEqual(tenon.as_tensor(array, dtype=tenon.int64).tolist(), [5, 1, 1])
        self.assertEqual(tenon.as_tensor(array[::-1]).tolist(), [1, 1, 5])  # copied
        self.assertEqual(tenon.as_tensor(np.float64(3)).item(), 3)

    def test_integers_by_the_number_0_are_an_error_of_pythons(self):
        x = tenon.tensor([1, 2])
        for divide in (lambda: x // 0, lambda: x % 0, lambda: tenon.remainder(x, 0), lambda: tenon.fmod(x, 0),
                       lambda: x.div(0, rounding_mode="floor"), lambda: x.div(0, rounding_mode="trunc"), lambda: x.remainder_(0)):
            with self.assertRaises(ZeroDivisionError):
                divide()
        self.assertEqual((tenon.tensor([1.0]) // 0).item(), float("inf"))
        self.assertEqual(((x // tenon.tensor([0, 1])).tolist(), (x % tenon.tensor([0, 2])).tolist()), ([0, 2], [0, 0]))

    def test_a_tied_weight_is_missing_under_each_of_its_names(self):
        state = Tied().state_dict()
        del state["out.weight"]
        self.assertEqual(Tied().load_state_dict(state, strict=False).missing_keys, ["out.weight"])


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


    def test_names_are_bytes(self):
        """A name need not be UTF-8, and may be as long as the file system allows."""

        class Bytes:
            def __fspath__(self):
                return self.path

        with tempfile.TemporaryDirectory() as folder:
            for kind in (".pt", ".npy", ".npz", ".safetensors"):
                x = tenon.arange(3)
                name = os.fsencode(folder) + b"/n\xff\xc3" + kind.encode()
                path = Bytes()
                path.path = name
                long = os.path.join(folder, "n" * (255 - len(kind)) + kind)
                for one in (name, os.fsdecode(name), path, long, long):
                    tenon.save(x if kind in (".pt", ".npy") else {"a": x}, one)
                    read = tenon.load(one)
                    self.assertEqual((read if kind in (".pt", ".npy") else read["a"]).tolist(), [0, 1, 2])
                    os.remove(path if one is path else one) if one is not long else None
                with self.assertRaisesRegex(FileNotFoundError, "n\udcff\udcc3"):
                    tenon.load(name)
                with self.assertRaises(Exception) as caught:
                    tenon.save({"a": x}, name + b"/none/x" + kind.encode())
                self.assertNotIsInstance(caught.exception, UnicodeError)
            self.assertEqual(len(os.listdir(folder)), 4)
            net = nn.Linear(2, 2)
            tenon.save(net, os.fsencode(folder) + b"/\xff.safetensors")
            self.assertEqual(set(tenon.load(os.fsencode(folder) + b"/\xff.safetensors")), {"weight", "bias"})

    def test_a_pipe_is_written_as_a_stream(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe, read = os.path.join(folder, "pipe.pt"), []
            os.mkfifo(pipe)

            def reads():
                with open(pipe, "rb") as file:
                    read.append(file.read())

            reader = threading.Thread(target=reads)
            reader.start()
            tenon.save({"a": tenon.arange(3)}, pipe)
            reader.join()
            self.assertEqual(tenon.load(io.BytesIO(read[0]))["a"].tolist(), [0, 1, 2])


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


class Attacked(unittest.TestCase):
    def test_losses_as_layers_are_the_functions(self):
        f = nn.functional
        x, y = tenon.randn(4, 3), tenon.rand(4, 3)
        classes, signs = tenon.tensor([0, 2, 1, 1]), tenon.tensor([1., -1., 1., -1.])
        each = [(nn.CrossEntropyLoss, f.cross_entropy, (x, classes)), (nn.NLLLoss, f.nll_loss, (x, classes)),
                (nn.BCELoss, f.binary_cross_entropy, (y, y)), (nn.BCEWithLogitsLoss, f.binary_cross_entropy_with_logits, (x, y)),
                (nn.MultiMarginLoss, f.multi_margin_loss, (x, classes)), (nn.MSELoss, f.mse_loss, (x, y)), (nn.L1Loss, f.l1_loss, (x, y)),
                (nn.SmoothL1Loss, f.smooth_l1_loss, (x, y)), (nn.HuberLoss, f.huber_loss, (x, y)), (nn.KLDivLoss, f.kl_div, (x, y)),
                (nn.SoftMarginLoss, f.soft_margin_loss, (x, y)), (nn.HingeEmbeddingLoss, f.hinge_embedding_loss, (x, y.sign())),
                (nn.CosineEmbeddingLoss, f.cosine_embedding_loss, (x, y, signs)), (nn.PoissonNLLLoss, f.poisson_nll_loss, (x, y)),
                (nn.MarginRankingLoss, f.margin_ranking_loss, (x[:, 0], y[:, 0], signs)), (nn.GaussianNLLLoss, f.gaussian_nll_loss, (x, y, y)),
                (nn.TripletMarginLoss, f.triplet_margin_loss, (x, y, x + y)),
                (nn.MultiLabelSoftMarginLoss, f.multilabel_soft_margin_loss, (x, y.round()))]
        for layer, function, given in each:
            for reduction in ("mean", "sum", "none"):
                with self.subTest(layer.__name__, reduction=reduction):
                    self.assertEqual(layer(reduction=reduction)(*given).tolist(), function(*given, reduction=reduction).tolist())
        weight = tenon.tensor([1., 2., 3.])
        loss = nn.CrossEntropyLoss(weight, ignore_index=1, label_smoothing=0.1)
        self.assertEqual(loss(x, classes).item(), f.cross_entropy(x, classes, weight, ignore_index=1, label_smoothing=0.1).item())

    def test_containers_follow_their_attributes(self):
        x = tenon.ones(1, 2)
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        setattr(net, "0", nn.Identity())
        self.assertEqual((net(x).tolist(), len(net), list(net.state_dict())), ([[1, 1]], 2, []))
        net.last = nn.Linear(2, 5)
        self.assertEqual((net(x).shape, len(net), type(net[-1])), ((1, 5), 3, nn.Linear))
        del net.last
        delattr(net, "1")
        self.assertEqual([type(one) for one in net], [nn.Identity])
        empty = nn.Sequential()
        empty.add_module("a", nn.Linear(2, 3))
        self.assertEqual(empty(x).shape, (1, 3))
        self.assertEqual(list(nn.Sequential(dict(a=nn.Linear(2, 2), b=nn.ReLU()))[:1].state_dict()), ["a.weight", "a.bias"])
        several = nn.ModuleList([nn.Identity()])
        setattr(several, "0", nn.ReLU())
        several.add_module("1", nn.Tanh())
        self.assertEqual([type(one) for one in several], [nn.ReLU, nn.Tanh])
        named = nn.ModuleDict({"a": nn.Identity()})
        named.a = nn.ReLU()
        named.add_module("k", nn.Tanh())
        self.assertEqual([(name, type(one)) for name, one in named.items()], [("a", nn.ReLU), ("k", nn.Tanh)])
        numbers = nn.ParameterDict({"a": tenon.ones(1)})
        numbers.a = nn.Parameter(tenon.zeros(2))
        self.assertEqual(numbers["a"].shape, (2,))
        copied = copy.deepcopy(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        self.assertEqual([type(one) for one in pickle.loads(pickle.dumps(copied))], [nn.Linear, nn.ReLU])

    def test_files_that_are_written_in_place(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("w.pt", "w.safetensors", "w.npy"):
                path, other = os.path.join(folder, name), os.path.join(folder, "other_" + name)
                ones, fives = tenon.ones(300), tenon.full((300,), 5.0)
                tenon.save(ones if name.endswith("npy") else {"a": ones}, path)
                tenon.save(fives if name.endswith("npy") else {"a": fives}, other)
                kept = tenon.load(path), tenon.load(path, mmap=True)
                first = kept[0] if name.endswith("npy") else kept[0]["a"]
                copied = first.clone()
                with open(other, "rb") as source, open(path, "r+b") as target:
                    target.write(source.read())
                self.assertEqual((first.sum().item(), copied.sum().item()), (300, 300), name)

    def test_a_file_that_takes_a_part(self):
        class Slow(io.BytesIO):
            def write(self, content):
                return super().write(bytes(content[:1000]))

        file = Slow()
        tenon.save({"a": tenon.arange(3000)}, file)
        file.seek(0)
        self.assertEqual(tenon.load(file)["a"][-1].item(), 2999)

        class Full(io.BytesIO):
            def write(self, content):
                return 0

        with self.assertRaisesRegex(OSError, "took 0 of"):
            tenon.save({"a": tenon.ones(3)}, Full())

    def test_a_copy_made_of_its_attributes(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.scale = nn.Linear(2, 1), nn.Parameter(tenon.ones(1))
                self.register_buffer("seen", tenon.zeros(1))

            def forward(self, x):
                return self.inner(x) * self.scale

            def __copy__(self):
                made = type(self).__new__(type(self))
                made.__dict__.update(self.__dict__)
                return made

        net = Net()
        copied = copy.copy(net)
        self.assertEqual(list(copied.state_dict()), list(net.state_dict()))
        self.assertEqual(len(list(copied.parameters())), 3)
        self.assertIs(copied.scale, net.scale)
        self.assertEqual([name for name, _ in copied.named_children()], ["inner"])

    def test_a_refused_assignment_leaves_a_module_as_it_was(self):
        class Net(nn.Module):
            @property
            def p(self):
                return 1

        for name, error in (("p", AttributeError), ("training", TypeError), ("__class__", TypeError)):
            net = Net()
            with self.assertRaises(error):
                net.add_module(name, nn.Linear(2, 2))
            gc.collect()
            self.assertEqual((list(net.named_parameters()), list(net.state_dict())), ([], []))

    def test_modules_that_are_taken_out_of_the_attributes_are_kept(self):
        def pop(net):
            net.__dict__.pop("inner")

        def replace(net):
            object.__setattr__(net, "inner", None)

        def clear(net):
            net.__dict__ = {}

        for take_out in (pop, replace, clear):
            net = nn.Module()
            net.inner = nn.Linear(3, 3)
            take_out(net)
            gc.collect()
            others = [nn.Linear(3, 3) for _ in range(20)]
            self.assertEqual([one.shape for _, one in net.named_parameters()], [(3, 3), (3,)])
            self.assertEqual(len(others), 20)

    def test_attributes_that_are_exchanged_crash_nothing(self):
        x, y = nn.Linear(2, 2), nn.Linear(3, 3)
        y.__dict__.update(x.__dict__)
        self.assertEqual(list(y.state_dict()), ["weight", "bias"])
        x.__dict__.clear()
        self.assertEqual(len(x.state_dict()), 2)

        class Own(nn.Linear):
            def __init__(self):
                super().__init__(2, 2)
                self._extras = [1]

        self.assertEqual(list(Own().state_dict()), ["weight", "bias"])

    def test_bags_of_nothing_have_a_gradient(self):
        layer = nn.EmbeddingBag(5, 3)
        layer(tenon.tensor([], dtype=tenon.int64), tenon.tensor([0, 0])).sum().backward()
        self.assertEqual(layer.weight.grad.abs().sum().item(), 0)

    def test_small_promises(self):
        x = tenon.ones(2)
        for same in (x.zero_(), x.fill_(1), x.copy_(x + 1), x.to("cpu"), x.float()):
            self.assertIs(same, x)
        self.assertIs(tenon.zeros(1, dtype=float).dtype, tenon.float64)
        layer = nn.Linear(2, 1)
        layer(x).backward()
        layer.zero_grad(set_to_none=False)
        self.assertEqual(layer.weight.grad.tolist(), [[0, 0]])
        optimizer = tenon.optim.SGD(layer.parameters(), lr=1.0)
        layer(x).backward()
        optimizer.zero_grad(set_to_none=False)
        self.assertEqual(layer.weight.grad.tolist(), [[0, 0]])
        outer = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
        outer.training = False
        self.assertEqual([one.training for one in outer.modules()], [False, True, True, True])


if __name__ == "__main__":
    unittest.main()
