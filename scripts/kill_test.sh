#!/usr/bin/env bash
# Kills training runs with SIGKILL at random moments and resumes them: kill_test.sh KILLS [SEED]
#
# After every kill all files of the run must be whole, the next process must go on from the newest checkpoint and say
# so, and a run that has come to its end must have left the same bits as one that nobody killed. Then the next run
# begins, until there were KILLS kills. SEED (default 1) decides when they come; TENON_BIN is the folder of `tenon` and
# `verify_run` (default build/release/bin). A checkpoint is written after every step, so that many kills meet one.
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${1:?usage: kill_test.sh KILLS [SEED]}
RANDOM=${2:-1}
bin=$(cd "${TENON_BIN:-build/release/bin}" && pwd)
folder=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill -KILL $pid 2>/dev/null; rm -rf "$folder"' EXIT

settings=(data.train=docs/config.md tokenizer.kind=byte model.layers=1 model.heads=2 model.width=32 model.context=16
  model.dropout=0.1 training.steps=60 training.batch_size=4 training.log_every=2 training.eval_every=3
  training.eval_batches=2 checkpoint.every=1 checkpoint.keep_last=2 sample.every=4 sample.tokens=8)
"$bin/tenon" config --print-defaults >"$folder/config.json"
begin=("$bin/tenon" train "$folder/config.json")
for setting in "${settings[@]}"; do begin+=(--set "$setting"); done

fail() { echo "kill_test: $1"; sed 's/^/  /' "$folder/said"; exit 1; }
newest() { ls "$folder/run/checkpoints" 2>/dev/null | grep '^step_' | tail -1 || true; }

# The first process also fills the cache of compiled kernels, without which all kills would come before the first step.
SECONDS=0
"${begin[@]}" --out "$folder/whole" >"$folder/said" 2>&1 || fail "the run that nobody kills failed"

killed=0 runs=0 unfinished=0
while ((killed < kills)) || [[ -d $folder/run ]]; do
  before=$(newest)
  command=("${begin[@]}" --out "$folder/run")
  [[ ! -e $folder/run/config.json ]] || command=("$bin/tenon" train --resume "$folder/run")
  "${command[@]}" >"$folder/said" 2>&1 &
  pid=$!
  if ((killed < kills)); then
    wait_ms=$((RANDOM % 700))
    sleep "$(printf '0.%03d' $wait_ms)"
    kill -KILL $pid 2>/dev/null || true
  fi
  status=0
  { wait $pid; } 2>/dev/null || status=$?
  pid=
  [[ $status == 0 || $status == 137 ]] || fail "status $status after kill $killed"
  said=$(grep -o 'goes on from .*' "$folder/said" | grep -o 'step_[0-9]*' || true)
  after=$(newest)
  [[ -z $said || $said == "$before" ]] || fail "went on from $said instead of $before"
  [[ $after == "$before" || -z $before || -n $said ]] || fail "went on from $before without a word"
  ! grep -q 'passed over' "$folder/said" || fail "a checkpoint was damaged"
  if ((status == 137)); then
    killed=$((killed + 1))
    [[ ! -e $folder/run/config.json ]] || state=$("$bin/verify_run" "$folder/run" 2>>"$folder/said") || fail "damaged"
    if compgen -G "$folder/run/checkpoints/.unfinished_*" >/dev/null; then unfinished=$((unfinished + 1)); fi
    echo "kill $killed after $wait_ms ms: ${state:-nothing yet}"
  else
    "$bin/verify_run" "$folder/whole" "$folder/run" >>"$folder/said" 2>&1 || fail "differs from the run nobody killed"
    runs=$((runs + 1))
    echo "run $runs came to its end with the bits of the run that nobody killed"
    rm -rf "$folder/run"
    state=
  fi
done
echo "$killed kills ($unfinished while a checkpoint was written), $runs runs, all the same bits, in $SECONDS s"
