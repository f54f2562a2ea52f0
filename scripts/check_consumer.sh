#!/usr/bin/env bash
# Checks that an installed Tenon can be used: check_consumer.sh BUILD_DIR CONFIG COMPILER [FLAGS]
#
# Installs the build into a fresh prefix, looks through the headers there, then builds and runs examples/consumer against
# it twice: through find_package(Tenon) and through pkg-config. Nothing outside BUILD_DIR is written.
set -euo pipefail

build=$1 config=$2 compiler=$3 flags=${4:-}
scripts=$(cd "$(dirname "$0")" && pwd)
consumer=$(cd "$scripts/../examples/consumer" && pwd)
work=$build/consumer
prefix=$work/prefix

rm -rf "$work"
mkdir -p "$work"
env -u DESTDIR cmake --install "$build" --config "$config" --prefix "$prefix" >"$work/install.log"

"$scripts/check_installed_headers.py" --self-test "$prefix/include"

echo "find_package(Tenon):"
cmake -S "$consumer" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE="$config" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >"$work/configure.log"
cmake --build "$work/cmake" -- --quiet
"$work/cmake/consumer"

# nlohmann_json is private to the library's sources. This machine has it, so a leak would compile here and break elsewhere.
if grep -rn nlohmann "$prefix" --include='*.h' --include='*.cmake' --include='*.pc'; then
  echo "the installed package mentions nlohmann_json, which its users need not have" >&2
  exit 1
fi

echo "pkg-config tenon:"
pc=$(find "$prefix" -name tenon.pc)
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
# Both substitutions are lists of words.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c++20 $flags "$consumer/main.cpp" -o "$work/consumer_pc" $(pkg-config --cflags --libs tenon)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$work/consumer_pc"
