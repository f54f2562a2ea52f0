"""tenon.linalg: values against numpy's, results with names, errors."""

import unittest

import numpy as np

import tenon

L = tenon.linalg


def drawn(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def tensor(x, requires_grad=False):
    return tenon.tensor(x, requires_grad=requires_grad)


class Values(unittest.TestCase):
    def check(self, got, expected, dtype=np.float64):
        self.assertEqual(got.shape, np.shape(expected))
        np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-9 if dtype is np.float64 else 2e-4,
                                   atol=1e-10 if dtype is np.float64 else 1e-4)

    def test_of_square_matrices(self):
        for dtype in (np.float32, np.float64):
            for shape in ((1, 1), (4, 4), (2, 3, 3, 3), (0, 2, 2)):
                a = drawn(*shape, dtype=dtype) + 3 * np.eye(shape[-1], dtype=dtype)
                b = drawn(*shape[:-1], 2, seed=1, dtype=dtype)
                self.check(L.inv(tensor(a)), np.linalg.inv(a), dtype)
                self.check(L.solve(tensor(a), tensor(b)), np.linalg.solve(a, b), dtype)
                self.check(L.det(tensor(a)), np.linalg.det(a), dtype)
                for got, expected in zip(L.slogdet(tensor(a)), np.linalg.slogdet(a)):
                    self.check(got, expected, dtype)
                self.check(L.matrix_power(tensor(a), 3), np.linalg.matrix_power(a, 3), dtype)
                self.check(L.matrix_power(tensor(a), -2), np.linalg.matrix_power(a, -2), dtype)
                s = a @ a.swapaxes(-1, -2)
                self.check(L.cholesky(tensor(s)), np.linalg.cholesky(s), dtype)
                self.check(L.eigvalsh(tensor(s)), np.linalg.eigvalsh(s), dtype)

    def test_of_any_matrices(self):
        for shape in ((1, 1), (4, 3), (3, 4), (2, 5, 3)):
            a = drawn(*shape)
            self.check(L.svdvals(tensor(a)), np.linalg.svd(a, compute_uv=False))
            self.check(L.pinv(tensor(a)), np.linalg.pinv(a))
            self.check(L.matrix_rank(tensor(a)), np.linalg.matrix_rank(a))
            self.check(L.cond(tensor(a)), np.linalg.cond(a))
            q, r = L.qr(tensor(a))
            self.check(q @ r, a)
            u, s, vh = L.svd(tensor(a), full_matrices=False)
            self.check(u @ tenon.diag_embed(s) @ vh, a)
            self.assertEqual(L.svd(tensor(a)).U.shape, shape[:-1] + (shape[-2],))

    def test_of_norms(self):
        a = drawn(4, 3)
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            self.check(L.matrix_norm(tensor(a), ord), np.linalg.norm(a, ord))
            self.check(L.norm(tensor(a), ord), np.linalg.norm(a, ord))
            self.check(L.norm(tensor(a), ord, dim=(1, 0), keepdim=True), np.linalg.norm(a, ord, axis=(1, 0), keepdims=True))
        for ord in (0.5, 1, 2, 3, np.inf):
            self.check(L.norm(tensor(a), ord, dim=1), np.linalg.norm(a, ord, axis=1))
        self.check(L.norm(tensor(a)), np.linalg.norm(a))

    def test_of_a_view_that_is_not_contiguous(self):
        a = drawn(6, 6)[::2, ::2]
        self.check(L.inv(tensor(drawn(6, 6))[::2, ::2]), np.linalg.inv(a))
        self.check(L.inv(tensor(a).T), np.linalg.inv(a.T))

    def test_of_least_squares(self):
        a, b = drawn(6, 3), drawn(6, 2, seed=1)
        found = L.lstsq(tensor(a), tensor(b))
        solution, residuals, rank, singular = np.linalg.lstsq(a, b, rcond=None)
        self.check(found.solution, solution)
        self.check(found.residuals, residuals)
        self.check(found.singular_values, singular)
        self.assertEqual(found.rank.item(), rank)

    def test_of_the_exponential(self):
        a = drawn(3, 3)
        values, vectors = np.linalg.eig(a)
        self.check(L.matrix_exp(tensor(a)), (vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors)).real)

    def test_of_several_products(self):
        a, b, c = drawn(5), drawn(5, 3), drawn(3, 7)
        self.check(L.multi_dot([tensor(a), tensor(b), tensor(c)]), np.linalg.multi_dot([a, b, c]))


class Results(unittest.TestCase):
    def test_have_names(self):
        x = tenon.eye(2)
        self.assertEqual(L.svd(x)._fields, ("U", "S", "Vh"))
        self.assertEqual(L.qr(x)._fields, ("Q", "R"))
        self.assertEqual(L.eigh(x)._fields, ("eigenvalues", "eigenvectors"))
        self.assertEqual(L.slogdet(x)._fields, ("sign", "logabsdet"))
        self.assertEqual(L.lstsq(x, x)._fields, ("solution", "residuals", "rank", "singular_values"))

    def test_have_gradients(self):
        x = tensor(drawn(3, 3) + 3 * np.eye(3), requires_grad=True)
        L.slogdet(x).logabsdet.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.linalg.inv(x.detach().numpy()).T, rtol=1e-9)


class Errors(unittest.TestCase):
    def test_name_the_batch_element(self):
        singular = tenon.stack([tenon.eye(2), tenon.zeros(2, 2)])
        with self.assertRaisesRegex(L.LinAlgError, r"^\[linalg.inv\] batch element 1: the matrix is singular: diagonal element 1 of "
                                                   "its factorisation is 0$"):
            L.inv(singular)
        self.assertTrue(issubclass(L.LinAlgError, tenon.Error))
        with self.assertRaisesRegex(L.LinAlgError, "batch element 1: the matrix is not positive-definite"):
            L.cholesky(singular)
        with self.assertRaisesRegex(L.LinAlgError, "the matrix is singular"):
            L.solve(tenon.zeros(2, 2), tenon.ones(2))

    def test_of_arguments(self):
        with self.assertRaisesRegex(tenon.Error, r"takes f32 or f64, got bf16|takes float32 or float64, got bfloat16"):
            L.inv(tenon.eye(2, dtype=tenon.bfloat16))
        with self.assertRaisesRegex(tenon.Error, "takes square matrices"):
            L.det(tenon.ones(2, 3))
        with self.assertRaisesRegex(TypeError, r"inv\(\) needs a tensor for 'A', not int"):
            L.inv(3)

    def test_of_compiled_functions(self):
        with self.assertRaisesRegex(tenon.Error, "is computed by the host"):
            step = tenon.compile(lambda x: L.inv(x))
            for _ in range(3):
                step(tenon.eye(2))


if __name__ == "__main__":
    unittest.main()
