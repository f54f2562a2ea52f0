#!/usr/bin/env python3
"""Writes what follows from tensor/functions.def, tensor/creation.def, nn/functions.def and linalg/functions.def, the tables
of all functions.

    scripts/make_functions.py          writes the files that are not as the table says
    scripts/make_functions.py --check  names them, and functions that no test calls, and fails

Written are tensor/ops.h, tensor/methods.cpp, the methods in tensor/tensor.h, python/src/generated, web/types/functions.d.ts,
tests/tensor/function_table.inc and docs/functions.md.
"""

import pathlib
import re
import sys
import textwrap

import typescript

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = "tenon/tensor/functions.def"
CREATION = "tenon/tensor/creation.def"
LAYERS = "tenon/nn/functions.def"
LINALG = "tenon/linalg/functions.def"
NOTE = f"Written by scripts/make_functions.py from {TABLE}; do not edit."

# Types of the table: how C++ takes them, how the lambdas of Python's bindings do, and what a call passes on.
CPP = {"Tensor": "const Tensor&", "Tensor?": "const Tensor&", "Operand": "const Operand&", "Operand?": "std::optional<Operand>",
       "Number": "Number", "int": "int64_t", "int?": "std::optional<int64_t>", "float": "double", "float?": "std::optional<double>",
       "bool": "bool", "str": "std::string_view", "str?": "std::optional<std::string_view>", "DType?": "std::optional<DType>",
       "Dims": "const Dims&", "Axes": "const Axes&", "Tensors": "std::span<const Tensor>", "Generator": "Generator*"}
PYTHON = {**CPP, "Tensor?": "const std::optional<Tensor>&", "str": "const std::string&", "str?": "const std::optional<std::string>&",
          "Tensors": "const std::vector<Tensor>&", "Tensors...": "const SeveralTensors&"}
PASSED = {"Tensor?": "{}.value_or(Tensor())", "Operand?": "std::move({})", "Tensors...": "{}.all"}
# Those of functions whose rows say what they call, as the lambdas take them.
OF_CALLS = {"Device": "const Device&", "Size1": "Size1", "Size2": "const nn::Size2&", "Size3": "const nn::Size3&", "Size1?": "std::optional<Size1>",
             "Size2?": "const std::optional<nn::Size2>&", "Size3?": "const std::optional<nn::Size3>&", "Padding1": "const nn::Padding&",
             "Padding2": "const nn::Padding&", "Padding3": "const nn::Padding3&", "Reduction": "nn::Reduction",
             "Object": "const py::object&", "bool?": "std::optional<bool>", "Number?": "std::optional<Number>",
            "Dims?": "const std::optional<Dims>&", "Order": "const GivenOrder&", "Order?": "const std::optional<GivenOrder>&"}
PYTHON.update(OF_CALLS)
CPP.update(OF_CALLS)
# Several arguments of Python, and what the expression reads in their place.
OPTIONS = {"Options": ("dtype: DType? = None, device: Device = None, requires_grad: bool = False", "options_of(dtype, device, requires_grad)"),
           "Like": ("dtype: DType? = None, device: Object = None, requires_grad: bool = False", "like(x, dtype, device, requires_grad)")}
KINDS = {"function": "kFunction", "method": "kMethod", "functional": "kFunctional", "init": "kInit", "linalg": "kLinalg"}
RESULTS = {"Tensor": "Tensor", "Pair": "std::pair<Tensor, Tensor>", "Tensors": "std::vector<Tensor>", "bool": "bool", "Unique": "Unique"}


class Argument:
    def __init__(self, text):
        match = re.fullmatch(r"(\w+)(?:: ([\w?/.]+))?(?: = (.+))?", text)
        if not match:
            raise SystemExit(f"{TABLE}: '{text}' is no argument")
        self.name, kind, self.default = match.groups()
        kind = kind or "Tensor"
        self.starred = kind.endswith("...")
        taken, _, of_cpp = kind.removesuffix("...").partition("/")
        self.python_kind, self.kind = taken, of_cpp or taken
        for one in (self.python_kind, self.kind):
            if one not in CPP:
                raise SystemExit(f"{TABLE}: there is no type '{one}' ({text})")

    def cpp(self, with_default=True, kind=None):
        text = f"{kind or CPP[self.kind]} {self.name}"
        if not with_default or self.default is None:
            return text
        default = {"None": "Tensor()" if self.kind == "Tensor?" else "nullptr" if self.kind == "Generator" else "{}",
                   "True": "true", "False": "false"}.get(self.default, self.default.replace("'", '"'))
        return f"{text} = {default}"

    def python_type(self):
        return PYTHON["Tensors..." if self.starred and self.kind == "Tensors" else self.python_kind]

    def python_name(self):
        return ("*" if self.starred else "") + self.name + ("" if self.default is None else f"={self.default}")

    def passed(self):
        kind = "Tensors..." if self.starred and self.kind == "Tensors" else self.python_kind
        return PASSED.get(kind, "{}").format(self.name)


class Function:
    def __init__(self, section, name, arguments, result, forms, help_text):
        self.section, self.name, self.result, self.help, self.examples = section, name, result or "Tensor", help_text, []
        self.cpp_example = None
        self.forms, _, since = forms.partition("@")
        self.since, self.alias_of = since or "0.1", None
        self.arguments = [Argument(part) for part in split(arguments)]
        if self.result not in RESULTS or not set(self.forms) <= set("fmihws"):
            raise SystemExit(f"{TABLE}: {name}() has the result '{self.result}' and the forms '{self.forms}'")

    def signature(self):
        """As a reader of the docs sees it."""
        def shown(argument):
            kind = "" if argument.kind == "Tensor" else f": {argument.kind.lower() if argument.kind in ('Dims', 'Axes', 'Tensors') else argument.kind}"
            return argument.name + kind + ("" if argument.default is None else f" = {argument.default}")
        return f"{self.name}({', '.join(map(shown, self.arguments))})" + ("" if self.result == "Tensor" else f" -> {self.result}")

    def called(self):
        return [self.name]

    def copy_as(self, name, section):
        made = Function(section, name, "", self.result, self.forms, f"As {self.name}.")
        made.arguments, made.alias_of = self.arguments, self.name
        made.cpp_example = self.cpp_example and re.sub(rf"\b{self.name}\(", f"{name}(", self.cpp_example, count=1)
        return made


def split(text):
    return [part.strip() for part in text.split(", ")] if text.strip() else []


def read_table():
    functions, section = [], ""
    for number, line in enumerate((ROOT / TABLE).read_text().splitlines(), 1):
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("  = "):
            functions[-1].cpp_example = line[4:]
        elif line.startswith("  "):
            functions[-1].examples.append(line[2:])
        elif line and not line.startswith("#"):
            if match := re.fullmatch(r"(\w+) = (\w+)", line):
                name, other = match.groups()
                functions += [one.copy_as(name, section) for one in functions if one.name == other]
            elif match := re.fullmatch(r"(\w+)\((.*?)\)(?: -> (\w+))? ; ([\w@.]+) ; (.+)", line):
                functions.append(Function(section, *match.groups()))
            else:
                raise SystemExit(f"{TABLE}:{number}: this is no row: {line}")
    return functions


class Call:
    """A row that says what it calls, of nn/functions.def or tensor/creation.def."""

    def __init__(self, section, module, name, arguments, result, expression, help_text):
        self.section, self.module, self.name, self.result, self.help, self.examples = section, module, name, result or "Tensor", help_text, []
        for name, (several, read) in OPTIONS.items():
            if f"options: {name}" in arguments:
                arguments, expression = arguments.replace(f"options: {name}", several), re.sub(r"\boptions\b", read, expression)
        self.arguments, self.expression, self.alias_of = [Argument(part) for part in split(arguments)], expression, None

    def signature(self):
        """As a reader of the docs sees it, who need not know the words of PyTorch 0.4."""
        def shown(argument):
            kind = {"Tensor": "", "Object": ": Device" if argument.name == "device" else ": any"}.get(argument.kind, f": {argument.kind}")
            return argument.name + kind + ("" if argument.default is None else f" = {argument.default}")
        known = [shown(argument) for argument in self.arguments if argument.name not in ("size_average", "reduce")]
        return f"{self.name}({', '.join(known)})" + ("" if self.result == "Tensor" else f" -> {self.result}")

    def called(self):
        """The functions of C++ that it calls."""
        return re.findall(r"\b(?:nn|linalg)::(?:init::)?(\w+)\(", self.expression) or [self.name] * (self.module == "function")

    def body(self):
        names = [argument.name for argument in self.arguments]
        text = self.expression
        for argument in self.arguments:
            if argument.python_kind == "Tensor?":
                text = re.sub(rf"\b{argument.name}\b", f"{argument.name}.value_or(Tensor())", text)
        if "size_average" in names:
            text = re.sub(r"\breduction\b", "reduced(size_average, reduce, reduction)", text)
        if self.module == "init" and self.result == "Tensor":
            return f"{text}; return Same();"
        if self.module == "linalg":
            return f"return computed([&] {{ return {text}; }});"
        return f"return {text};"

    def binding(self):
        signature = ", ".join(argument.python_name() for argument in self.arguments)
        unused = {argument.name for argument in self.arguments if not re.search(rf"\b{argument.name}\b", self.body())}
        inside = ", ".join((f"Tensor {argument.name}" if self.module == "init" and argument.python_kind == "Tensor" else argument.python_type() + (
            "" if argument.name in unused else f" {argument.name}")) for argument in self.arguments)
        help_text = "\n".join([self.help] + ([""] + self.examples if self.examples else []))
        return defined(self.name, signature, inside, self.body(), help_text, KINDS[self.module])


def read_calls(table):
    functions, section, module = [], "", ""
    for number, line in enumerate((ROOT / table).read_text().splitlines(), 1):
        if match := re.fullmatch(rf"## (.+) ; ({'|'.join(KINDS)})", line):
            section, module = match.groups()
        elif line.startswith("  "):
            functions[-1].examples.append(line[2:])
        elif line and not line.startswith("#"):
            match = re.fullmatch(r"(\w+)\((.*?)\)(?: -> (\w+))? = (.+?) ; (.+)", line)
            if not match:
                raise SystemExit(f"{table}:{number}: this is no row: {line}")
            functions.append(Call(section, module, *match.groups()))
    return functions


def wrapped(text, indent="", width=120):
    """Code on lines of at most `width`, broken after commas and aligned with the first open bracket."""
    if len(indent + text) <= width:
        return indent + text
    at = text.index("(") + 1
    rest = " " * (len(indent) + at)
    lines, line = [], indent + text[:at]
    parts = re.split(r"(?<=,) ", text[at:])
    for i, part in enumerate(parts):
        if len(line) + len(part) + (1 if i else 0) > width and line.strip() and i:
            lines.append(line.rstrip())
            line = rest + part
        else:
            line += (" " if i and line.rstrip() == line and not line.endswith("(") else "") + part
    return "\n".join(lines + [line])


def comment(text, indent=""):
    return "\n".join(textwrap.wrap(text, 120, initial_indent=indent + "/// ", subsequent_indent=indent + "/// ", break_long_words=False,
                                   break_on_hyphens=False))


def rule(section, indent="", width=117):
    text = f"{indent}// ---- {section} "
    return text + "-" * max(4, width - len(text))


def declared(function, name, arguments, suffix="", indent="", result=None):
    # Inside of Tensor's class Operand is not complete, and an optional one has no default yet.
    inside = ", ".join(argument.cpp(not (indent and argument.kind == "Operand?")) for argument in arguments)
    return wrapped(f"{result or RESULTS[function.result]} {name}({inside}){suffix};", indent)


def by_section(functions):
    sections = {}
    for function in functions:
        sections.setdefault(function.section, []).append(function)
    return sections.items()


def of_lists(function):
    """The position of an argument that is a list of tensors, which braces may give, too."""
    return next((i for i, argument in enumerate(function.arguments) if argument.kind == "Tensors"), None)


def with_braces(function):
    at = of_lists(function)
    arguments = [argument.cpp(kind="std::initializer_list<Tensor>" if i == at else None) for i, argument in enumerate(function.arguments)]
    return arguments, at


def ops_header(functions):
    lines = [f"// {NOTE}", "//", "// Every function users call, under the names and with the defaults of PyTorch. All of them check shapes, dtypes and",
             "// devices now and run nothing.", "", "#pragma once", "", '#include "tenon/tensor/operators.h"',
             '#include "tenon/tensor/tensor.h"', "", "namespace tenon {"]
    for section, rows in by_section(functions):
        rows = [row for row in rows if "f" in row.forms]
        if not rows:
            continue
        lines += ["", rule(section), ""]
        for row in rows:
            lines.append(comment(row.help))
            if row.cpp_example:
                lines.append(f"///   {row.cpp_example}")
            lines.append(declared(row, row.name, row.arguments))
            if of_lists(row) is not None:
                arguments, _ = with_braces(row)
                lines.append(wrapped(f"{RESULTS[row.result]} {row.name}({', '.join(arguments)});"))
    return "\n".join(lines + ["", "}  // namespace tenon", ""])


def methods_declared(functions):
    lines = []
    for section, rows in by_section(functions):
        if not any(set("mis") & set(row.forms) for row in rows):
            continue
        lines += ["", f"  // {section}"]
        for row in rows:
            if "m" in row.forms:
                if "f" not in row.forms:
                    lines.append(comment(row.help, "  "))
                lines.append(declared(row, row.name, row.arguments[1:], " const", "  "))
            if "i" in row.forms:
                lines.append(declared(row, row.name + "_", row.arguments[1:], "", "  ", "Tensor&"))
            if "s" in row.forms:
                lines += [comment(row.help, "  "), declared(row, row.name, row.arguments[1:], "", "  ", "Tensor&")]
    return "\n".join(lines[1:]) + "\n"


def methods_source(functions):
    lines = [f"// {NOTE}", "//", "// Methods that are functions of ops.h, their forms in place, and functions that have several names.", "",
             '#include "tenon/tensor/ops.h"', '#include "tenon/tensor/tensor_impl.h"', "", "namespace tenon {", ""]

    def define(head, arguments, suffix, body):
        inside = ", ".join(argument.cpp(False) for argument in arguments)
        line = f"{head}({inside}){suffix} {{ return {body}; }}"
        if len(line) <= 120:
            lines.append(line)
        else:
            lines.extend([wrapped(f"{head}({inside}){suffix} {{"), wrapped(f"return {body};", "  "), "}"])

    for row in functions:
        result, names = RESULTS[row.result], [argument.name for argument in row.arguments]
        rest = names[1:]
        if row.alias_of and "f" in row.forms:
            define(f"{result} {row.name}", row.arguments, "", f"{row.alias_of}({', '.join(names)})")
        if (at := of_lists(row)) is not None and "f" in row.forms:
            arguments, _ = with_braces(row)
            inside = ", ".join(re.sub(r" = .*", "", argument) for argument in arguments)
            passed = [f"std::span({name}.begin(), {name}.size())" if i == at else name for i, name in enumerate(names)]
            lines.append(wrapped(f"{result} {row.name}({inside}) {{"))
            lines += [f"  return {row.name}({', '.join(passed)});", "}"]
        if "m" in row.forms and "f" in row.forms:
            define(f"{result} Tensor::{row.name}", row.arguments[1:], " const", f"tenon::{row.name}({', '.join(['*this'] + rest)})")
        if "i" in row.forms:
            called = f"tenon::{row.name}({', '.join(['before_write(*this)'] + rest)})"
            define(f"Tensor& Tensor::{row.name}_", row.arguments[1:], "", f'assign("{row.name}_", *this, {called})')
    return "\n".join(lines + ["", "}  // namespace tenon", ""])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def defined(name, signature, arguments, body, help_text, kind, define="define"):
    """The row of a binding: a line, as in the table."""
    return f"  {define}<{quoted(name)}, {quoted(signature)}, []({arguments}) {{ {body} }}>({quoted(help_text)}, {kind});"


def bindings(functions):
    lines = []
    for row in functions:
        if "h" in row.forms:
            continue
        inside = ", ".join(f"{argument.python_type() if i or 's' not in row.forms else 'Tensor'} {argument.name}" for i, argument in enumerate(row.arguments))
        passed = [argument.passed() for argument in row.arguments]
        call = f"tenon::{row.name}({', '.join(passed)})" if "f" in row.forms else f"{row.arguments[0].name}.{row.name}({', '.join(passed[1:])})"
        body = f"return computed([&] {{ return {call}; }});" if "w" in row.forms else f"{call}; return Same();" if "s" in row.forms else f"return {call};"
        signature = ", ".join(argument.python_name() for argument in row.arguments)
        help_text = row.help + ("\n\n" + "\n".join(row.examples) if row.examples else "")
        kind = "kMethod" if "f" not in row.forms else "kFunction" if "m" not in row.forms else "kBoth"
        lines.append(defined(row.name, signature, inside, body, help_text, kind, "define_also_in_place" if "i" in row.forms else "define"))
    # The table is data: its lines are as long as they are.
    return "\n".join([f"// {NOTE}", "//", "// Functions and methods of Python.", "", '#include "functions.h"', "",
                      "namespace tenon::python {", "", "// clang-format off", "void note_functions() {", *lines, "}", "",
                      "}  // namespace tenon::python", ""])


def call_bindings(functions, table, title, noted, header):
    lines = [f"// {NOTE.replace(TABLE, table)}", "//", f"// {title}", "", '#include "functions.h"', f'#include "{header}"', "",
             "namespace tenon::python {", "", "// clang-format off", f"void {noted}() {{"]
    for function in functions:
        lines.append(function.binding())
    return "\n".join(lines + ["}", "", "}  // namespace tenon::python", ""])


def test_table(functions):
    """Functions of one tensor, for tests of what holds for all of them."""
    lines = [f"// {NOTE}", "//", "// FUNCTION(name): of one tensor, and a method. IN_PLACE(name): also in place."]
    for row in functions:
        if len(row.arguments) == 1 and row.result == "Tensor" and "f" in row.forms and "m" in row.forms and row.arguments[0].kind == "Tensor":
            lines.append(f"FUNCTION({row.name})")
            if "i" in row.forms:
                lines.append(f"IN_PLACE({row.name})")
    return "\n".join(lines + [""])


def escaped(text):
    """For a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def docs(functions, creation, layers, linalg):
    lines = ["# Functions of tensors", "", f"<!-- {NOTE} -->", "",
             "Names, arguments and defaults are the same in C++ and Python. An argument without a type is a tensor; an operand is a tensor or",
             "a number; `?` marks what may be left out; dims are a list of sizes or dims, axes one dim, several or none. The second column says",
             "whether there is a function, a method (`x.abs()`) and a form in place (`x.abs_()`). [Tensors](tensors.md) shows how they are used."]
    for section, rows in by_section(functions):
        lines += ["", f"## {section}", "", "| function | forms | what it gives |", "| --- | --- | --- |"]
        for row in rows:
            forms = [name for letter, name in (("f", "function"), ("m", "method"), ("i", "in place"), ("s", "in place")) if letter in row.forms]
            since = "" if row.since == "0.1" else f" Since {row.since}."
            lines.append(f"| `{escaped(row.signature())}` | {', '.join(forms)} | {escaped(row.help)}{since} |")
    for section, rows in by_section(creation):
        lines += ["", f"## {section}", "", "| function | what it gives |", "| --- | --- |"]
        lines += [f"| `{escaped(row.signature())}` | {escaped(row.help)} |" for row in rows]
    lines += ["", "# Functions of layers", "",
              "What `tenon.nn.functional` has in Python, with PyTorch's names, arguments and defaults; `tenon.nn.init` has the initial values.",
              "C++ has them in `tenon::nn`, where several settings are one struct: `nn::conv2d(x, weight, bias, {.stride = 2})`."]
    for section, rows in by_section([row for row in layers if not row.name.startswith("_")]):
        lines += ["", f"## {section}", "", "| function | what it gives |", "| --- | --- |"]
        lines += [f"| `{escaped(row.signature())}` | {escaped(row.help)} |" for row in rows]
    lines += ["", "# Linear algebra", "", "What `tenon.linalg` has, and C++ in `tenon::linalg`. Matrices are the last two dims; where there are more, they are batches."]
    for section, rows in by_section(linalg):
        lines += ["", f"## {section}", "", "| function | what it gives |", "| --- | --- |"]
        lines += [f"| `{escaped(row.signature())}` | {escaped(row.help)} |" for row in rows]
    return "\n".join(lines + [""])


def written(functions, creation, layers, linalg):
    """Every file that follows from the table, by its path."""
    header = (ROOT / "tenon/tensor/tensor.h").read_text()
    begin, end = "  // ---- begin of the methods of functions.def", "  // ---- end of the methods of functions.def"
    head, rest = header.split(begin, 1)
    first_line, rest = rest.split("\n", 1)
    tail = rest.split(end, 1)[1]
    return {
        "tenon/tensor/ops.h": ops_header(functions),
        "tenon/tensor/tensor.h": head + begin + first_line + "\n" + methods_declared(functions) + end + tail,
        "tenon/tensor/methods.cpp": methods_source(functions),
        "python/src/generated/functions_of_tensors.cpp": bindings(functions),
        "python/src/generated/functions_of_creation.cpp": call_bindings(creation, CREATION, "Functions and methods that make tensors.", "note_creation", "creation.h"),
        "python/src/generated/functions_of_layers.cpp": call_bindings(layers, LAYERS, "Functions of nn.functional and nn.init.", "note_layers", "layer_arguments.h"),
        "python/src/generated/functions_of_linalg.cpp": call_bindings(linalg, LINALG, "Functions of tenon.linalg.", "note_linalg", "linalg.h"),
        "web/types/functions.d.ts": typescript.declarations(NOTE.replace(TABLE, "the tables of functions"), functions, creation, layers, linalg),
        "tests/tensor/function_table.inc": test_table(functions),
        "docs/functions.md": docs(functions, creation, layers, linalg),
    }


def untested(functions):
    """Functions that no test of C++ calls by name. Those of one tensor are walked by function_table.inc as well."""
    text = "".join(path.read_text() for folder in ("ops", "tensor", "nn", "exec", "plan", "grad", "linalg") for path in sorted((ROOT / "tests" / folder).glob("*.cpp")))
    return sorted({name for row in functions if not row.alias_of for name in row.called() if not re.search(rf"\b{name}\(", text)})


def main():
    functions, creation, layers, linalg = read_table(), read_calls(CREATION), read_calls(LAYERS), read_calls(LINALG)
    rows, stale = functions + creation + layers + linalg, []
    for path, text in written(functions, creation, layers, linalg).items():
        file = ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            file.write_text(text)
            print(f"wrote {path}")
    if "--check" not in sys.argv:
        return 0
    for path in stale:
        print(f"{path} is not what the tables say; run scripts/make_functions.py")
    for name in (missing := untested(rows)):
        print(f"{name}() is called by no test in tests/ops, tensor, nn, exec, plan, grad or linalg")
    print(f"{len(rows)} rows, {len(stale)} stale files, {len(missing)} functions without a test")
    return 1 if stale or missing else 0


if __name__ == "__main__":
    sys.exit(main())
