#!/usr/bin/env bash
# Runs the Python tests of lifetimes and shared memory with a module built under AddressSanitizer:
# test_python_memory.sh FOLDER_OF_PACKAGE
#
# Debian's Python is not built that way, so the sanitizer is loaded before it, and Python's own allocator, which would hide
# freed objects, is switched off. Python keeps much until it ends: leaks are not looked for. operator delete of libraries
# that were loaded before is theirs: what allocates and what frees is not compared.
set -euo pipefail
package=$(realpath "$1")
cd "$(dirname "$0")/../tests/python"

compiler=${CXX:-g++}
export PYTHONPATH=$package PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
LD_PRELOAD=$preload /usr/bin/python3 -m unittest test_arrays test_tensor test_nn test_autograd.Captured test_autograd.Functions
