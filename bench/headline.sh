#!/usr/bin/env bash
# The headline run: networks that need many times the machine's memory, trained for whole steps in 8 GiB.
#   bench/headline.sh [NETWORK:BATCH...]     default: vgg-416:32 vgg-16:256
# Under vdnn-dyn where it fits, else under auto.
# VGG-416 at batch 32 takes some twelve minutes, 65 GB of disk ($VDNN_SPILL, else /var/tmp) and 9 GiB of memory;
# where the disk is smaller, VGG-316, VGG-216 or VGG-116 takes its place. STEPS=1 and MEMORY=8GiB change what they say.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s build >&2
vdnn=build/release/vdnn memory=${MEMORY:-8GiB} steps=${STEPS:-2} spill=${VDNN_SPILL:-/var/tmp}
(($# > 0)) || set -- vgg-416:32 vgg-16:256
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

key() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$results/$1" "$2"; }

plan() {  # plan NETWORK BATCH: writes plan and plan.json, prints what the plan needs on disk
  for policy in vdnn-dyn auto; do
    if "$vdnn" plan "$1" --batch "$2" --memory "$memory" --policy "$policy" -o "$results/plan" \
      --json "$results/plan.json" >/dev/null; then
      key plan tier_bytes
      return
    fi
    echo "$1 at batch $2 does not fit in $memory under $policy: least budget $(key plan.json least_budget_bytes) bytes" >&2
  done
  exit 1
}

for run; do
  network=${run%:*} batch=${run#*:}
  free=$(($(df --output=avail -B1 "$spill" | tail -1)))
  while needed=$(plan "$network" "$batch"); ((needed > free)); do
    smaller=$(case $network in (vgg-416) echo vgg-316 ;; (vgg-316) echo vgg-216 ;; (vgg-216) echo vgg-116 ;; esac)
    [[ -n $smaller ]] || { echo "$network needs $needed bytes in $spill, $free are free" >&2; exit 1; }
    echo "$network needs $needed bytes in $spill, $free are free: $smaller instead" >&2
    network=$smaller
  done
  "$vdnn" train "$network" --batch "$batch" --plan "$results/plan" --data synthetic --steps "$steps" --lr 0.001 \
    --json "$results/train.json"
  python3 - "$results" <<'PYTHON'
import json, statistics, sys
plan, train = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("plan", "train"))
gib, steps = 2**30, train["steps"]
step = min(train["step_seconds"])
print(f"""{train["model"]}, batch {train["batch"]}, {train["policy"]}: network-wide {train["network_wide_bytes"] / gib:.1f} GiB, \
peak {train["peak_bytes"] / gib:.2f} GiB of {train["budget_bytes"] / gib:.2f} GiB, \
{train["resident_bytes"] / gib:.2f} GiB resident
{train["offloaded_bytes"] / steps / gib:.1f} GiB out and {train["prefetched_bytes"] / steps / gib:.1f} GiB in a step, \
{100 * train["hidden_copy_share"]:.1f} % of the copy time hidden
step {step:.1f} s; {statistics.mean(train["step_seconds"]) * steps / train["kernel_seconds"]:.3f} x its kernels as \
they ran, {step / plan["alone_seconds"]:.3f} x its kernels alone ({plan["alone_seconds"]:.1f} s), \
{step / plan["predicted_seconds"]:.3f} x the prediction
""")
PYTHON
done
