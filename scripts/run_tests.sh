#!/usr/bin/env bash
# Builds and tests presets, and sums the results: run_tests.sh PRESET[:REGEX]...
#
# REGEX selects test folders by their names, separated by |. The last line is "N passed, N failed" over all presets. A
# preset that does not build, or in which no test runs, counts as one failure: silence must not look like success.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

(($#)) || { echo "usage: $0 PRESET[:REGEX]..." >&2; exit 2; }

passed=0
failed=0

run_preset() {
  local preset=$1 regex=$2 log=build/$1/ctest.log select=() name names targets=()
  # Of a selection only the tests themselves are built: test NAME is the binary NAME_test.
  IFS='|' read -ra names <<<"$regex"
  for name in "${names[@]}"; do targets+=("${name}_test"); done
  scripts/build.sh "$preset" "${targets[@]}" || { echo "$preset: the build failed"; failed=$((failed + 1)); return; }

  [[ -z $regex ]] || select=(-R "^($regex)(_part[0-9])?\$")
  echo "testing build/$preset${regex:+ ($regex)}"
  ctest --preset "$preset" --parallel "$(nproc)" "${select[@]}" 2>&1 | tee "$log" | grep --line-buffered -vE '^ +Start +[0-9]+:'
  local status=${PIPESTATUS[0]}

  # ctest's summary, "98% tests passed, 1 tests failed out of 42", counts tests that could not start as failed.
  local bad total
  read -r bad total < <(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log")
  bad=${bad:-0} total=${total:-0}
  passed=$((passed + total - bad))
  if ((total == 0 || (status != 0 && bad == 0))); then
    echo "$preset: ctest ended with status $status after $total tests"
    bad=$((bad + 1))
  fi
  failed=$((failed + bad))
}

for run in "$@"; do
  regex=
  [[ $run != *:* ]] || regex=${run#*:}
  run_preset "${run%%:*}" "$regex"
done

echo "$passed passed, $failed failed"
((failed == 0))
