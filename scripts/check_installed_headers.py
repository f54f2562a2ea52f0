#!/usr/bin/env python3
"""Checks the headers of an installed Tenon: check_installed_headers.py [--self-test] INCLUDE_DIR

What is installed is tenon/tenon.h and what it includes: every header of ours that an installed one includes is there, and
every one that is there can be reached from tenon.h. With --self-test, folders with planted mistakes are run through the
same code first.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](tenon/[^">\n]+)[">]', re.MULTILINE)


def problems_of(include_dir):
    """What is wrong with the headers under include_dir/tenon, as lines."""
    installed = {p.relative_to(include_dir).as_posix(): p for p in (include_dir / "tenon").rglob("*") if p.is_file()}
    if "tenon/tenon.h" not in installed:
        return ["tenon/tenon.h is not installed"]
    problems, reached, waiting = [], set(), ["tenon/tenon.h"]
    while waiting:
        header = waiting.pop()
        if header in reached:
            continue
        reached.add(header)
        for included in INCLUDE.findall(installed[header].read_text(encoding="utf-8")):
            if included in installed:
                waiting.append(included)
            else:
                problems.append(f"{header} includes {included}, which is not installed")
    problems += [f"{header} is installed, and tenon.h does not include it" for header in installed.keys() - reached]
    return sorted(problems)


# (headers by their path, what is wrong with them)
SELF_TEST = [
    ({"tenon/tenon.h": '#include <vector>\n#include "tenon/a/b.h"\n', "tenon/a/b.h": "#include <tenon/a/c.h>\n",
      "tenon/a/c.h": '#include "tenon/tenon.h"\n'}, []),
    ({"tenon/tenon.h": '#include "tenon/a/b.h"\n', "tenon/a/b.h": '  # include "tenon/a/c.h"\n'},
     ["tenon/a/b.h includes tenon/a/c.h, which is not installed"]),
    ({"tenon/tenon.h": "", "tenon/a/ops.def": ""}, ["tenon/a/ops.def is installed, and tenon.h does not include it"]),
    ({"tenon/tenon.h": "", "tenon/a/b.h": '#include "tenon/a/c.h"\n', "tenon/a/c.h": '#include "tenon/a/b.h"\n'},
     ["tenon/a/b.h is installed, and tenon.h does not include it",
      "tenon/a/c.h is installed, and tenon.h does not include it"]),
    ({"tenon/a/b.h": ""}, ["tenon/tenon.h is not installed"]),
]


def self_test():
    wrong = 0
    for files, expected in SELF_TEST:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = problems_of(Path(folder))
        if found != expected:
            wrong += 1
            print(f"self-test: {files}: expected {expected}, found {found}")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description="Check the headers of an installed Tenon.")
    parser.add_argument("--self-test", action="store_true", help="first check that planted mistakes are found")
    parser.add_argument("include_dir", type=Path)
    args = parser.parse_args()
    if args.self_test and not self_test():
        return 2
    problems = problems_of(args.include_dir)
    for problem in problems:
        print(problem)
    print(f"{sum(1 for p in (args.include_dir / 'tenon').rglob('*') if p.is_file())} headers installed, "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
