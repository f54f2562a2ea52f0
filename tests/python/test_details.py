"""Details of layers, functions and files that programs written for PyTorch rely on."""

import collections
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import tenon
from tenon import nn
from tenon.nn import functional as F


class Freezing(unittest.TestCase):
    def trained(self):
        w = tenon.ones(3).requires_grad_()
        (w * tenon.tensor([1., 2., 3.])).sum().backward()
        return w

    def test_a_frozen_parameter_keeps_its_gradient(self):
        w = self.trained()
        w.requires_grad_(False)
        self.assertFalse(w.requires_grad)
        self.assertEqual(w.grad.tolist(), [1, 2, 3])
        self.assertFalse((w * 2).requires_grad)
        w.requires_grad = True
        self.assertEqual(w.grad.tolist(), [1, 2, 3])
        (w * 2).sum().backward()
        self.assertEqual(w.grad.tolist(), [3, 4, 5])

    def test_its_gradient_can_be_set_and_dropped(self):
        w = self.trained()
        w.requires_grad_(False)
        w.grad = tenon.zeros(3)
        self.assertEqual(w.grad.tolist(), [0, 0, 0])
        w.grad = None
        self.assertIsNone(w.grad)
        net = nn.Linear(2, 1)
        net(tenon.ones(1, 2)).sum().backward()
        net.requires_grad_(False)
        self.assertEqual(net.weight.grad.tolist(), [[1, 1]])
        net.zero_grad()
        self.assertIsNone(net.weight.grad)

    def test_optimizers_leave_a_frozen_parameter_alone(self):
        w = self.trained()
        optimizer = tenon.optim.SGD([w], lr=1.0)
        w.requires_grad_(False)
        optimizer.step()
        self.assertEqual(w.tolist(), [1, 1, 1])
        w.requires_grad_(True)
        optimizer.step()
        self.assertEqual(w.tolist(), [0, -1, -2])

    def test_networks_that_are_frozen_by_turns(self):
        critic, maker = nn.Linear(2, 1), nn.Linear(2, 2)
        for _ in range(3):
            critic.requires_grad_(True)
            critic(maker(tenon.ones(1, 2)).detach()).sum().backward()
            seen = critic.weight.grad.clone()
            critic.requires_grad_(False)
            critic(maker(tenon.ones(1, 2))).sum().backward()
            self.assertEqual(critic.weight.grad.tolist(), seen.tolist())
            self.assertIsNotNone(maker.weight.grad)


class OldNames(nn.Module):
    """Takes its weight under the name of an older version."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(tenon.zeros(2)), nn.Parameter(tenon.zeros(2))

    def _load_from_state_dict(self, state_dict, prefix, *others):
        if prefix + "w" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, *others)


class Loading(unittest.TestCase):
    def test_a_class_loads_itself(self):
        net = nn.Sequential(nn.Linear(2, 2), OldNames())
        state = net.state_dict()
        old = {name.replace("1.weight", "1.w"): tenon.full(tuple(one.shape), float(i)) for i, (name, one) in enumerate(state.items())}
        self.assertIn("1.w", old)
        result = net.load_state_dict(old)
        self.assertEqual((result.missing_keys, result.unexpected_keys), ([], []))
        self.assertEqual(net[1].weight.tolist(), [2, 2])
        self.assertEqual(net[0].bias.tolist(), [1, 1])
        self.assertIn("1.w", old)  # the caller's dict stays

    def test_what_is_missing_and_unexpected(self):
        net = nn.Sequential(nn.Linear(2, 2), OldNames())
        state = net.state_dict()
        del state["1.bias"]
        state["0.other"] = tenon.ones(1)
        with self.assertRaisesRegex(tenon.Error, r"^\[load_state_dict\] missing 1.bias; unexpected 0.other$"):
            net.load_state_dict(state)
        result = net.load_state_dict(state, strict=False)
        self.assertEqual((result.missing_keys, result.unexpected_keys), (["1.bias"], ["0.other"]))
        state = net.state_dict()
        state["0.weight"] = tenon.ones(3)
        with self.assertRaisesRegex(tenon.Error, r"^\[load_state_dict\] 0.weight: shape \(2, 2\) expected"):
            net.load_state_dict(state)

    def test_assigned(self):
        net = nn.Sequential(OldNames())
        given = {"0.w": tenon.ones(2), "0.bias": tenon.ones(2)}
        net.load_state_dict(given, assign=True)
        given["0.bias"].fill_(5)
        self.assertEqual(net[0].bias.tolist(), [5, 5])


class Files(unittest.TestCase):
    def again(self, checkpoint):
        file = io.BytesIO()
        tenon.save(checkpoint, file)
        file.seek(0)
        return tenon.load(file)

    def test_views_of_one_memory_stay_views(self):
        whole = tenon.arange(12.).reshape(3, 4)
        loaded = self.again({"whole": whole, "row": whole[1], "column": whole[:, 2], "other": tenon.ones(2)})
        loaded["row"].fill_(-1)
        self.assertEqual(loaded["whole"].tolist(), [[0, 1, 2, 3], [-1, -1, -1, -1], [8, 9, 10, 11]])
        self.assertEqual(loaded["column"].tolist(), [2, -1, 10])
        self.assertEqual(loaded["other"].tolist(), [1, 1])

    def test_a_part_takes_no_more_than_itself(self):
        whole, file = tenon.zeros(1 << 20), io.BytesIO()
        tenon.save({"first": whole[:4], "last": whole[-4:]}, file)
        self.assertLess(len(file.getvalue()), 1 << 14)
        kept = self.again({"first": whole[:4], "last": whole[-4:]})
        kept["first"].fill_(1)
        self.assertEqual(kept["last"].tolist(), [0] * 4)

    def test_tied_weights_are_written_once(self):
        shared, file = tenon.zeros(1 << 16), io.BytesIO()
        tenon.save({"a": shared, "b": shared}, file)
        self.assertLess(len(file.getvalue()), (1 << 18) + (1 << 13))
        file.seek(0)
        loaded = tenon.load(file)
        loaded["a"].fill_(2)
        self.assertEqual(loaded["b"].sum().item(), 2 << 16)

    def test_parameters_and_flags(self):
        frozen = nn.Parameter(tenon.ones(2), requires_grad=False)
        weight = nn.Parameter(tenon.ones(2))
        loaded = self.again({"weight": weight, "again": weight, "frozen": frozen, "leaf": tenon.ones(1).requires_grad_(),
                             "plain": tenon.ones(1)})
        self.assertIs(type(loaded["weight"]), nn.Parameter)
        self.assertIs(loaded["again"], loaded["weight"])
        self.assertTrue(loaded["weight"].requires_grad)
        self.assertIs(type(loaded["frozen"]), nn.Parameter)
        self.assertFalse(loaded["frozen"].requires_grad)
        self.assertIs(type(loaded["leaf"]), tenon.Tensor)
        self.assertTrue(loaded["leaf"].requires_grad)
        self.assertFalse(loaded["plain"].requires_grad)
        self.assertIs(type(self.again(weight)), nn.Parameter)
        net = nn.Linear(2, 2)
        self.assertFalse(any(one.requires_grad for one in self.again(net.state_dict()).values()))

    def test_a_file_that_was_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("w.pt", "w.safetensors", "w.npy"):
                path = os.path.join(folder, name)
                tenon.save(tenon.ones(4096) if name.endswith("npy") else {"a": tenon.ones(4096)}, path)
                size = os.path.getsize(path)
                for cut in (size // 2, 200, 1, 0):
                    os.truncate(path, cut)
                    with self.subTest(name=name, cut=cut), self.assertRaises(tenon.Error) as caught:
                        tenon.load(path, mmap=True)
                    self.assertRegex(str(caught.exception), rf"^\[\w+\] [^\n]*{name}[^\n]*$")


class Functions(unittest.TestCase):
    def test_softmax_without_a_dim(self):
        for shape, dim in (((3,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((2, 3, 1, 2), 1)):
            x = tenon.rand(*shape)
            for function, layer in ((F.softmax, nn.Softmax), (F.log_softmax, nn.LogSoftmax), (F.softmin, nn.Softmin)):
                with self.assertWarnsRegex(UserWarning, "^Implicit dimension choice for [a-z_]+ has been deprecated. "
                                                        "Change the call to include dim=X as an argument.$"):
                    made = function(x)
                self.assertEqual(made.tolist(), function(x, dim=dim).tolist())
                with self.assertWarns(UserWarning):
                    self.assertEqual(layer()(x).tolist(), made.tolist())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            F.softmax(x, 1)
            with self.assertRaises(UserWarning):
                F.softmax(x)
        self.assertEqual(repr(nn.Softmax()), "Softmax(dim=None)")
        self.assertEqual(F.softmax(tenon.ones(2), 0, dtype=tenon.float64).dtype, tenon.float64)

    def test_decimals_are_whole_numbers(self):
        for function in (tenon.round, tenon.Tensor.round, tenon.Tensor.round_):
            with self.assertRaisesRegex(TypeError, r"^round_?\(\) needs an integer for 'decimals', not float$"):
                function(tenon.ones(2), decimals=1.5)

    def test_pads_that_cut_a_dim(self):
        x = tenon.arange(6.).reshape(1, 2, 3)
        self.assertEqual(F.pad(x, (-3, 0)).shape, (1, 2, 0))
        self.assertEqual(F.pad(x, (-2, -1)).shape, (1, 2, 0))
        self.assertEqual(F.pad(x, (-3, 2), value=7).tolist(), [[[7, 7], [7, 7]]])
        with self.assertRaisesRegex(tenon.Error, r"^\[pad\] cutting 4 and 0 elements from dim 2 of size 3$"):
            F.pad(x, (-4, 5))
        with self.assertRaisesRegex(tenon.Error, r"^\[pad\] cutting 2 and 2 elements from dim 2 of size 3$"):
            F.pad(x, (-2, -2))
        x = tenon.arange(1., 5.).reshape(1, 1, 4)
        for mode, sizes, wanted in (
                ("reflect", (-4, 2), [3, 2]), ("reflect", (-5, 2), [2]), ("reflect", (2, -4), [3, 2]), ("reflect", (-1, 2), [2, 3, 4, 3, 2]),
                ("reflect", (-3, 3), [4, 3, 2, 1]), ("replicate", (-4, 2), [4, 4]), ("replicate", (-5, 6), [4] * 5),
                ("replicate", (5, -3), [1] * 6), ("replicate", (-1, 2), [2, 3, 4, 4, 4]), ("circular", (-1, 2), [2, 3, 4, 2, 3]),
                ("circular", (1, -2), [2, 1, 2]), ("circular", (-4, 0), [])):
            self.assertEqual(F.pad(x, sizes, mode=mode).tolist(), [[wanted]], (mode, sizes))
        for mode, sizes in (("reflect", (-4, 0)), ("replicate", (-2, -2)), ("replicate", (-4, -1)), ("circular", (-4, 2)), ("circular", (-5, 2))):
            with self.assertRaisesRegex(tenon.Error, rf"^\[pad\] cuts all of a dim of 4: {sizes[0]} and {sizes[1]}$"):
                F.pad(x, sizes, mode=mode)
        with self.assertRaisesRegex(tenon.Error, r"^\[pad\] with 'reflect' takes sizes below that of the dim, 4, not -5 and 6$"):
            F.pad(x, (-5, 6), mode="reflect")
        with self.assertRaisesRegex(tenon.Error, r"^\[pad\] sizes of 4611686018427387904 and 1 are larger than any tensor$"):
            F.pad(x, (1 << 62, 1), mode="replicate")

    def test_pads_of_volumes(self):
        x = tenon.arange(8.).reshape(1, 1, 2, 2, 2)
        for mode, layer in (("reflect", nn.ReflectionPad3d), ("replicate", nn.ReplicationPad3d), ("circular", nn.CircularPad3d)):
            made = F.pad(x, (1, 1, 1, 0, 0, 1), mode=mode)
            self.assertEqual(made.shape, (1, 1, 3, 3, 4))
            self.assertEqual(layer((1, 1, 1, 0, 0, 1))(x).tolist(), made.tolist())
            self.assertEqual(layer(1)(x).shape, (1, 1, 4, 4, 4))
            self.assertEqual(F.pad(x[0], (1, 1, 1, 0, 0, 1), mode=mode).tolist(), made[0].tolist())
        self.assertEqual(F.pad(x, (1, 1, 1, 0, 0, 1), mode="reflect")[0, 0, 2].tolist(), [[3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]])
        self.assertEqual(F.pad(x, (1, 1, 1, 0, 0, 1), mode="replicate")[0, 0, 2].tolist(), [[4, 4, 5, 5], [4, 4, 5, 5], [6, 6, 7, 7]])
        self.assertEqual(nn.ConstantPad3d((1, 0, 0, 0, 0, 0), 2.5)(x)[0, 0, 0].tolist(), [[2.5, 0, 1], [2.5, 2, 3]])
        self.assertEqual(nn.ZeroPad3d(1)(x).sum().item(), 28)

    def test_means_divided_by_a_number(self):
        x = tenon.arange(16.).reshape(1, 1, 4, 4).requires_grad_()
        y = F.avg_pool2d(x, 2, divisor_override=3)
        self.assertEqual((y * 3).tolist(), [[[[10, 18], [42, 50]]]])
        y.sum().backward()
        self.assertEqual(x.grad.flatten()[0].item(), tenon.tensor(1 / 3).item())
        self.assertEqual(nn.AvgPool2d(3, 1, 1, divisor_override=1)(x)[0, 0, 0, 0].item(), 10)
        self.assertEqual(F.avg_pool3d(x.reshape(1, 1, 1, 4, 4), (1, 2, 2), divisor_override=-2)[0, 0, 0, 0, 0].item(), -5)
        with self.assertRaisesRegex(tenon.Error, r"^\[avg_pool2d\] the divisor must not be 0$"):
            F.avg_pool2d(x, 2, divisor_override=0)


    def test_the_types_of_a_projected_lstm(self):
        net = nn.LSTM(3, 4, proj_size=2, num_layers=2)
        x, low = tenon.rand(5, 2, 3), tenon.bfloat16
        with tenon.autocast("cpu", dtype=low):
            for given, state, wanted in ((x, None, tenon.float32), (x.to(low), None, low), (x.to(low), tenon.float32, tenon.float32),
                                         (x, low, low)):
                state = state and tuple(tenon.zeros(2, 2, width, dtype=state) for width in (2, 4))
                y, (h, c) = net(given, state)
                self.assertEqual((y.dtype, h.dtype, c.dtype), (low, low, wanted))

    def test_transposed_convolutions_of_no_images(self):
        for function, axes in ((F.conv_transpose1d, 1), (F.conv_transpose2d, 2), (F.conv_transpose3d, 3)):
            x, weight = tenon.ones(0, 2, *[3] * axes, requires_grad=True), tenon.ones(2, 3, *[2] * axes, requires_grad=True)
            y = function(x, weight, tenon.ones(3))
            self.assertEqual(y.shape, (0, 3, *[4] * axes))
            y.sum().backward()
            self.assertEqual(x.grad.shape, x.shape)
            self.assertEqual(weight.grad.abs().sum().item(), 0)
            with self.assertRaisesRegex(tenon.Error, "leaves nothing of the result"):
                function(tenon.ones(1, 1, *[2] * axes), tenon.ones(1, 1, *[1] * axes), padding=1)


class Containers(unittest.TestCase):
    def test_the_order_of_parameter_dicts(self):
        a, b, c = (nn.Parameter(tenon.ones(1)) for _ in range(3))
        self.assertEqual(list(nn.ParameterDict({"c": c, "a": a, "b": b}).keys()), ["a", "b", "c"])
        self.assertEqual(list(nn.ParameterDict(collections.OrderedDict([("c", c), ("a", a)])).keys()), ["c", "a"])
        self.assertEqual(list(nn.ParameterDict([("c", c), ("a", a)]).keys()), ["c", "a"])
        self.assertEqual(list(nn.ParameterDict(nn.ParameterDict([("c", c), ("a", a)])).keys()), ["c", "a"])
        self.assertEqual(list(nn.ParameterDict({"c": c, "a": a}).state_dict()), ["a", "c"])

    def test_slices_of_parameter_lists(self):
        several = nn.ParameterList([tenon.full((1,), float(i)) for i in range(4)])
        some = several[1:3]
        self.assertIs(type(some), nn.ParameterList)
        self.assertEqual([one.item() for one in some], [1, 2])
        self.assertIs(some[0], several[1])
        self.assertEqual([one.item() for one in several[::-1]], [3, 2, 1, 0])
        self.assertEqual(list(some.state_dict()), ["0", "1"])

    def test_modules_that_are_nested_deeply(self):
        net = nn.Linear(1, 1)
        for _ in range(3000):
            net = nn.Sequential(net)
        for call in (lambda: net(tenon.ones(1, 1)), lambda: repr(net), lambda: net.apply(lambda one: None)):
            with self.assertRaises(RecursionError):
                call()
        self.assertEqual(len(net.parameters()), 2)
        self.assertEqual(len(net.state_dict()), 2)
        net.load_state_dict(net.state_dict())
        net.eval().train().to(tenon.float64).requires_grad_(False)
        net.zero_grad()
        self.assertEqual(len(net.modules()), 3001)
        deeper = net
        for _ in range(100000):
            deeper = nn.Sequential(deeper)
        with self.assertRaisesRegex(RecursionError, "nested more than 5000 deep"):
            deeper.state_dict()
        del deeper, net


class Lazy(unittest.TestCase):
    def test_layers_take_their_sizes_from_the_first_call(self):
        net = nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5))
        self.assertEqual(repr(net[4]), "LazyLinear(in_features=0, out_features=5, bias=True)")
        self.assertTrue(net[4].has_uninitialized_params())
        self.assertEqual(net(tenon.rand(2, 3, 6, 6)).shape, (2, 5))
        self.assertEqual([type(one) for one in net], [nn.Conv2d, nn.BatchNorm2d, nn.ReLU, nn.Flatten, nn.Linear])
        self.assertEqual((net[0].in_channels, net[1].num_features, net[4].in_features), (3, 4, 144))
        self.assertEqual(len(list(net.parameters())), 6)
        optimizer = tenon.optim.SGD(net.parameters(), lr=0.1)
        net(tenon.rand(2, 3, 6, 6)).sum().backward()
        optimizer.step()

    def test_the_same_numbers_as_the_layer(self):
        x = tenon.rand(2, 3)
        tenon.manual_seed(3)
        lazy = nn.LazyLinear(4, bias=False)
        made = lazy(x)
        tenon.manual_seed(3)
        self.assertEqual(nn.Linear(3, 4, bias=False)(x).tolist(), made.tolist())

    def test_a_state_dict_says_the_sizes(self):
        for lazy, layer in ((nn.LazyLinear(4), nn.Linear(3, 4)), (nn.LazyConv1d(4, 2, groups=2), nn.Conv1d(6, 4, 2, groups=2)),
                            (nn.LazyConvTranspose2d(4, 2), nn.ConvTranspose2d(6, 4, 2)), (nn.LazyBatchNorm1d(), nn.BatchNorm1d(7))):
            nn.Sequential(lazy).load_state_dict(nn.Sequential(layer).state_dict())
            self.assertIs(type(lazy), type(layer))
            self.assertEqual(repr(lazy), repr(layer))
            self.assertTrue(all((one == other).all() for one, other in zip(lazy.parameters(), layer.parameters())))

    def test_modes_types_and_copies(self):
        import copy
        import inspect

        lazy = nn.LazyLinear(2).eval()
        copied = copy.deepcopy(lazy)
        self.assertEqual(lazy(tenon.ones(1, 3, dtype=tenon.float64)).dtype, tenon.float64)
        self.assertFalse(lazy.training)
        self.assertEqual(copied(tenon.ones(1, 5)).shape, (1, 2))
        self.assertEqual(str(inspect.signature(nn.LazyConv2d)).split(",")[0], "(out_channels: int")
        with self.assertRaises(TypeError):
            nn.LazyLinear()
        with self.assertRaises(AttributeError):
            nn.LazyLinear(3).weight


PENDING = """
import tenon
tenon.set_num_threads(1)
x, kept = tenon.rand(1500, 1500), []
for _ in range(60):
    x = (x @ x) * 1e-3
    kept.append(x)
tenon.eval(*kept)
"""
SLOW_LOADER = """
import time, tenon
from tenon.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, i):
        time.sleep(0 if i < 4 else 10)
        return tenon.ones(2)

batches = iter(DataLoader(Slow(), batch_size=2, num_workers=2))
next(batches)
"""


class Shapes(unittest.TestCase):
    def test_a_shape_changed_under_no_grad_keeps_the_history(self):
        for change in (lambda v: v.unsqueeze_(0), lambda v: v.t_(), lambda v: v.transpose_(0, 1), lambda v: v.squeeze_()):
            x = tenon.ones(2, 3, requires_grad=True)
            v = x * 2
            with tenon.no_grad():
                change(v)
            self.assertTrue(v.requires_grad)
            ((v * 2).sum() + x.sum()).backward()
            self.assertEqual(x.grad.tolist(), [[5.0] * 3] * 2)

    def test_windows_that_do_not_meet_are_views(self):
        x = tenon.zeros(5)
        windows = x.unfold(0, 2, 2)
        windows.add_(1)
        self.assertEqual(x.tolist(), [1, 1, 1, 1, 0])
        x.add_(1)
        self.assertEqual(windows.tolist(), [[2, 2], [2, 2]])
        x = tenon.arange(24.0).reshape(2, 12)
        self.assertEqual(x.unfold(1, 2, 4).tolist(), [[[0, 1], [4, 5], [8, 9]], [[12, 13], [16, 17], [20, 21]]])
        self.assertEqual(x.unfold(1, 2, 5).tolist(), [[[0, 1], [5, 6], [10, 11]], [[12, 13], [17, 18], [22, 23]]])

    def test_a_buffer_takes_no_name_of_a_parameter(self):
        net = nn.Linear(1, 1)
        for name in ("weight", "bias"):
            with self.assertRaisesRegex(KeyError, f"attribute '{name}' already exists"):
                net.register_buffer(name, tenon.ones(1))
        self.assertEqual([name for name, _ in net.named_parameters()], ["weight", "bias"])


class Ending(unittest.TestCase):
    def test_an_interrupt_ends_a_process_that_waits_for_what_is_under_way(self):
        for program in (PENDING, SLOW_LOADER):
            process = subprocess.Popen([sys.executable, "-c", program + "print('leaving')\nprint('printed', end='')"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), "leaving\n")
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            process.wait(60)
            self.assertLess(time.monotonic() - asked, 8)  # the loader would sleep for 10
            with process.stdout, process.stderr:
                self.assertEqual((process.returncode, process.stdout.read(), process.stderr.read()), (-signal.SIGINT, "printed", ""))


if __name__ == "__main__":
    unittest.main()
