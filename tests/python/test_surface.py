"""What computes a value is C++: functions of Python handle arguments.

Every operator of arithmetic and comparison in the package is one of numbers that say something of tensors, sizes, counts,
epochs, or of texts, or its function stands in ALLOWED with the reason.
"""

import ast
import pathlib
import unittest

import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent

ABOUT = {"shape", "ndim", "size", "numel", "itemsize", "nbytes", "name"}  # attributes that say something of a tensor
NUMBERS = {"len", "int", "id", "hash", "dim", "size", "numel", "index", "find", "count", "rfind", "element_size"}
OTHERS = {"str", "repr", "type", "list", "tuple", "dict", "set", "getattr", "isinstance", "join", "partition", "format", "sorted",
          "shown", "encode"}
COMPUTING = {"math", "cmath", "operator", "statistics"}  # modules whose functions compute

# Functions that have operators on what might be tensors as far as their texts say, by what the operands are.
ALLOWED = {
    "autograd.py": {"counts of results": "Function.apply"},
    "captured.py": {"depths and counts of recordings": "_require_shallow _take_apart _Results._collect Captured._new Captured.recordings",
                    "keys of arguments": "_Results.flat"},
    "checkpoints.py": {"bytes of a file and places in it": "_Writer.put _Writer._put_tensor _Writer.finished _write_all"},
    "conversion.py": {"addresses": "asarray"},
    "cuda/__init__.py": {"counts of bytes and devices": "device_count memory_reserved max_memory_reserved mem_get_info"},
    "func.py": {"lists": "vmap", "places of arguments": "jacrev"},
    "loaders.py": {
        "numbers of samples": "_item ConcatDataset.__getitem__ RandomSampler.__init__ RandomSampler.__iter__ WeightedRandomSampler.__init__ "
                              "_check_batch_size BatchSampler.__len__ _batches_of DataLoader.__init__ DataLoader.__len__",
        "whether arguments were given": "StackDataset.__init__",
        "numbers of workers, batches and epochs": "_Workers.__init__ _Workers._give _Workers._next _rest_of_epoch _states_ahead "
                                                  "_Plan.__init__ DataLoader.__iter__",
        "seeds": "DataLoader._pass",
        "shares of a dataset, which are numbers": "random_split"},
    "nn/attention.py": {"sizes": "MultiheadAttention.__init__ _Layer.__init__"},
    "nn/container.py": {"names": "_InOrder.append"},
    "nn/conv.py": {"sizes": "per_axis _Conv.__init__ _Conv._sides _Conv.extra_repr"},
    "nn/dropout.py": {"the range of a setting": "_Dropout.__init__"},
    "nn/embedding.py": {"the number of a row": "_Table._fill"},
    "nn/images.py": {"sizes": "_Padding.__init__ the module"},
    "nn/lazy.py": {"sizes": "the module", "arguments": "_signature_of"},
    "nn/loss.py": {"the range of a setting": "TripletMarginWithDistanceLoss.__init__"},
    "nn/module.py": {"names": "_named _under_every_name _with_extras Module.state_dict Module.load_state_dict "
                              "Module._load_from_state_dict ModuleOfCpp.__getattr__",
                     "counts": "_Many.__next__", "sizes": "check_sizes", "objects": "Module._with_all",
                     "settings, which are no tensors": "_is_same"},
    "nn/norm.py": {"sizes": "GroupNorm.__init__ BatchNorm.forward _InstanceNorm.forward", "the range of a setting": "_check_eps"},
    "nn/adaptive_softmax.py": {"sizes": "AdaptiveLogSoftmaxWithLoss.__init__"},
    "nn/recurrent.py": {"sizes": "_Recurrent.__init__ _Recurrent.forward _Cell.__init__"},
    "nn/rows.py": {"texts": "_source"},
    "nn/utils/__init__.py": {"the kind of a norm": "clip_grad_norm_", "the bound of an argument": "clip_grad_value_",
                             "places in a vector": "vector_to_parameters"},
    "nn/utils/rnn.py": {"sizes": "pad_sequence"},
    "optim/grad_scaler.py": {"settings, which are numbers": "GradScaler.load_state_dict"},
    "optim/lr_scheduler.py": {
        "numbers of epochs and steps": "_cycle_momentum LRScheduler.__init__ LRScheduler._update_lr CosineAnnealingWarmRestarts.__init__ "
                                       "CosineAnnealingWarmRestarts.step OneCycleLR.__init__ OneCycleLR.get_lr CyclicLR.__init__ "
                                       "SequentialLR.__init__ SequentialLR.step _undo ReduceLROnPlateau.step ReduceLROnPlateau.in_cooldown",
        "the range of a setting": "ConstantLR.__init__ LinearLR.__init__ ReduceLROnPlateau.__init__"},
    "optim/optimizer.py": {"counts": "_groups_fit"},
    "optim/optimizers.py": {"names and settings": "_Group.__getitem__ _Group.__setitem__ _Group._change _other_settings",
                            "counts": "_OfLibrary.state_dict", "the range of a setting": "_OfLibrary._load"},
    "printing.py": {"texts": "_printed"},
    "profiler.py": {"numbers of steps": "schedule profile.step"},
    "testing.py": {"tools of tests compare, which is arithmetic": "_difference_of_values"},
}


def kind(node):
    """What an expression is as far as its text says: "number" about tensors, "other" such as a text or a list, or "any"."""
    if isinstance(node, ast.Constant):
        return "number" if isinstance(node.value, (int, float, complex)) else "other"
    if isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)):
        return "other"
    if isinstance(node, ast.Attribute):
        return "number" if node.attr in ABOUT else "any"
    if isinstance(node, ast.Subscript):
        return kind(node.value)
    if isinstance(node, ast.IfExp):
        kinds = {kind(node.body), kind(node.orelse)}
        return kinds.pop() if len(kinds) == 1 else "any"
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        return "number" if name in NUMBERS else "other" if name in OTHERS else "any"
    if isinstance(node, ast.UnaryOp):
        return "number" if isinstance(node.op, ast.Not) else kind(node.operand)
    if isinstance(node, ast.BinOp):
        kinds = {kind(node.left), kind(node.right)}
        return "other" if "other" in kinds else "number" if kinds == {"number"} else "any"
    return "number" if isinstance(node, ast.Compare) else "any"


def may_compute(node):
    """Whether an operator, or a call of a module that computes, may have a tensor or what is made of one as an operand."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return False
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return kind(node) == "any"
    if isinstance(node, ast.AugAssign):
        return kind(node.value) != "other"
    if isinstance(node, ast.Compare):
        kinds = {kind(one) for one in (node.left, *node.comparators)}
        computes = any(not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops)
        return computes and "other" not in kinds and "any" in kinds
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", None) in COMPUTING


def functions(tree, above=""):
    """The functions of a file, those of classes under the names of these, and what stands outside of any."""
    for one in tree.body:
        if isinstance(one, ast.ClassDef):
            yield from functions(one, f"{above}{one.name}.")
        else:
            yield (above + one.name if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) else "the module"), one


def computing(tree):
    """The functions that may compute, and the first expression of each that does."""
    found = {}
    for name, function in functions(tree):
        for node in ast.walk(function):
            if may_compute(node):
                found.setdefault(name, ast.unparse(node))
    return found


class Surface(unittest.TestCase):
    def test_no_function_computes_in_python(self):
        wrong, used = [], set()
        for path in sorted(PACKAGE.rglob("*.py")):
            file = str(path.relative_to(PACKAGE))
            allowed = {name for names in ALLOWED.get(file, {}).values() for name in names.replace("the module", "the_module").split()}
            for name, expression in computing(ast.parse(path.read_text(encoding="utf-8"))).items():
                used.add((file, name))
                if name.replace(" ", "_") not in allowed:
                    wrong.append(f"{file}: {name} computes {expression}")
        named = {(file, name.replace("_module", " module") if name == "the_module" else name) for file, reasons in ALLOWED.items()
                 for names in reasons.values() for name in names.replace("the module", "the_module").split()}
        self.assertEqual(wrong, [])
        self.assertEqual(named - used, set(), "these compute nothing any more; take them out of ALLOWED")

    def test_finds_what_computes(self):
        for text in ("return anything * 2", "anything += other.grad", "return -found.exp()", "return a < b", "return math.exp(rate)",
                     "return a.shape[0] * a", "return sum(x * y for x, y in pairs)", "total = 0\n    total += loss"):
            with self.subTest(text):
                self.assertEqual(list(computing(ast.parse(f"def f(a, b):\n    {text}\n"))), ["f"])

    def test_passes_over_sizes_and_texts(self):
        for text in ("return a.shape[0] * 2", "return 'a' + name", "return len(a) == b.ndim", "return a is b", "return not a",
                     "return f'{a}' == b", "return [a] + b"):
            with self.subTest(text):
                self.assertEqual(computing(ast.parse(f"def f(a, b):\n    {text}\n")), {})


if __name__ == "__main__":
    unittest.main()
