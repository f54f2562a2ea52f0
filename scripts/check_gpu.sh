#!/bin/bash
# Checks a GPU's device on a machine that has one: scripts/check_gpu.sh DEVICE BIN [OUT] [PART ...]
#
# DEVICE is cuda, vulkan or opencl, BIN holds the built tests and `tenon` (build/release/bin), OUT gets a log of each part
# (default: DEVICE-check). Parts: info own ops golden bits exec capture models train speed, layers for vulkan and sanitize
# for cuda; all of them unless some are named. Every part ends with one line, ok, skipped with the reason, or FAILED with the
# end of its log, and the script fails if any did. Nothing is built or fetched. VK_ICD_FILENAMES names Vulkan's driver where
# there are several.
set -u

usage='usage: scripts/check_gpu.sh DEVICE BIN [OUT] [PART ...]'
device=${1:?$usage}
bin=${2:?$usage}
out=${3:-$device-check}
shift $(($# < 3 ? $# : 3))
case $device in
  vulkan) special=layers ;;
  cuda) special=sanitize ;;
  *) special= ;;
esac
parts=${*:-info own ops golden bits exec capture models train $special speed}
root=$(cd "$(dirname "$0")/.." && pwd)
shards=${SHARDS:-$(nproc)}
mkdir -p "$out"
export TENON_CACHE_DIR=${TENON_CACHE_DIR:-$PWD/$out/programs}

# prepare_cuda: cuBLASLt, NVRTC and cuDNN may lie with PyTorch alone.
prepare_cuda() {
  export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
  if [ -z "${TENON_CUDA_LIBRARIES:-}" ]; then
    for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib $(find / -name 'libcublasLt.so.1[23]' -not -path '/proc/*' \
      -printf '%h\n' 2>/dev/null | sort -u); do
      [ -e "$folder/libcublasLt.so.13" ] || [ -e "$folder/libcublasLt.so.12" ] || continue
      export TENON_CUDA_LIBRARIES=$folder
      break
    done
    folder=$(find / -name libcudnn.so.9 -not -path '/proc/*' -printf '%h\n' -quit 2>/dev/null)
    [ -z "$folder" ] || export TENON_CUDA_LIBRARIES=${TENON_CUDA_LIBRARIES:+$TENON_CUDA_LIBRARIES:}$folder
  fi
  echo "libraries: ${TENON_CUDA_LIBRARIES:-where programs find them}"
}
[ "$device" != cuda ] || prepare_cuda

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
  return "$status"
}

# The same with tensors made on the device.
on_device() { TENON_DEVICE=$device in_shards "$@"; }

golden() { "$bin/golden_test" --dir "$root/tests/golden" "$@"; }

# The validation layer, where it is installed, has nothing to say of a few ops, goldens and a captured step. Older ones do not
# know cooperative matrices.
layers() {
  export TENON_TILES=0
  export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
  "$bin/gpu_test" --gtest_filter='Devices/*/vulkan' && golden --device vulkan --dtype f32 --filter opt_ || return 1
  TENON_DEVICE=vulkan "$bin/models_test" --gtest_filter='Gpt2Step.Learns*' || return 1
}
says_nothing() {
  layers >"$out/layers.txt" 2>&1 || { cat "$out/layers.txt"; return 1; }
  ! grep -n 'Validation\|VUID\|SYNC-HAZARD' "$out/layers.txt"
}

# sanitized TOOL: compute-sanitizer has nothing to say of a sample of ops and goldens and of a captured step. racecheck looks
# at our own kernels alone, because cuBLASLt's use what it cannot follow.
sanitized() (
  under=(timeout 540 "$sanitizer" --tool "$1" --error-exitcode 1)
  rows=$(printf "Ops/Reference.AgreesWithTheDevice/${device}_%s:" sum max prod scan sort gather scatter_add contract \
    attention attention_backward conv)
  export TENON_TUNE=0
  [ "$1" != racecheck ] || export TENON_MATMUL=own
  "${under[@]}" "$bin/ops_test" --gtest_filter="$rows" || exit 1
  for work in 'f32 softmax' 'f32 layer_norm' 'bf16 attention'; do
    "${under[@]}" "$bin/golden_test" --dir "$root/tests/golden" --device "$device" --dtype "${work% *}" \
      --filter "${work#* }" || exit 1
  done
  TENON_DEVICE=$device "${under[@]}" "$bin/models_test" --gtest_filter='Gpt2Step.Learns*'
)

# What asserts something of other devices by name ran elsewhere.
others='*/cpu:*/cpu_unfused:*/reference:*/remote:*/simulated*:*/opencl*:*/vulkan*:*/cuda*:*/poor_cpu*:Fork.*'
others=${others//\*\/$device\*:/}

for part in $parts; do
  case $part in
    info) check info "$bin/tenon" info && grep -i -A1 "$device" "$out/info.log" ;;
    own)
      if [ "$device" = cuda ]; then  # the stand-in's own test binary, with the real driver
        check own env TENON_CUDA_DRIVER=libcuda.so.1 TENON_CUDA_LIBRARIES="${TENON_CUDA_LIBRARIES:-}" \
          "$bin/cuda_test" --gtest_filter='Real*'
      else
        check own "$bin/gpu_test" --gtest_filter="*$device*"
      fi
      ;;
    ops) check ops in_shards ops ops_test --gtest_filter="Ops/*/${device}_*:Devices/*/$device:-*${device}_unfused*" ;;
    golden) for dtype in f32 bf16 f16; do
      check "golden.$dtype" golden --device "$device" --dtype $dtype
      check "golden.volumes.$dtype" "$bin/golden_test" --dir "$root/tests/golden/volumes" --device "$device" --dtype $dtype
    done ;;
    bits) for dtype in f32 bf16 f16; do
      check "bits.$dtype" golden --device "$device" --same-bits "${device}_unfused" --dtype $dtype
    done ;;
    exec) check exec in_shards exec exec_test --gtest_filter="*/$device" ;;
    capture) check capture on_device capture capture_test --gtest_filter="-$others:Random*" ;;
    models) check models on_device models models_test ;;
    train)
      check train in_shards train train_test --gtest_filter="*OnDevice*/$device*"
      for run in 1 2; do
        rm -rf "$out/demo$run"
        check "demo$run" timeout 300 "$bin/tenon" train demo --set device.name="$device" --out "$out/demo$run"
      done
      # The same losses to the last digit.
      check same_losses bash -c "losses() { grep -o '\"loss\": *[^,}]*' \"\$1\"/metrics.jsonl; }; \
        [ -n \"\$(losses '$out/demo1')\" ] && diff <(losses '$out/demo1') <(losses '$out/demo2')"
      ;;
    layers) check layers says_nothing ;;
    sanitize)
      if sanitizer=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer); then
        for tool in memcheck racecheck; do check "sanitize.$tool" sanitized $tool; done
      else
        echo "skipped sanitize: compute-sanitizer is neither in PATH nor in /usr/local/cuda/bin"
      fi
      ;;
    speed)
      [ -x "$bin/gpu_bench" ] && check gpu_bench timeout 300 "$bin/gpu_bench" "$device" && cat "$out/gpu_bench.log"
      ;;
    *) echo "no such part: $part"; failed=1 ;;
  esac
done
exit $failed
