"""tenon.autograd.functional, tenon.func and tenon.vmap: forms of arguments and results, values, refusals."""

import unittest

import numpy as np

import tenon
from tenon import func
from tenon.autograd import functional


def tensor(*shape, seed=0):
    return tenon.tensor(np.random.default_rng(seed).standard_normal(shape))


class Checked(unittest.TestCase):
    def close(self, found, expected):
        np.testing.assert_allclose(np.asarray(found.tolist()), np.asarray(expected), rtol=1e-9, atol=1e-12)


class Functional(Checked):
    def test_results_have_the_form_of_outputs_and_inputs(self):
        x, y = tensor(2), tensor(3, seed=1)
        self.close(functional.jacobian(lambda a: a * a, x), np.diag(2 * x.numpy()))
        one, two = functional.jacobian(lambda a, b: a.sum() * b, (x, y))
        self.assertEqual((one.shape, two.shape), ((3, 2), (3, 3)))
        rows = functional.jacobian(lambda a: (a, a.sum()), x)
        self.assertEqual([row.shape for row in rows], [(2, 2), (2,)])
        rows = functional.jacobian(lambda a, b: (a.sum(), b), (x, y))
        self.assertEqual([[one.shape for one in row] for row in rows], [[(2,), (3,)], [(3, 2), (3, 3)]])

    def test_products_are_those_of_the_matrices(self):
        x, v = tensor(3), tensor(3, seed=1)
        number = lambda a: (a ** 3).sum() * a[0]  # noqa: E731
        matrix = functional.hessian(number, x).numpy()
        self.close(functional.hvp(number, x, v)[1], matrix @ v.numpy())
        self.close(functional.vhp(number, x, v)[1], v.numpy() @ matrix)
        rows = functional.jacobian(tenon.sin, x).numpy()
        outputs, along = functional.jvp(tenon.sin, x, v)
        self.close(outputs, np.sin(x.numpy()))
        self.close(along, rows @ v.numpy())
        self.close(functional.vjp(lambda a: (a.sin(), a), x, (v, v))[1], v.numpy() @ rows + v.numpy())

    def test_create_graph_leads_to_the_inputs(self):
        x = tensor(3).requires_grad_()
        functional.jacobian(tenon.exp, x, create_graph=True).sum().backward()
        self.close(x.grad, np.exp(x.detach().numpy()))
        self.assertFalse(functional.jacobian(tenon.exp, x).requires_grad)

    def test_refusals(self):
        x = tensor(3)
        with self.assertRaisesRegex(tenon.Error, r"^\[jacobian\] result 0 does not depend on input 0$"):
            functional.jacobian(lambda a: tenon.ones(2), x, strict=True)
        with self.assertRaisesRegex(tenon.Error, "the function must give a single number, it gives shape"):
            functional.hessian(tenon.sin, x)
        with self.assertRaisesRegex(TypeError, "the function returns a tensor or a tuple of tensors, not float"):
            functional.jacobian(lambda a: 1.0, x)
        with self.assertRaises(ZeroDivisionError):
            functional.jacobian(lambda a: 1 // 0, x)


class Vmap(Checked):
    def test_arguments_may_be_nested(self):
        pairs = {"a": tensor(4, 3), "b": [tensor(3, 4, seed=1), 2.0]}
        found = tenon.vmap(lambda given, scale: {"dot": given["a"] @ given["b"][0] * given["b"][1], "sum": (given["a"].sum() * scale,)},
                           in_dims=({"a": 0, "b": [1, None]}, None))(pairs, tensor())
        self.close(found["dot"], 2 * (pairs["a"].numpy() * pairs["b"][0].numpy().T).sum(1))
        self.close(found["sum"][0], pairs["a"].numpy().sum(1) * tensor().item())

    def test_keywords_have_examples_along_dim_0(self):
        x, y = tensor(4, 3), tensor(4, 3, seed=1)
        self.close(tenon.vmap(lambda a, b: a - b)(x, b=y), x.numpy() - y.numpy())

    def test_results_stand_where_out_dims_say(self):
        x = tensor(4, 3)
        one, two = tenon.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)
        self.close(one, x.numpy().T)
        self.close(two, x.numpy().sum(1))
        self.close(tenon.vmap(tenon.sin, in_dims=1, chunk_size=2)(x), np.sin(x.numpy()).T)

    def test_of_a_module_and_of_its_gradients(self):
        net = tenon.nn.Sequential(tenon.nn.Linear(3, 5), tenon.nn.Tanh(), tenon.nn.Linear(5, 1)).to(tenon.float64)
        x = tensor(4, 3)
        self.close(tenon.vmap(net)(x).detach(), net(x).detach().numpy())
        weights = list(net.parameters())
        found = tenon.vmap(lambda row: tenon.autograd.grad(net(row).sum(), weights))(x)
        for i, row in enumerate(x):
            for got, expected in zip(found, tenon.autograd.grad(net(row).sum(), weights)):
                self.close(got[i], expected.numpy())

    def test_nested_and_compiled(self):
        x, y = tensor(4, 3), tensor(5, 3, seed=1)
        products = tenon.vmap(tenon.vmap(tenon.dot, in_dims=(None, 0)), in_dims=(0, None))
        self.close(products(x, y), x.numpy() @ y.numpy().T)
        step = tenon.compile(products)
        for _ in range(4):
            self.close(step(x, y), x.numpy() @ y.numpy().T)

    def test_of_dropout_needs_one_randomness(self):
        x = tenon.ones(3, 100)
        dropped = lambda row: tenon.nn.functional.dropout(row, 0.5)  # noqa: E731
        with self.assertRaisesRegex(tenon.Error, "the function draws random numbers; with randomness='same'"):
            tenon.vmap(dropped)(x)
        same = tenon.vmap(dropped, randomness="same")(x)
        self.assertTrue(tenon.equal(same[0], same[2]))
        with self.assertRaisesRegex(ValueError, "randomness is 'error' or 'same', not 'different'"):
            tenon.vmap(dropped, randomness="different")

    def test_refusals_are_one_line(self):
        x = tensor(3, 4)
        outside, lstm = tenon.zeros(4, dtype=tenon.float64), tenon.nn.LSTM(4, 2).double()
        for function, text in (
                (lambda row: row if row.sum() > 0 else -row, r"^\[vmap\] a value cannot be computed inside a function that vmap\(\) maps"),
                (lambda row: outside.add_(row), r"^\[vmap\] a tensor from outside, or an argument, is written inside"),
                (lambda row: row.add_(1), r"^\[vmap\] a tensor from outside, or an argument, is written inside"),
                (lambda row: tenon.linalg.inv(row.reshape(2, 2)), r"^\[linalg.inv\] is computed by the host"),
                (lambda row: tenon.nonzero(row), "a function that vmap\\(\\) maps does not have"),
                (lambda row: lstm(row[None, None])[0], r"^\[vmap\] there is no rule for the op 'recurrent'")):
            with self.assertRaisesRegex(tenon.Error, text) as caught:
                tenon.vmap(function)(x)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "is given 2 dims for 1 tensors"):
            tenon.vmap(tenon.sin, in_dims=(0, 1))(x)
        with self.assertRaisesRegex(tenon.Error, "inputs have 3 and 2 examples"):
            tenon.vmap(tenon.add)(x, tensor(2, 4))


class Func(Checked):
    def test_grad_of_arguments_and_of_containers(self):
        x, y = tensor(3), tensor(3, seed=1)
        product = lambda a, b: (a * b * b).sum()  # noqa: E731
        self.close(func.grad(product)(x, y), y.numpy() ** 2)
        one, two = func.grad(product, argnums=(1, 0))(x, y)
        self.close(one, 2 * x.numpy() * y.numpy())
        self.close(two, y.numpy() ** 2)
        found = func.grad(lambda given: (given["a"] ** 2).sum() + given["b"][0].sum())({"a": x, "b": [y]})
        self.close(found["a"], 2 * x.numpy())
        self.close(found["b"][0], np.ones(3))
        self.assertFalse(found["a"].requires_grad)

    def test_derivatives_of_derivatives(self):
        x = tenon.tensor(0.7, dtype=tenon.float64)
        self.close(func.grad(func.grad(func.grad(tenon.sin)))(x), -np.cos(x.numpy()))
        y = tensor(3)
        self.close(func.hessian(lambda a: (a ** 3).sum())(y), np.diag(6 * y.numpy()))
        self.close(func.jacrev(tenon.sin)(y), np.diag(np.cos(y.numpy())))
        self.close(tenon.vmap(func.jacrev(tenon.sin))(y[None])[0], np.diag(np.cos(y.numpy())))
        self.close(func.jvp(tenon.sin, (y,), (y,))[1], np.cos(y.numpy()) * y.numpy())


if __name__ == "__main__":
    unittest.main()
