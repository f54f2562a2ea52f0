#!/usr/bin/env bash
# Installs the Debian packages Tenon's build needs. When all are there it only asks dpkg: instant, offline, and without
# any rights. So every make target can call it. `setup.sh python` also installs what the Python module, its tests and its
# notebook need, `setup.sh docs` what `make docs` needs, `setup.sh packages` what `make packages` needs and its check,
# `setup.sh test` SwiftShader, a second Vulkan driver for CPUs, strace, with which system calls fail, and TypeScript: without them,
# their tests are skipped.
set -euo pipefail

packages=(g++ cmake ninja-build make pkg-config python3 libfmt-dev nlohmann-json3-dev libhwy-dev libdnnl-dev zlib1g-dev libbz2-dev libzstd-dev
  libpcre2-dev libpng-dev libjpeg62-turbo-dev libcli11-dev libgtest-dev clang libclang-rt-14-dev python3-protobuf ocl-icd-opencl-dev opencl-c-headers
  pocl-opencl-icd liblapack3 libfftw3-single3 libfftw3-double3 libvulkan-dev libvulkan-volk-dev glslang-dev glslang-tools spirv-tools mesa-vulkan-drivers)

[[ ${1:-} != python ]] || packages+=(python3-dev pybind11-dev python3-numpy python3-venv python3-pip mypy python3-nbconvert
  python3-ipykernel python3-matplotlib)

is_needed=1
[[ ${1:-} != test ]] || packages=(chromium-common strace node-typescript) is_needed=0

[[ ${1:-} != packages ]] || packages=(dpkg-dev file lintian mmdebstrap python3-venv)

[[ ${1:-} != docs ]] || packages=(doxygen python3)

fail() {
  echo "setup: $*" >&2
  exit "$is_needed"
}

command -v dpkg-query >/dev/null || fail "this is not a Debian system; install the equivalents of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -qx installed <<<"$state" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || fail "packages are missing; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" ||
    fail "apt-get $1 failed; missing packages: ${missing[*]}"
}

echo "setup: installing ${missing[*]}"
apt update
apt install -y --no-install-recommends "${missing[@]}" >/dev/null
