"""Layers that are one function, as the rows of a table make them."""

import copy
import inspect
import pickle
import unittest

import tenon
from tenon import nn
from tenon.nn.rows import Loss, layers_of


class Rows(unittest.TestCase):
    def test_settings_are_attributes_with_defaults(self):
        made = layers_of(__name__, "Leaky(slope: float = 0.5, inplace: bool = False) = leaky_relu(input, slope, inplace) ; Leaks.")["Leaky"]
        self.assertEqual(str(inspect.signature(made)), "(slope: float = 0.5, inplace: bool = False)")
        self.assertEqual((made.__doc__, made.__module__, made.__constants__), ("Leaks.", __name__, ("slope", "inplace")))
        layer = made(slope=0.25)
        self.assertEqual((layer.slope, layer(tenon.tensor([-4.0, 4.0])).tolist(), repr(layer)), (0.25, [-1.0, 4.0], "Leaky(slope=0.25)"))
        with self.assertRaises(TypeError):
            made(slop=0.25)

    def test_inputs_are_what_is_no_setting(self):
        self.assertEqual(str(inspect.signature(nn.CTCLoss.forward)), "(self, log_probs, targets, input_lengths, target_lengths)")
        self.assertEqual(str(inspect.signature(nn.RReLU.forward)), "(self, input)")

    def test_a_setting_may_be_that_of_another(self):
        self.assertEqual((nn.AvgPool2d(3).stride, nn.AvgPool2d(3, 1).stride), (3, 1))
        self.assertEqual(repr(nn.AvgPool1d(2)), "AvgPool1d(kernel_size=2, stride=2, padding=0)")

    def test_losses_have_a_reduction_and_weights(self):
        self.assertTrue(issubclass(nn.NLLLoss, Loss) and not issubclass(nn.CosineSimilarity, Loss))
        self.assertEqual((nn.MSELoss(size_average=False).reduction, nn.MSELoss(reduce=False).reduction), ("sum", "none"))
        with self.assertRaisesRegex(ValueError, "there are 'none', 'mean' and 'sum'"):
            nn.MSELoss(reduction="median")
        weighted = nn.CrossEntropyLoss(weight=tenon.tensor([1.0, 2.0]))
        self.assertEqual(list(weighted.state_dict()), ["weight"])
        self.assertEqual(weighted.double().weight.dtype, tenon.float64)

    def test_layers_are_copied_pickled_and_derived_from(self):
        class Own(nn.ELU):
            def forward(self, input):
                return super().forward(input) + 1

        x = tenon.tensor([-1.0, 2.0])
        for layer in (pickle.loads(pickle.dumps(nn.ELU(2.0))), copy.deepcopy(nn.ELU(2.0))):
            self.assertEqual(layer(x).tolist(), nn.functional.elu(x, 2.0).tolist())
        self.assertEqual(Own(2.0)(x).tolist(), (nn.functional.elu(x, 2.0) + 1).tolist())

    def test_captured_functions_notice_other_settings(self):
        layer = nn.Softshrink(0.5)
        call = tenon.compile(lambda x: layer(x).detach())
        x = tenon.tensor([3.0])
        self.assertEqual([call(x).item() for _ in range(3)], [2.5] * 3)
        layer.lambd = 1.0
        self.assertEqual([call(x).item() for _ in range(3)], [2.0] * 3)


if __name__ == "__main__":
    unittest.main()
