"""The notebook, executed as Jupyter does."""

import os
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("TENON_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))


class Notebook(unittest.TestCase):
    def test_it_trains_on_mnist_and_draws_its_curve(self):
        try:
            import nbformat
            from nbconvert.preprocessors import ExecutePreprocessor

            import ipykernel  # noqa: F401
            import matplotlib  # noqa: F401
        except ImportError as error:
            self.skipTest(f"{error.name} is not installed")
        if not os.path.isdir(os.path.join(DATA, "mnist")):
            self.skipTest("the data of MNIST are not there")
        os.environ["TENON_SHARED_DATA"] = os.path.abspath(DATA)
        os.environ.setdefault("TENON_NOTEBOOK_STEPS", "150")
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or debugpy warns of what nobody asked it for
        folder = os.path.join(ROOT, "examples", "python")
        notebook = nbformat.read(os.path.join(folder, "mnist.ipynb"), as_version=4)
        ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": folder}})
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in outputs), 2)
        self.assertIn("accuracy", "".join(output.get("text", "") for output in outputs))


if __name__ == "__main__":
    unittest.main()
