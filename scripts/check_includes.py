#!/usr/bin/env python3
"""Checks every #include under tenon/ against the rooms of the design.

A room may include itself, the rooms of its row in USES, and what those use; data goes down that list and never back up.
Checking each direct include against the closure is enough: a chain of allowed includes stays inside it.
Beyond that, tenon.h must not lead a user to internals: of what lies below `tensor` it may reach PUBLIC alone.
With --self-test, planted violations are run through the same code first, because a checker that finds nothing proves
nothing.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

# The headers of ir/ that hold plain data. device/ knows these and no ops; to keep that true, they are a room of their
# own, below the rest of ir/.
PLAIN_IR = {
    "dtype.h", "shape.h", "data.h", "limits.h", "call.h", "view.h", "op.h", "ops.def", "attrs.h", "device_id.h",
    "look_up.h", "loop_nest.h",
}

BACKENDS = {f"backends/{name}" for name in ("cpu", "cuda", "opencl", "vulkan", "webgpu", "reference", "null", "remote", "simulated")}
# What GPU backends have in common.
GPU_BACKENDS = {f"backends/{name}" for name in ("cuda", "opencl", "vulkan", "webgpu")}

# The design's table "may use (and what those use)".
USES = {
    "base": set(),
    "math": {"base"},
    "ir/plain": {"base"},
    "ir": {"base", "ir/plain"},
    "grad": {"ir"},
    "plan": {"ir"},
    "codegen": {"ir", "math"},
    "render": {"codegen"},
    "kernels": {"codegen"},
    "device": {"ir/plain"},
    "backends/gpu": {"device", "render", "kernels"},
    **{backend: {"device", "render", "kernels"} for backend in BACKENDS},
    **{backend: {"backends/gpu"} for backend in GPU_BACKENDS},
    "backends": {"device"} | BACKENDS,  # the explicit list of backends: files directly in backends/
    "exec": {"plan", "device"},
    "tensor": {"grad", "exec"},
    "nn": {"tensor"},
    "linalg": {"tensor"},
    "distributions": {"tensor"},
    "fft": {"tensor"},
    "optim": {"tensor"},
    "io": {"tensor"},
    "text": {"io"},
    "data": {"text"},
    "models": {"nn", "optim", "data"},
    "rl": {"nn", "optim", "data"},
    "watch": {"io"},
    "train": {"models", "rl", "watch"},
}
USES["tenon.h"] = set(USES)  # the one public header gathers all

# Of the rooms below `tensor` and of what is that room's own, all that tenon.h may reach: plain data that users name.
PUBLIC = {
    "tenon/base/error.h", "tenon/base/flat_map.h", "tenon/base/half.h", "tenon/base/interrupt.h", "tenon/base/out_of_range.h", "tenon/base/zero_division.h",
    "tenon/base/threads.h", "tenon/base/turn.h",
    "tenon/base/small_vector.h",
    "tenon/ir/device_id.h", "tenon/ir/dtype.h", "tenon/ir/shape.h",
    "tenon/device/lost.h", "tenon/device/memory_stats.h", "tenon/device/out_of_memory.h", "tenon/exec/stats.h",
}
INTERNAL_TENSOR = {
    f"tenon/tensor/{name}.h" for name in (
        "access", "generator_state", "held", "hooks", "mapping", "pending_writes", "record", "recording", "settle", "signature", "slices",
        "tensor_impl", "trace")
}

# Third-party headers by their first path component, and the rooms that may include them. fmt is free everywhere.
# Rooms that are not listed reach the same things through the room that wraps them.
THIRD_PARTY = {
    "nlohmann": {"io", "data", "text", "models", "rl", "watch", "train"},
    "zlib": {"io", "data"},
    "bzlib": {"data"},
    "zstd": {"data"},
    "png": {"data"},
    "jpeglib": {"data"},
    "jerror": {"data"},
    "pcre2": {"text"},
    "omp": {"base", "backends/cpu"},
    "hwy": {"backends/cpu"},
    "dnnl": {"backends/cpu"},
    "oneapi": {"backends/cpu"},
    "CL": {"backends/opencl"},
    "vulkan": {"backends/vulkan"},
    "volk": {"backends/vulkan"},
    "glslang": {"backends/vulkan"},
    "webgpu": {"backends/webgpu"},
    "emscripten": {"backends/webgpu"},
}
SYSTEM_FOLDERS = {"sys", "linux"}

SUFFIXES = {".h", ".cpp", ".def"}
MANY_LINES = 800

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)

# Comments and raw strings can hold the text of an #include (kernel sources do); other literals are matched only so that
# a quote or a comment mark inside them starts nothing.
NOT_CODE = re.compile(
    r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r"|//[^\n]*"
    r"|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.[^'\n]*|[^'\\\n])'",
    re.DOTALL,
)


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def room_of(path):
    """The room of a path such as tenon/ir/node.h, or None if the design has no such room."""
    parts = path.split("/")[1:]
    if parts == ["tenon.h"]:
        return "tenon.h"
    if len(parts) < 2:
        return None
    if parts[0] == "ir" and len(parts) == 2 and parts[1] in PLAIN_IR:
        return "ir/plain"
    room = "/".join(parts[:2]) if parts[0] == "backends" and len(parts) > 2 else parts[0]
    return room if room in USES else None


def usable_by(room):
    """The rooms that `room` may include: itself, its row, and what those use."""
    found, waiting = set(), [room]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(USES[current])
    return found


def names(rooms):
    return ", ".join(sorted(rooms)) or "nothing"


def judge(room, quote, target):
    """Why a file of `room` may not include `target`, or None if it may."""
    if target.startswith("tenon/"):
        target_room = room_of(target)
        if target_room is None:
            return f"{target} is in no room of the design"
        usable = usable_by(room)
        if target_room in usable:
            return None
        return f"room {room} may not include {target_room} ({target}) (may use: {names(usable - {room})})"

    head = target.split("/")[0].split(".")[0]
    if head == "fmt" and "/" in target:
        return None
    if head in THIRD_PARTY:
        rooms = THIRD_PARTY[head]
        return None if room in rooms else f"room {room} may not include <{target}> (only: {names(rooms)})"
    if quote == '"':
        return f'"{target}" must be included by its full path, "tenon/..."'
    if target.endswith(".hpp") or ("/" in target and head not in SYSTEM_FOLDERS):
        return f"room {room} may not include <{target}> (an unknown third party)"
    return None


def without_comments(text):
    """`text` with comments and raw strings blanked out, line numbers unchanged."""

    def blank(match):
        found = match.group()
        keep = found[0] in "\"'"
        return found if keep else "\n" * found.count("\n")

    return NOT_CODE.sub(blank, text)


def check_text(path, text):
    room = room_of(path)
    if room is None:
        return [Violation(path, 1, "the file is in no room of the design")]
    code = without_comments(text)
    violations = []
    for match in INCLUDE.finditer(code):
        problem = judge(room, *match.groups())
        if problem:
            violations.append(Violation(path, code.count("\n", 0, match.start(2)) + 1, problem))
    return violations


def check_public(texts):
    """Where tenon.h leads to internals. `texts` has the files by name."""
    below = usable_by("tensor") - {"tensor"}
    violations, seen, waiting = [], set(), ["tenon/tenon.h"]
    while waiting:
        path = waiting.pop()
        if path in seen or path not in texts:
            continue
        seen.add(path)
        code = without_comments(texts[path])
        for match in INCLUDE.finditer(code):
            target = match.group(2)
            if target in INTERNAL_TENSOR or (room_of(target) in below | BACKENDS | {"backends/gpu"} and target not in PUBLIC):
                line = code.count("\n", 0, match.start(2)) + 1
                violations.append(Violation(path, line, f"tenon.h leads here, and {target} is not for users"))
            else:
                waiting.append(target)
    return violations


def check_python(root):
    """The Python module knows the public header alone, but for what its tests break."""
    violations = []
    for path in sorted((root / "python" / "src").glob("**/*.*")):
        if path.name == "for_tests.cpp":
            continue
        code = without_comments(path.read_text(encoding="utf-8"))
        for match in INCLUDE.finditer(code):
            if match.group(2).startswith("tenon/") and match.group(2) != "tenon/tenon.h":
                line = code.count("\n", 0, match.start(2)) + 1
                violations.append(Violation(path.relative_to(root).as_posix(), line, "the Python module includes tenon/tenon.h alone"))
    return violations


def check_tree(root):
    """Prints what is wrong under root/tenon; returns whether all is well."""
    paths = sorted(p for p in (root / "tenon").rglob("*") if p.suffix in SUFFIXES and p.is_file())
    violations, texts = [], {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        texts[name] = text
        violations += check_text(name, text)
        lines = text.count("\n")
        if lines > MANY_LINES:
            print(f"{name}: warning: {lines} lines; a file this long has two ideas")
    violations += check_public(texts)
    violations += check_python(root)
    for violation in violations:
        print(violation)
    print(f"{len(paths)} files checked, {len(violations)} violations")
    return bool(paths) and not violations


# (file, its text, the line of the one violation in it; None where there is none)
SELF_TEST = [
    # Up and sideways.
    ("tenon/base/hash.h", '#include "tenon/ir/dtype.h"\n', 1),
    ("tenon/ir/node.cpp", '#include "tenon/ir/node.h"\n#include "tenon/plan/plan.h"\n', 2),
    ("tenon/grad/rules.cpp", '#include "tenon/plan/plan.h"\n', 1),
    ("tenon/plan/group.cpp", '#include "tenon/exec/eval.h"\n', 1),
    ("tenon/render/wgsl.cpp", '#include "tenon/kernels/matmul.h"\n', 1),
    ("tenon/exec/eval.cpp", '#include "tenon/backends/cpu/device.h"\n', 1),
    ("tenon/exec/eval.cpp", '#include "tenon/render/wgsl.h"\n', 1),
    ("tenon/exec/eval.cpp", '#include "tenon/grad/rules.h"\n', 1),
    ("tenon/nn/linear.cpp", '#include "tenon/optim/adam.h"\n', 1),
    ("tenon/models/gpt2.cpp", '#include "tenon/rl/dqn.h"\n', 1),
    ("tenon/tensor/tensor.cpp", '#include "tenon/tenon.h"\n', 1),
    ("tenon/tensor/tensor.cpp", "#  include <tenon/nn/linear.h>\n", 1),
    ("tenon/math/coefficients.h", '#include "tenon/ir/op.h"\n', 1),
    ("tenon/backends/cpu/tile/math-inl.h", '#include "tenon/math/coefficients.h"\n', None),
    ("tenon/plan/group.cpp", '#include "tenon/math/coefficients.h"\n', 1),
    # device/ and the plain data of ir/.
    ("tenon/device/device.h", '#include "tenon/ir/limits.h"\n#include "tenon/base/error.h"\n', None),
    ("tenon/device/device.h", '#include "tenon/ir/node.h"\n', 1),
    ("tenon/ir/view.h", '#include "tenon/ir/node.h"\n', 1),
    ("tenon/ir/view.cpp", '#include "tenon/ir/node.h"\n', None),
    # Backends.
    ("tenon/backends/cpu/device.cpp", '#include "tenon/backends/null/device.h"\n', 1),
    ("tenon/backends/cpu/device.cpp", '#include "tenon/exec/eval.h"\n', 1),
    ("tenon/backends/cuda/driver.cpp", '#include "tenon/backends/gpu/queue.h"\n#include "tenon/device/pool.h"\n', None),
    ("tenon/backends/cpu/device.cpp", '#include "tenon/backends/gpu/queue.h"\n', 1),
    ("tenon/backends/gpu/queue.cpp", '#include "tenon/backends/cuda/driver.h"\n', 1),
    ("tenon/backends/cpu/device.cpp", '#include "tenon/ir/node.h"\n#include "tenon/kernels/matmul.h"\n', None),
    ("tenon/backends/cpu/tile/build.cpp", '#include "tenon/codegen/stages.h"\n#include "hwy/highway.h"\n', None),
    ("tenon/backends/cpu/tile/build.cpp", '#include "tenon/exec/eval.h"\n', 1),
    ("tenon/backends/all.cpp", '#include "tenon/backends/cpu/device.h"\n', None),
    ("tenon/backends/all.cpp", '#include "tenon/exec/eval.h"\n', 1),
    # Down, however far.
    ("tenon/models/gpt2.cpp", '#include "tenon/base/error.h"\n#include "tenon/ir/dtype.h"\n', None),
    ("tenon/tenon.h", '#include "tenon/rl/dqn.h"\n#include "tenon/backends/all.h"\n', None),
    # Unknown rooms.
    ("tenon/util/misc.h", "", 1),
    ("tenon/misc.h", "", 1),
    ("tenon/backends/metal/device.cpp", "", 1),
    ("tenon/io/npy.cpp", '#include "tenon/util/misc.h"\n', 1),
    # Third parties.
    ("tenon/io/npy.cpp", "#include <vector>\n#include <fmt/core.h>\n#include <nlohmann/json.hpp>\n", None),
    ("tenon/nn/linear.cpp", "#include <nlohmann/json.hpp>\n", 1),
    ("tenon/io/zip.cpp", "#include <zlib.h>\n", None),
    ("tenon/nn/linear.cpp", "#include <zlib.h>\n", 1),
    ("tenon/io/npy.cpp", '#include "tenon/text/tokenizer.h"\n', 1),
    ("tenon/data/prepare.cpp", '#include "tenon/text/tokenizer.h"\n#include "tenon/io/file.h"\n', None),
    ("tenon/models/gpt2.cpp", '#include "tenon/train/trainer.h"\n', 1),
    # A run is watched from outside: what draws it knows files, not runs.
    ("tenon/train/trainer.cpp", '#include "tenon/watch/report.h"\n', None),
    ("tenon/watch/report.cpp", '#include "tenon/io/file.h"\n#include "tenon/train/run_folder.h"\n', 2),
    ("tenon/watch/report.cpp", '#include "tenon/models/gpt2.h"\n', 1),
    ("tenon/plan/group.cpp", '#include "hwy/highway.h"\n', 1),
    ("tenon/backends/cpu/math.cpp", '#include "hwy/highway.h"\n#include <sys/mman.h>\n#include <unistd.h>\n', None),
    ("tenon/base/error.cpp", "#include <boost/any.hpp>\n", 1),
    ("tenon/ir/node.cpp", '#include "node.h"\n', 1),
    # Text that only looks like an include, and one that follows it.
    ("tenon/ir/node.cpp", '// #include "tenon/nn/a.h"\n/*\n#include "tenon/nn/a.h"\n*/\n', None),
    ("tenon/render/cuda.cpp", 'auto s = R"(\n#include <cuda_bf16.h/x>\n)";\n', None),
    ("tenon/render/cuda.cpp", 'auto s = "/*";\nauto c = \'"\';\n#include "tenon/nn/a.h"\n', 3),
    ("tenon/render/cuda.cpp", 'auto s = R"x(\n)" )x";\n#include "tenon/nn/a.h"\n', 3),
]


# (files, which of them leads a user to internals)
PUBLIC_SELF_TEST = [
    ({"tenon/tenon.h": '#include "tenon/nn/a.h"\n', "tenon/nn/a.h": '#include "tenon/tensor/tensor.h"\n',
      "tenon/tensor/tensor.h": '#include "tenon/ir/shape.h"\n', "tenon/nn/b.h": '#include "tenon/ir/node.h"\n'}, []),
    ({"tenon/tenon.h": '#include "tenon/nn/a.h"\n', "tenon/nn/a.h": '#include "tenon/ir/node.h"\n'}, ["tenon/nn/a.h"]),
    ({"tenon/tenon.h": '#include "tenon/tensor/access.h"\n'}, ["tenon/tenon.h"]),
    ({"tenon/tenon.h": '#include "tenon/backends/cpu/device.h"\n'}, ["tenon/tenon.h"]),
]


def self_test():
    wrong = 0
    for texts, paths in PUBLIC_SELF_TEST:
        found = [violation.path for violation in check_public(texts)]
        if found != paths:
            wrong += 1
            print(f"self-test: {texts}: expected violations in {paths}, found {found}")
    for path, text, line in SELF_TEST:
        found = [violation.line for violation in check_text(path, text)]
        if found != ([] if line is None else [line]):
            wrong += 1
            print(f"self-test: {path} with {text!r}: expected a violation on line {line}, found {found}")
    print(f"self-test: {len(SELF_TEST) + len(PUBLIC_SELF_TEST)} cases, {wrong} wrong")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description="Check every #include under tenon/ against the rooms of the design.")
    parser.add_argument("--self-test", action="store_true", help="first check that planted violations are found")
    args = parser.parse_args()
    if args.self_test and not self_test():
        return 2
    return 0 if check_tree(Path(__file__).resolve().parent.parent) else 1


if __name__ == "__main__":
    sys.exit(main())
