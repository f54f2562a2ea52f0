#!/usr/bin/env python3
"""Runs the programs of docs/guide, docs/tutorials and some pages of docs, and compares what they print with the pages.

    check_guide.py generate FILE...           writes all ```cpp blocks as C++, spread over these files
    check_guide.py cpp PROGRAM                runs what was built of them
    check_guide.py sh FOLDER                  runs ```sh blocks behind a line <!-- tested -->, with FOLDER first in PATH
    check_guide.py python [PYTHON]            runs all ```python blocks
    check_guide.py variables                  compares the table of environment variables with the code
    check_guide.py self-test                  tries the comparison on what it must find the same, or not

Every block is a whole program and runs in an empty folder of its own. Where a ```text block follows, the program must
print that: words and whole numbers as they stand, numbers with a decimal point to within 2 % or 0.002, because the last
digits of a sum depend on the processor. A line of three dots stands for any number of lines. `--update` writes what was
printed into the pages instead.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("docs/guide/*.md"), *ROOT.glob("docs/tutorials/*.md")])
PAGES += [ROOT / "docs" / name for name in ("2048.md", "agents.md", "capture.md", "generation.md", "models.md", "text.md")]
BLOCK = re.compile(r"(<!-- tested -->\n)?^```(cpp|python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
REAL = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


def blocks(language):
    """(page, line, text, expected output or None, (start, end) of that output) of every program in a language."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found.group(2) != language or (language == "sh" and not found.group(1)):
                continue
            line = text.count("\n", 0, found.start(3))
            yield page, line, found.group(3), found.group(4), found.span(4)


def generate(files):
    """Each program is a namespace, its main() a function of it."""
    parts = [[] for _ in files]
    for number, (page, line, program, _, _) in enumerate(blocks("cpp")):
        place = f"{page.relative_to(ROOT)}:{line}"
        if "int main()" not in program:
            sys.exit(f"{place}: not a whole program: there is no int main()")
        includes = re.findall(r"^#include .*\n", program, re.M)
        body = re.sub(r"^#include .*\n", "\n", program, flags=re.M).replace("int main()", "int run()")
        # main() may end without a return; run() may not.
        body = body.rstrip()
        if not re.search(r"return [^;]*;\s*\}$", body):
            body = body[:-1] + "  return 0;\n}"
        parts[number % len(files)].append(
            "".join(includes) + f"namespace program_{number} {{\n#line {line + 1} \"{page}\"\n" +
            body + "\n}  // namespace\n")
    total = sum(map(len, parts))
    table = "".join(f"namespace program_{i} {{ int run(); }}\n" for i in range(total))
    table += "int main(int, char** argv) {\n  static int (*const programs[])() = {"
    table += ", ".join(f"program_{i}::run" for i in range(total))
    table += "};\n  return programs[std::stoi(argv[1])]();\n}\n"
    for i, (name, part) in enumerate(zip(files, parts)):
        text = "// Made of docs by scripts/check_guide.py.\n#include <string>\n"
        text += "\n".join(part) + (table if i == 0 else "")
        file = Path(name)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def same_line(shown, expected):
    words, wanted = shown.split(), expected.split()
    if len(words) != len(wanted):
        return False
    for one, other in zip(words, wanted):
        if one == other:
            continue
        if REAL.sub("#", one) != REAL.sub("#", other):
            return False
        for a, b in zip(map(float, REAL.findall(one)), map(float, REAL.findall(other))):
            if abs(a - b) > max(0.002, 0.02 * abs(b)):
                return False
    return True


def same(shown, expected):
    """Whether lines are those expected, of which "..." stands for any number."""
    if not expected:
        return not shown
    if expected[0].strip() == "...":
        return any(same(shown[i:], expected[1:]) for i in range(len(shown) + 1))
    return bool(shown) and same_line(shown[0], expected[0]) and same(shown[1:], expected[1:])


def run_all(language, command_of, update):
    """Runs the programs; command_of(number, text) says how. The environment's TENON_* would change what they print."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TENON_")}
    wrong, changes, count = 0, [], 0
    for number, (page, line, program, expected, span) in enumerate(blocks(language)):
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(command_of(number, program), cwd=folder, env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace")
        place = f"{page.relative_to(ROOT)}:{line}"
        if ran.returncode != 0:
            wrong += 1
            print(f"{place}: ended with {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        elif expected is not None and not same(ran.stdout.splitlines(), expected.splitlines()):
            if update:
                changes.append((page, span, ran.stdout))
                continue
            wrong += 1
            print(f"{place}: printed\n{ran.stdout}\ninstead of\n{expected}")
    for page, (start, end), text in reversed(changes):
        whole = page.read_text(encoding="utf-8")
        page.write_text(whole[:start] + text + whole[end:], encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: updated")
    print(f"{count} programs in {language}, {wrong} wrong")
    return 1 if wrong or not count else 0


def variables():
    """The names that the code asks the environment for, and those of the table; what the library reads is described there
    as `tenon info --env` describes it."""
    asked = set()
    for folder, pattern in [("tenon", "*.cpp"), ("tenon/base", "environment.h"), ("apps", "*.cpp"), ("python", "*.cpp"), ("python", "*.py"),
                            ("tests", "*.cpp"), ("tests", "*.h"), ("tests", "*.py"), ("bench", "*.cpp"), ("scripts", "*.sh")]:
        spelling = r"\$\{?(TENON_[A-Z_]+)" if pattern == "*.sh" else r"\"(TENON_[A-Z_]+)\""
        for path in (ROOT / folder).rglob(pattern):
            asked |= set(re.findall(spelling, path.read_text(encoding="utf-8")))
    page = (ROOT / "docs/guide/debugging.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(TENON_[A-Z_]+)", page, re.M))
    for name in sorted(asked - told):
        print(f"docs/guide/debugging.md: {name} is missing from the table of environment variables")
    for name in sorted(told - asked):
        print(f"docs/guide/debugging.md: nothing reads {name}")
    header = re.sub(r'"\s*\n\s*"', "", (ROOT / "tenon/base/environment.h").read_text(encoding="utf-8"))
    rows = re.findall(r'Variable (k\w+)\{\s*"(\w+)",\s*"(.*?)",\s*"(.*?)"\}', header)
    listed = set(re.findall(r"&(k\w+)", header))
    wrong = 0
    for constant, name, values, help_text in rows:
        if constant not in listed:
            print(f"tenon/base/environment.h: kAll lacks {constant}")
            wrong += 1
        if name.startswith("TENON_") and f"| `{name}` | {values} | {help_text} |" not in page:
            print(f"docs/guide/debugging.md: {name} is described otherwise than in tenon/base/environment.h")
            wrong += 1
    for path in [*(ROOT / "tenon").rglob("*.cpp"), *(ROOT / "apps").rglob("*.cpp")]:
        if "getenv(" in path.read_text(encoding="utf-8") and path.name != "environment.cpp":
            print(f"{path.relative_to(ROOT)}: reads the environment by itself; add a row to tenon/base/environment.h")
            wrong += 1
    return 1 if asked != told or wrong or not rows else 0


# (printed, expected, whether they are the same)
SELF_TEST = [
    ("loss 2.45\nend", "loss 2.46\nend", True),
    ("loss 2.45\nend", "loss 2.65\nend", False),
    ("3 of 4", "3 of 5", False),
    ("3 of 4", "4 of 4", False),
    ("a\nb\nc", "a\n...", True),
    ("a\nb\nc", "a\n...\nc", True),
    ("a\nb\nc", "a\n...\nd", False),
    ("a\nb", "a", False),
    ("a", "a\nb", False),
    ("a", "", False),
    ("[1.  2.5]", "[1. 2.5]", True),
    ("1.5e-3", "1.5e-1", False),
    ("nan", "1.0", False),
]


def self_test():
    wrong = [case for case in SELF_TEST if same(case[0].splitlines(), case[1].splitlines()) != case[2]]
    for case in wrong:
        print(f"self-test: {case}")
    return 1 if wrong else 0


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    update = "--update" in sys.argv
    what, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if what == "generate" and rest:
        return generate(rest)
    if what == "cpp" and rest:
        program = str(Path(rest[0]).resolve())
        return run_all("cpp", lambda number, _: [program, str(number)], update)
    if what == "sh" and rest:
        path = f"{Path(rest[0]).resolve()}:{os.environ['PATH']}"
        return run_all("sh", lambda _, text: ["env", f"PATH={path}", "bash", "-euo", "pipefail", "-c", text], update)
    if what == "python":
        python = rest[0] if rest else sys.executable
        return run_all("python", lambda _, text: [python, "-c", text], update)
    if what == "variables":
        return variables()
    if what == "self-test":
        return self_test()
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
