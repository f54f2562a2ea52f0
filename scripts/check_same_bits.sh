#!/usr/bin/env bash
# Two runs of the whole test suite must read the same bits. Each binary runs twice with TENON_LOG=bits, which prints a
# hash over every value that was read; what differs is named.
#
#   scripts/check_same_bits.sh BIN_FOLDER [NAME...]     names of test binaries without _test; all unless given
set -euo pipefail

bin=$1
shift
names=("$@")
if ((${#names[@]} == 0)); then
  for file in "$bin"/*_test; do
    name=$(basename "$file" _test)
    [[ $name == golden ]] || names+=("$name")
  done
fi

# A binary that fails has no hash: two equal failures must not look like equal bits.
hash_of() {
  local errors
  errors=$(TENON_LOG=bits "$bin/$1_test" --gtest_brief=1 2>&1 >/dev/null) || { echo "failed, status $?"; return 1; }
  grep '^\[bits\]' <<<"$errors" || echo 'no values'
}

differing=0
for name in "${names[@]}"; do
  first=$(hash_of "$name") || differing=1
  second=$(hash_of "$name") || differing=1
  echo "$name: ${first#\[bits\] }"
  if [[ $first != "$second" ]]; then
    echo "check_same_bits: $name differs in its second run: ${second#\[bits\] }" >&2
    differing=1
  fi
done
exit $differing
