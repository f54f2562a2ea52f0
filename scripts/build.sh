#!/usr/bin/env bash
# Configures a preset when it has to be, and builds it: build.sh PRESET [TARGET...]
#
# CMake re-runs itself when a CMakeLists.txt changes, but not when a preset does; hence the comparison of dates. On a
# terminal ninja shows its one-line progress; elsewhere only warnings and errors are printed.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
targets=("${@:2}")
dir=build/$preset

if [[ ! $dir/build.ninja -nt CMakePresets.json ]]; then
  mkdir -p "$dir"
  echo "configuring $dir"
  if ! cmake --preset "$preset" >"$dir/configure.log" 2>&1; then
    cat "$dir/configure.log" >&2
    exit 1
  fi
fi

quiet=()
[[ -t 1 ]] || quiet=(-- --quiet)
echo "building $dir"
cmake --build --preset "$preset" ${targets:+--target "${targets[@]}"} "${quiet[@]}"
