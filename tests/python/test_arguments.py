"""Arguments, methods and layers that PyTorch's programs use, with its values."""

import copy
import gzip
import os
import tempfile
import unittest

import numpy as np

import tenon
from tenon import nn
from tenon.nn import functional as F

try:
    import torch
except ImportError:
    torch = None


class Arguments(unittest.TestCase):
    def test_scatter(self):
        x, index = tenon.zeros(2, 3), tenon.tensor([[0, 1, 0]])
        self.assertEqual(x.scatter(0, index, src=tenon.ones(1, 3)).tolist(), [[1, 0, 1], [0, 1, 0]])
        self.assertEqual(x.scatter_(0, index, value=2.0).tolist(), [[2, 0, 2], [0, 2, 0]])
        self.assertEqual(x.scatter_add(0, index, src=tenon.ones(1, 3)).tolist(), [[3, 0, 3], [0, 3, 0]])
        self.assertEqual(x.scatter_reduce(0, index, src=tenon.ones(1, 3), reduce="sum").tolist(), [[3, 0, 3], [0, 3, 0]])

    def test_names_of_operands(self):
        x = tenon.tensor([2., 3.])
        self.assertEqual(tenon.add(input=x, other=1).tolist(), [3, 4])
        self.assertEqual(tenon.pow(x, exponent=2).tolist(), [4, 9])
        self.assertEqual(tenon.sum(input=x).item(), 5)
        self.assertEqual(tenon.mm(tenon.ones(1, 2), mat2=tenon.ones(2, 1)).tolist(), [[2]])
        self.assertEqual(tenon.where(x > 2, input=x, other=0).tolist(), [0, 3])
        self.assertEqual(tenon.bernoulli(input=tenon.ones(2)).tolist(), [1, 1])
        with self.assertRaisesRegex(TypeError, r"^add\(\) has no argument 'out'; it has x, other, alpha$"):
            tenon.add(x, x, out=x)

    def test_sorting(self):
        x = tenon.tensor([3, 1, 2])
        for stable in (True, False):
            self.assertEqual(x.sort(stable=stable).values.tolist(), [1, 2, 3])
            self.assertEqual(tenon.argsort(x, stable=stable).tolist(), [1, 2, 0])
            self.assertEqual(x.topk(2, sorted=stable).values.tolist(), [3, 2])

    def test_roll(self):
        x = tenon.arange(6).reshape(2, 3)
        a = x.numpy()
        self.assertEqual(tenon.roll(x, 1).tolist(), np.roll(a, 1).tolist())
        self.assertEqual(x.roll(1, 0).tolist(), np.roll(a, 1, 0).tolist())
        self.assertEqual(x.roll((1, -1), (0, 1)).tolist(), np.roll(a, (1, -1), (0, 1)).tolist())
        self.assertEqual(x.roll(shifts=1, dims=(1,)).tolist(), np.roll(a, 1, 1).tolist())
        with self.assertRaisesRegex(tenon.Error, "needs one shift for each dim, not 2 for 1 dims$"):
            x.roll((1, 2), 0)

    def test_squeeze(self):
        x = tenon.ones(1, 2, 1, 1)
        self.assertEqual(x.squeeze((0, 2)).shape, (2, 1))
        self.assertEqual(x.squeeze((0, 1, -1)).shape, (2, 1))
        self.assertEqual(x.squeeze(0).shape, (2, 1, 1))
        self.assertEqual(x.squeeze(1).shape, (1, 2, 1, 1))
        self.assertEqual(x.squeeze().shape, (2,))
        self.assertEqual(x.squeeze(()).shape, (1, 2, 1, 1))
        with self.assertRaises(tenon.OutOfRange):
            x.squeeze((0, 4))

    def test_searching(self):
        x = tenon.tensor([1, 2, 2, 3])
        self.assertEqual(tenon.searchsorted(x, tenon.tensor([2]), side="right").tolist(), [3])
        self.assertEqual(x.searchsorted(2, side="left").item(), 1)
        with self.assertRaisesRegex(tenon.Error, "there is no side 'up'; there are 'left' and 'right'"):
            x.searchsorted(2, side="up")
        with self.assertRaisesRegex(tenon.Error, "right and for the side 'left'"):
            x.searchsorted(2, right=True, side="left")
        self.assertEqual(tenon.isin(x, 2).tolist(), [False, True, True, False])
        self.assertEqual(tenon.isin(x, tenon.tensor([1, 3]), invert=True).tolist(), [False, True, True, False])

    def test_norms(self):
        x = tenon.tensor([[3., 0.], [0., 4.]])
        self.assertEqual([tenon.norm(x, p=p).item() for p in ("fro", 2, None)], [5, 5, 5])
        self.assertEqual((x.norm("fro", 1).tolist(), x.norm(1).item(), x.norm(tenon.inf).item()), ([3, 4], 7, 4))
        with self.assertRaisesRegex(ValueError, "^there is no norm 'nuc'; there are numbers and 'fro'$"):
            x.norm("nuc")

    def test_differences(self):
        x = tenon.tensor([1, 4, 9])
        self.assertEqual(x.diff(prepend=tenon.tensor([0]), append=tenon.tensor([16])).tolist(), [1, 3, 5, 7])
        self.assertEqual(x.diff(n=2, prepend=tenon.tensor([0])).tolist(), [2, 2])

    def test_unique(self):
        values, inverse = tenon.tensor([3, 1, 3]).unique(True, True)
        self.assertEqual((values.tolist(), inverse.tolist()), ([1, 3], [1, 0, 1]))
        slices, counts = tenon.tensor([[3, 1], [0, 2], [3, 1]]).unique(dim=0, return_counts=True)
        self.assertEqual((slices.tolist(), counts.tolist()), ([[0, 2], [3, 1]], [1, 2]))
        self.assertEqual(tenon.ones(2, 3)[1].storage_offset(), 3)

    def test_interpolation(self):
        x = tenon.arange(4.).reshape(1, 1, 2, 2)
        self.assertEqual(F.interpolate(x, scale_factor=(1, 2)).tolist(), [[[[0, 0, 1, 1], [2, 2, 3, 3]]]])
        self.assertEqual(F.interpolate(x, scale_factor=(2, 2)).tolist(), F.interpolate(x, scale_factor=2).tolist())
        self.assertEqual(nn.Upsample(scale_factor=(1, 2))(x).tolist(), F.interpolate(x, scale_factor=(1, 2)).tolist())
        self.assertEqual(nn.Upsample(scale_factor=2, mode="bilinear")(x).shape, (1, 1, 4, 4))
        self.assertEqual(nn.Upsample(size=(3, 4))(x).shape, (1, 1, 3, 4))
        with self.assertRaisesRegex(RuntimeError, "takes one scale or one for each of 2 axes, got 3$"):
            nn.Upsample(scale_factor=(1, 2, 3))(x)
        self.assertEqual(F.interpolate(x, scale_factor=(1.3, 2)).tolist(), [[[[0, 0, 1, 1], [2, 2, 3, 3]]]])
        self.assertEqual(F.interpolate(x, 3, mode="bicubic", align_corners=True)[0, 0, 1, 1].item(), 1.5)
        self.assertEqual(F.interpolate(x, 1, mode="area").item(), 1.5)
        self.assertEqual(F.interpolate(x[0], 4, mode="linear", align_corners=True).shape, (1, 2, 4))
        self.assertEqual(F.interpolate(x[None], 3, mode="trilinear").shape, (1, 1, 3, 3, 3))
        self.assertEqual(F.interpolate(x, 1, mode="bilinear", antialias=True).item(), 1.5)
        self.assertEqual(nn.Upsample(scale_factor=1.5, mode="nearest-exact", recompute_scale_factor=True)(x).shape, (1, 1, 3, 3))
        with self.assertRaisesRegex(ValueError, "^there is no mode 'lanczos'; there are 'nearest', "):
            F.interpolate(x, 3, mode="lanczos")

    def test_pools(self):
        x = tenon.arange(6.).reshape(1, 1, 2, 3)
        self.assertEqual(F.adaptive_avg_pool2d(x, (None, 1)).tolist(), [[[[1], [4]]]])
        self.assertEqual(nn.AdaptiveAvgPool2d((None, 1))(x).tolist(), [[[[1], [4]]]])
        self.assertEqual(nn.AdaptiveAvgPool2d((1, None))(x).tolist(), [[[[1.5, 2.5, 3.5]]]])
        self.assertEqual(copy.deepcopy(nn.AdaptiveAvgPool2d((1, 1)))(x).tolist(), [[[[2.5]]]])
        self.assertEqual(nn.MaxPool2d(2, 1, 0, 1, False, True)(x).shape, (1, 1, 1, 2))
        net = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Upsample(scale_factor=2))
        self.assertEqual([type(child) for child in net.children()], [nn.AdaptiveAvgPool2d, nn.Upsample])
        self.assertIn("AdaptiveAvgPool2d  (1, 1, 2, 2)", nn.summary(net, x))
        self.assertEqual(net(x).shape, (1, 1, 4, 4))

        class Own(nn.AdaptiveAvgPool2d):
            pass

        self.assertEqual(Own((None, 1))(x).tolist(), [[[[1], [4]]]])
        images = tenon.tensor([[[[1.0, 4, 2], [3, 0, 5], [9, 8, 7]]]])
        for call in (lambda: F.max_pool2d(images, 2, 1, return_indices=True),
                     lambda: nn.MaxPool2d(2, 1, return_indices=True)(images),
                     lambda: nn.AdaptiveMaxPool2d(2, return_indices=True)(images)):
            largest, indices = call()
            self.assertEqual((largest.tolist(), indices.tolist()), ([[[[4, 5], [9, 8]]]], [[[[1, 5], [6, 7]]]]))
        self.assertEqual(nn.MaxPool2d(2, 1)(images).tolist(), [[[[4, 5], [9, 8]]]])

    def test_leading_ones_of_what_is_assigned(self):
        x = tenon.zeros(3, 2)
        x[...] = tenon.ones(1, 3, 2)
        x[0] = tenon.tensor([[5., 6.]])
        x[1, 0] = tenon.tensor([7.])
        x[tenon.tensor([2])] = tenon.full((1, 1, 1, 2), 8.)
        self.assertEqual(x.tolist(), [[5, 6], [7, 1], [8, 8]])
        weight = tenon.ones(1, 3, 2, requires_grad=True)
        y = x * 1
        y[...] = weight
        y.sum().backward()
        self.assertEqual(weight.grad.tolist(), [[[1, 1]] * 3])
        with self.assertRaises(tenon.Error):
            x[...] = tenon.ones(2, 3, 2)

    def test_projections(self):
        y, (h, c) = nn.LSTM(3, 4, proj_size=2)(tenon.ones(5, 1, 3))
        self.assertEqual((y.shape, h.shape, c.shape), ((5, 1, 2), (1, 1, 2), (1, 1, 4)))
        with self.assertRaisesRegex(tenon.Error, "proj_size is of LSTM alone"):
            nn.GRU(3, 4, proj_size=2)
        self.assertEqual(nn.LSTM(3, 4, proj_size=0)(tenon.ones(1, 1, 3))[0].shape, (1, 1, 4))


PYTORCHS_CHOICE = {"unravel_index", "rrelu", "trapezoid", "trapz", "gradient", "pdist", "channel_shuffle", "vander"}  # functions alone


class Methods(unittest.TestCase):
    def test_every_function_of_a_tensor_is_a_method(self):
        for line in tenon._tenon._stubs("function"):
            name, _, rest = line[4:].partition("(")
            if rest.partition(":")[2].startswith(" Tensor,") or rest.partition(":")[2].startswith(" Tensor)"):
                if name.startswith(("_", "special_")) or name.endswith("_like") or name in PYTORCHS_CHOICE:
                    continue
                self.assertTrue(hasattr(tenon.Tensor, name), name)

    def test_activations(self):
        x = tenon.tensor([-1., 2.])
        for name in ("gelu", "silu", "elu", "mish", "hardswish", "softplus", "leaky_relu"):
            self.assertEqual(getattr(x, name)().tolist(), getattr(F, name)(x).tolist(), name)
        self.assertEqual(x.leaky_relu(0.5).tolist(), [-0.5, 2])

    def test_others(self):
        x = tenon.eye(2)
        self.assertEqual(x.cdist(x).tolist(), tenon.cdist(x, x).tolist())
        self.assertEqual(x.tensordot(x, 1).tolist(), x.tolist())
        self.assertEqual(x.pad((1, 0)).tolist(), [[0, 1, 0], [0, 0, 1]])
        self.assertEqual(tenon.tensor([1]).one_hot(2).tolist(), [[0, 1]])

    def test_data_ptr(self):
        x = tenon.arange(6.)
        self.assertEqual(x.data_ptr(), x.numpy().ctypes.data)
        self.assertEqual(x[2:].data_ptr() - x.data_ptr(), 8)
        for dtype in (tenon.float16, tenon.bfloat16, tenon.float64, tenon.int32, tenon.int64, tenon.uint8, tenon.bool):
            self.assertNotEqual(tenon.ones(2, dtype=dtype).data_ptr(), 0)


def filled(module, package, seed=0):
    """The same values in the parameters of ours and of PyTorch's."""
    numbers = np.random.default_rng(seed)
    state = {name: numbers.normal(0, 0.5, tuple(value.shape)).astype(np.float32)
             for name, value in sorted(module.state_dict().items())}
    module.load_state_dict({name: package.tensor(value) for name, value in state.items()})
    return module


class Layers(unittest.TestCase):
    def test_log_softmax(self):
        x = tenon.randn(2, 3)
        self.assertEqual(nn.LogSoftmax(dim=1)(x).tolist(), x.log_softmax(1).tolist())
        self.assertEqual(repr(nn.LogSoftmax(1)), "LogSoftmax(dim=1)")

    def test_dropout2d_zeroes_channels(self):
        layer, x = nn.Dropout2d(0.5), tenon.ones(20, 10, 3, 3)
        y = layer(x)
        self.assertEqual(y.amax((2, 3)).tolist(), y.amin((2, 3)).tolist())
        self.assertEqual(sorted(set(y.flatten().tolist())), [0, 2])
        self.assertEqual(layer.eval()(x).tolist(), x.tolist())
        with self.assertRaisesRegex(ValueError, "a probability lies between 0 and 1, not at 2"):
            nn.Dropout2d(2)

    def test_unflatten(self):
        self.assertEqual(nn.Unflatten(1, (2, 3))(tenon.ones(4, 6)).shape, (4, 2, 3))

    def test_prelu(self):
        layer = nn.PReLU(2)
        with tenon.no_grad():
            layer.weight.copy_(tenon.tensor([0.5, 2.]))
        x = tenon.tensor([[[-1., 1.], [-1., 1.]]], requires_grad=True)
        y = layer(x)
        self.assertEqual(y.tolist(), [[[-0.5, 1], [-2, 1]]])
        y.sum().backward()
        self.assertEqual((x.grad.tolist(), layer.weight.grad.tolist()), ([[[0.5, 1], [2, 1]]], [-1, -1]))
        with self.assertRaisesRegex(tenon.Error, "needs one weight or 3, one for each channel, not [(]2,[)]"):
            layer(tenon.ones(1, 3))

    def test_cells_are_steps_of_the_layers(self):
        x = tenon.randn(4, 2, 3)
        for cell, layer in ((nn.LSTMCell(3, 5), nn.LSTM(3, 5)), (nn.GRUCell(3, 5), nn.GRU(3, 5)),
                            (nn.RNNCell(3, 5), nn.RNN(3, 5)),
                            (nn.RNNCell(3, 5, nonlinearity="relu"), nn.RNN(3, 5, nonlinearity="relu"))):
            layer.load_state_dict({name + "_l0": value for name, value in cell.state_dict().items()})
            state, steps = None, []
            for one in x:
                state = cell(one, state)
                steps.append(state[0] if isinstance(state, tuple) else state)
            np.testing.assert_allclose(tenon.stack(steps).detach().numpy(), layer(x)[0].detach().numpy(), atol=1e-5)
        with self.assertRaisesRegex(tenon.Error, r"\[GRUCell\] an input [(]batch, 3[)] or [(]3,[)] is needed, got [(]2, 4[)]"):
            nn.GRUCell(3, 5)(tenon.ones(2, 4))
        self.assertEqual(list(nn.GRUCell(3, 5, bias=False).state_dict()), ["weight_ih", "weight_hh"])

    def test_largest_of_parts(self):
        x = tenon.arange(12.).reshape(1, 1, 3, 4)
        self.assertEqual(nn.AdaptiveMaxPool2d(2)(x).tolist(), [[[[5, 7], [9, 11]]]])
        self.assertEqual(nn.AdaptiveMaxPool2d((None, 1))(x).tolist(), [[[[3], [7], [11]]]])
        self.assertEqual(nn.AdaptiveMaxPool1d(2)(x[0]).shape, (1, 3, 2))

    def test_a_call_in_a_table(self):
        table = nn.summary(nn.Sequential(nn.Linear(2, 4), nn.ReLU()), tenon.ones(3, 2))
        self.assertIn("12 parameters, 12 trainable, 48 bytes; 48 FLOPs", table)
        self.assertIn("(3, 4)", table)

    def test_a_stack_of_a_layer(self):
        for kind, layer_kind, extra in ((nn.TransformerEncoder, nn.TransformerEncoderLayer, ()),
                                        (nn.TransformerDecoder, nn.TransformerDecoderLayer, (tenon.randn(4, 2, 8),))):
            layer = layer_kind(8, 2, 16, dropout=0.0, batch_first=False, norm_first=True)
            norm = nn.LayerNorm(8)
            with tenon.no_grad():
                norm.weight.fill_(2)
            x = tenon.randn(3, 2, 8)
            stack = kind(layer, num_layers=2, norm=norm)
            expected = norm(layer(layer(x, *extra), *extra))
            np.testing.assert_allclose(stack(x, *extra).tolist(), expected.tolist(), atol=1e-5)
            self.assertEqual(len(stack.parameters()), 2 * len(layer.parameters()) + 2)
            np.testing.assert_allclose(copy.deepcopy(stack)(x, *extra).tolist(), expected.tolist(), atol=1e-5)
            self.assertEqual(kind(2, 8, 2, 16)(x, *extra).shape, (3, 2, 8))
            self.assertEqual(len(kind(2, 8, 2, 16, final_norm=True).parameters()), 2 * len(layer.parameters()) + 2)
            with self.assertRaisesRegex(TypeError, "takes a layer, num_layers and a norm, or the settings of its layers"):
                kind(layer, 2, d_model=8)
        self.assertEqual(nn.TransformerEncoder(encoder_layer=nn.TransformerEncoderLayer(8, 2), num_layers=1)(x).shape, x.shape)

    def test_what_is_inside_of_a_layer_has_its_name(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
        self.assertIsInstance(encoder.get_submodule("layers.1.linear1"), nn.Linear)
        self.assertEqual(encoder.get_parameter("layers.1.linear1.weight").shape, (2048, 8))
        with self.assertRaisesRegex(AttributeError, "TransformerEncoder has no module 'layers.2'"):
            encoder.get_submodule("layers.2")

    def test_a_copied_layer_has_its_values(self):
        for layer, inputs in ((nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (tenon.randn(3, 2, 8),)),
                              (nn.LSTM(8, 4, 2, bidirectional=True), (tenon.randn(3, 2, 8),)),
                              (nn.Linear(8, 4), (tenon.randn(3, 8),))):
            layer.freeze({"TransformerEncoderLayer": "*norm1*", "LSTM": "*ih_l0", "Linear": "bias"}[type(layer).__name__])
            copied = copy.deepcopy(layer)
            for (name, one), (_, other) in zip(layer.named_parameters(), copied.named_parameters()):
                self.assertEqual((one.tolist(), one.requires_grad), (other.tolist(), other.requires_grad), name)
                self.assertIsNot(one, other)
            before = str(layer(*inputs))
            self.assertEqual(str(copied(*inputs)), before)

    def test_a_copy_keeps_what_is_shared_with_the_inside_of_a_layer(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(2, 8, 2, 16)
                self.same = self.encoder.parameters()[0]

        net = Net().half()
        copied = copy.deepcopy(net)
        self.assertIs(copied.same, copied.encoder.parameters()[0])
        self.assertIsNot(copied.same, net.same)
        self.assertEqual({parameter.dtype for parameter in copied.parameters()}, {tenon.float16})
        self.assertEqual(len(copied.parameters()), len(net.parameters()))


class Files(unittest.TestCase):
    def test_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("length;kind\n1.5;b\n2.5;a\n")
            table = tenon.data.read_csv(path, separator=";")
            self.assertEqual((len(table), table.names, "kind" in table), (2, ["length", "kind"], True))
            self.assertEqual(table.column("length").tolist(), [1.5, 2.5])
            self.assertEqual(table.columns(["length"]).shape, (2, 1))
            codes, names = table.categories("kind")
            self.assertEqual((codes.tolist(), names, table.texts("kind")), ([1, 0], ["a", "b"], ["b", "a"]))
            self.assertEqual(table.missing("kind").tolist(), [False, False])
            with self.assertRaisesRegex(tenon.Error, "wide"):
                table.column("wide")

    def test_idx(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.gz")
            with gzip.open(path, "wb") as file:
                file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]))
            self.assertEqual(tenon.data.load_idx(path).tolist(), [5, 6, 7])


@unittest.skipIf(torch is None, "torch is not installed")
class BesidePyTorch(unittest.TestCase):
    def check(self, ours, theirs, *inputs):
        """Values, and gradients of inputs and parameters."""
        mine = [tenon.tensor(x, requires_grad=x.dtype == np.float32) for x in inputs]
        other = [torch.tensor(x, requires_grad=x.dtype == np.float32) for x in inputs]
        a, b = ours(*mine), theirs(*other)
        a, b = (x[0] if isinstance(x, tuple) else x for x in (a, b))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=2e-5)
        factor = np.arange(b.numel(), dtype=np.float32).reshape(b.shape)
        (a * tenon.tensor(factor)).sum().backward()
        (b * torch.tensor(factor)).sum().backward()
        for x, y in zip(mine, other):
            np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-3, atol=2e-3)
        if isinstance(ours, nn.Module):
            gradients = dict(ours.named_parameters())
            for name, parameter in theirs.named_parameters():
                np.testing.assert_allclose(gradients[name].grad.numpy(), parameter.grad.numpy(), rtol=1e-3, atol=2e-3)

    def test_layers(self):
        numbers = np.random.default_rng(1)

        def drawn(*shape):
            return numbers.normal(size=shape).astype(np.float32)

        for make, *inputs in (
            (lambda nn: nn.LogSoftmax(1), drawn(2, 3)),
            (lambda nn: nn.PReLU(3), drawn(2, 3, 4)),
            (lambda nn: nn.PReLU(), drawn(5)),
            (lambda nn: nn.Unflatten(1, (2, 2)), drawn(3, 4)),
            (lambda nn: nn.LSTMCell(3, 4), drawn(2, 3)),
            (lambda nn: nn.GRUCell(3, 4), drawn(2, 3)),
            (lambda nn: nn.GRUCell(3, 4, bias=False), drawn(2, 3), drawn(2, 4)),
            (lambda nn: nn.RNNCell(3, 4, nonlinearity="relu"), drawn(3)),
            (lambda nn: nn.AdaptiveMaxPool2d((3, 2)), drawn(2, 3, 7, 5)),
            (lambda nn: nn.AdaptiveMaxPool2d((None, 3)), drawn(3, 4, 8)),
            (lambda nn: nn.AdaptiveMaxPool2d((9, 3)), drawn(2, 1, 4, 8)),
            (lambda nn: nn.AdaptiveMaxPool1d(4), drawn(2, 3, 9)),
            (lambda nn: nn.AdaptiveAvgPool2d((None, 2)), drawn(2, 3, 4, 5)),
            (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0), drawn(3, 2, 8), drawn(5, 2, 8)),
            (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True), drawn(2, 3, 8),
             drawn(2, 5, 8)),
            (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 2), drawn(3, 2, 8)),
            (lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2, nn.LayerNorm(8)), drawn(3, 2, 8),
             drawn(5, 2, 8)),
        ):
            with self.subTest(repr(make(nn)).split("(")[0]):
                self.check(filled(make(nn), tenon), filled(make(torch.nn), torch), *inputs)

    def test_masks_of_decoder_layers(self):
        numbers = np.random.default_rng(2)
        x, memory = (numbers.normal(size=(n, 2, 8)).astype(np.float32) for n in (3, 5))
        padding = np.array([[False] * 5, [False] * 3 + [True] * 2])
        results = []
        for package, made in ((tenon, filled(nn.TransformerDecoderLayer(8, 2, 16, 0.0), tenon)),
                              (torch, filled(torch.nn.TransformerDecoderLayer(8, 2, 16, 0.0), torch))):
            mask = package.triu(package.ones(3, 3), 1).bool()
            results.append(made(package.tensor(x), package.tensor(memory), tgt_mask=mask,
                                memory_key_padding_mask=package.tensor(padding)).detach().numpy())
        np.testing.assert_allclose(*results, atol=2e-5)

    def test_functions(self):
        numbers = np.random.default_rng(3)
        x = numbers.normal(size=(2, 3, 4, 6)).astype(np.float32)
        for name, call in {
            "bilinear": lambda F, x: F.interpolate(x, scale_factor=(1.5, 2), mode="bilinear", align_corners=False),
            "nearest": lambda F, x: F.interpolate(x, scale_factor=(0.5, 2)),
            "bicubic": lambda F, x: F.interpolate(x, scale_factor=(1.3, 0.7), mode="bicubic"),
            "area": lambda F, x: F.interpolate(x, size=(3, 5), mode="area"),
            "adaptive": lambda F, x: F.adaptive_max_pool2d(x, (3, None)),
            "roll": lambda F, x: x.roll((1, 2), (0, -1)),
            "diff": lambda F, x: x.diff(dim=1, prepend=x[:, :1] * 2),
        }.items():
            with self.subTest(name):
                self.check(lambda x: call(F, x), lambda x: call(torch.nn.functional, x), x)


if __name__ == "__main__":
    unittest.main()
