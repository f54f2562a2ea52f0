"""Settings that change while a program runs, and loaders whose datasets are empty or fail."""

import copy
import unittest

import numpy as np

import tenon
from tenon import data, nn, optim
from tenon.nn import functional as F


def trained(make, captures=False, schedule=None, steps=6, changes=None):
    """A small net and its optimizer after some steps, with other settings from some of them on."""
    tenon.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = make(net.parameters())
    follows = schedule(optimizer) if schedule else None
    x = tenon.ones(4, 3)

    def step(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    step = tenon.compile(step) if captures else step
    for i in range(steps):
        for name, value in (changes or {}).get(i, {}).items():
            optimizer.param_groups[0][name] = value
        step(x)
        if follows:
            follows.step()
    return net, optimizer


class Optimizers(unittest.TestCase):
    def weights(self, make, captures, changes):
        return trained(make, captures, steps=14, changes=changes)[0].weight.tolist()

    def test_captured_steps_notice_other_settings(self):
        cases = [(lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.0), {5: {"weight_decay": 0.5}, 8: {"betas": (0.5, 0.9)}}),
                 (lambda p: optim.Adam(p, lr=0.1), {6: {"eps": 0.1}, 7: {"eps": 0.2}, 9: {"lr": 0.3}}),
                 (lambda p: optim.SGD(p, lr=0.1, momentum=0.9), {6: {"nesterov": True}, 9: {"weight_decay": 0.2}}),
                 (lambda p: optim.RMSprop(p, lr=0.01), {6: {"alpha": 0.5}}),
                 (lambda p: optim.NAdam(p, lr=0.01), {6: {"momentum_decay": 0.1}})]
        for make, changes in cases:
            self.assertEqual(self.weights(make, True, changes), self.weights(make, False, changes))
            self.assertNotEqual(self.weights(make, True, changes), self.weights(make, True, {}))

    def test_a_state_of_pytorchs_brings_its_settings(self):
        weight = nn.Parameter(tenon.ones(2))
        optimizer = optim.AdamW([weight], lr=0.1)
        optimizer.param_groups[0]["eps"] = 1e-3
        state = {"state": {0: {"step": 3, "exp_avg": tenon.ones(2), "exp_avg_sq": tenon.ones(2), "max_exp_avg_sq": tenon.ones(2) * 2}},
                 "param_groups": [{"params": [0], "lr": 0.2, "betas": (0.5, 0.75), "eps": 1e-4, "weight_decay": 0.25, "amsgrad": True}]}
        optimizer.load_state_dict(state)
        group = optimizer.param_groups[0]
        self.assertEqual([group[name] for name in ("lr", "betas", "eps", "weight_decay", "amsgrad")], [0.2, (0.5, 0.75), 1e-4, 0.25, True])
        self.assertEqual(optimizer.flat_state_dict()["0.max_exp_avg_sq"].tolist(), [2, 2])
        self.assertEqual(optimizer.steps(), 3)
        # One that does not fit changes nothing.
        wrong = {"state": {0: {"step": 3, "exp_avg": tenon.ones(5)}}, "param_groups": [{**state["param_groups"][0], "amsgrad": False}]}
        with self.assertRaisesRegex(tenon.Error, "shape"):
            optimizer.load_state_dict(wrong)
        self.assertTrue(optimizer.param_groups[0]["amsgrad"])
        self.assertEqual(optimizer.flat_state_dict()["0.max_exp_avg_sq"].tolist(), [2, 2])
        optimizer.load_state_dict(state)
        weight.sum().backward()
        optimizer.step()
        self.assertEqual(optimizer.steps(), 4)


class Own(optim.Optimizer):
    """Momentum, as users write it."""

    def __init__(self, params, lr=0.1, momentum=0.5):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @tenon.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with tenon.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["buffer"] = tenon.zeros_like(p)
                state["buffer"].mul_(group["momentum"]).add_(p.grad)
                p.add_(state["buffer"], alpha=-group["lr"])
        return loss


class Parameters(unittest.TestCase):
    def test_that_have_another_size_are_told(self):
        w = nn.Parameter(tenon.ones(3))
        optimizer = optim.Adam([w])
        w.data = tenon.ones(5)
        w.sum().backward()
        with self.assertRaisesRegex(tenon.Error, r"^\[optimizer\] a parameter of 3 elements is one of 5 now, \(5,\); make a new optimizer"):
            optimizer.step()


class OptimizersOfYourOwn(unittest.TestCase):
    def test_step_as_the_librarys_do(self):
        halve = lambda optimizer: optim.lr_scheduler.StepLR(optimizer, 2, 0.5)  # noqa: E731
        for schedule in (None, halve):
            mine, _ = trained(Own, schedule=schedule)
            theirs, _ = trained(lambda p: optim.SGD(p, lr=0.1, momentum=0.5), schedule=schedule)
            np.testing.assert_allclose(mine.weight.tolist(), theirs.weight.tolist(), rtol=1e-6)
        self.assertEqual(trained(Own, captures=True)[0].weight.tolist(), trained(Own)[0].weight.tolist())

    def test_are_optimizers(self):
        net = nn.Linear(3, 2)
        own = Own([{"params": [net.weight], "lr": 0.3}, {"params": [net.bias]}])
        self.assertIsInstance(own, optim.Optimizer)
        self.assertEqual([group["lr"] for group in own.param_groups], [0.3, 0.1])
        own.param_groups[1]["mine"] = "anything"
        with self.assertRaisesRegex(ValueError, "^a parameter is in two groups$"):
            own.add_param_group({"params": [net.weight]})
        with self.assertRaisesRegex(TypeError, "^keep_average.* not of Own$"):
            own.keep_average(0.9)
        with self.assertRaisesRegex(TypeError, "^Scheduler takes the library's optimizers, not a Own"):
            optim.Scheduler(own, optim.cosine(10))
        with self.assertRaisesRegex(TypeError, "^Optimizer is what optimizers derive from"):
            optim.Optimizer(net.parameters(), {})

    def test_show_their_state(self):
        net, optimizer = trained(lambda p: optim.Adam(p, lr=0.1), steps=2)
        kept = optimizer.state[net.weight]
        self.assertEqual((sorted(kept), kept["exp_avg"].shape, kept["step"].item()), (["exp_avg", "exp_avg_sq", "step"], (2, 3), 2))
        self.assertRegex(repr(optimizer), r"^Adam \(\nParameter Group 0\n    amsgrad: False\n    betas: \(0\.9, 0\.999\)\n")

    def test_states_go_on(self):
        import io

        whole, _ = trained(Own, steps=8)
        net, optimizer = trained(Own, steps=4)
        file = io.BytesIO()
        tenon.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        state = tenon.load(file)
        other, again = trained(Own, steps=1)
        other.load_state_dict(state["net"])
        again.load_state_dict(state["optimizer"])
        copied_net, copied = copy.deepcopy((other, again))
        for one, its in ((other, again), (copied_net, copied)):
            for _ in range(4):
                its.zero_grad()
                its.step(lambda: (one(tenon.ones(4, 3)) ** 2).mean().backward())
            self.assertEqual(one.weight.tolist(), whole.weight.tolist())

    def test_scalers_skip_their_steps(self):
        w = nn.Parameter(tenon.ones(1))
        own, scaler = Own([w], lr=1.0, momentum=0.0), tenon.amp.GradScaler("cpu", init_scale=4.0)
        for factor, expected in ((float("inf"), 1.0), (0.25, 0.75)):
            own.zero_grad()
            scaler.scale((w * factor).sum()).backward()
            scaler.step(own)
            scaler.update()
            self.assertEqual(w.item(), expected)
        self.assertEqual(scaler.get_scale(), 2.0)

    def test_momentum_of_schedules(self):
        own = Own([nn.Parameter(tenon.ones(1))])
        optim.lr_scheduler.OneCycleLR(own, max_lr=1.0, total_steps=10)
        self.assertEqual(own.param_groups[0]["momentum"], 0.95)


class Rprop(unittest.TestCase):
    def test_steps_grow_and_shrink(self):
        w = nn.Parameter(tenon.tensor([1.0, -2.0]))
        optimizer, seen = optim.Rprop([w], lr=0.25), []
        for _ in range(4):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            seen.append(w.tolist())
        np.testing.assert_allclose(seen, [[0.75, -1.75], [0.45, -1.45], [0.09, -1.09], [-0.342, -0.658]], rtol=1e-5)


class BatchNorm(unittest.TestCase):
    def test_means_of_all_batches_are_kept_in_captured_functions_too(self):
        draws = np.random.default_rng(0)
        batches = [draws.normal(size=(8, 3)).astype("float32") for _ in range(6)]
        for captures in (False, True):
            norm = nn.BatchNorm1d(3, momentum=None)
            call = tenon.compile(lambda x: norm(x).detach()) if captures else norm
            for batch in batches:
                call(tenon.tensor(batch))
            np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([b.mean(0) for b in batches], 0), atol=1e-6)
            np.testing.assert_allclose(norm.running_var.numpy(), np.mean([b.var(0, ddof=1) for b in batches], 0), atol=1e-6)
            self.assertEqual(norm.num_batches_tracked.item(), 6)


class Convolutions(unittest.TestCase):
    def test_have_padding_modes(self):
        x = tenon.randn(2, 2, 6, 5)
        for mode in ("reflect", "replicate", "circular"):
            for padding, sides in ((1, (1, 1, 1, 1)), ((1, 2), (2, 2, 1, 1)), ("same", (1, 1, 1, 1))):
                layer = nn.Conv2d(2, 3, 3, padding=padding, padding_mode=mode)
                expected = F.conv2d(F.pad(x, sides, mode), layer.weight, layer.bias)
                for one in (layer, copy.deepcopy(layer)):
                    self.assertEqual(one.padding_mode, mode)
                    self.assertEqual(one(x).tolist(), expected.tolist())
        layer = nn.Conv2d(2, 3, 3, padding=1)
        self.assertEqual(layer.padding_mode, "zeros")
        layer.padding_mode = "reflect"
        self.assertEqual(layer(x).tolist(), F.conv2d(F.pad(x, (1, 1, 1, 1), "reflect"), layer.weight, layer.bias).tolist())
        with self.assertRaisesRegex(ValueError, "^Conv2d has no padding_mode 'mirror'; there are 'zeros', 'reflect', "):
            nn.Conv2d(1, 1, 3, padding_mode="mirror")


class Attention(unittest.TestCase):
    def test_takes_one_sequence(self):
        net = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0).eval()
        source, target = tenon.randn(5, 8), tenon.randn(3, 8)
        expected = net(source.unsqueeze(1), target.unsqueeze(1)).squeeze(1)
        self.assertEqual(net(source, target).tolist(), expected.tolist())

    def test_shows_its_weights_where_they_are_asked_for(self):
        layer = nn.MultiheadAttention(8, 2, batch_first=True)
        x = tenon.randn(3, 4, 8)
        self.assertIsNone(layer(x, x, x)[1])
        weights = layer(x, x, x, need_weights=True)[1]
        self.assertEqual(weights.shape, (3, 4, 4))
        np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1, atol=1e-6)
        self.assertEqual(layer(x, x, x, need_weights=True, average_attn_weights=False)[1].shape, (3, 2, 4, 4))


class Activations(unittest.TestCase):
    def test_shrink(self):
        x = tenon.tensor([-2.0, -0.5, -0.25, 0.0, 0.25, 0.5, 2.0])
        self.assertEqual(nn.Hardshrink()(x).tolist(), [-2, 0, 0, 0, 0, 0, 2])
        self.assertEqual(nn.Softshrink()(x).tolist(), [-1.5, 0, 0, 0, 0, 0, 1.5])
        self.assertEqual(nn.Threshold(0.25, 7)(x).tolist(), [7, 7, 7, 7, 7, 0.5, 2])
        self.assertEqual(nn.RReLU(0.25, 0.75).eval()(x).tolist(), [-1, -0.25, -0.125, 0, 0.25, 0.5, 2])
        slopes = nn.RReLU()(tenon.full((1000,), -1.0)).numpy()
        self.assertTrue(-1 / 3 <= slopes.min() < slopes.max() <= -1 / 8)

    def test_what_is_cut_goes_round_afterwards(self):
        x = tenon.arange(5).float().reshape(1, 1, 5)
        self.assertEqual(F.pad(x, (-1, 2), "circular").tolist(), [[[1, 2, 3, 4, 1, 2]]])
        self.assertEqual(F.pad(x, (2, -1), "circular").tolist(), [[[2, 3, 0, 1, 2, 3]]])


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(tenon.ones(1)), nn.Parameter(tenon.ones(2))
        self.c, self.d = nn.Linear(1, 1, bias=False), nn.Linear(2, 1, bias=False)
        self.register_buffer("e", tenon.ones(1))
        self.register_buffer("f", tenon.ones(2))


class Lists(unittest.TestCase):
    def test_of_numpys_numbers_have_their_dtype(self):
        for given, dtype in (([np.float64(1)], "float64"), ([np.ones(2)], "float64"), ([np.ones(2, np.int32)], "int32"),
                             ([np.float32(1), 2.5], "float32"), ([np.float64(1), 2], "float64"), ([np.int32(1), 2], "int64"),
                             ([np.int32(1), 2.5], "float32"), ([np.bool_(True)], "bool"), ([True, np.int32(2)], "int32"),
                             ([tenon.tensor(1.0, dtype=tenon.float64), 2], "float64"), ([1.5, 2], "float32"), ([], "float32"),
                             ([np.int16(3)], "int64")):
            self.assertEqual(tenon.tensor(given).dtype.name, dtype, given)
        self.assertEqual(tenon.tensor([np.ones(2), [3.0, 4.0]]).tolist(), [[1, 1], [3, 4]])


class Results(unittest.TestCase):
    def test_have_the_dtype_that_is_asked_for(self):
        x = tenon.tensor([200, 100])
        for call in (lambda d: x.sum(dtype=d), lambda d: x.prod(dtype=d), lambda d: x.cumsum(0, dtype=d)):
            for dtype in (tenon.uint8, tenon.int32, tenon.float64, tenon.bool):
                self.assertEqual(call(dtype).dtype, dtype)
        self.assertEqual((x.sum(dtype=tenon.uint8).item(), x.sum(dtype=tenon.bool).item()), (44, True))

    def test_nan_is_in_no_set(self):
        nan, inf = float("nan"), float("inf")
        for held in ([0.5, nan], [nan, 0.5], [0.5, 1, 2, nan], [nan, inf, 0.5, nan]):
            found = tenon.isin(tenon.tensor([0.5, 3.0, nan, inf]), tenon.tensor(held))
            self.assertEqual(found.tolist(), [True, False, False, inf in held])
        self.assertEqual(tenon.isin(tenon.tensor([1, 5]), tenon.tensor([5, 7])).tolist(), [False, True])

    def test_bytes_are_masks(self):
        x = tenon.tensor([10.0, 20.0, 30.0])
        self.assertEqual(x[tenon.tensor([1, 0, 1], dtype=tenon.uint8)].tolist(), [10, 30])

    def test_are_not_what_was_given(self):
        x = tenon.ones(1, 1, 2, 2)
        for result in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), F.pad(x, (0, 0, 0, 0), mode="reflect")):
            result.add_(1)
        self.assertEqual(x.tolist(), tenon.ones(1, 1, 2, 2).tolist())
        net = nn.Sequential(nn.Upsample(scale_factor=2), nn.ReLU(inplace=True))
        self.assertEqual(net(tenon.full((1, 1, 1), -3.0)).tolist(), [[[0, 0]]])

    def test_of_a_state_are_not_computed_from_its_beginning(self):
        state, read = tenon.zeros(4), []
        for _ in range(2000):  # a minute, were it so
            state = state * 0.99 + tenon.randn(4) * 0.01
            read.append(int(state.argmax()))
        self.assertEqual(len(read), 2000)


class Files(unittest.TestCase):
    def test_of_any_name_are_pytorchs(self):
        import os
        import tempfile
        import zipfile

        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.ckpt", "b.pth.tar", "c", "d.pt"):
                path = os.path.join(folder, name)
                tenon.save({"epoch": 3, "net": {"w": tenon.ones(2)}}, path)
                self.assertTrue(zipfile.is_zipfile(path))
                self.assertEqual(tenon.load(path, map_location=lambda storage, _: storage)["net"]["w"].tolist(), [1, 1])
            tenon.save(nn.Linear(2, 1), os.path.join(folder, "net.ckpt"))
            self.assertEqual(list(tenon.load(os.path.join(folder, "net.ckpt"))), ["weight", "bias"])
            tenon.save({"w": tenon.ones(2)}, os.path.join(folder, "w.safetensors"))
            os.rename(os.path.join(folder, "w.safetensors"), os.path.join(folder, "w.model"))
            self.assertEqual(tenon.load(os.path.join(folder, "w.model"))["w"].tolist(), [1, 1])


class CompiledModules(unittest.TestCase):
    def test_are_trained_as_they_are_and_replayed_without_gradients(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        compiled, x = tenon.compile(net), tenon.ones(2, 3)
        compiled(x).sum().backward()
        self.assertIsNotNone(net[0].weight.grad)
        with tenon.no_grad():
            for _ in range(4):
                self.assertEqual(compiled(x).tolist(), net(x).tolist())
        self.assertEqual(compiled.recordings, 1)
        self.assertTrue(compiled(x).requires_grad)


class Containers(unittest.TestCase):
    def test_what_is_replaced_keeps_its_place(self):
        net = _Net()
        net.a, net.c, net.e = nn.Parameter(tenon.ones(5)), nn.Linear(3, 1, bias=False), tenon.ones(7)
        self.assertEqual([(name, one.numel()) for name, one in net.named_parameters()],
                         [("a", 5), ("b", 2), ("c.weight", 3), ("d.weight", 2)])
        self.assertEqual([(name, one.numel()) for name, one in net.named_buffers()], [("e", 7), ("f", 2)])

    def test_by_name(self):
        modules = nn.ModuleDict([("a", nn.Linear(2, 2)), ("b", nn.ReLU())])
        self.assertEqual(list(modules), ["a", "b"])
        self.assertIsInstance(modules.pop("b"), nn.ReLU)
        modules.clear()
        self.assertEqual((len(modules), modules.parameters()), (0, []))
        parameters = nn.ParameterDict({"w": tenon.ones(2)})
        parameters.update({"v": tenon.zeros(1)})
        self.assertEqual([name for name, _ in parameters.named_parameters()], ["w", "v"])
        several = nn.ParameterList([tenon.ones(1)])
        several += [tenon.zeros(2)]
        several[0] = tenon.ones(3)
        self.assertEqual([one.numel() for one in several.parameters()], [3, 2])
        with self.assertRaisesRegex(TypeError, "^a ModuleDict takes a dict or pairs of names and values, not int$"):
            nn.ModuleDict(5)


class _Fails:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 2:
            raise ValueError("mine")
        return i


class Loaders(unittest.TestCase):
    def test_of_a_thousand_million_samples_takes_no_memory_for_their_order(self):
        import resource

        class Squares(tenon.data.Dataset):
            def __len__(self):
                return 10**9

            def __getitem__(self, i):
                return i * i

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for shuffle in (False, True):
            loader = tenon.data.DataLoader(Squares(), batch_size=4, shuffle=shuffle)
            batch = next(iter(loader))
            self.assertEqual((len(loader), batch.shape), (250_000_000, (4,)))
            self.assertEqual(shuffle, batch.tolist() != [0, 1, 4, 9])
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 1_000_000)  # KiB

    def test_of_nothing_have_no_batches(self):
        nothing, one = data.TensorDataset(tenon.ones(0, 3)), data.TensorDataset(tenon.ones(1, 3))
        for loader in (data.DataLoader(nothing, batch_size=2), data.DataLoader(nothing, shuffle=True), data.DataLoader([]),
                       data.DataLoader(one, batch_size=2, drop_last=True), data.DataLoader(range(1), batch_size=2, drop_last=True)):
            self.assertEqual((len(loader), list(loader)), (0, []))

    def test_sizes_of_batches_are_checked(self):
        for wrong, kind in ((0, ValueError), (-1, ValueError), (2.5, TypeError), ("a", TypeError), (True, TypeError)):
            with self.assertRaisesRegex(kind, "^the size of a batch is a positive integer, not "):
                data.DataLoader(range(3), batch_size=wrong)

    def test_go_on_behind_a_sample_that_fails(self):
        for workers in (0, 2):
            batches, got = iter(data.DataLoader(_Fails(), num_workers=workers)), []
            while True:
                try:
                    got.append(next(batches).item())
                except ValueError as error:
                    got.append(str(error))
                except StopIteration:
                    break
            self.assertEqual(got, [0, 1, "mine", 3, 4, 5])


class Arguments(unittest.TestCase):
    def check(self, call, text):
        with self.assertRaises(TypeError) as caught:
            call()
        self.assertEqual(str(caught.exception), text)

    def test_that_are_no_tensors(self):
        self.check(lambda: F.dropout2d(None), "dropout2d() needs a tensor for 'input', not None")
        self.check(lambda: tenon.linalg.norm(3), "norm() needs a tensor for 'A', not int")
        self.check(lambda: tenon.autograd.backward("x"), "backward() needs a tensor or several, not str")
        self.check(lambda: nn.summary("x"), "summary() needs a module, not str")
        self.check(lambda: tenon.finfo([1]), "finfo is of floating-point dtypes, not of [1]; use iinfo")
        self.check(lambda: tenon.autocast(3), "autocast() needs a dtype or the name of a device, not int")

    def test_that_have_wrong_things_inside(self):
        self.check(lambda: tenon.text.train_bpe([3], 300),
                   "train_bpe() takes (texts: Any, vocabulary: int = 16000, min_count: int = 2), not (list, int)")


if __name__ == "__main__":
    unittest.main()
