#!/usr/bin/env bash
# Builds and tests presets, and sums the results: run_tests.sh PRESET[:JOB]...
#
# JOB is a job of tests/matrix.cmake; without one, all tests of the preset run. The ten slowest tests are printed, and the
# last line is "N passed, N failed" over all presets. A preset that does not build, or in which no test runs, counts as one
# failure: silence must not look like success.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

(($#)) || { echo "usage: $0 PRESET[:JOB]..." >&2; exit 2; }

passed=0
failed=0
times=$(mktemp)
trap 'rm -f "$times"' EXIT

run_preset() {
  local preset=$1 job=$2 log=build/$1/ctest${2:+-$2}.log targets=() select=()
  # Release builds everything that users build; of another preset only what the job runs.
  [[ -z $job || $preset == release ]] || targets=("tests_of_$job")
  scripts/build.sh "$preset" "${targets[@]}" || { echo "$preset: the build failed"; failed=$((failed + 1)); return; }

  [[ -z $job ]] || select=(-L "^$job\$")
  echo "testing build/$preset${job:+ ($job)}"
  ctest --preset "$preset" --parallel "$(nproc)" "${select[@]}" 2>&1 | tee "$log" | grep --line-buffered -vE '^ +Start +[0-9]+:'
  local status=${PIPESTATUS[0]}
  sed -nE 's/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: +([^ ]+) .* ([0-9.]+) sec.*$/\2 s  \1/p' "$log" |
    sed "s|\$| ($preset)|" >>"$times"

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

SECONDS=0
for run in "$@"; do
  job=
  [[ $run != *:* ]] || job=${run#*:}
  run_preset "${run%%:*}" "$job"
done

echo "the slowest tests, of $((SECONDS / 60)) minutes and $((SECONDS % 60)) seconds in all with the build:"
sort -rn "$times" | head -10
echo "$passed passed, $failed failed"
((failed == 0))
