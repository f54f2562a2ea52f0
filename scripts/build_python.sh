#!/usr/bin/env bash
# Builds the Python module and the package around it: build_python.sh BUILD_FOLDER [PYTHON]
#
# In build/release the library is the one that `make build` makes, so that little is left to compile. PYTHON, with the
# headers of its development package, is Debian's unless given.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
options=(-DTENON_BUILD_PYTHON=ON "-DPython3_EXECUTABLE=${2:-/usr/bin/python3}")
if [[ $build == build/release ]]; then
  options+=(--preset release)
elif [[ ! -e $build/CMakeCache.txt ]]; then
  options+=(-G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -DTENON_BUILD_TESTS=OFF
    -DTENON_BUILD_EXAMPLES=OFF -DTENON_BUILD_APPS=OFF)
fi
mkdir -p "$build"
cmake -S . -B "$build" "${options[@]}" >"$build/python.log" 2>&1 || { cat "$build/python.log" >&2; exit 1; }

quiet=()
[[ -t 1 ]] || quiet=(-- --quiet)
echo "building the Python module in $build"
cmake --build "$build" --target tenon_package "${quiet[@]}"
