"""Wrong arguments of layers and functions are one line that says what is wrong, without the tensors that were given."""

import unittest

import tenon
from tenon import nn
from tenon.nn import functional as F


class Refusals(unittest.TestCase):
    def check(self, call, text):
        with self.assertRaises(TypeError) as caught:
            call()
        self.assertEqual(str(caught.exception), text)

    def test_of_functions(self):
        x = tenon.randn(100, 100)
        self.check(lambda: F.embedding(tenon.tensor([0]), [[1., 2.]]), "embedding() needs a tensor for 'weight', not list")
        self.check(lambda: F.embedding(x), "embedding() lacks its argument 'weight'")
        self.check(lambda: F.embedding(x, x, x), "embedding() needs an integer for 'padding_idx', not tenon.Tensor")
        self.check(lambda: F.linear(x, x, out=x), "linear() has no argument 'out'; it has input, weight, bias")
        self.check(lambda: F.linear(x, x, weight=x), "linear() is given its argument 'weight' twice")
        self.check(lambda: F.mse_loss(x, x, reduction=3), "mse_loss() needs a text for 'reduction', not int")
        self.check(lambda: F.linear(x, x, bias=3), "linear() needs a tensor or None for 'bias', not int")

    def test_of_sizes_whose_product_is_too_large(self):
        x = tenon.ones(1, 4, 2, 2)
        for r in (2**31, 2**32, 2**62, 3037000500):
            with self.assertRaisesRegex(tenon.Error, "takes a multiple of"):
                F.pixel_shuffle(x, r)
        for kernel in ((2**32, 2**32), (2**33, 2**31), (2, 2**62)):
            with self.assertRaisesRegex(tenon.Error, "do not fit"):
                F.fold(tenon.ones(1, 4, 9), (4, 4), kernel)
        for n in (171, 10**9):
            with self.assertRaisesRegex(tenon.Error, "derivatives from 0 to 170"):
                tenon.polygamma(n, tenon.ones(2))

    def test_of_constructors(self):
        self.check(lambda: nn.Linear(3), "Linear.__init__() missing 1 required positional argument: 'out_features'")
        self.check(lambda: nn.Linear(3, 2.5), "Linear() needs an integer for 'out_features', not float")
        self.check(lambda: nn.Dropout(0.5, generator=3), "Dropout() needs a Generator for 'generator', not int")
        self.check(lambda: nn.Embedding(3, 4, dtype=7), "empty() needs a dtype such as tenon.float32 for 'dtype', not int")
        with self.assertRaisesRegex(ValueError, "there is no dtype 'real'; there are float32, [^\n]*$"):
            nn.Embedding(3, 4, dtype="real")
        self.check(lambda: tenon.optim.AdamW([nn.Parameter(tenon.ones(1))], lr="a"),
                   "AdamW() needs a number for 'lr', not str")

    def test_of_calls_name_the_layer(self):
        x = tenon.ones(2, 2)
        self.check(lambda: nn.ReLU()(x, x), "ReLU.forward() takes 2 positional arguments but 3 were given")
        self.check(lambda: nn.Linear(2, 2)([1, 2]), "linear() needs a tensor for 'input', not list")
        self.check(lambda: nn.CrossEntropyLoss()(x), "CrossEntropyLoss.forward() missing 1 required positional argument: 'target'")

    def test_requires_grad_is_a_bool(self):
        x = tenon.ones(2)
        for wrong in (None, "x", [], [1, 2], 1):
            self.check(lambda: setattr(x, "requires_grad", wrong), "requires_grad is True or False")

    def test_containers_hold_modules(self):
        self.check(lambda: nn.Sequential(3), "a Sequential holds modules, not int")
        self.check(lambda: nn.Sequential(nn.ReLU, nn.ReLU()), "a Sequential holds modules, not the class ReLU")
        self.check(lambda: nn.ModuleList([tenon.ones(1)]), "a ModuleList holds modules, not Tensor")
        self.check(lambda: nn.ModuleDict({"a": None}), "a ModuleDict holds modules, not NoneType")

    def test_of_constructors_of_cpp(self):
        self.check(lambda: tenon.models.GPT2(3), "GPT2() needs a text for 'size', not int")
        self.check(lambda: nn.KvCache(1, 2, 3), "KvCache() lacks its argument 'head_width'")
        self.check(lambda: tenon.Scalar(1.0, number=2), "Scalar() has no argument 'number'; it has value, dtype, device")
        self.check(lambda: tenon.Scalar(1.0, value=2), "Scalar() is given its argument 'value' twice")
        self.check(lambda: tenon.Scalar(1.0, tenon.float32, None, 4), "Scalar() takes at most 3 arguments, got 4")

    def test_of_methods_of_cpp(self):
        scalar = tenon.Scalar(1.0)
        self.check(lambda: scalar.set("a"), "Scalar.set() needs a number for 'value', not str")
        self.check(lambda: tenon.Scalar.set(None, 1.0), "Scalar.set() needs a Scalar for 'self', not None")
        self.check(lambda: tenon.Generator.seed("x"), "Generator.seed() needs a Generator for 'self', not str")
        self.check(lambda: tenon.Scalar.get(tenon.Scalar.__new__(tenon.Scalar)),
                   "Scalar.get() needs a tenon.Scalar whose __init__ was called for 'self', not one that is not made")

    def test_of_functions_of_cpp(self):
        self.check(lambda: tenon.set_num_threads("a"), "set_num_threads() needs an integer for 'threads', not str")
        self.check(lambda: tenon.data.mnist(3), "mnist() needs a path for 'folder', not int")
        self.check(lambda: tenon.data.center_crop(3), "center_crop() lacks its argument 'width'")

    def test_what_no_single_argument_says(self):
        self.check(lambda: tenon.data.normalize("a", 1.0), "normalize() takes (mean: Any, std: Any), not (str, float)")

    def test_what_the_functions_themselves_raise_stays(self):
        def hook(grad):
            raise TypeError("mine")

        x = tenon.ones(2, requires_grad=True)
        x.register_hook(hook)
        self.check(lambda: x.sum().backward(), "mine")


if __name__ == "__main__":
    unittest.main()
