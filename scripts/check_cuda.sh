#!/bin/bash
# Checks the cuda device on a machine with an NVIDIA GPU: scripts/check_cuda.sh BIN [OUT] [PART ...]
#
# BIN holds the built tests and `tenon` (build/release/bin), OUT gets a log of each part (default: cuda-check). Parts:
# info real ops golden bits exec capture models train speed; all of them unless some are named. Every part ends with one
# line, ok or FAILED with the end of its log, and the script fails if any did. Nothing is built or fetched.
set -u

bin=${1:?usage: scripts/check_cuda.sh BIN [OUT] [PART ...]}
out=${2:-cuda-check}
shift $(($# < 2 ? $# : 2))
parts=${*:-info real ops golden bits exec capture models train speed}
root=$(cd "$(dirname "$0")/.." && pwd)
shards=${SHARDS:-$(nproc)}
mkdir -p "$out"
export TENON_CACHE_DIR=${TENON_CACHE_DIR:-$PWD/$out/programs} CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}

# cuBLASLt and NVRTC may lie with PyTorch alone.
if [ -z "${TENON_CUDA_LIBRARIES:-}" ]; then
  for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib $(find / -name 'libcublasLt.so.1[23]' -not -path '/proc/*' \
    -printf '%h\n' 2>/dev/null | sort -u); do
    [ -e "$folder/libcublasLt.so.13" ] || [ -e "$folder/libcublasLt.so.12" ] || continue
    export TENON_CUDA_LIBRARIES=$folder
    break
  done
fi
echo "libraries: ${TENON_CUDA_LIBRARIES:-where programs find them}"

failed=0
# check NAME COMMAND...: runs it, keeps its log, says how it went.
check() {
  local name=$1 begin=$SECONDS
  shift
  if "$@" >"$out/$name.log" 2>&1; then
    echo "ok      $name ($((SECONDS - begin)) s)"
  else
    echo "FAILED  $name, status $? ($((SECONDS - begin)) s): $*"
    grep -E '^\[  FAILED  \]|Failure$|error|lost|FAIL' "$out/$name.log" | head -20
    tail -n 12 "$out/$name.log"
    failed=1
  fi
}

# in_shards NAME TEST ARGUMENTS...: a GoogleTest binary in as many processes as there are cores, because compiling is
# what takes its time.
in_shards() {
  local name=$1 test=$2 status=0 pids=() i
  shift 2
  for ((i = 0; i < shards; ++i)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i timeout 540 "$bin/$test" --gtest_brief=1 "$@" \
      >"$out/$name.$i.log" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do
    wait "${pids[$i]}" || { status=1; echo "shard $i failed"; }
  done
  cat "$out/$name".[0-9]*.log
  rm -f "$out/$name".[0-9]*.log
  return $status
}

golden() { "$bin/golden_test" --dir "$root/tests/golden" "$@"; }

# What asserts something of other devices by name ran elsewhere.
others='*/cpu:*/cpu_unfused:*/reference:*/remote:*/simulated*:*/opencl*:*/poor_cpu*:Fork.*'

for part in $parts; do
  case $part in
    info) check info "$bin/tenon" info && grep -i -A1 cuda "$out/info.log" ;;
    # The stand-in's own test binary, with the real driver.
    real) check real env TENON_CUDA_DRIVER=libcuda.so.1 TENON_CUDA_LIBRARIES="${TENON_CUDA_LIBRARIES:-}" \
      "$bin/cuda_test" --gtest_filter='Real*' ;;
    ops) check ops in_shards ops ops_test --gtest_filter='Ops/*/cuda_*:Devices/*/cuda:-*cuda_unfused*' ;;
    golden) for dtype in f32 bf16 f16; do check "golden.$dtype" golden --device cuda --dtype $dtype; done ;;
    bits) for dtype in f32 bf16 f16; do
      check "bits.$dtype" golden --device cuda --same-bits cuda_unfused --dtype $dtype
    done ;;
    exec) check exec in_shards exec exec_test --gtest_filter='*/cuda' ;;
    capture) check capture env TENON_DEVICE=cuda bash -c "$(declare -f in_shards); bin='$bin' out='$out' shards=$shards; \
      in_shards capture capture_test --gtest_filter='-$others:Random*'" ;;
    models) check models env TENON_DEVICE=cuda bash -c "$(declare -f in_shards); bin='$bin' out='$out' shards=$shards; \
      in_shards models models_test" ;;
    train)
      check train in_shards train train_test --gtest_filter='*OnDevice*/cuda*'
      for run in 1 2; do
        rm -rf "$out/demo$run"
        check "demo$run" timeout 300 "$bin/tenon" train demo --set device.name=cuda --out "$out/demo$run"
      done
      # The same losses to the last digit.
      check same_losses bash -c "losses() { grep -o '\"loss\": *[^,}]*' \"\$1\"/metrics.jsonl; }; \
        [ -n \"\$(losses '$out/demo1')\" ] && diff <(losses '$out/demo1') <(losses '$out/demo2')"
      ;;
    speed)
      [ -x "$bin/gpu_bench" ] && check gpu_bench timeout 300 "$bin/gpu_bench" cuda && cat "$out/gpu_bench.log"
      ;;
    *) echo "no such part: $part"; failed=1 ;;
  esac
done
exit $failed
