#!/usr/bin/env bash
# Installs what build/packages holds into a fresh Debian and uses it: check_packages.sh, as root
#
# Each package gets a system of its own, so that none of them lives on what another one needs.
set -euo pipefail
cd "$(dirname "$0")/.."

from=$PWD/build/packages
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "check_packages: $*" >&2
  exit 1
}

((EUID == 0)) || fail "systems are made as root"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: scripts/setup.sh packages"
(cd "$from" && sha256sum --quiet --check SHA256SUMS) || fail "build/packages is not what make packages wrote"

# in_fresh_debian NAME PACKAGES FILES...: runs the commands on standard input in it, in a folder with the files.
in_fresh_debian() {
  local root=$work/$1 packages=$2
  echo "== $1"
  cat >"$work/$1.sh"
  mmdebstrap --quiet --variant=minbase --mode=root ${packages:+--include="$packages"} "$suite" "$root"
  mkdir "$root/files"
  cp "${@:3}" "$work/$1.sh" "$root/files"
  mount --bind /proc "$root/proc"
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    bash -euo pipefail -c "cd /files; . ./$1.sh" || { umount "$root/proc"; fail "$1"; }
  umount "$root/proc"
  rm -rf "$root"
}

install='apt-get -qq update; apt-get -qq install -y --no-install-recommends'

in_fresh_debian tenon "" "$from"/tenon_*.deb <<E2
$install ./tenon_*.deb >/dev/null
tenon info
tenon train demo --set training.steps=3 --out run
tenon generate run --prompt "One day" --tokens 8
[ -s /usr/share/man/man1/tenon.1.gz ]
apt-get -qq remove -y tenon >/dev/null
[ ! -e /usr/bin/tenon ]
E2

in_fresh_debian libtenon-dev g++,cmake,ninja-build "$from"/libtenon-dev_*.deb examples/consumer/main.cpp examples/consumer/CMakeLists.txt <<E2
$install ./libtenon-dev_*.deb >/dev/null
cmake -S . -B build -G Ninja >/dev/null
cmake --build build
build/consumer
g++ -std=c++20 main.cpp -o with-pkg-config \$(pkg-config --cflags --libs tenon)
./with-pkg-config
E2

program='import tenon; x = tenon.ones(2, 3, requires_grad=True); (x @ x.T).sum().backward(); print(tenon.__version__, x.grad.tolist())'
in_fresh_debian python3-tenon "" "$from"/python3-tenon_*.deb <<E2
$install ./python3-tenon_*.deb >/dev/null
python3 -c '$program'
E2

wheels=("$from"/*.whl)
if [[ -e ${wheels[0]} ]]; then
  in_fresh_debian wheel python3-venv "${wheels[@]}" <<E2
python3 -m venv environment
environment/bin/pip install --quiet --no-index ./*.whl
environment/bin/python -c '$program'
E2
fi

in_fresh_debian sources "" "$from"/tenon-*.tar.gz <<E2
tar -xzf tenon-*.tar.gz
cd tenon-*/
apt-get -qq update
apt-get -qq install -y --no-install-recommends make >/dev/null
scripts/setup.sh >/dev/null
scripts/build.sh release tenon_cli
build/release/bin/tenon info
E2
echo "all packages install and work"
