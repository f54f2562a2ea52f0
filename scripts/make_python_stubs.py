"""Writes the type stubs of the package, tenon/*.pyi, from what the built module says of itself.

    PYTHONPATH=build/release/python python3 scripts/make_python_stubs.py python/tenon

The ops know the types of their arguments; of other classes and functions of C++ the first line of the docstring has them. `make python` fails where the files are not those that this program writes.
"""

import inspect
import os
import re
import sys

import tenon
from tenon import _tenon

HEADER = "# Written by scripts/make_python_stubs.py; do not edit.\n\n"
PLAIN = {"int", "float", "bool", "str", "None", "Tensor", "bytes", "PathLike", "DTypeLike", "list[Any]", "list[int]", "list[float]",
         "list[str]", "tuple[Any, ...]", "dict[str, Any]", "Sequence[int] | int", "Sequence[Tensor]"}


def split(text):
    """Arguments, at commas outside of any brackets and quotes."""
    parts, depth, quoted, part = [], 0, "", ""
    for letter in text:
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        if letter == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()] if part.strip() else parts


def kind(text):
    plain = text.strip().removesuffix(" | None")
    if plain in PLAIN:
        return text.strip()
    return f'"{plain}"' if plain in KNOWN and plain == text.strip() else "Any"


def lines_of(kind):
    """Functions of the tables by name: "function", "method", "functional" or "init"."""
    return {line.split("(")[0][4:]: line for line in _tenon._stubs(kind)}


OPS = lines_of("function")


def signature(name, doc, is_method, table=OPS):
    """The line of a stub for a function of the extension."""
    if not is_method and name in table and not re.match(rf"{re.escape(name)}\(.*\) ->", doc or ""):
        return table[name]
    first = (doc or "").split("\n", 1)[0]
    match = re.match(rf"{re.escape(name)}\((.*)\) -> (.*)$", first)
    if not match:
        result = "None" if name == "__init__" else "Any"
        return f"def {name}({'self, ' if is_method else ''}*args: Any, **kwargs: Any) -> {result}: ..."
    made = []
    for i, part in enumerate(split(match.group(1))):
        if is_method and i == 0:
            made.append("self")
            continue
        if part.startswith("*"):
            made.append(("**kwargs" if part.startswith("**") else "*args") + ": Any")
            continue
        argument, _, rest = part.partition(":")
        rest, has_default, _ = rest.partition(" = ")
        if not re.fullmatch(r"\w+", argument) or argument.startswith("arg"):
            argument = f"_{argument}" if re.fullmatch(r"\w+", argument) else f"_arg{i}"
        made.append(f"{argument}: {kind(rest)}" + (" = ..." if has_default else ""))
    result = "None" if name == "__init__" else kind(match.group(2))
    return f"def {name}({', '.join(made)}) -> {result}: ..."


SPECIAL = ("__init__", "__call__", "__len__", "__getitem__", "__iter__", "__next__", "__enter__", "__exit__")


def class_stub(cls):
    base, members, own = cls.__mro__[1], dict(vars(cls)), set(vars(cls))
    while base.__name__.startswith("_") or base.__name__ == cls.__name__ or (base.__name__ not in KNOWN and issubclass(base, tenon.nn.Module)):  # nobody knows it
        members, base = {**vars(base), **members}, base.__mro__[1]
    lines = [f"class {cls.__name__}{f'({base.__name__})' if base.__name__ in KNOWN or base is tenon.Tensor else ''}:"]
    lines += [f"    {name}: Any" for name in inspect.get_annotations(cls) if not name.startswith("_")]
    if cls is tenon.nn.Module:
        lines.append("    def __getattr__(self, name: str) -> Any: ...")  # parameters, modules and settings
    made = getattr(cls, "__signature__", None)  # of a class whose constructor takes anything
    if made is not None:
        members = {**members, "__init__": cls.__init__}
        own.add("__init__")
    for name, member in sorted(members.items()):
        if (name.startswith("_") and name not in SPECIAL) or (name not in own and base.__name__ in KNOWN and hasattr(base, name)):
            continue
        if isinstance(member, property) or inspect.isgetsetdescriptor(member):
            if name in getattr(base, "__annotations__", {}):
                continue  # the base says so
            lines.append(f"    {name}: Any")
        elif isinstance(member, classmethod):
            lines.append("    @classmethod\n    " + of_python(name, member.__func__))
        elif isinstance(member, staticmethod):
            lines.append("    @staticmethod\n    " + signature(name, member.__func__.__doc__, False))
        elif inspect.isfunction(member) and inspect.isfunction(inspect.unwrap(member)):
            text = of_python(name, member, made if name == "__init__" else None)
            before = getattr(base, name, None) if base.__name__ in KNOWN and name != "__init__" else None
            if inspect.isfunction(before) and of_python(name, before) == text:
                continue  # the base says so
            if name == "forward" and cls is not tenon.nn.Module and issubclass(cls, tenon.nn.Module):
                continue  # layers are called, and its arguments are of any type: __call__ of Module says as much
            if inspect.isfunction(before) and "*args" not in of_python(name, before):
                text += "  # type: ignore[override]"
            lines.append("    " + text)
        elif callable(member):
            lines.append("    " + signature(name, member.__doc__, True))
    return "\n".join(lines) if len(lines) > 1 else lines[0] + " ..."


def of_python(name, function, of_class=None):
    """A function that is written in Python: names, whether they have defaults, and the result where it says one."""
    parts, starred = [], False
    name = "__init__" if name == "_init" else name
    written = inspect.signature(function)
    if of_class is not None:
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        written = of_class.replace(parameters=[first, *of_class.parameters.values()])
    for parameter in written.parameters.values():
        if parameter.name in ("self", "cls"):
            parts.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: Any")
            starred = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}: Any")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            known = parameter.annotation in (int, float, bool, str)
            written_type = parameter.annotation.__name__ if known else "Any"
            parts.append(f"{parameter.name}: {written_type}" + ("" if parameter.default is parameter.empty else " = ..."))
    result = written.return_annotation if isinstance(written.return_annotation, str) else "Any"
    return f"def {name}({', '.join(parts)}) -> {'None' if name == '__init__' else result}: ..."


def module_stub(names, module):
    """Everything of a module of the package, in the order of its names."""
    lines = []
    classes = [value for name, value in names if inspect.isclass(value)]
    classes.sort(key=lambda cls: (len(cls.__mro__), cls.__name__))
    for cls in classes:
        lines.append(class_stub(cls))
    for name, value in names:
        if inspect.isclass(value) or inspect.ismodule(value):
            continue
        if inspect.isfunction(value) and inspect.isfunction(inspect.unwrap(value)):
            lines.append(of_python(name, value))
        elif callable(value):
            lines.append(signature(name, value.__doc__, False, {**OPS, **lines_of(module)}))
    return "\n".join(lines) + "\n"


def public(module):
    return sorted((name, value) for name, value in vars(module).items()
                  if not name.startswith("_") and not inspect.ismodule(value) and name not in ("Tensor", "Any"))


COMMON = "from typing import Any, Callable, Iterator, Sequence, Union\n"

TENSOR = """Number = Union[builtins.bool, builtins.int, builtins.float]
PathLike = Union[str, os.PathLike[str]]
DTypeLike = Union["dtype", str, type]
DeviceLike = Union["device", str]


class dtype:
    name: str
    itemsize: int
    is_floating_point: bool

class device:
    name: str
    type: str
    index: builtins.int | None
    def __init__(self, name: str = ...) -> None: ...

class Size(tuple[builtins.int, ...]):
    def numel(self) -> builtins.int: ...

class ValuesAndIndices(tuple[Tensor, Tensor]):
    values: Tensor
    indices: Tensor

"""

ATTRIBUTES = """    shape: Size
    dtype: dtype
    device: device
    ndim: builtins.int
    nbytes: builtins.int
    itemsize: builtins.int
    T: Tensor
    mT: Tensor
    requires_grad: builtins.bool
    is_leaf: builtins.bool
    grad: Tensor | None
    data: Tensor
    is_cuda: builtins.bool
    is_cpu: builtins.bool
    is_xpu: builtins.bool
    is_mps: builtins.bool
    is_meta: builtins.bool
    is_sparse: builtins.bool
    is_quantized: builtins.bool
    is_nested: builtins.bool
    is_mkldnn: builtins.bool
    def __init__(self, data: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __index__(self) -> builtins.int: ...
    def __neg__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> HookHandle: ...
"""

OPERATORS = ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split()


def in_class(line):
    """Names of methods hide those of types inside of a class."""
    head, _, rest = line.partition("(")
    for name in ("int", "float", "bool"):
        rest = re.sub(rf"\b{name}\b(?=[\s,|\]):])", f"builtins.{name}", rest)
    return head + "(" + rest


def of_method(name, member):
    """A method that is written in Python; its first argument is the tensor, whatever it is called."""
    first = next(iter(inspect.signature(member).parameters))
    return re.sub(rf"\({first}(: Any)?", "(self", of_python(name, member), count=1)


def tensor_stub():
    lines = ["class Tensor:", ATTRIBUTES.rstrip("\n")]
    for name in OPERATORS:
        lines.append(f"    def __{name}__(self, other: Tensor | Number) -> Tensor: ...")
        lines.append(f"    def __r{name}__(self, other: Tensor | Number) -> Tensor: ...")
        if name != "matmul":
            lines.append(f"    def __i{name}__(self, other: Tensor | Number) -> Tensor: ...")
    for name in ("lt", "le", "gt", "ge"):
        lines.append(f"    def __{name}__(self, other: Tensor | Number) -> Tensor: ...")
    in_python = {name: member for name, member in vars(tenon.Tensor).items()
                 if inspect.isfunction(member) and not name.startswith("_") and name != "register_hook"}
    for line in _tenon._stubs("method"):
        if line.split("(")[0][4:] not in {*in_python, "register_hook"} and not line.startswith("def __"):
            lines.append("    " + in_class(line))
    for name, member in sorted(in_python.items()):
        lines.append("    " + of_method(name, member))
    return "\n".join(lines)


def top_stub():
    shown = {line.split("(")[0][4:] for line in _tenon._stubs("function")} | {
        "Tensor", "dtype", "device", "Captured", "int", "float", "bool", "long", "double", "half"}
    lines = ["import builtins\nimport os", COMMON.rstrip("\n"),
             "from . import accelerator as accelerator, compiler as compiler, func as func, jit as jit, profiler as profiler, sparse as sparse, special as special, testing as testing",
             "from . import distributions as distributions, fft as fft, rl as rl",
             "from . import amp as amp, autograd as autograd, backends as backends, cuda as cuda, data as data, linalg as linalg",
             "from . import models as models, nn as nn, optim as optim, random as random, text as text, training as training",
             "from . import utils as utils",
             "from .autograd import autocast as autocast, compile as compile, enable_grad as enable_grad",
             "from .autograd import inference_mode as inference_mode, no_grad as no_grad",
             "from .autograd import set_grad_enabled as set_grad_enabled",
             "from .files import load as load, save as save",
             "from .linalg import matrix_exp as matrix_exp", "", TENSOR.rstrip("\n"), "", tensor_stub(), ""]
    lines.append("class Captured:\n    recordings: builtins.int\n    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...\n")
    for name in ("Error", "OutOfRange", "DeviceLost"):
        base = {"Error": "RuntimeError", "OutOfRange": "Error, IndexError", "DeviceLost": "Error"}[name]
        lines.append(f"class {name}({base}): ...")
    for line in _tenon._stubs("function"):
        if not line.startswith("def _") and not inspect.isfunction(getattr(tenon, line.split("(")[0][4:], None)):
            lines.append(in_class(line))
    shown -= {name for name in shown if inspect.isfunction(getattr(tenon, name, None))}
    skipped = shown | {"Error", "OutOfRange", "DeviceLost", "autocast", "compile", "enable_grad", "inference_mode",
                       "no_grad", "set_grad_enabled", "load", "save", "matrix_exp", "_Block", "Size"}
    for name, value in public(tenon):
        if name in skipped or isinstance(value, _tenon.dtype):
            continue
        if inspect.isclass(value):
            lines.append("\n".join(in_class(line) if "(" in line else line for line in class_stub(value).split("\n")))
        elif callable(value):
            text = of_python(name, value) if inspect.isfunction(value) else signature(name, value.__doc__, False)
            lines.append(in_class(text))
        elif isinstance(value, (builtins_float,)):
            lines.append(f"{name}: builtins.float")
    for name, value in sorted(vars(tenon).items()):
        if isinstance(value, _tenon.dtype):
            lines.append(f"{name}: dtype")
    return "\n".join(lines) + "\n"


builtins_float = type(1.0)
KNOWN = set()


def collect_known():
    for module in (tenon, tenon.nn, tenon.optim, tenon.optim.lr_scheduler, tenon.data, tenon.text, tenon.models, tenon.distributions, tenon.rl):
        KNOWN.update(name for name, value in vars(module).items() if inspect.isclass(value))
    KNOWN.discard("Tensor")


def stubs():
    collect_known()
    shared = COMMON + "from .{dots} import DTypeLike as DTypeLike, PathLike as PathLike, Tensor as Tensor\n"
    files = {"__init__.pyi": top_stub()}
    files["special.pyi"] = ("from . import digamma as digamma, digamma as psi, erf as erf, erfc as erfc, erfinv as erfinv, exp2 as exp2\n"
                            "from . import expm1 as expm1, lgamma as gammaln, log1p as log1p, log_softmax as log_softmax, logit as logit\n"
                            "from . import logsumexp as logsumexp, round as round, sigmoid as expit, sinc as sinc, softmax as softmax\n"
                            "from . import xlogy as xlogy\n")
    files["cuda/__init__.pyi"] = (shared.replace("{dots}", ".") + "from . import amp as amp\n\n" +
                                  module_stub(public(tenon.cuda), "cuda"))
    files["nn/parallel/__init__.pyi"] = (shared.replace("{dots}", "..") + "from .. import Module as Module\n\n" +
                                         module_stub([one for one in public(tenon.nn.parallel) if one[0] != "Module"], "parallel"))
    for name in ("accelerator", "autograd", "compiler", "distributions", "fft", "func", "jit", "profiler", "testing", "files", "data", "linalg", "random", "rl", "text", "models", "sparse", "training"):
        module = getattr(tenon, name, None) or sys.modules[f"tenon.{name}"]
        text = shared.replace("{dots}", "")
        if name == "models":
            text += "from .nn import Module as Module, ModuleOfCpp as ModuleOfCpp\nfrom .text import Tokenizer as Tokenizer\n"
            text += "from . import Generator as Generator\n"
        if name == "linalg":
            text += "from . import Error as Error\n"
        if name == "autograd":
            text += "from . import Captured as Captured\nfunctional: Any\n"
        text += "\n" + module_stub(public(module), name)
        files[name + ".pyi"] = text
    inner = shared.replace("{dots}", ".")
    files["optim/__init__.pyi"] = (inner + "from . import lr_scheduler as lr_scheduler\n\n" +
                                   module_stub(public(tenon.optim), "optim"))
    files["optim/lr_scheduler.pyi"] = inner + "\n" + module_stub(public(tenon.optim.lr_scheduler), "lr_scheduler")
    text = shared.replace("{dots}", ".") + "from .. import Generator as Generator\n"
    text += "from . import functional as functional, init as init, modules as modules, parallel as parallel\n"
    text += "from . import parameter as parameter, utils as utils\n\n"
    files["nn/__init__.pyi"] = text + module_stub(public(tenon.nn), "nn")
    files["nn/utils/__init__.pyi"] = (shared.replace("{dots}", "..") + "from . import rnn as rnn\n\n" +
                                      module_stub(public(tenon.nn.utils), "utils"))
    files["nn/utils/rnn.pyi"] = shared.replace("{dots}", "..") + "\n" + module_stub(public(tenon.nn.utils.rnn), "rnn")
    files["utils/checkpoint.pyi"] = shared.replace("{dots}", ".") + "\n" + module_stub(public(tenon.utils.checkpoint), "checkpoint")
    for name in ("functional", "init"):
        files[f"nn/{name}.pyi"] = shared.replace("{dots}", ".") + "from .. import Generator as Generator\nfrom . import Module as Module\n\n" + module_stub(
            public(getattr(tenon.nn, name)), name)
    return {name: HEADER + text for name, text in files.items()}


if __name__ == "__main__":
    for path, content in stubs().items():
        with open(os.path.join(sys.argv[1], path), "w", encoding="utf-8") as output:
            output.write(content)
