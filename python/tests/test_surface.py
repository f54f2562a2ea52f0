"""What computes a value is C++: functions of Python handle arguments. The few that still compute are named here."""

import ast
import pathlib
import unittest

import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent
TENSORS = {"input", "other", "x", "y", "self", "target", "weight", "loss", "logits", "var", "mean", "std", "variance", "like", "drawn",
           "grad", "p", "exp_avg", "result", "anchor", "positive", "negative", "near", "far", "kept", "soft", "chosen", "centered",
           "heights", "widths", "product", "slope", "covariances"}
ABOUT = {"shape", "ndim", "dtype", "device", "size", "numel", "name"}  # what says something of a tensor is a number

# Functions that are still made of others in Python. A function that comes to C++ leaves this list; none is added.
STILL_IN_PYTHON = {
    "extras.py": {"normal", "exponential_"},
    "nn/functional.py": {"rrelu", "gumbel_softmax", "instance_norm", "dropout2d", "dropout1d", "alpha_dropout"},
    "nn/losses.py": {"triplet_margin_with_distance_loss"},
    "nn/settings.py": {"_move_means"},
    "values.py": {"trapezoid", "cov", "corrcoef", "random_"},
}
# Optimizers and schedules of Python's own, and tools of tests, are not walked.
NOT_WALKED = {"optim", "testing.py", "checks.py", "nn/init.py", "autograd.py"}


def is_of_tensors(node):
    """Whether an operand is a tensor, as far as its name says."""
    if isinstance(node, ast.Name):
        return node.id in TENSORS
    if isinstance(node, ast.Attribute):
        return node.attr not in ABOUT and is_of_tensors(node.value)
    if isinstance(node, ast.Call):
        return is_of_tensors(node.func) and not (isinstance(node.func, ast.Attribute) and node.func.attr in (ABOUT | {"item", "dim"}))
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return any(is_of_tensors(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    if isinstance(node, ast.Compare):
        return is_of_tensors(node.left)
    return False


def computing(path):
    """The functions of a file that do arithmetic with tensors."""
    found = set()
    for function in ast.parse(path.read_text()).body:
        if isinstance(function, ast.FunctionDef) and any(
                isinstance(node, ast.BinOp) and is_of_tensors(node) for node in ast.walk(function)):
            found.add(function.name)
    return found


class Surface(unittest.TestCase):
    def test_only_the_named_functions_compute_in_python(self):
        found = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            name = str(path.relative_to(PACKAGE))
            if name.split("/")[0] in NOT_WALKED or name in NOT_WALKED:
                continue
            if functions := computing(path):
                found[name] = functions
        self.assertEqual(found, STILL_IN_PYTHON)

    def test_finds_what_computes(self):
        with_arithmetic = ast.parse("def f(input):\n    return input.exp() * 2\n").body[0]
        without = ast.parse("def f(input):\n    return input.shape[0] * 2\n").body[0]
        has = [any(isinstance(n, ast.BinOp) and is_of_tensors(n) for n in ast.walk(f)) for f in (with_arithmetic, without)]
        self.assertEqual(has, [True, False])


if __name__ == "__main__":
    unittest.main()
