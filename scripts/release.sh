#!/usr/bin/env bash
# Makes a release of what is checked out: release.sh VERSION [--without-tests]
#
# Checks that VERSION is that of CMakeLists.txt, pyproject.toml and the first entry of CHANGELOG.md, which must have a
# date; that the work is committed and the version not tagged yet; that `.ci/run` passes. Then makes all packages, installs
# each into a fresh Debian (which takes root) and tags the commit vVERSION. It pushes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release: $*" >&2
  exit 1
}

version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "usage: scripts/release.sh MAJOR.MINOR.PATCH [--without-tests]"

built=$(sed -nE 's/^project\(tenon VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
[[ $built == "$version" ]] || fail "CMakeLists.txt says $built, not $version"
python=$(sed -nE 's/^version *= *"([^"]*)".*/\1/p' pyproject.toml)
[[ -z $python || $python == "$version" ]] || fail "pyproject.toml says $python, not $version"
entry=$(grep -m 1 '^## ' CHANGELOG.md)
[[ $entry =~ ^"## $version, "[0-9]+\ [A-Z][a-z]+\ [0-9]{4}$ ]] ||
  fail "the first entry of CHANGELOG.md is \"$entry\"; it must be \"## $version, DAY MONTH YEAR\""
[[ -z $(git status --porcelain) ]] || fail "there are changes that are not committed"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "v$version is tagged already"

if [[ ${2:-} != --without-tests ]]; then
  .ci/run || fail "continuous integration has failures"
fi

make packages || fail "the packages cannot be made"
if [[ ${2:-} != --without-tests ]]; then
  scripts/check_packages.sh || fail "the packages do not work"
fi
git tag -a "v$version" -m "Tenon $version"
echo "build/packages, tag v$version; to publish: git push origin v$version"
