#!/usr/bin/env python3
"""Holds docs/adding-an-op.md against the source.

The op that a heading of the page names occurs in the files of the tables below it and in no others under tenon/ and tests/:
as Op::name, as a row of the op table, as name_rule, or as a function of tenon/math. The first table of a section counts
what an op needs: five files for a function, at most ten for a call. With --self-test, pages that lie are checked first.
"""

import argparse
import re
import sys
from pathlib import Path

PAGE = "docs/adding-an-op.md"
HEADING = re.compile(r"^## (?:A function of one number|(A call)): `(\w+)`$")
ROW = re.compile(r"^\| `([^`]+)` \|")
SUFFIXES = {".cpp", ".h", ".def"}


def sections(page):
    """(op, whether it is a call, its tables: lists of files)"""
    found, in_table = [], False
    for line in page.splitlines():
        heading = HEADING.match(line)
        if line.startswith("## "):
            if heading:
                found.append((heading.group(2), heading.group(1) is not None, []))
            in_table = False
        row = ROW.match(line)
        if row and found:
            if not in_table:
                found[-1][2].append([])
            found[-1][2][-1].append(row.group(1))
        in_table = line.startswith("|") and (in_table or row is not None)
    return found


def named_in(op, texts):
    pattern = re.compile(rf"\bOp::{op}\b|\bTENON_OP\({op},|\b{op}_rule\b|\bReal {op}\(")
    return {path for path, text in texts.items() if pattern.search(text)}


def problems(page, texts):
    wrong, all_sections = [], sections(page)
    if [is_call for _, is_call, _ in all_sections] != [False, True]:
        return [f"{PAGE} must show one function and one call"]
    for op, is_call, tables in all_sections:
        if not tables:
            wrong.append(f"{op}: the page has no table")
            continue
        if len(tables[0]) > 10 or (not is_call and len(tables[0]) != 5):
            wrong.append(f"{op}: the page lists {len(tables[0])} places")
        listed = [path for table in tables for path in table]
        found = named_in(op, texts)
        wrong += [f"{op}: {path} names it, and the page does not list that" for path in sorted(found - set(listed))]
        wrong += [f"{op}: the page lists {path}, which does not name it" for path in listed if path not in found]
    return wrong


def self_test():
    call = "## A call: `pool`\n\n| place | what |\n| --- | --- |\n| `tenon/pool.cpp` | x |\n"
    head = "## A function of one number: `f`\n\n| place | what |\n| --- | --- |\n"
    page = head + "".join(f"| `tenon/{i}.cpp` | x |\n" for i in range(5)) + "\n" + call
    texts = {f"tenon/{i}.cpp": "case Op::f:" for i in range(4)}
    texts.update({"tenon/4.cpp": "void f_rule()", "tenon/pool.cpp": "TENON_OP(pool, call)", "tenon/other.cpp": "Op::ff"})
    cases = [(page, texts, 0),
             (page, {**texts, "tenon/sixth.cpp": "Real f(const Real& x)"}, 1),
             (page, {**texts, "tenon/4.cpp": "nothing"}, 1),
             (page.replace("| `tenon/4.cpp` | x |\n", ""), texts, 2),
             (head, texts, 1)]
    wrong = [case for case in cases if len(problems(*case[:2])) != case[2]]
    print(f"self-test: {len(cases)} cases, {len(wrong)} wrong")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description="Check that docs/adding-an-op.md lists the files that an op takes.")
    parser.add_argument("--self-test", action="store_true", help="first check pages that lie")
    args = parser.parse_args()
    if args.self_test and not self_test():
        return 2
    root = Path(__file__).resolve().parent.parent
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for folder in ("tenon", "tests") for path in (root / folder).rglob("*") if path.suffix in SUFFIXES}
    wrong = problems((root / PAGE).read_text(encoding="utf-8"), texts)
    for problem in wrong:
        print(problem)
    print(f"{len(texts)} files searched, {len(wrong)} problems")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
