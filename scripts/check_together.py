#!/usr/bin/env python3
"""Checks that files which are compiled together do not take each other's helpers: check_together.py FOLDER...

FOLDERs hold the files that CMake writes for that (CMakeFiles/NAME.dir/Unity). A helper in an unnamed namespace is seen
by the files behind it in the same translation unit, and hides a function of their own room that has its name: the
program then compiles and does something else. Such a file belongs into `alone` of its CMakeLists.txt.
"""

import glob
import re
import sys


def code_of(path):
    text = open(path).read()
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\])*"', '""', text)


def bodies_of_unnamed(text):
    for start in re.finditer(r"^namespace \{$", text, flags=re.M):
        depth, at = 1, start.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield text[start.end():at]


FUNCTION = re.compile(r"^(?:template.*> )?[\w:<>,&*\[\] ]+?[ &*](\w+)\(")
VALUE = re.compile(r"^(?:constexpr|const|static|thread_local|inline|std::\w+)[\w:<>,&*\[\] ]*? (\w+)(?:\[\w*\])*(?: =|\{|;)")


def helpers_of(text):
    """The functions and constants at the top level of unnamed namespaces, and whether each is a function."""
    found = {}
    for body in bodies_of_unnamed(text):
        depth = 0
        for line in body.split("\n"):
            if depth == 0 and re.match(r"\w", line) and not line.startswith("using "):
                for pattern, is_function in ((FUNCTION, True), (VALUE, False)):
                    if match := pattern.match(line):
                        found.setdefault(match.group(1), is_function)
            depth += line.count("{") - line.count("}")
    return found


def uses(text, name, is_function):
    declared = r"(?:auto|bool|int64_t|size_t|double|const|Value|Tensor|std::[\w<>]+)[&* ]+"
    pattern = re.compile(r"(?<![\w:.>])" + name + (r"\(" if is_function else r"\b"))
    local = re.compile(declared + name + r"\b")
    return [line.strip() for line in text.split("\n") if pattern.search(line) and not local.search(line)]


def main(folders):
    wrong = 0
    files = [file for folder in folders for file in sorted(glob.glob(folder + "/*.cxx"))]
    if not files:
        print("check_together: nothing is compiled together")
        return 0
    for together in files:
        sources = re.findall(r'#include "([^"]+\.cpp)"', open(together).read())
        texts = [code_of(source) for source in sources]
        helpers = [helpers_of(text) for text in texts]
        for i, source in enumerate(sources):
            for name, is_function in helpers[i].items():
                for k in range(i + 1, len(sources)):
                    found = [name] if name in helpers[k] else uses(texts[k], name, is_function)
                    if found:
                        print(f"{source}: its `{name}` is seen by {sources[k]}: {found[0]}")
                        wrong += 1
    print(f"check_together: {len(files)} units, {wrong} names that meet")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
