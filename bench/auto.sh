#!/usr/bin/env bash
# `auto` against the oracle on the CPU device, steps in turn: VGG-16 (32) in 1.25, 1.5 and 2 GiB; GoogLeNet and
# AlexNet (128) in half of network-wide and in 1.1 times their least budget. One line each: budget, peak, median
# ratio and spread.   bench/auto.sh [STEPS, 10]
set -euo pipefail
cd "$(dirname "$0")/.."
vdnn=build/release/vdnn
steps=${1:-10}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

key() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

measure() {  # measure NETWORK BATCH BYTES POLICIES
  "$vdnn" bench "$1" --batch "$2" --memory "$3" --data synthetic --policies "$4" --steps "$steps" \
    --json "$out/bench.json" >&2
  python3 - "$1" "$2" "$3" "$out/bench.json" << 'PYTHON'
import json, sys
network, batch, budget, path = sys.argv[1:]
for row in json.load(open(path))["policies"]:
    if row["policy"] == "oracle" or not row.get("fits", True):
        continue
    ratios = sorted(row["ratios"])
    print(f"{network} ({batch}) {row['policy']:<9} {int(budget) / 2**20:6.0f} MiB  peak "
          f"{row['peak_bytes'] / 2**20:6.0f} MiB  {row['ratio']:.3f} of the oracle "
          f"({ratios[0]:.3f} to {ratios[-1]:.3f})  {row['median_step_seconds']:.3f} s")
PYTHON
}

for mebibytes in 1280 1536 2048; do measure vgg-16 32 $((mebibytes << 20)) oracle,auto,vdnn-dyn; done
for network in googlenet alexnet; do
  "$vdnn" plan "$network" --batch 128 --json "$out/plan.json" >&2
  least=$(key "$out/plan.json" least_budget_bytes)
  measure "$network" 128 $(($(key "$out/plan.json" network_wide_bytes) / 2)) oracle,auto,vdnn-dyn,vdnn-all
  measure "$network" 128 $((least + least / 10)) oracle,auto,vdnn-dyn,vdnn-all
done
