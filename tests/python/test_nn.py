"""Modules of Python, layers, optimizers, schedules, files."""

import copy
import gc
import os
import pathlib
import tempfile
import unittest
import weakref

import numpy as np

import tenon
from tenon import models, nn
from tenon.nn import functional as F


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.layers = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width)])
        self.out = nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, 1))
        self.scale = nn.Parameter(tenon.ones(1))
        self.register_buffer("seen", tenon.zeros(1))

    def forward(self, x):
        x = self.hidden(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x) * self.scale


class Modules(unittest.TestCase):
    def test_attributes_are_parameters_and_modules(self):
        net = Net()
        names = [name for name, _ in net.named_parameters()]
        self.assertEqual(names, ["scale", "hidden.weight", "hidden.bias", "layers.0.weight", "layers.0.bias",
                                 "layers.1.weight", "layers.1.bias", "out.2.weight", "out.2.bias"])
        self.assertEqual([name for name, _ in net.named_buffers()], ["seen"])
        self.assertIs(net.parameters()[0], net.scale)
        self.assertIs(net.hidden.weight, dict(net.named_parameters())["hidden.weight"])
        self.assertIsInstance(net.hidden.weight, nn.Parameter)
        self.assertEqual([name for name, _ in net.named_children()], ["hidden", "layers", "out"])
        self.assertIs(dict(net.named_modules())["layers.1"], net.layers[1])

    def test_members_are_replaced_and_removed(self):
        net = Net()
        net.scale = nn.Parameter(tenon.full((1,), 2.0))
        self.assertEqual(dict(net.named_parameters())["scale"].item(), 2)
        net.hidden = nn.Linear(2, 8, bias=False)
        self.assertNotIn("hidden.bias", dict(net.named_parameters()))
        del net.scale
        self.assertNotIn("scale", dict(net.named_parameters()))
        net.seen = tenon.ones(1)
        self.assertEqual(net.state_dict()["seen"].item(), 1)
        with self.assertRaisesRegex(TypeError, "the parameter extra can be replaced by a Parameter or None"):
            net.extra = nn.Parameter(tenon.ones(1))
            net.extra = tenon.ones(1)

    def test_weights_are_tied(self):
        a, b = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        b.weight = a.weight
        self.assertIs(b.weight, a.weight)
        holder = nn.ModuleDict({"a": a, "b": b})
        self.assertEqual(len(holder.parameters()), 1)
        self.assertEqual(sorted(holder.state_dict()), ["a.weight", "b.weight"])

    def test_state_dicts_keep_what_a_class_adds(self):
        class Counted(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", tenon.zeros(1))
                self.below = nn.Linear(2, 2)
                self.scale = nn.Parameter(tenon.ones(1))
                self.calls = 0

            def get_extra_state(self):
                return {"calls": self.calls}

            def set_extra_state(self, state):
                self.calls = state["calls"]

        net, other = nn.Sequential(nn.Linear(2, 2), Counted()), nn.Sequential(nn.Linear(2, 2), Counted())
        net[1].calls = 3
        state = net.state_dict()
        self.assertEqual(list(state), ["0.weight", "0.bias", "1.scale", "1.seen", "1._extra_state", "1.below.weight", "1.below.bias"])
        self.assertEqual(tuple(other.load_state_dict(state)), ([], []))
        self.assertEqual(other[1].calls, 3)
        del state["1._extra_state"]
        with self.assertRaisesRegex(tenon.Error, r"missing: 1\._extra_state"):
            other.load_state_dict(state)
        self.assertEqual(tuple(other.load_state_dict(state, strict=False)), (["1._extra_state"], []))
        self.assertEqual(list(nn.Sequential(Counted()).state_dict(prefix="a."))[2], "a.0._extra_state")

    def test_state_dicts(self):
        a, b = Net(), Net()
        self.assertEqual(list(a.state_dict())[:4], ["scale", "seen", "hidden.weight", "hidden.bias"])
        self.assertFalse(a.state_dict()["scale"].requires_grad)
        a.state_dict()["scale"].fill_(2)
        self.assertEqual(a.scale.item(), 2)
        b.load_state_dict(a.state_dict())
        a.eval()
        b.eval()
        x = tenon.rand(3, 2)
        self.assertTrue(tenon.equal(a(x), b(x)))
        state = a.state_dict()
        del state["scale"]
        with self.assertRaisesRegex(tenon.Error, "scale"):
            b.load_state_dict(state)
        self.assertEqual(b.load_state_dict(state, strict=False), (["scale"], []))

    def test_modes_and_conversions(self):
        net = Net()
        self.assertTrue(net.training and net.out[1].training)
        net.eval()
        self.assertFalse(net.training or net.out[1].training)
        self.assertIs(net.to(tenon.float64).hidden.weight.dtype, tenon.float64)
        self.assertIs(net.scale.dtype, tenon.float64)
        net.freeze("hidden.*")
        self.assertFalse(net.hidden.weight.requires_grad)
        self.assertTrue(net.scale.requires_grad)

    def test_what_was_a_buffer_can_become_something_else(self):
        net = nn.Module()
        net.register_buffer("a", tenon.ones(2))
        net.a = nn.Parameter(tenon.zeros(2))
        self.assertEqual([name for name, _ in copy.deepcopy(net).named_parameters()], ["a"])
        net.register_buffer("b", tenon.ones(2))
        del net.b
        net.b = tenon.ones(3)  # an attribute like any other
        self.assertEqual((list(net.state_dict()), net.named_buffers()), (["a"], []))

    def test_modules_under_each_of_their_names(self):
        net = nn.Module()
        net.one = net.two = nn.Linear(1, 1)
        self.assertEqual([name for name, _ in net.named_modules()], ["", "one"])
        self.assertEqual([name for name, _ in net.named_modules(remove_duplicate=False)], ["", "one", "two"])
        net.one.above = net
        with self.assertRaises(RecursionError):
            net.named_modules(remove_duplicate=False)

    def test_errors_say_where(self):
        net = Net()
        with self.assertRaisesRegex(tenon.Error, r"\[linear\] input \(3, 5\) and weight \(8, 2\) do not fit.*\(in hidden\)"):
            net(tenon.ones(3, 5))

        class Forgetful(nn.Module):
            def __init__(self):
                self.a = nn.Linear(1, 1)

        self.assertEqual(len(Forgetful().parameters()), 2)  # which PyTorch refuses
        with self.assertRaisesRegex(NotImplementedError, r"Module has no forward\(\)"):
            nn.Module()(1)

    def test_captured_functions_notice_train_and_replaced_parameters(self):
        net = Net()
        step = tenon.compile(lambda x: net(x))
        x = tenon.ones(64, 2)
        net.eval()
        expected = net(x)
        for _ in range(4):
            self.assertTrue(tenon.equal(step(x), expected))
        net.scale = nn.Parameter(tenon.full((1,), 2.0))
        for _ in range(4):
            self.assertTrue(tenon.allclose(step(x), expected * 2))
        net.train()
        self.assertFalse(tenon.equal(step(x), expected * 2))

    def test_subclasses_of_layers(self):
        class Scaled(nn.Linear):
            def __init__(self):
                super().__init__(2, 2, bias=False)
                self.factor = nn.Parameter(tenon.full((1,), 3.0))

            def forward(self, x):
                return super().forward(x) * self.factor

        layer = Scaled()
        self.assertEqual([name for name, _ in layer.named_parameters()], ["weight", "factor"])
        x = tenon.ones(1, 2)
        self.assertTrue(tenon.allclose(layer(x), F.linear(x, layer.weight) * 3))

    def test_copies(self):
        net = Net()
        net.eval()
        net.layers[0].weight.requires_grad = False
        other = copy.deepcopy(net)
        x = tenon.rand(3, 2)
        self.assertTrue(tenon.equal(net(x), other(x)))
        self.assertEqual([name for name, _ in net.named_parameters()], [name for name, _ in other.named_parameters()])
        self.assertFalse(other.training or other.layers[0].weight.requires_grad)
        with tenon.no_grad():
            other.hidden.weight.zero_()
            other.scale.zero_()
        self.assertGreater(net.hidden.weight.abs().sum().item(), 0)
        self.assertEqual(net.scale.item(), 1)
        self.assertIs(other.layers[1], list(other.layers)[1])

    def test_repr(self):
        self.assertEqual(repr(nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU())),
                         "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=False)\n  (1): ReLU()\n)")

    def test_apply_and_init(self):
        net = Net()

        def zero(module):
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.weight)

        net.apply(zero)
        self.assertEqual(net.hidden.weight.abs().sum().item(), 0)

    def test_layers(self):
        image = tenon.rand(2, 3, 8, 8)
        for layer, shape in [(nn.Conv2d(3, 4, 3, padding=1), (2, 4, 8, 8)), (nn.Conv2d(3, 4, (3, 5), padding="same"), (2, 4, 8, 8)),
                             (nn.MaxPool2d(2), (2, 3, 4, 4)), (nn.AvgPool2d(2, stride=1), (2, 3, 7, 7)),
                             (nn.BatchNorm2d(3), (2, 3, 8, 8)), (nn.GroupNorm(3, 3), (2, 3, 8, 8)),
                             (nn.AdaptiveAvgPool2d(1), (2, 3, 1, 1)), (nn.Flatten(), (2, 192)),
                             (nn.ConvTranspose2d(3, 2, 2, stride=2), (2, 2, 16, 16)), (nn.LayerNorm(8), (2, 3, 8, 8)),
                             (nn.Upsample(scale_factor=2.0), (2, 3, 16, 16))]:
            self.assertEqual(layer(image).shape, shape, type(layer).__name__)
        y, (h, c) = nn.LSTM(3, 5, batch_first=True)(tenon.rand(2, 7, 3))
        self.assertEqual((y.shape, h.shape, c.shape), ((2, 7, 5), (1, 2, 5), (1, 2, 5)))
        y, h = nn.GRU(3, 5)(tenon.rand(7, 2, 3))
        self.assertEqual((y.shape, h.shape), ((7, 2, 5), (1, 2, 5)))
        x = tenon.rand(2, 7, 16)
        self.assertEqual(nn.MultiheadAttention(16, 4, batch_first=True)(x, x, x)[0].shape, x.shape)
        self.assertEqual(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)(x).shape, x.shape)
        self.assertEqual(F.scaled_dot_product_attention(x, x, x, is_causal=True).shape, x.shape)

    def test_attention_to_keys_and_values_of_other_widths(self):
        """As of the embedding's width, where the further elements meet weights of 0."""
        tenon.manual_seed(1)
        other, plain = nn.MultiheadAttention(4, 2, kdim=3, vdim=6, batch_first=True), nn.MultiheadAttention(4, 2, kdim=4, vdim=4, batch_first=True)
        self.assertEqual([name for name, _ in plain.named_parameters()], ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"])
        self.assertEqual({name: tuple(p.shape) for name, p in other.named_parameters()},
                         {"q_proj_weight": (4, 4), "k_proj_weight": (4, 3), "v_proj_weight": (4, 6), "in_proj_bias": (12,),
                          "out_proj.weight": (4, 4), "out_proj.bias": (4,)})
        query, key, value = tenon.rand(2, 5, 4), tenon.rand(2, 7, 3), tenon.rand(2, 7, 6)
        mixed = tenon.rand(4, 6)
        with tenon.no_grad():
            nn.init.uniform_(other.in_proj_bias)
            other.v_proj_weight.copy_(plain.in_proj_weight[8:] @ mixed)
            plain.in_proj_weight[:4] = other.q_proj_weight
            plain.in_proj_weight[4:8, :3] = other.k_proj_weight
            plain.in_proj_weight[4:8, 3] = 0
            plain.in_proj_bias.copy_(other.in_proj_bias)
            plain.out_proj.load_state_dict(other.out_proj.state_dict())
        padding = tenon.tensor([[False] * 7, [False] * 4 + [True] * 3])
        found, weights = other(query, key, value, key_padding_mask=padding, need_weights=True)
        wanted, wanted_weights = plain(query, tenon.nn.functional.pad(key, (0, 1), value=3.0), value @ mixed.T, key_padding_mask=padding, need_weights=True)
        self.assertTrue(tenon.allclose(found, wanted, atol=1e-6))
        self.assertTrue(tenon.allclose(weights, wanted_weights, atol=1e-6))
        found.sum().backward()
        self.assertTrue(all(p.grad is not None for p in other.parameters()))
        self.assertEqual(other(query[0], key[0], value[0])[0].shape, (5, 4))
        copied = nn.MultiheadAttention(4, 2, kdim=3, vdim=6, batch_first=True)
        copied.load_state_dict(other.state_dict())
        self.assertEqual(copied(query, key, value)[0].tolist(), other(query, key, value)[0].tolist())
        with self.assertRaisesRegex(tenon.Error, r"takes \(batch, time, 3\), got \(2, 7, 6\)"):
            other(query, value, value)
        with self.assertRaises(tenon.Error):
            nn.MultiheadAttention(4, 2, kdim=0)

    def test_layers_of_volumes(self):
        volume = tenon.rand(2, 4, 5, 6, 7)
        for layer, shape in [(nn.Conv3d(4, 6, 3, padding=1), (2, 6, 5, 6, 7)), (nn.Conv3d(4, 6, (1, 3, 5), groups=2, bias=False), (2, 6, 5, 4, 3)),
                             (nn.Conv3d(4, 2, (3, 2, 4), padding="same", dilation=2), (2, 2, 5, 6, 7)),
                             (nn.Conv3d(4, 2, 3, padding=1, padding_mode="circular"), (2, 2, 5, 6, 7)),
                             (nn.ConvTranspose3d(4, 2, 3, stride=2, padding=1, output_padding=1), (2, 2, 10, 12, 14)),
                             (nn.MaxPool3d(2), (2, 4, 2, 3, 3)), (nn.MaxPool3d((1, 2, 3), stride=1, ceil_mode=True), (2, 4, 5, 5, 5)),
                             (nn.AvgPool3d(3, stride=2, padding=1), (2, 4, 3, 3, 4)), (nn.BatchNorm3d(4), (2, 4, 5, 6, 7))]:
            self.assertEqual(layer(volume).shape, shape, type(layer).__name__)
            self.assertTrue(layer(volume).is_contiguous())
        self.assertEqual(nn.ConvTranspose1d(4, 3, 3, stride=2)(tenon.rand(2, 4, 5)).shape, (2, 3, 11))
        y, places = nn.MaxPool3d(2, return_indices=True)(volume)
        self.assertEqual(volume.flatten(2).gather(2, places.flatten(2)).tolist(), y.flatten(2).tolist())
        self.assertEqual((nn.Conv3d(1, 1, 3).stride, nn.Conv3d(1, 1, 3).kernel_size), ((1, 1, 1), (3, 3, 3)))
        self.assertEqual(repr(nn.MaxPool3d(2)), "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)")
        circular = nn.Conv3d(4, 2, 3, padding=1, padding_mode="circular")
        around = F.conv3d(F.pad(volume, (1,) * 6, "circular"), circular.weight, circular.bias)
        self.assertEqual(circular(volume).tolist(), around.tolist())
        pool = nn.MaxPool3d(2)
        pool.stride = 1
        self.assertEqual(pool(volume).shape, (2, 4, 4, 5, 6))
        with self.assertRaisesRegex(ValueError, "a size or three are needed, got 2"):
            nn.Conv3d(1, 1, (3, 3))
        from tenon.nn.modules.conv import Conv3d
        self.assertIs(Conv3d, nn.Conv3d)

    def test_convolution_of_a_volume_is_its_definition(self):
        x, w = np.random.default_rng(0).normal(size=(2, 2, 3, 4, 3, 5)), np.random.default_rng(1).normal(size=(4, 3, 2, 2, 3))
        x = x.astype(np.float32)[0]
        w = w.astype(np.float32)
        expected = np.zeros((2, 4, 2, 2, 3), np.float32)
        for place in np.ndindex(2, 2, 3):
            i, j, k = place[0] * 2, place[1], place[2]
            expected[(slice(None), slice(None), *place)] = np.einsum("ncdhw,ocdhw->no", x[:, :, i:i + 2, j:j + 2, k:k + 3], w)
        y = F.conv3d(tenon.tensor(x), tenon.tensor(w), stride=(2, 1, 1))
        self.assertLess(np.abs(y.numpy() - expected).max(), 1e-4)

    def test_models_for_pictures(self):
        net = models.ResNet(18, classes=5, small_pictures=True)
        self.assertEqual(net(tenon.zeros(2, 3, 16, 16)).shape, (2, 5))
        self.assertIn("layer2.0.downsample.1.running_var", net.state_dict())
        vit = models.ViT(image_size=16, patch_size=4, layers=2, heads=2, width=16, inner=32, classes=5)
        self.assertIn("encoder.layers.encoder_layer_1.self_attention.in_proj_weight", vit.state_dict())
        golden = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "pictures"
        if golden.is_dir():
            self.assertEqual(vit.load_weights(golden / "vit.pt"), ([], []))
            vit.load_state_dict(tenon.load(golden / "vit.pt"))
        with tempfile.TemporaryDirectory() as folder:
            vit.eval().save(folder)
            again = models.ViT.load(folder)
            pictures = tenon.randint(0, 256, (2, 3, 16, 16)).to(tenon.uint8)
            self.assertEqual(again(pictures).tolist(), vit(pictures).tolist())
        with self.assertRaisesRegex(tenon.Error, "there is no ResNet-20"):
            models.ResNet(20)
        with self.assertRaisesRegex(TypeError, "the config has no 'depth'; it has blocks, bottleneck"):
            models.ResNet(18, depth=3)

    def test_losses(self):
        logits, target = tenon.tensor([[2.0, 1.0], [0.0, 3.0]]), tenon.tensor([0, 1])
        a = np.array(logits.tolist())
        expected = -np.mean(np.log(np.exp(a)[[0, 1], [0, 1]] / np.exp(a).sum(1)))
        self.assertAlmostEqual(F.cross_entropy(logits, target).item(), expected, 5)
        self.assertAlmostEqual(nn.CrossEntropyLoss()(logits, target).item(), expected, 5)
        self.assertEqual(nn.MSELoss(reduction="sum")(logits, logits + 1).item(), 4)
        with self.assertRaisesRegex(ValueError, "there is no reduction 'avg'; there are 'none', 'mean', 'sum'"):
            F.mse_loss(logits, logits, reduction="avg")


class Garbage(unittest.TestCase):
    def test_modules_in_a_circle_are_collected(self):
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)

        def in_a_list(net):
            net.all = [net]

        def by_an_optimizer(net):
            net.optimizer = tenon.optim.SGD(net.parameters())
            net.optimizer.net = net

        def by_a_captured_function(net):
            net.step = tenon.compile(lambda x: net.layer(x))
            net.step(tenon.ones(1, 2)).wait()

        def by_a_hook(net):
            net.register_forward_hook(lambda module, args, result: net)

        def by_each_other(net):
            net.other = Own()
            net.other.above = (net,)

        for closes in (in_a_list, by_an_optimizer, by_a_captured_function, by_a_hook, by_each_other):
            for make in (Own, lambda: nn.Linear(2, 2)):
                net = make()
                if not hasattr(net, "layer"):
                    net.__dict__["layer"] = net.forward
                closes(net)
                gone = weakref.ref(net)
                del net
                gc.collect()
                self.assertIsNone(gone(), closes.__name__)


class Hooks(unittest.TestCase):
    def test_are_called_around_forward_and_may_replace(self):
        calls = []
        layer, other = nn.Linear(2, 2), nn.Linear(2, 2)
        plain = layer(tenon.ones(1, 2)).tolist()
        before = layer.register_forward_pre_hook(lambda module, args: calls.append(("before", module is layer, args[0].shape)))
        behind = layer.register_forward_hook(lambda module, args, result: result + 1)
        self.assertEqual(layer(tenon.ones(1, 2)).tolist(), (np.array(plain, np.float32) + 1).tolist())
        self.assertEqual(calls, [("before", True, (1, 2))])
        other(tenon.ones(1, 2))
        self.assertEqual(len(calls), 1)  # hooks are of one module
        before.remove()
        behind.remove()
        behind.remove()  # once more does no harm
        self.assertEqual(layer(tenon.ones(1, 2)).tolist(), plain)
        with layer.register_forward_pre_hook(lambda module, args: args[0] * 0):
            self.assertEqual(layer(tenon.ones(1, 2)).tolist(), [layer.bias.tolist()])
        self.assertEqual(layer(tenon.ones(1, 2)).tolist(), plain)

    def test_see_modules_of_python_their_keywords_and_their_order(self):
        order = []

        class Scaled(nn.Module):
            def forward(self, x, by=1.0):
                return x * by

        net = nn.Sequential(Scaled(), nn.ReLU(), Scaled())
        net[0].register_forward_pre_hook(lambda module, args, kwargs: (args, {"by": 3.0}), with_kwargs=True)
        net[0].register_forward_hook(lambda module, args, result: order.append("second"))
        net[0].register_forward_hook(lambda module, args, result: order.append("first"), prepend=True)
        net[1].register_forward_hook(lambda module, args, kwargs, result: order.append(kwargs), with_kwargs=True)
        self.assertEqual(net(tenon.ones(1)).tolist(), [3.0])
        self.assertEqual(order, ["first", "second", {}])
        with self.assertRaisesRegex(TypeError, "a hook is a function, not int"):
            net.register_forward_hook(3)

    def test_see_gradients_and_may_replace_them(self):
        seen = []
        layer = nn.Linear(2, 1, bias=False)
        handle = layer.register_full_backward_hook(lambda module, given, of: seen.append((given, of)))
        x = tenon.ones(3, 2, requires_grad=True)
        (layer(x) * 2).sum().backward()
        (grad_input,), (grad_output,) = seen[0]
        self.assertEqual(grad_output.tolist(), [[2.0]] * 3)
        self.assertEqual(grad_input.tolist(), x.grad.tolist())
        handle.remove()
        layer.register_full_backward_hook(lambda module, given, of: (given[0] * 0,))
        x.grad = None
        layer(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [[0.0, 0.0]] * 3)
        seen.clear()
        first = nn.Linear(2, 1)  # nothing flows on to its input
        first.register_full_backward_hook(lambda module, given, of: seen.append((given, of[0].shape)))
        first(tenon.ones(3, 2)).sum().backward()
        self.assertEqual(seen, [((None,), (3, 1))])

    def test_are_copied_with_their_module(self):
        layer = nn.Linear(2, 2)
        layer.register_forward_hook(lambda module, args, result: result * 0)
        self.assertEqual(copy.deepcopy(layer)(tenon.ones(1, 2)).tolist(), [[0.0, 0.0]])


class Optimizers(unittest.TestCase):
    def test_groups_are_dicts_with_their_parameters(self):
        a, b = nn.Parameter(tenon.ones(2)), nn.Parameter(tenon.ones(3))
        optimizer = tenon.optim.AdamW([{"params": [a]}, {"params": [b], "lr": 0.5, "weight_decay": 0.25}], lr=0.1)
        first, second = optimizer.param_groups
        self.assertIs(first["params"][0], a)
        self.assertEqual([one.shape for one in second["params"]], [(3,)])
        self.assertEqual((first["weight_decay"], second["weight_decay"], second["lr"]), (0.01, 0.25, 0.5))
        self.assertEqual(set(dict(second)), {"params", "lr", "weight_decay", "betas", "eps", "amsgrad", "maximize"})
        self.assertEqual(first["betas"], (0.9, 0.999))
        with self.assertRaisesRegex(KeyError, "a group has 'params', 'lr', 'weight_decay', .*, not 'rho'"):
            first["rho"]
        with self.assertRaisesRegex(KeyError, "of a group can be set 'lr', 'weight_decay', .*, not 'rho'"):
            first["rho"] = 0.5
        second["weight_decay"] = 0.5
        first["betas"] = (0.8, 0.9)
        self.assertEqual([group["weight_decay"] for group in optimizer.param_groups], [0.01, 0.5])
        self.assertEqual([group["betas"] for group in optimizer.param_groups], [(0.8, 0.9)] * 2)

    def test_each_lowers_a_loss(self):
        for make in (lambda p: tenon.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: tenon.optim.Adam(p, lr=0.1),
                     lambda p: tenon.optim.AdamW(p, lr=0.1, betas=(0.9, 0.99)), lambda p: tenon.optim.RMSprop(p, lr=0.05),
                     lambda p: tenon.optim.Adagrad(p, lr=0.5), lambda p: tenon.optim.Lion(p, lr=0.05)):
            w = nn.Parameter(tenon.tensor([3.0, -2.0]))
            optimizer = make([w])
            for _ in range(60):
                (w * w).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            self.assertLess((w * w).sum().item(), 3, type(optimizer).__name__)

    def test_groups_and_schedules(self):
        a, b = nn.Parameter(tenon.ones(1)), nn.Parameter(tenon.ones(1))
        optimizer = tenon.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.1)
        self.assertEqual((optimizer.lr, optimizer.group_lr(1)), (0.1, 1.0))
        optimizer.param_groups[1]["lr"] = 0.5
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.1, 0.5])
        schedule = tenon.optim.Scheduler(optimizer, tenon.optim.linear(10))
        schedule.set(5)
        self.assertAlmostEqual(optimizer.lr, 0.05)
        schedule = tenon.optim.lr_scheduler.LambdaLR(tenon.optim.SGD([a], lr=1.0), lambda step: 0.5**step)
        schedule.step()
        with self.assertRaisesRegex(ValueError, "a group of parameters has 'params', 'lr' and 'weight_decay', not 'x'"):
            tenon.optim.SGD([{"params": [a], "x": 1}])
        with self.assertRaisesRegex(ValueError, "an optimizer needs at least one parameter"):
            tenon.optim.SGD([])

    def test_state(self):
        w = nn.Parameter(tenon.ones(2))
        optimizer = tenon.optim.Adam([w])
        w.sum().backward()
        optimizer.step()
        other = tenon.optim.Adam([nn.Parameter(tenon.ones(2))])
        other.load_state_dict(optimizer.state_dict())
        self.assertEqual(other.steps(), 1)

    def test_clipping(self):
        w = nn.Parameter(tenon.ones(4))
        (w * 10).sum().backward()
        self.assertEqual(nn.utils.clip_grad_norm_([w], 1.0).item(), 20)
        self.assertAlmostEqual(w.grad.norm().item(), 1, 4)

    def test_autocast_and_scaler(self):
        net = nn.Linear(4, 4)
        optimizer = tenon.optim.SGD(net.parameters(), lr=0.1)
        scaler = tenon.optim.GradScaler()
        with tenon.autocast(tenon.float16):
            out = net(tenon.ones(2, 4))
            self.assertIs(out.dtype, tenon.float16)
            loss = F.mse_loss(out, tenon.zeros(2, 4))
        scaler.scale(loss).backward()
        optimizer.step(scaler)
        self.assertEqual(scaler.factor(), 65536)


class Lora(unittest.TestCase):
    def test_corrects_layers_of_python(self):
        net = Net().eval()
        x = tenon.randn(5, 2)
        before = net(x)
        models.attach_lora(net, ["hidden"], rank=2)
        self.assertEqual(net(x).tolist(), before.tolist())  # the correction begins as zeros
        self.assertEqual([name for name, p in net.named_parameters() if p.requires_grad], ["hidden.lora.lora_A", "hidden.lora.lora_B"])
        correction = dict(net.named_parameters())["hidden.lora.lora_B"]
        with tenon.no_grad():
            correction.fill_(0.5)
        corrected = net(x)
        self.assertNotEqual(corrected.tolist(), before.tolist())
        with tempfile.TemporaryDirectory() as folder:
            models.save_lora(net, folder, rank=2)
            other = Net().eval()
            other.load_state_dict({name: value for name, value in net.state_dict().items() if "lora" not in name})
            models.load_lora(other, folder)
            np.testing.assert_allclose(other(x).tolist(), corrected.tolist(), atol=1e-6)
        models.merge_lora(net)
        self.assertNotIn("hidden.lora.lora_A", net.state_dict())
        np.testing.assert_allclose(net(x).tolist(), corrected.tolist(), atol=1e-5)


class Files(unittest.TestCase):
    def test_every_kind(self):
        tensors = {"a": tenon.arange(4, dtype=tenon.float32), "b": tenon.ones(2, 2, dtype=tenon.int64)}
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("safetensors", "pt", "npz"):
                path = os.path.join(folder, "x." + kind)
                tenon.save(tensors, path)
                found = tenon.load(path)
                self.assertEqual({name: x.tolist() for name, x in found.items()},
                                 {name: x.tolist() for name, x in tensors.items()}, kind)
            path = os.path.join(folder, "x.npy")
            tenon.save(tensors["a"], path)
            self.assertEqual(np.load(path).tolist(), [0, 1, 2, 3])
            net = Net()
            tenon.save(net, os.path.join(folder, "net.safetensors"))
            other = Net()
            nn.load_module(os.path.join(folder, "net.safetensors"), other)
            self.assertTrue(tenon.equal(net.hidden.weight, other.hidden.weight))
            with self.assertRaisesRegex(tenon.Error, "nothing.safetensors"):
                tenon.load(os.path.join(folder, "nothing.safetensors"))
            with self.assertRaisesRegex(TypeError, "a tensor, a dict of tensors or a module is needed, not int"):
                tenon.save(3, path.replace("npy", "safetensors"))
            tenon.save([3, "text"], path.replace("npy", "pt"))  # as PyTorch does
            self.assertEqual(tenon.load(path.replace("npy", "pt")), [3, "text"])


class Transformers(unittest.TestCase):
    def test_their_matrices_begin_as_pytorchs(self):
        model = nn.Transformer(64, 4, 1, 1, 128)
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                bound = (6 / sum(parameter.shape)) ** 0.5
                largest = parameter.detach().abs().max().item()
                self.assertTrue(0.97 * bound < largest <= bound, name)


class Subclasses(unittest.TestCase):
    """Classes that derive from the layers of the library."""

    def test_super_forward_reads_what_is_set(self):
        class Half(nn.Dropout):
            def forward(self, x):
                return super().forward(x) * 1

        dropout = Half(0.5)
        dropout.p = 0.0
        self.assertEqual(dropout(tenon.ones(64)).tolist(), [1.0] * 64)

        class Doubled(nn.MSELoss):
            def forward(self, input, target):
                return 2 * super().forward(input, target)

        loss = Doubled()
        self.assertEqual(loss(tenon.full((4,), 2.0), tenon.zeros(4)).item(), 8.0)
        loss.reduction = "sum"
        self.assertEqual(loss(tenon.full((4,), 2.0), tenon.zeros(4)).item(), 32.0)

    def test_their_own_forward_is_called(self):
        class Nothing(nn.LSTM):
            def forward(self, x):
                return super().forward(x)[0] * 0

        class Below(Nothing):
            pass

        self.assertEqual(Below(3, 4)(tenon.ones(5, 2, 3)).abs().max().item(), 0.0)

    def test_captured_functions_notice_settings_of_all_layers(self):
        for layer, name, value in ((nn.Hardtanh(), "max_val", 0.25), (nn.CELU(), "alpha", 2.0), (nn.LogSoftmax(1), "dim", 0),
                                   (nn.InstanceNorm1d(2), "eps", 1.0), (nn.ZeroPad2d(1), "padding", (0, 1, 0, 1))):
            x = tenon.arange(24.0).reshape(2, 2, 2, 3)[0, :, :, :] - 3.0
            call = tenon.compile(lambda x: layer(x))
            for _ in range(4):
                call(x)
            setattr(layer, name, value)
            self.assertEqual(call(x).tolist(), layer(x).tolist(), name)


if __name__ == "__main__":
    unittest.main()
