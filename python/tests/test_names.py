"""Names of PyTorch that are made of others in Python: their values, dtypes, gradients and refusals."""

import math
import unittest

import tenon


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
        self.refuses(ValueError, tenon.bucketize, tenon.ones(1), tenon.ones(1, 1))

    def test_products(self):
        self.assertHolds(tenon.inner(tenon.tensor([[1, 2], [3, 4]]), tenon.tensor([1, 10])), [21, 43])
        x = tenon.full((1, 1, 1), math.nan)
        self.assertHolds(tenon.baddbmm(x, tenon.ones(1, 1, 2), tenon.ones(1, 2, 1), beta=0, alpha=3), [[[6]]])
        self.assertHolds(tenon.ones(1, 1, 1).baddbmm(tenon.ones(1, 1, 2), tenon.ones(1, 2, 1), beta=2), [[[4]]])
        self.refuses(ValueError, tenon.inner, tenon.ones(2), tenon.ones(3))

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
        self.refuses(ValueError, tenon.cov, x, fweights=tenon.ones(3))

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


if __name__ == "__main__":
    unittest.main()
