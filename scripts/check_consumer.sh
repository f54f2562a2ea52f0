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

# Programs that replace operator new, or whose compiler does: the library must not mix their memory with its own.
is_sanitized=$(grep -c -- -fsanitize= <<<"$flags" || true)
if ((!is_sanitized)); then
  # shellcheck disable=SC2046
  link=($(pkg-config --libs tenon))
  others=()  # without the library itself
  for word in "${link[@]}"; do [[ $word == -ltenon ]] || others+=("$word"); done
  library=$(find "$prefix" -name 'libtenon.*' | head -n 1)
  shared=$library
  if [[ $library == *.a ]]; then  # the same objects as a shared library
    shared=$work/libtenon.so
    "$compiler" -shared -o "$shared" -Wl,--whole-archive "$library" -Wl,--no-whole-archive \
      "${others[@]}" 2>"$work/shared.log" || { cat "$work/shared.log" >&2; exit 1; }
  fi
  for host in "own_new:$consumer/own_new.cpp" address:-fsanitize=address undefined:-fsanitize=undefined; do
    name=${host%%:*} more=${host#*:}
    # shellcheck disable=SC2046,SC2086
    "$compiler" -std=c++20 $flags $(pkg-config --cflags tenon) ${more/$consumer*/} -c "$consumer/main.cpp" -o "$work/$name.o"
    for libraries in "${link[*]}" "$shared -Wl,-rpath,${shared%/*} ${others[*]}"; do
      echo "host program, $name, ${libraries%% *}:"
      # shellcheck disable=SC2086
      "$compiler" -std=c++20 $flags "$work/$name.o" $more -o "$work/host" $libraries
      LD_LIBRARY_PATH=${library%/*} "$work/host"
    done
  done
fi
