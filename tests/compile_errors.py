#!/usr/bin/env python3
"""Compiles programs that are wrong, and holds what the compiler says against what it should: one error, which says what is wrong.

    compile_errors.py COMPILER INCLUDE_FOLDER...
"""

import subprocess
import sys

ARGUMENTS = "[compile] the function must take const Tensor& arguments alone, at most 15; capture anything else"
RESULT = "[compile] the function must return a Tensor or a std::vector<Tensor>"
CASES = {  # what is compiled: what the one error says, or nothing
    "auto step = compile([](const Tensor& x, Tensor y) { return x + y; }); step(x, x);": None,
    "auto step = compile([](const Tensor& x) { return std::vector{x, x}; }); step(x);": None,
    "auto step = compile([](const Tensor& x, float lr) { return x * lr; }); step(x, x);": ARGUMENTS,
    "auto step = compile([](Tensor& x) { return x * 2; }); Tensor y = step(x);": ARGUMENTS,
    "auto step = compile([](const std::vector<Tensor>& x) { return x[0]; }); step(x);": ARGUMENTS,
    "auto step = compile(5); step(x);": ARGUMENTS,
    "auto step = compile([](const Tensor& x) { x.sum().backward(); }); step(x);":
        "[compile] the function returns nothing; return a Tensor or a std::vector<Tensor>",
    "auto step = compile([](const Tensor& x) { return x.sum().item<float>(); }); float loss = step(x).item<float>(); (void)loss;": RESULT,
    "auto step = compile([](const Tensor& x) { return std::pair(x, x); }); Tensor y = step(x);": RESULT,
    "auto step = compile([p = std::make_unique<int>(1)](const Tensor& x) { return x * *p; }); step(x);":
        "[compile] the function must be copyable; capture by reference what cannot be copied",
}


def errors(compiler, folders, statement):
    program = f'#include "tenon/tensor/compile.h"\n#include "tenon/tensor/ops.h"\nusing namespace tenon;\nvoid run(const Tensor& x) {{ {statement} }}\n'
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-", *(f"-I{folder}" for folder in folders)]
    said = subprocess.run(command, input=program, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stderr
    return [line for line in said.splitlines() if "error:" in line]


def main():
    compiler, folders = sys.argv[1], [folder for several in sys.argv[2:] for folder in several.split(";") if folder]
    wrong = 0
    for statement, expected in CASES.items():
        found = errors(compiler, folders, statement)
        if [expected in line for line in found] != [True] if expected else found:
            wrong += 1
            print(f"{statement}\n  should be: {expected or 'no error'}")
            print(*(f"  was: {line}" for line in found[:5] or ["no error"]), sep="\n")
    print(f"{len(CASES)} programs, {wrong} with other errors than they should have")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
