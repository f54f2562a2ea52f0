#!/usr/bin/env bash
# Builds the fuzz targets and runs them: fuzz.sh [--keep-logs] [SECONDS [TARGET...]]
#
# SECONDS (default 600) are for each target; without TARGETs all of tests/fuzz/*_fuzz.cpp run, one after the other. Each
# starts from the seeds in tests/fuzz/corpus/<target> with a fixed random seed. The first finding ends the run with a
# failure; what caused it lies in build/fuzz/found. With --keep-logs the summary of each run goes to tests/fuzz/logs, to
# be committed. Where clang is missing, the status is 77: skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

keep_logs=false
[[ ${1:-} != --keep-logs ]] || { keep_logs=true; shift; }
seconds=${1:-600}
targets=("${@:2}")
((${#targets[@]})) || mapfile -t targets < <(cd tests/fuzz && ls ./*_fuzz.cpp | sed 's|^\./||; s|_fuzz\.cpp$||')

seed=20240501
longest=8192  # bytes of an input: enough for every feature of every format
build=build/fuzz
TIMEFORMAT=%U

command -v clang++ >/dev/null || { echo "fuzz: skipped, clang++ is missing (apt-get install clang)"; exit 77; }
mkdir -p $build/found $build/logs
# The runtime of the sanitizers is a package of its own.
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' >$build/probe.cpp
clang++ -fsanitize=fuzzer,address,undefined $build/probe.cpp -o $build/probe 2>/dev/null ||
  { echo "fuzz: skipped, clang++ has no libFuzzer (apt-get install libclang-rt-14-dev)"; exit 77; }

cmake -S tests/fuzz -B $build -G Ninja -DCMAKE_CXX_COMPILER=clang++ >$build/configure.log ||
  { cat $build/configure.log >&2; exit 1; }
cmake --build $build --target "${targets[@]}" -- --quiet

for target in "${targets[@]}"; do
  log=$build/logs/$target.log
  grown=$(mktemp -d "$build/grown.XXXXXX")  # what a run finds interesting; kept runs would not start from the seeds
  status=0
  # A single request of 64 MB can only come from a number in the file that was believed.
  {
    time "$build/$target" -seed=$seed -max_total_time="$seconds" -max_len=$longest -malloc_limit_mb=64 \
      -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -verbosity=1 -artifact_prefix="$build/found/$target-" \
      "$grown" "tests/fuzz/corpus/$target" >"$log" 2>&1
  } 2>$build/logs/$target.seconds || status=$?
  rm -rf "$grown"
  if ((status)); then
    tail -n 60 "$log" >&2
    echo "fuzz: $target failed; the input is in $build/found" >&2
    exit 1
  fi
  runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1)
  memory=$(sed -nE 's/^stat::peak_rss_mb: *//p' "$log")
  busy=$(<$build/logs/$target.seconds)  # on a busy machine far less than the time on the clock
  summary="$target: ${runs:-0} runs in $seconds s ($busy s of processor time), $coverage, peak $memory MB, seed $seed: nothing found"
  echo "fuzz: $summary"
  if $keep_logs; then
    mkdir -p tests/fuzz/logs
    { echo "$summary"; echo; sed -n '/^Done /,$p' "$log"; } >"tests/fuzz/logs/$target.log"
  fi
done
