"""Layers of Python have the parameters of those of C++: the same names, initial values and checkpoints."""

import os
import tempfile
import unittest

import tenon
from tenon import _tenon, nn


class LayersOfCpp(unittest.TestCase):
    def test_have_the_same_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            file, again = os.path.join(folder, "a.safetensors"), os.path.join(folder, "b.safetensors")
            for text in _tenon._layers_of_cpp():
                with self.subTest(text):
                    tenon.manual_seed(3)
                    _tenon._save_layer_of_cpp(text, file)
                    theirs = tenon.load(file)
                    tenon.manual_seed(3)
                    layer = eval("nn." + text)  # noqa: S307 - the texts are the library's
                    mine = layer.state_dict()
                    self.assertEqual({name: (x.shape, x.dtype) for name, x in mine.items()},
                                     {name: (x.shape, x.dtype) for name, x in theirs.items()})
                    for name, value in mine.items():
                        self.assertEqual(value.tolist(), theirs[name].tolist(), name)
                    tenon.manual_seed(4)
                    other = eval("nn." + text)  # noqa: S307
                    self.assertEqual(nn.load_module(file, other), ([], []))
                    tenon.save(layer, file)
                    _tenon._load_layer_of_cpp(text, file, again)
                    loaded = tenon.load(again)
                    for name, value in other.state_dict().items():
                        self.assertEqual(value.tolist(), loaded[name].tolist(), name)

    def test_every_layer_with_parameters_has_one(self):
        in_cpp = {text.split("(")[0] for text in _tenon._layers_of_cpp()}
        alone = {"Bilinear", "EmbeddingBag", "Transformer", "BatchNorm"}
        for name, kind in vars(nn).items():
            if isinstance(kind, type) and issubclass(kind, nn.Module) and hasattr(kind, "reset_parameters"):
                self.assertIn(name, in_cpp | alone)


if __name__ == "__main__":
    unittest.main()
