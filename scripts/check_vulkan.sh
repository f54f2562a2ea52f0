#!/bin/bash
# Checks the vulkan device on a machine with a GPU: scripts/check_vulkan.sh BIN [OUT] [PART ...]
#
# BIN holds the built tests and `tenon` (build/release/bin), OUT gets a log of each part (default: vulkan-check). Parts:
# info gpu ops golden bits exec capture models train layers speed; all of them unless some are named. Every part ends
# with one line, ok or FAILED with the end of its log, and the script fails if any did. Nothing is built or fetched.
# VK_ICD_FILENAMES names the driver where there are several.
set -u

bin=${1:?usage: scripts/check_vulkan.sh BIN [OUT] [PART ...]}
out=${2:-vulkan-check}
shift $(($# < 2 ? $# : 2))
parts=${*:-info gpu ops golden bits exec capture models train layers speed}
root=$(cd "$(dirname "$0")/.." && pwd)
shards=${SHARDS:-$(nproc)}
mkdir -p "$out"
export TENON_CACHE_DIR=${TENON_CACHE_DIR:-$PWD/$out/programs}

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

# The same with tensors made on the device.
on_vulkan() { TENON_DEVICE=vulkan in_shards "$@"; }

golden() { "$bin/golden_test" --dir "$root/tests/golden" "$@"; }

# The validation layer, where it is installed, has nothing to say of a few ops, goldens and a captured step.
layers() {
  export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
  "$bin/gpu_test" --gtest_filter='Devices/*/vulkan' && golden --device vulkan --dtype f32 --filter opt_ || return 1
  TENON_DEVICE=vulkan "$bin/models_test" --gtest_filter='Gpt2Step.Learns*' || return 1
}
says_nothing() {
  layers >"$out/layers.txt" 2>&1 || { cat "$out/layers.txt"; return 1; }
  ! grep -n 'Validation\|VUID\|SYNC-HAZARD' "$out/layers.txt"
}

# What asserts something of other devices by name ran elsewhere.
others='*/cpu:*/cpu_unfused:*/reference:*/remote:*/simulated*:*/opencl*:*/cuda*:*/poor_cpu*:Fork.*'

for part in $parts; do
  case $part in
    info) check info "$bin/tenon" info && grep -i -A1 vulkan "$out/info.log" ;;
    gpu) check gpu "$bin/gpu_test" --gtest_filter='*vulkan*' ;;
    ops) check ops in_shards ops ops_test --gtest_filter='Ops/*/vulkan_*:Devices/*/vulkan:-*vulkan_unfused*' ;;
    golden) for dtype in f32 bf16 f16; do check "golden.$dtype" golden --device vulkan --dtype $dtype; done ;;
    bits) for dtype in f32 bf16 f16; do
      check "bits.$dtype" golden --device vulkan --same-bits vulkan_unfused --dtype $dtype
    done ;;
    exec) check exec in_shards exec exec_test --gtest_filter='*/vulkan' ;;
    capture) check capture on_vulkan capture capture_test --gtest_filter="-$others:Random*" ;;
    models) check models on_vulkan models models_test ;;
    train)
      check train in_shards train train_test --gtest_filter='*OnDevice*/vulkan*'
      for run in 1 2; do
        rm -rf "$out/demo$run"
        check "demo$run" timeout 300 "$bin/tenon" train demo --set device.name=vulkan --out "$out/demo$run"
      done
      # The same losses to the last digit.
      check same_losses bash -c "losses() { grep -o '\"loss\": *[^,}]*' \"\$1\"/metrics.jsonl; }; \
        [ -n \"\$(losses '$out/demo1')\" ] && diff <(losses '$out/demo1') <(losses '$out/demo2')"
      ;;
    layers) check layers says_nothing ;;
    speed)
      [ -x "$bin/gpu_bench" ] && check gpu_bench timeout 300 "$bin/gpu_bench" vulkan && cat "$out/gpu_bench.log"
      ;;
    *) echo "no such part: $part"; failed=1 ;;
  esac
done
exit $failed
