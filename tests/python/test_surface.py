"""What computes a value is C++: functions of Python handle arguments."""

import ast
import pathlib
import unittest

import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent
TENSORS = {"input", "other", "x", "y", "self", "target", "weight", "loss", "logits", "var", "mean", "std", "variance", "like", "drawn",
           "grad", "p", "exp_avg", "result", "anchor", "positive", "negative", "near", "far", "kept", "soft", "chosen", "centered",
           "heights", "widths", "product", "slope", "covariances", "gradient", "gradients", "weights", "parameter", "param", "made",
           "finite", "rate", "rates", "base", "momentum"}
ABOUT = {"shape", "ndim", "dtype", "device", "size", "numel", "name"}  # what says something of a tensor is a number

NOT_WALKED = {"testing.py"}  # tools of tests compare, which is arithmetic


def is_of_tensors(node, names):
    """Whether an operand is a tensor, as far as its name says."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute):
        return node.attr not in ABOUT and is_of_tensors(node.value, names)
    if isinstance(node, ast.Call):
        says_of_it = isinstance(node.func, ast.Attribute) and node.func.attr in (ABOUT | {"item", "dim"})
        return is_of_tensors(node.func, names) and not says_of_it
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.AugAssign)):
        return any(is_of_tensors(part, names) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    if isinstance(node, ast.Compare):
        return is_of_tensors(node.left, names)
    return False


def computes(function, names):
    return any(isinstance(node, (ast.BinOp, ast.AugAssign)) and is_of_tensors(node, names) for node in ast.walk(function))


def computing(path):
    """The functions and methods of a file that do arithmetic with tensors, or with rates."""
    found = set()
    for one in ast.parse(path.read_text()).body:
        if isinstance(one, ast.FunctionDef) and computes(one, TENSORS):
            found.add(one.name)
        if isinstance(one, ast.ClassDef):  # whose self is no tensor
            found |= {f"{one.name}.{method.name}" for method in one.body
                      if isinstance(method, ast.FunctionDef) and computes(method, TENSORS - {"self"})}
    return found


class Surface(unittest.TestCase):
    def test_no_function_computes_in_python(self):
        found = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            name = str(path.relative_to(PACKAGE))
            if name.split("/")[0] in NOT_WALKED or name in NOT_WALKED:
                continue
            if functions := computing(path):
                found[name] = functions
        self.assertEqual(found, {})

    def test_finds_what_computes(self):
        with_arithmetic = ast.parse("def f(input):\n    return input.exp() * 2\n").body[0]
        without = ast.parse("def f(input):\n    return input.shape[0] * 2\n").body[0]
        has = [computes(f, TENSORS) for f in (with_arithmetic, without)]
        self.assertEqual(has, [True, False])


if __name__ == "__main__":
    unittest.main()
