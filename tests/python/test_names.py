"""Names of PyTorch that are made of others in Python: their values, dtypes, gradients and refusals."""

import copy
import importlib
import inspect
import math
import os
import pickle
import subprocess
import sys
import unittest

import numpy as np

import tenon
from tenon import nn

F = nn.functional


class Checked(unittest.TestCase):
    def assertHolds(self, found, expected):
        self.assertEqual(found.tolist(), expected)

    def assertClose(self, found, expected, places=5):
        found, expected = tenon.tensor(found.tolist()), tenon.tensor(expected)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue(tenon.allclose(found.double(), expected.double(), rtol=0, atol=10.0**-places, equal_nan=True), found)

    def gradient(self, function, *data):
        leaves = [tenon.tensor(one, requires_grad=True) for one in data]
        function(*leaves).sum().backward()
        return [leaf.grad.tolist() for leaf in leaves]

    def refuses(self, kind, function, *args, **kwargs):
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertNotIn("\n", str(caught.exception))


class OtherNames(Checked):
    def test_functions_have_pytorchs_other_names(self):
        x = tenon.tensor([[0.5, -0.25], [0.125, 0.75]])
        for other, name in {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arctanh": "atanh", "fix": "trunc",
                            "absolute": "abs", "negative": "neg"}.items():
            for place in (tenon, tenon.Tensor):
                self.assertHolds(getattr(place, other)(x), getattr(tenon, name)(x).tolist())
            self.assertHolds(getattr(x.clone(), other + "_")(), getattr(tenon, name)(x).tolist())
        y = tenon.tensor([2.0, -0.25])
        for other, name in {"multiply": "mul", "divide": "div", "subtract": "sub", "arctan2": "atan2", "greater": "gt", "greater_equal": "ge",
                            "less": "lt", "less_equal": "le", "not_equal": "ne"}.items():
            wanted = getattr(tenon, name)(x, y).tolist()
            self.assertHolds(getattr(tenon, other)(x, y), wanted)
            self.assertHolds(getattr(x, other)(y), wanted)
            self.assertHolds(getattr(x.clone(), other + "_")(y), wanted)
        self.assertHolds(tenon.divide(x, 0.25, rounding_mode="floor"), [[2, -1], [0, 3]])
        self.assertHolds(tenon.arccosh(x + 2), tenon.acosh(x + 2).tolist())
        self.assertEqual(tenon.moveaxis(tenon.ones(2, 3, 4), 0, -1).shape, (3, 4, 2))
        self.assertEqual(tenon.ones(2, 3).swapdims(0, 1).shape, (3, 2))
        self.assertHolds(tenon.row_stack((y, y)), [y.tolist()] * 2)

    def test_a_tensor_of_no_dims_fills_another(self):
        w = tenon.tensor(3.0, requires_grad=True)
        y = (w * tenon.ones(2, 2)).fill_(w)
        y.sum().backward()
        self.assertEqual((y.tolist(), w.grad.item()), ([[3, 3], [3, 3]], 4))
        self.assertHolds(tenon.zeros(2, dtype=tenon.int64).fill_(tenon.tensor(2.75)), [2, 2])
        self.refuses(tenon.Error, tenon.zeros(2).fill_, tenon.ones(1))

    def test_an_index_without_elements_has_any_shape_and_dtype(self):
        for shape in ((), (3,), (2, 3), (0, 3)):
            x = tenon.ones(shape, requires_grad=True)
            for index in (tenon.tensor([]), tenon.zeros(0, 2, dtype=tenon.int64), tenon.zeros(0, dtype=tenon.bool)):
                self.assertEqual(tenon.gather(x, 0, index).shape, index.shape)
                for made in (x.scatter(-1, index, tenon.ones(2)), x.scatter(0, index, 5), x.scatter_add(0, index, tenon.ones(())),
                             x.scatter_reduce(0, index, tenon.ones(3), "prod"), x.scatter(0, index, tenon.ones(1), reduce="add"), (x * 1).scatter_(0, index, 2)):
                    self.assertHolds(made, x.tolist())
                    x.grad = None
                    made.sum().backward()
                    self.assertHolds(x.grad, tenon.ones(shape).tolist())
                self.refuses(tenon.Error, x.scatter, 2, index, 1)
                self.refuses(tenon.Error, x.scatter_add, 0, index, tenon.ones(1, dtype=tenon.float64))

    def test_bools_are_added_and_multiplied_by_index(self):
        x, i, s = tenon.tensor([True, False, True, False]), tenon.tensor([0, 0, 1, 1, 3]), tenon.tensor([True, True, False, False, True])
        for found in (x.scatter_add(0, i, s), x.index_add(0, i, s), x.index_add(0, i, s, alpha=2), x.scatter_reduce(0, i, s, "sum"), x.scatter_reduce(0, i, s, "amax"),
                      x.scatter(0, i, s, reduce="add"), x.index_put((i,), s, accumulate=True), x.clone().scatter_add_(0, i, s)):
            self.assertHolds(found, [True, False, True, True])
        for found in (x.scatter_reduce(0, i, s, "prod"), x.scatter_reduce(0, i, s, "amin"), x.index_add(0, i, s, alpha=0), x.scatter(0, i, s, reduce="multiply")):
            self.assertHolds(found, [True, False, True, False])
        self.assertHolds(x.scatter_reduce(0, i, s, "prod", include_self=False), [True, False, True, True])
        self.refuses(tenon.Error, x.scatter_reduce, 0, i, s, "mean")

    def test_a_number_has_its_dims_moved(self):
        x = tenon.tensor(2.0)
        for source, destination in ((0, 0), (-1, 0), ([], []), ([0], [-1])):
            self.assertHolds(tenon.movedim(x, source, destination), 2)
        for source, destination in ((1, 0), (0, -2), ([0, -1], [0, 0]), ([0], [])):
            self.refuses(tenon.Error, tenon.movedim, x, source, destination)

    def test_einsum_takes_numbers_of_dims(self):
        a, b = tenon.arange(6.0).reshape(2, 3), tenon.arange(12.0).reshape(3, 4)
        self.assertHolds(tenon.einsum(a, [0, 1], b, [1, 2], [0, 2]), (a @ b).tolist())
        self.assertHolds(tenon.einsum(a, [0, 51], b, (51, 3)), (a @ b).tolist())
        self.assertHolds(tenon.einsum(a, [1, 0]), a.t().tolist())
        self.assertHolds(tenon.einsum(a, (7, 3), ()), 15)
        self.assertHolds(tenon.einsum(a, [..., 0], a, [..., 0], [...]), [5, 50])
        self.assertHolds(tenon.einsum(tenon.tensor(2.0), [], a, [0, 1], [1, 0]), (2 * a).t().tolist())
        for refused in ((a,), (a, [0, 52]), (a, [0, -1]), (a, [0, 1], b), (a, [0, 1], [0], [1]), (a, [0, 1], "ij"), (a, [0.5, 1])):
            self.refuses((TypeError, ValueError), tenon.einsum, *refused)
    def test_the_number_that_comes_next_is_numpys(self):
        for dtype, of_numpy, bits in ((tenon.float32, np.float32, np.uint32), (tenon.float64, np.float64, np.uint64), (tenon.float16, np.float16, np.uint16)):
            drawn = np.random.default_rng(1).integers(0, np.iinfo(bits).max, (2, 4000), dtype=bits).view(of_numpy)
            edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -2, np.finfo(of_numpy).max, np.finfo(of_numpy).tiny,
                              np.finfo(of_numpy).smallest_subnormal, -np.finfo(of_numpy).smallest_subnormal], of_numpy)
            x, y = np.concatenate([drawn, np.stack([edges.repeat(len(edges)), np.tile(edges, len(edges))])], 1)
            with np.errstate(all="ignore"):
                wanted = np.nextafter(x, y)
            found = tenon.nextafter(tenon.from_numpy(x.copy()), tenon.from_numpy(y.copy()))
            self.assertEqual(found.dtype, dtype)
            if of_numpy is np.float16:  # numpy's gives x where both are 0, as C does not
                wanted = np.where(x == y, y, wanted)
            same = (found.numpy().view(bits) == wanted.view(bits)) | (np.isnan(wanted) & np.isnan(found.numpy()))
            self.assertTrue(same.all(), (x[~same][:5], y[~same][:5]))
        of_bf16 = tenon.nextafter(tenon.tensor([1.0, 0.0, -0.0078125, float("inf")], dtype=tenon.bfloat16), tenon.tensor(-2.0, dtype=tenon.bfloat16))
        self.assertEqual(of_bf16.float().tolist(), [1 - 2**-8, -2.0**-133, -0.0078125 - 2.0**-14, (2 - 2**-7) * 2.0**127])
        x = tenon.tensor([1.0])
        self.assertHolds(x.nextafter_(tenon.tensor([2.0])), [1 + 2**-23])
        self.refuses(tenon.Error, tenon.nextafter, tenon.tensor([1]), tenon.tensor([2]))

    def test_the_gradient_of_the_number_that_comes_next_is_that_of_the_number(self):
        x = tenon.tensor([1.0, 2.0, 0.0, tenon.inf], requires_grad=True)
        other = tenon.tensor([3.0, 2.0, -1.0, 0.0], requires_grad=True)
        tenon.nextafter(x, other).backward(tenon.tensor([5.0, 6.0, 7.0, 8.0]))
        self.assertEqual((x.grad.tolist(), other.grad.tolist()), ([5, 0, 7, 8], [0, 0, 0, 0]))
        column = tenon.ones(2, 1, requires_grad=True)
        column.nextafter(tenon.zeros(3)).sum().backward()
        self.assertEqual(column.grad.tolist(), [[3], [3]])
        self.assertTrue(tenon.nextafter(tenon.ones(2), other[:2]).requires_grad)

    def test_a_tensor_of_no_dims_is_a_number_of_parts(self):
        x = tenon.arange(5)
        self.assertEqual([part.tolist() for part in tenon.tensor_split(x, tenon.tensor(2))], [[0, 1, 2], [3, 4]])
        self.assertEqual([part.tolist() for part in x.tensor_split(tenon.tensor([2]))], [[0, 1], [2, 3, 4]])
        self.refuses((TypeError, ValueError, tenon.Error), tenon.tensor_split, x, tenon.tensor(2.0))

    def test_small_functions(self):
        x = tenon.tensor([1.0, tenon.inf, -tenon.inf, tenon.nan])
        self.assertHolds(tenon.isposinf(x), [False, True, False, False])
        self.assertHolds(x.isneginf(), [False, False, True, False])
        self.assertHolds(tenon.tensor([1, 2]).isposinf(), [False, False])
        self.assertIs(tenon.positive(x), x)
        self.assertIs(x.positive(), x)
        self.refuses(tenon.Error, tenon.positive, tenon.tensor([True]))
        self.assertHolds(tenon.vander(tenon.tensor([2, 3])), [[2, 1], [3, 1]])
        self.assertHolds(tenon.vander(tenon.tensor([2.0, 3.0]), 3, increasing=True), [[1, 2, 4], [1, 3, 9]])
        self.assertEqual(tenon.vander(tenon.tensor([True]), N=0).shape, (1, 0))
        for x, n in ((tenon.ones(2, 2), None), (tenon.ones(2), -1)):
            self.refuses(tenon.Error, tenon.vander, x, n)
        self.assertHolds(tenon.matrix_exp(tenon.zeros(2, 2)), [[1, 0], [0, 1]])

    def test_shapes_are_changed_in_place(self):
        x = tenon.arange(6).reshape(2, 3)
        for change, shape in ((lambda: x.transpose_(0, 1), (3, 2)), (lambda: x.swapaxes_(0, 1), (2, 3)), (lambda: x.swapdims_(-1, 0), (3, 2)),
                              (lambda: x.t_(), (2, 3)), (lambda: x.unsqueeze_(0), (1, 2, 3)), (lambda: x.squeeze_(), (2, 3))):
            self.assertIs(change(), x)
            self.assertEqual(x.shape, shape)
        self.refuses(tenon.Error, tenon.ones(2, 2, requires_grad=True).transpose_, 0, 1)

    def test_special_functions(self):
        x = tenon.tensor([0.25, 1.0, 3.0])
        special = tenon.special
        self.assertClose(special.i0(x), [1.01568615, 1.26606588, 4.88079259])
        self.assertClose(special.i1(x) * (-x).exp(), special.i1e(x).tolist())
        self.assertClose(special.ndtri(special.ndtr(x)), x.tolist(), 4)
        self.assertClose(special.log_ndtr(x), special.ndtr(x).log().tolist())
        self.assertClose(special.erfcx(x), ((x * x).exp() * special.erfc(x)).tolist())
        self.assertClose(special.polygamma(1, x), tenon.polygamma(n=1, input=x).tolist())
        self.assertClose(special.multigammaln(x + 1, 2), x.add(1).mvlgamma(p=2).tolist())
        self.assertClose(special.xlog1py(x, x), (x * x.log1p()).tolist())
        self.assertClose(special.entr(x), (-x * x.log()).tolist())
        self.assertClose(special.gammaln(x), tenon.lgamma(x).tolist())

    def test_gradient(self):
        x = tenon.tensor([[1.0, 2, 4], [3, 5, 8]])
        self.assertHolds(tenon.gradient(x, dim=1)[0], [[1, 1.5, 2], [2, 2.5, 3]])
        self.assertHolds(tenon.gradient(x, spacing=2, dim=(1,))[0], [[0.5, 0.75, 1], [1, 1.25, 1.5]])
        rows, columns = tenon.gradient(x, spacing=[tenon.tensor([0.0, 2]), tenon.tensor([1.0, 2, 4])])
        self.assertHolds(rows, [[1, 1.5, 2]] * 2)
        self.assertClose(columns, [[1, 1, 1], [2, 1.8333333, 1.5]])
        self.assertEqual([one.shape for one in tenon.gradient(x, spacing=[1, 2.5])], [(2, 3)] * 2)
        self.refuses(tenon.Error, tenon.gradient, x, edge_order=2)
        self.refuses(tenon.Error, tenon.gradient, x, spacing=[1, 2, 3])

    def test_as_strided_shares_memory(self):
        x = tenon.arange(9)
        x.as_strided((2, 2), (3, 1), 1)[0, 0] = 7
        self.assertHolds(x, [0, 7, 2, 3, 4, 5, 6, 7, 8])
        self.assertHolds(x.as_strided((3, 3), (1, 1)), [[0, 7, 2], [7, 2, 3], [2, 3, 4]])
        self.assertEqual(x.as_strided((), ()).item(), 0)
        self.refuses(tenon.Error, x.as_strided, (2, 3), (1, 9))
        self.refuses(tenon.Error, x.as_strided, (2,), (-1,))


class Layers(Checked):
    def test_embedding_bag(self):
        layer = nn.EmbeddingBag(4, 3, mode="sum", padding_idx=-1)
        self.assertEqual((layer.padding_idx, layer.weight[3].tolist()), (3, [0, 0, 0]))
        rows = layer(tenon.tensor([[0, 1], [2, 3]]))
        self.assertClose(rows, [(layer.weight[0] + layer.weight[1]).tolist(), layer.weight[2].tolist()])
        rows.sum().backward()
        self.assertHolds(layer.weight.grad, [[1] * 3] * 3 + [[0] * 3])
        taken = nn.EmbeddingBag.from_pretrained(tenon.ones(4, 2), mode="max")
        self.assertFalse(taken.weight.requires_grad)
        self.assertHolds(taken(tenon.tensor([0, 1, 2]), tenon.tensor([0, 3])), [[1, 1], [0, 0]])
        self.refuses(ValueError, nn.EmbeddingBag, 4, 3, max_norm=1.0)
        self.refuses(ValueError, F.embedding_bag, tenon.tensor([[0]]), tenon.ones(2, 2), mode="median")

    def test_adaptive_softmax(self):
        layer = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)
        self.assertEqual(list(layer.state_dict()),
                         ["head.weight", "head.bias", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight", "tail.1.1.weight"])
        with tenon.no_grad():
            for k, parameter in enumerate(layer.parameters()):
                numbers = (tenon.arange(parameter.numel()) * 7 + 3 * k) % 11 - 5
                parameter.copy_(numbers.float().reshape(parameter.shape) * 0.125)
        x = ((tenon.arange(32) * 5 % 13 - 6).float() * 0.25).reshape(4, 8)
        made = layer(x, tenon.tensor([0, 9, 4, 3]))  # PyTorch's numbers
        self.assertClose(made.output, [-4.04662418, -2.73921466, -2.97560787, -4.97971106])
        self.assertAlmostEqual(made.loss.item(), 3.68528938, 5)
        made.loss.backward()
        squares = [parameter.grad.square().sum().item() for parameter in layer.parameters()]
        self.assertClose(tenon.tensor(squares), [1.94594455, 0.313511252, 0.666862905, 1.36808157, 0.262905449, 0.257985651])
        self.assertClose(layer.log_prob(x)[1], [-2.93896389, -1.15771389, -1.43896389, -2.85373735, -3.1779561, -3.58811235, -4.2157774,
                                                -3.07905841, -1.94233966, -2.73921466])
        self.assertHolds(layer.predict(x), [2, 1, 1, 1])
        output, loss = layer(x[1], tenon.tensor(9))
        self.assertEqual((output.shape, loss.shape), ((), ()))
        self.assertAlmostEqual(output.item(), -2.73921466, 5)

    def test_adaptive_softmax_refuses_what_does_not_fit(self):
        layer = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)
        self.refuses(tenon.Error, lambda: layer(tenon.ones(2, 8), tenon.tensor([0, 10])).output.tolist())
        self.refuses(tenon.Error, lambda: layer(tenon.ones(2, 8), tenon.tensor([0, -1])).output.tolist())
        self.refuses(tenon.Error, layer, tenon.ones(2, 8), tenon.tensor([0, 1, 2]))
        for cutoffs in ([], [6, 3], [3, 10], [0, 3], [3, 3], [2.5]):
            self.refuses(ValueError, nn.AdaptiveLogSoftmaxWithLoss, 8, 10, cutoffs)
        self.refuses(ValueError, nn.AdaptiveLogSoftmaxWithLoss, 8, 10, [3, 6])  # no feature is left for the last cluster

    def test_bilinear(self):
        layer = nn.Bilinear(3, 4, 5)
        self.assertEqual(list(layer.state_dict()), ["weight", "bias"])
        x, y = tenon.randn(2, 6, 3), tenon.randn(2, 6, 4)
        self.assertClose(layer(x, y), (tenon.einsum("bti,oij,btj->bto", x, layer.weight, y) + layer.bias).tolist(), 4)
        self.assertLess(layer.weight.abs().max().item(), 3**-0.5)
        self.assertIsNone(nn.Bilinear(3, 4, 5, bias=False).bias)

    def test_ctc_loss(self):
        x = tenon.randn(6, 2, 4).log_softmax(2)
        loss = nn.CTCLoss(blank=1, reduction="none")
        rows = loss(x, tenon.tensor([[0, 2], [3, 3]]), (6, 5), (2, 1))
        joined = loss(x, tenon.tensor([0, 2, 3]), tenon.tensor([6, 5]), tenon.tensor([2, 1]))
        self.assertClose(rows, joined.tolist())
        self.assertClose(F.ctc_loss(x, tenon.tensor([[0, 2], [3, 3]]), (6, 5), (2, 1), blank=1), (rows / tenon.tensor([2, 1])).mean().tolist())

    def test_channel_shuffle(self):
        x = tenon.arange(4).reshape(1, 4, 1)
        self.assertHolds(nn.ChannelShuffle(2)(x).flatten(), [0, 2, 1, 3])
        self.refuses(tenon.Error, F.channel_shuffle, x, 3)


class Places(Checked):
    def test_indices_of_triangles(self):
        self.assertHolds(tenon.tril_indices(3, 2), [[0, 1, 1, 2, 2], [0, 0, 1, 0, 1]])
        self.assertHolds(tenon.triu_indices(2, 3, 1), [[0, 0, 1], [1, 2, 2]])
        self.assertEqual(tenon.triu_indices(0, 3).shape, (2, 0))
        self.assertEqual(tenon.tril_indices(2, 2, dtype=tenon.int32).dtype, tenon.int32)
        self.refuses(ValueError, tenon.tril_indices, -1, 2)

    def test_tensors_and_shapes_are_broadcast(self):
        a, b = tenon.broadcast_tensors(tenon.ones(3, 1), tenon.zeros(2))
        self.assertEqual((a.shape, b.shape), ((3, 2), (3, 2)))
        self.assertEqual(tenon.broadcast_shapes((3, 1), (2,), 1), (3, 2))
        self.refuses(tenon.Error, tenon.broadcast_tensors, tenon.ones(3), tenon.ones(2))

    def test_diagonals(self):
        self.assertHolds(tenon.diag_embed(tenon.tensor([1, 2])), [[1, 0], [0, 2]])
        self.assertHolds(tenon.diag_embed(tenon.tensor([1]), -1), [[0, 0], [1, 0]])
        self.assertHolds(tenon.tensor([1, math.inf]).diag_embed(), [[1, 0], [0, math.inf]])
        self.assertHolds(tenon.block_diag(tenon.tensor([[1, 2]]), tenon.tensor(3.5)), [[1, 2, 0], [0, 0, 3.5]])
        self.assertHolds(tenon.zeros(2, 3).fill_diagonal_(4), [[4, 0, 0], [0, 4, 0]])
        self.assertHolds(tenon.zeros(4, 2).fill_diagonal_(1, wrap=True), [[1, 0], [0, 1], [0, 0], [1, 0]])
        self.refuses(ValueError, tenon.zeros(2).fill_diagonal_, 1)

    def test_turns(self):
        x = tenon.tensor([[1, 2], [3, 4]])
        self.assertHolds(tenon.rot90(x), [[2, 4], [1, 3]])
        self.assertHolds(x.rot90(2), [[4, 3], [2, 1]])
        self.assertHolds(x.rot90(-1), [[3, 1], [4, 2]])
        self.refuses(ValueError, x.rot90, 1, (0, 0))

    def test_dims_that_are_there_at_least(self):
        self.assertEqual(tenon.atleast_1d(tenon.tensor(1)).shape, (1,))
        self.assertEqual(tenon.atleast_2d(tenon.ones(3)).shape, (1, 3))
        self.assertEqual([one.shape for one in tenon.atleast_3d(tenon.ones(3), tenon.ones(2, 4))], [(1, 3, 1), (2, 4, 1)])

    def test_parts(self):
        x = tenon.arange(7)
        self.assertEqual([part.tolist() for part in tenon.tensor_split(x, 3)], [[0, 1, 2], [3, 4], [5, 6]])
        self.assertEqual([part.tolist() for part in x.tensor_split([1, -2, 9])], [[0], [1, 2, 3, 4], [5, 6], []])
        self.refuses(ValueError, x.tensor_split, 0)

    def test_runs_of_equal_elements(self):
        values, inverse, counts = tenon.unique_consecutive(tenon.tensor([1, 1, 2, 1]), True, True)
        self.assertEqual((values.tolist(), inverse.tolist(), counts.tolist()), ([1, 2, 1], [0, 0, 1, 2], [2, 1, 1]))
        self.assertHolds(tenon.tensor([[1, 2], [1, 2], [1, 3]]).unique_consecutive(dim=0), [[1, 2], [1, 3]])
        self.assertEqual(tenon.unique_consecutive(tenon.zeros(0)).shape, (0,))

    def test_positions(self):
        self.assertHolds(tenon.argwhere(tenon.tensor([[0, 1], [2, 0]])), [[0, 1], [1, 0]])
        x = tenon.zeros(3)
        self.assertHolds(tenon.index_put(x, (tenon.tensor([0, 2]),), tenon.tensor([5., 6.])), [5, 0, 6])
        self.assertHolds(x.index_put((tenon.tensor([1, 1]),), tenon.tensor([5., 6.]), accumulate=True), [0, 11, 0])
        self.assertHolds(x, [0, 0, 0])

    def test_arrays_of_anything(self):
        self.assertHolds(tenon.asarray([1, 2]), [1, 2])
        x = tenon.ones(2)
        self.assertEqual(tenon.asarray(x).data_ptr(), x.data_ptr())
        self.assertNotEqual(tenon.asarray(x, copy=True).data_ptr(), x.data_ptr())
        self.refuses(ValueError, tenon.asarray, [1], copy=False)


class Values(Checked):
    def test_the_extreme_so_far(self):
        values, indices = tenon.cummax(tenon.tensor([1, 3, 2, 3]), 0)
        self.assertEqual((values.tolist(), indices.tolist()), ([1, 3, 3, 3], [0, 1, 1, 3]))
        found = tenon.tensor([2., math.nan, 1.]).cummin(0)
        self.assertEqual((found.values[0].item(), found.indices.tolist()), (2, [0, 1, 1]))
        self.assertEqual(self.gradient(lambda x: x.cummax(0).values, [1., 3., 2.]), [[1, 2, 0]])
        self.refuses(IndexError, tenon.cummax, tenon.ones(2), 1)

    def test_logarithms_of_sums(self):
        self.assertClose(tenon.logcumsumexp(tenon.tensor([0., 0., 100.]), 0), [0, math.log(2), 100])
        self.assertClose(tenon.tensor([-200., 0.]).logcumsumexp(0), [-200., 0.])

    def test_the_inverse_of_erf_has_the_digits_of_float32(self):
        y = tenon.linspace(-3, 3, 101, dtype=tenon.float64)
        x = y.erf()
        self.assertLess((tenon.erfinv(x) - y).abs().max().item(), 1e-10)
        single = x.float()
        distance = (tenon.erfinv(single).double() - tenon.erfinv(single.double())).abs()
        self.assertLess(distance.max().item(), 1e-6)
        self.assertEqual(tenon.erfinv(tenon.tensor([-1., 1., 0.])).tolist(), [-math.inf, math.inf, 0])
        self.assertTrue(math.isnan(tenon.erfinv(tenon.tensor(1.5)).item()))
        self.assertTrue(tenon.autograd.gradcheck(tenon.erfinv, tenon.tensor([.3, -.8], dtype=tenon.float64, requires_grad=True)))

    def test_logarithms(self):
        found = tenon.xlogy(tenon.tensor([0., 0., 2., 0.]), tenon.tensor([0., math.inf, math.e, math.nan]))
        self.assertClose(found, [0, 0, 2, math.nan])
        self.assertHolds(tenon.xlogy(tenon.tensor([0, 3]), 1), [0, 0])
        self.assertClose(tenon.logit(tenon.tensor([0.5, 1 / (1 + math.exp(-2))])), [0, 2])
        self.assertClose(tenon.tensor([2.0]).logit(0.25), [math.log(3)])

    def test_numbers_in_the_place_of_nan(self):
        a, b = tenon.tensor([1., math.nan, 2.]), tenon.tensor([math.nan, 5., 3.])
        self.assertHolds(a.fmax(b), [1, 5, 3])
        self.assertHolds(tenon.fmin(a, b), [1, 5, 2])

    def test_smallest_and_largest(self):
        found = tenon.aminmax(tenon.tensor([[1, 5], [7, 2]]), dim=1)
        self.assertEqual((found.min.tolist(), found.max.tolist()), ([1, 2], [5, 7]))

    def test_buckets(self):
        edges = tenon.tensor([1, 3, 5])
        self.assertHolds(tenon.bucketize(tenon.tensor([0, 1, 4, 9]), edges), [0, 0, 2, 3])
        self.assertHolds(tenon.bucketize(tenon.tensor([1]), edges, right=True), [1])
        self.assertEqual(tenon.bucketize(3, edges, out_int32=True).dtype, tenon.int32)
        self.refuses(tenon.Error, tenon.bucketize, tenon.ones(1), tenon.ones(1, 1))

    def test_products(self):
        self.assertHolds(tenon.inner(tenon.tensor([[1, 2], [3, 4]]), tenon.tensor([1, 10])), [21, 43])
        x = tenon.full((1, 1, 1), math.nan)
        self.assertHolds(tenon.baddbmm(x, tenon.ones(1, 1, 2), tenon.ones(1, 2, 1), beta=0, alpha=3), [[[6]]])
        self.assertHolds(tenon.ones(1, 1, 1).baddbmm(tenon.ones(1, 1, 2), tenon.ones(1, 2, 1), beta=2), [[[4]]])
        self.refuses(tenon.Error, tenon.inner, tenon.ones(2), tenon.ones(3))

    def test_areas(self):
        self.assertEqual(tenon.trapezoid(tenon.tensor([1., 3., 5.])).item(), 6)
        self.assertEqual(tenon.trapz(tenon.tensor([1., 3.]), dx=0.5).item(), 1)
        self.assertHolds(tenon.trapezoid(tenon.tensor([[1., 3.], [2., 2.]]), tenon.tensor([0., 4.])), [8, 8])

    def test_covariances(self):
        x = tenon.tensor([[0., 1., 2.], [2., 1., 0.]])
        self.assertHolds(tenon.cov(x), [[1, -1], [-1, 1]])
        self.assertClose(x.corrcoef(), [[1., -1.], [-1., 1.]])
        once, twice = tenon.tensor([1, 1, 2]), tenon.tensor([[0., 1., 2., 2.], [2., 1., 0., 0.]])
        self.assertClose(tenon.cov(x, fweights=once), tenon.cov(twice).tolist())
        self.refuses(tenon.Error, tenon.cov, x, fweights=tenon.ones(3))

    def test_comparisons_in_words(self):
        a, b = tenon.tensor([1, 2, 3]), tenon.tensor([2, 2, 2])
        self.assertHolds(tenon.greater(a, b), [False, False, True])
        self.assertHolds(a.less(2), [True, False, False])
        self.assertHolds(tenon.greater_equal(a, b), [False, True, True])
        self.assertHolds(a.less_equal(b), [True, True, False])
        self.assertHolds(a.not_equal(b), [True, False, True])

    def test_drawn_integers(self):
        tenon.manual_seed(0)
        self.assertEqual(set(tenon.zeros(100).random_(3).tolist()), {0, 1, 2})
        self.assertEqual(set(tenon.zeros(100, dtype=tenon.int64).random_(-2, 0).tolist()), {-2, -1})
        wide = tenon.zeros(100, dtype=tenon.int64).random_()
        self.assertGreater(wide.max().item(), 2**62)
        self.assertGreaterEqual(wide.min().item(), 0)
        self.refuses(tenon.Error, tenon.zeros(2).random_, 3, 3)

    def test_small_names(self):
        self.assertEqual((tenon.e, tenon.newaxis), (math.e, None))
        self.assertTrue(tenon.ones(1, device="cpu").is_cpu)
        self.assertEqual(tenon.ones(1).byte().dtype, tenon.uint8)

    def test_seeding_gives_the_generator(self):
        generator = tenon.manual_seed(3)
        first = tenon.rand(2, generator=generator).tolist()
        self.assertIs(tenon.random.manual_seed(3), generator)
        self.assertEqual(tenon.rand(2).tolist(), first)
        with tenon.random.fork_rng():
            inside = tenon.rand(2).tolist()
        self.assertEqual(tenon.rand(2).tolist(), inside)


class Images(Checked):
    def test_fold_sums_what_unfold_has_read(self):
        x = tenon.arange(2 * 3 * 5 * 4).reshape(2, 3, 5, 4).float()
        how = {"kernel_size": (3, 2), "padding": 1, "stride": 2}
        times = F.fold(F.unfold(tenon.ones_like(x), **how), (5, 4), **how)
        self.assertHolds(nn.Fold((5, 4), **how)(F.unfold(x, **how)), (x * times).tolist())
        self.assertEqual(self.gradient(lambda x: F.fold(x, (1, 3), (1, 2)) * tenon.tensor([1., 2., 4.]), [[1., 1.], [1., 1.]]),
                         [[[1, 2], [2, 4]]])
        self.refuses(tenon.Error, F.fold, tenon.ones(4, 3), (3, 3), 2)

    def test_grids_read_between_pixels(self):
        image = tenon.tensor([[[[0., 1.], [2., 3.]]]])
        grid = tenon.tensor([[[[0., 0.], [1., 1.], [2., 0.]]]])
        self.assertHolds(F.grid_sample(image, grid, align_corners=True), [[[[1.5, 3, 1]]]])
        self.assertHolds(F.grid_sample(image, grid), [[[[1.5, 0.75, 0]]]])
        self.assertHolds(F.grid_sample(image, grid, padding_mode="border"), [[[[1.5, 3, 2]]]])
        self.assertHolds(F.grid_sample(image, grid, "nearest", "border"), [[[[0, 3, 1]]]])
        self.refuses(ValueError, F.grid_sample, image, grid, "bicubic")
        self.refuses(tenon.Error, F.grid_sample, image, grid[0])

    def test_places_of_pixels_go_to_images_and_grids(self):
        image = tenon.tensor([[[[0., 1.], [2., 3.]]]], requires_grad=True)
        grid = tenon.zeros(1, 1, 1, 2).requires_grad_()
        F.grid_sample(image, grid, align_corners=True).sum().backward()
        self.assertHolds(image.grad, [[[[.25, .25], [.25, .25]]]])
        self.assertHolds(grid.grad, [[[[0.5, 1]]]])

    def test_the_grid_of_no_motion_reads_the_image_itself(self):
        image = tenon.rand(2, 3, 4, 5)
        stay = tenon.eye(2, 3).expand(2, 2, 3)
        for align_corners in (False, True):
            grid = F.affine_grid(stay, image.shape, align_corners)
            self.assertClose(F.grid_sample(image, grid, align_corners=align_corners), image.tolist(), 4)
        self.refuses(tenon.Error, F.affine_grid, stay, (1, 1, 2, 2))

    def test_neighbouring_channels_divide(self):
        x = tenon.tensor([1., 2., 3.]).reshape(1, 3, 1)
        self.assertClose(nn.LocalResponseNorm(2, alpha=2.0, beta=1.0, k=0.0)(x).reshape(3), [1, 2 / 5, 3 / 13])

    def test_upsampling(self):
        x = tenon.tensor([[[[0., 2.]]]])
        self.assertHolds(nn.UpsamplingNearest2d(scale_factor=2)(x), [[[[0, 0, 2, 2]] * 2]])
        self.assertHolds(nn.UpsamplingBilinear2d(size=(1, 3))(x), [[[[0, 1, 2]]]])
        self.refuses(ValueError, nn.UpsamplingNearest2d)


class Losses(Checked):
    def test_counts(self):
        x, y = tenon.tensor([0., 1.]), tenon.tensor([1., 2.])
        self.assertClose(nn.PoissonNLLLoss(reduction="none")(x, y), [1, math.e - 2])
        stirling = 2 * math.log(2) - 2 + 0.5 * math.log(4 * math.pi)
        self.assertClose(F.poisson_nll_loss(x, y, full=True, reduction="none"), [1, math.e - 2 + stirling])
        self.refuses(ValueError, nn.PoissonNLLLoss, reduction="most")

    def test_variances(self):
        x, y = tenon.tensor([0., 0.]), tenon.tensor([2., 0.])
        self.assertClose(nn.GaussianNLLLoss(reduction="none")(x, y, tenon.tensor([4., 1.])), [0.5 * (math.log(4) + 1), 0])
        self.assertTrue(F.gaussian_nll_loss(x, y, tenon.tensor([-1., 1.])).isnan().item())
        self.refuses(tenon.Error, F.gaussian_nll_loss, x, y, -1.0)
        self.refuses(tenon.Error, F.gaussian_nll_loss, x, y, tenon.ones(3))

    def test_several_labels(self):
        x = tenon.tensor([[0.1, 0.2, 0.4, 0.8]])
        self.assertClose(nn.MultiLabelMarginLoss()(x, tenon.tensor([[3, 0, -1, 1]])), 0.85)
        self.assertClose(nn.MultiLabelSoftMarginLoss()(tenon.zeros(2, 3), tenon.ones(2, 3)), math.log(2))
        weighted = nn.MultiLabelSoftMarginLoss(weight=tenon.tensor([3., 0., 0.]))
        self.assertClose(weighted(tenon.zeros(2, 3), tenon.ones(2, 3)), math.log(2))

    def test_distances_of_ones_own(self):
        loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.5)
        self.assertClose(loss(tenon.tensor([[0.]]), tenon.tensor([[1.]]), tenon.tensor([[1.25]])), 0.25)
        self.refuses(ValueError, nn.TripletMarginWithDistanceLoss, margin=0)

    def test_the_logarithm_of_a_negative_target_is_nan(self):
        x, y = tenon.zeros(2), tenon.tensor([-1., 1.])
        self.assertClose(F.kl_div(x, y, reduction="none"), [math.nan, 0])
        for reduction in ("mean", "sum", "batchmean"):
            self.assertTrue(nn.KLDivLoss(reduction=reduction)(x, y).isnan().item())
        self.assertHolds(nn.KLDivLoss(reduction="sum", log_target=True)(x, x), 0)
        self.refuses(ValueError, nn.KLDivLoss, reduction="most")


class Layers(Checked):
    def test_dropped_channels(self):
        tenon.manual_seed(0)
        rows = nn.Dropout1d(0.5)(tenon.ones(20, 5, 3)).reshape(-1, 3).tolist()
        self.assertEqual({tuple(row) for row in rows}, {(0, 0, 0), (2, 2, 2)})
        x = tenon.randn(20000)
        dropped = nn.AlphaDropout(0.3)(x)
        self.assertLess(abs(dropped.mean().item()), 0.05)
        self.assertLess(abs(dropped.std().item() - 1), 0.05)
        self.assertHolds(nn.AlphaDropout(0.3).eval()(x[:3]), x[:3].tolist())

    def test_a_padding_row_gets_no_gradient(self):
        found = self.gradient(lambda w: F.embedding(tenon.tensor([0, 1, 2]), w, padding_idx=-2), [[1.], [2.], [3.]])
        self.assertEqual(found, [[[1], [0], [1]]])
        self.refuses(tenon.Error, F.embedding, tenon.tensor([0]), tenon.ones(2, 1), padding_idx=2)
        self.refuses(ValueError, F.embedding, tenon.tensor([0]), tenon.ones(2, 1), max_norm=1.0)

    def test_the_eps_of_rms_norm_is_that_of_the_dtype(self):
        small = tenon.full((1, 4), 1e-4)
        expected = 1e-4 / math.sqrt(1e-8 + 2**-23)
        norm = nn.RMSNorm(4)
        for made in (norm, copy.deepcopy(norm), pickle.loads(pickle.dumps(norm))):
            self.assertIsNone(made.eps)
            self.assertClose(made(small), [[expected] * 4])
        self.assertClose(F.rms_norm(small, (4,)), [[expected] * 4])
        self.assertClose(norm.double()(small.double()), [[1.] * 4])
        self.assertClose(nn.RMSNorm(4, eps=3.0)(tenon.ones(1, 4)), [[0.5] * 4])

    def test_gradients_that_are_not_there_have_no_norm(self):
        self.assertEqual(nn.utils.clip_grad_norm_([nn.Parameter(tenon.ones(2))], 1.0).item(), 0)
        self.assertEqual(nn.utils.clip_grad_norm_([], 1.0).item(), 0)

    def test_sequences_are_joined(self):
        joined = nn.Sequential(nn.Linear(2, 3)) + nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.assertEqual([type(one).__name__ for one in joined], ["Linear", "ReLU", "Linear"])
        self.assertEqual(joined(tenon.ones(4, 2)).shape, (4, 1))
        self.refuses(ValueError, lambda: joined + [nn.ReLU()])

    def test_buffers_are_assigned(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.count = nn.Buffer(tenon.zeros(2))
                self.scratch = nn.Buffer(tenon.ones(1), persistent=False)

        counter = Counter()
        self.assertEqual([name for name, _ in counter.named_buffers()], ["count", "scratch"])
        self.assertEqual(list(counter.state_dict()), ["count"])
        self.assertEqual(counter.to(tenon.float64).count.dtype, tenon.float64)
        self.assertEqual(counter.parameters(), [])
        self.assertEqual(list(copy.deepcopy(counter).state_dict()), ["count"])

    def test_places_of_classes(self):
        self.assertIs(importlib.import_module("tenon.nn.modules.module").Module, nn.Module)
        self.assertIs(importlib.import_module("tenon.nn.modules.conv").Conv2d, nn.Conv2d)
        self.assertIs(nn.modules.Linear, nn.Linear)
        self.assertIs(nn.parameter.Parameter, nn.Parameter)

    def test_lists_of_parameters_show_their_shapes(self):
        shown = repr(nn.ParameterList([tenon.ones(2), tenon.ones(3, 1)]))
        self.assertEqual(shown, "ParameterList(\n    (0): Parameter containing: [tenon.float32 of size 2]\n"
                                "    (1): Parameter containing: [tenon.float32 of size 3x1]\n)")
        self.assertIn("(scale): Parameter containing: [tenon.float32 of size 4]", repr(nn.ParameterDict({"scale": tenon.ones(4)})))


class Preambles(Checked):
    def test_switches_are_taken(self):
        cudnn = importlib.import_module("tenon.backends.cudnn")
        cudnn.benchmark = cudnn.deterministic = cudnn.allow_tf32 = True
        self.assertIs(tenon.backends.cudnn.benchmark, True)
        tenon.backends.cuda.matmul.allow_tf32 = True
        self.assertFalse(tenon.backends.mps.is_available())
        tenon.use_deterministic_algorithms(True)
        self.assertTrue(tenon.are_deterministic_algorithms_enabled())
        tenon.set_float32_matmul_precision("high")
        self.assertEqual(tenon.get_float32_matmul_precision(), "high")
        self.refuses(ValueError, tenon.set_float32_matmul_precision, "low")

    def test_what_cuda_says(self):
        tenon.cuda.empty_cache()
        self.assertEqual(tenon.cuda.device_count() > 0, tenon.cuda.is_available())
        if tenon.cuda.is_available():
            self.assertEqual((tenon.cuda.current_device(), tenon.cuda.get_device_name()), (0, "cuda"))
        else:
            self.refuses(tenon.Error, tenon.cuda.current_device)
            self.refuses(tenon.Error, tenon.cuda.get_device_name, 0)

    def test_anomalies_are_found_where_the_environment_asks_for_it(self):
        program = ("import tenon\n"
                   "with tenon.autograd.detect_anomaly():\n"
                   "    tenon.tensor([-1.]).log().tolist()\n")
        for asked, expected in (("1", "[log] made the first NaN"), ("0", "TENON_CHECK_NAN=1")):
            run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TENON_CHECK_NAN": asked}, text=True,
                                 capture_output=True)
            self.assertIn(expected, run.stderr.splitlines()[-1])
        with tenon.autograd.set_detect_anomaly(False):
            pass


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.device, self.generator, self.act = tenon.device("cpu"), tenon.Generator(3), F.linear


class Pickles(Checked):
    def test_devices_and_generators_are_copied(self):
        device, generator = tenon.device("cpu"), tenon.Generator(4)
        tenon.rand(3, generator=generator)
        copies = [copy.deepcopy((device, generator)), pickle.loads(pickle.dumps((device, generator)))]
        expected = tenon.rand(2, generator=generator).tolist()
        for where, drawn in copies:
            self.assertEqual(where, device)
            self.assertEqual(tenon.rand(2, generator=drawn).tolist(), expected)

    def test_modules_that_hold_them_are_copied(self):
        for held in (copy.deepcopy(Holder()), pickle.loads(pickle.dumps(Holder()))):
            self.assertEqual((held.device, held.generator.seed()), (tenon.device("cpu"), 3))
            self.assertIs(held.act, F.linear)

    def test_functions_are_pickled_by_their_names(self):
        for module in (tenon, F, nn.init, nn.utils):
            for name, function in vars(module).items():
                if callable(function) and not name.startswith("_"):
                    self.assertIs(pickle.loads(pickle.dumps(function)), function, name)
        for function in (len, math.sin):
            self.assertIs(pickle.loads(pickle.dumps(function)), function)


class TestImport(unittest.TestCase):
    def test_modules_that_take_long_to_import_wait_until_they_are_needed(self):
        program = "import sys, tenon; print([one for one in ('inspect', 'numpy', 'asyncio', 'typing') if one in sys.modules])"
        run = subprocess.run([sys.executable, "-S", "-c", program], text=True, capture_output=True, check=True,
                             env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tenon.__file__))})
        self.assertEqual(run.stdout, "[]\n")

    def test_signatures_are_there_all_the_same(self):
        class Own(tenon.optim.SGD):
            def __init__(self, weights):
                super().__init__(weights, 0.1)

        shown = {kind: str(inspect.signature(kind)).split(" weight_decay")[0] for kind in (tenon.optim.SGD, Own, nn.LazyLinear)}
        self.assertEqual(list(shown.values()), ["(params, lr: float = 0.001, momentum: float = 0.0, dampening: float = 0.0,",
                                                "(weights)", "(out_features: int, bias: bool = True, device=None, dtype=None)"])


if __name__ == "__main__":
    unittest.main()
