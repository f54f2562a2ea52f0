"""The TypeScript declarations of the functions of the tables; scripts/make_functions.py writes them."""

import re
import textwrap

# Types of the tables as TypeScript has them. A name that ends with '?' may also be null.
TYPES = {"Tensor": "Tensor", "Operand": "Operand", "Number": "Scalar", "int": "number", "float": "number", "bool": "boolean", "str": "string",
         "DType": "DType", "Dims": "Dims", "Axes": "number | Dims | null", "Tensors": "readonly Tensor[]", "Generator": "Generator | null",
         "Device": "Device | null", "Size1": "Size<1>", "Size2": "Size<2>", "Size3": "Size<3>", "Padding1": "Padding<1>",
         "Padding2": "Padding<2>", "Padding3": "Padding<3>", "Reduction": "Reduction", "Order": "Order"}
# Arguments of the type Object, by their names.
OBJECTS = {"device": "Device | null", "size": "number | Dims | null", "scale_factor": "number | readonly number[] | null",
           "output_size": "number | readonly (number | null)[]", "distance_function": "((a: Tensor, b: Tensor) => Tensor) | null",
           "input_lengths": "Tensor | Dims", "target_lengths": "Tensor | Dims", "start": "Operand", "end": "Operand", "data": "TensorData"}
RESULTS = {"Tensor": "Tensor", "Pair": "[values: Tensor, indices: Tensor]", "Tensors": "Tensor[]", "bool": "boolean", "float": "number"}
# Types of results with names, which C++ declares as structs.
RECORDS = {"Unique": ("values", "inverse", "counts"), "Qr": ("Q", "R"), "Svd": ("U", "S", "Vh"), "Eigen": ("eigenvalues", "eigenvectors"),
           "SignAndLog": ("sign", "logabsdet"), "LeastSquares": ("solution", "residuals", "rank", "singular_values")}
# Arguments that only Python has, for programs written for PyTorch 0.4.
PYTHON_ALONE = ("size_average", "reduce", "_stacklevel")
# No name of a function or an argument in JavaScript, though one of a property.
RESERVED = {"arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum",
            "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in", "instanceof", "interface",
            "let", "new", "null", "package", "private", "protected", "public", "return", "static", "super", "switch", "this", "throw", "true",
            "try", "typeof", "var", "void", "while", "with", "yield"}

PRELUDE = """\
export type DType = "f32" | "f16" | "bf16" | "f64" | "i32" | "i64" | "u8" | "bool";
/** The name of a device, such as "cpu". */
export type Device = string;
export type Scalar = number | boolean;
/** A tensor or a number. */
export type Operand = Tensor | Scalar;
/** Sizes of dims, or dims. */
export type Dims = readonly number[];
type OfAxes<N extends 1 | 2 | 3> = N extends 1 ? readonly [number] : N extends 2 ? readonly [number, number] : readonly [number, number, number];
/** A number for all axes, or one for each. */
export type Size<N extends 1 | 2 | 3> = number | OfAxes<N>;
export type Padding<N extends 1 | 2 | 3> = Size<N> | "same" | "valid";
export type Reduction = "none" | "mean" | "sum" | "batchmean";
/** The order of a norm. */
export type Order = number | "fro" | "nuc";
/** Numbers, in lists for every dim. */
export type TensorData = Scalar | Tensor | ArrayLike<number> | readonly TensorData[];
/** Random numbers of a seed. */
export interface Generator {
  readonly seed: number;
}
"""


class Parameter:
    def __init__(self, argument):
        self.name = argument.name + ("_" if argument.name in RESERVED else "")
        self.is_optional, self.starred, self.default = argument.default is not None, argument.starred, argument.default
        kind = argument.python_kind
        base = kind.removesuffix("?")
        if base == "Object":
            if argument.name not in OBJECTS:
                raise SystemExit(f"scripts/typescript.py does not know the type of '{argument.name}: Object'")
            self.type = OBJECTS[argument.name]
        else:
            if base not in TYPES:
                raise SystemExit(f"scripts/typescript.py does not know the type '{kind}'")
            self.type = TYPES[base]
        if base == "Dims" and (argument.default or "").isdigit():
            self.type = "number | Dims"
        if (kind.endswith("?") or argument.default == "None") and "null" not in self.type:
            self.type += " | null"
        self.item = {"Dims": "number", "Axes": "number", "Tensors": "Tensor"}.get(base)

    def shown(self, is_needed=False):
        if is_needed and self.is_optional:
            return f"{self.name}: {self.type} | undefined"
        # A list that other arguments follow may be one number, too; tensors come as a list.
        kind = f"number | {self.type}" if self.starred and self.item == "number" and "number |" not in self.type else self.type
        return f"{self.name}{'?' if self.is_optional else ''}: {kind}"


def parameter_lists(arguments):
    """(parameters, whether they ask for indices) of each overload."""
    parameters = [Parameter(argument) for argument in arguments if argument.name not in PYTHON_ALONE]
    names = [one.name for one in parameters]
    if "return_indices" in names:
        at = names.index("return_indices")
        plain, asking = [one.shown() for one in parameters], [one.shown(True) for one in parameters[:at]]
        plain[at] = "return_indices?: false"
        return [(plain, False), (asking + ["return_indices: true"] + [one.shown() for one in parameters[at + 1:]], True)]
    lists = [([one.shown() for one in parameters], False)]
    if parameters and parameters[-1].starred:
        last = parameters[-1]
        lists.append(([one.shown() for one in parameters[:-1]] + [f"...{last.name}: {last.item}[]"], False))
    return lists


def comment(row, arguments, indent, also=""):
    """The line of help, defaults, and since when."""
    given = [f"{one.name} = {one.default}" for one in arguments if one.default not in (None, "None") and one.name not in PYTHON_ALONE]
    text = row.help.replace("*/", "* /") + also + (f" Defaults: {', '.join(given)}." if given else "")
    since = getattr(row, "since", None)
    lines = textwrap.wrap(text, 112 - len(indent), break_long_words=False, break_on_hyphens=False) + ([f"@since {since}"] if since else [])
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**"] + [f"{indent} * {line}" for line in lines] + [f"{indent} */"]


def declared(row, name, arguments, indent, keyword, result, also=""):
    lines = comment(row, arguments, indent, also)
    for parameters, with_indices in parameter_lists(arguments):
        given = RESULTS["Pair"] if with_indices else result
        line = f"{indent}{keyword}{name}({', '.join(parameters)}): {given};"
        if len(line) > 120:
            line = f"{indent}{keyword}{name}(\n" + "".join(f"{indent}  {one},\n" for one in parameters) + f"{indent}): {given};"
        lines.append(line)
    return lines


def functions_of(rows, indent, keyword):
    lines, renamed = [], []
    for row in rows:
        name = row.name + ("_" if row.name in RESERVED else "")
        if name != row.name and row.name not in renamed:
            renamed.append(row.name)
        result = RESULTS.get(row.result, row.result)
        lines += declared(row, name, row.arguments, indent, keyword if name == row.name else keyword.removeprefix("export "), result)
    return lines + [f"{indent}export {{ {name}_ as {name} }};" for name in renamed]


def methods_of(functions, creation):
    lines = []
    for row in functions:
        rest, result = row.arguments[1:], RESULTS.get(row.result, row.result)
        if "m" in row.forms:
            lines += declared(row, row.name, rest, "  ", "", result)
        if "i" in row.forms:
            lines += declared(row, row.name + "_", rest, "  ", "", "this", " In place.")
        if "s" in row.forms:
            lines += declared(row, row.name, rest, "  ", "", "this", " In place.")
    for row in creation:
        if row.module == "method":
            lines += declared(row, row.name, row.arguments[1:], "  ", "", "Tensor")
    return lines


def declarations(note, functions, creation, layers, linalg):
    lines = [f"// {note}", "//", "// Names, the order of arguments and their defaults are those of C++ and Python; what has a default may be left out.", "",
             *PRELUDE.splitlines()]
    for name, fields in RECORDS.items():
        lines += [f"export interface {name} {{", *(f"  readonly {field}: Tensor;" for field in fields), "}"]
    lines += ["", "/** A tensor; methods that end with an underscore write in place. */", "export interface Tensor {", "  readonly shape: Dims;",
              "  readonly dtype: DType;", "  readonly device: Device;", "", *methods_of(functions, creation), "}", ""]
    plain = [row for row in functions if "f" in row.forms] + [row for row in creation if row.module == "function"]
    lines += functions_of(plain, "", "export declare function ")
    for path, module in (("nn.functional", "functional"), ("nn.init", "init"), ("linalg", "linalg")):
        rows = [row for row in layers + linalg if row.module == module and not row.name.startswith("_")]
        lines += ["", f"export declare namespace {path} {{", *functions_of(rows, "  ", "function "), "}"]
    return "\n".join(re.sub(r"\s+$", "", line) for line in lines) + "\n"
