#!/usr/bin/env bash
# Time against budget on the CPU device, every policy, measured: small sizes of five families, 12 budgets each,
# some minutes. Writes a table, a chart and JSON per network.   bench/sweep.sh [FOLDER, sweeps]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-sweeps}
mkdir -p "$folder"
while read -r network batch image; do
  build/release/vdnn sweep "$network" --batch "$batch" --image "$image" --data synthetic --points 12 --steps 3 \
    --svg "$folder/$network.svg" --json "$folder/$network.json" | tee "$folder/$network.txt"
done << 'NETWORKS'
alexnet 8 64
overfeat 4 71
googlenet 4 96
vgg-16 4 32
resnet-50 4 64
NETWORKS
