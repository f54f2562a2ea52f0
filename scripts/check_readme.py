#!/usr/bin/env python3
"""Fails unless the README's first program is examples/quickstart.cpp, which the tests build and run."""
import pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
shown = re.search(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.S).group(1)
built = (root / "examples/quickstart.cpp").read_text()
built = built[built.index("#include"):]  # without the line that says what the file is
if shown != built:
    sys.exit("README.md: its first program differs from examples/quickstart.cpp; copy the one into the other")
