#!/usr/bin/env bash
# Bit equality at full size: VGG-16, batch 32, 224x224, under vdnn-all against unlimited memory, with
# released memory filled with NaN. Needs about 8 GiB of memory and some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s build >&2
exec build/release/vdnn verify vgg-16 --batch 32 --data fashion-mnist --memory 2.3GiB --policy vdnn-all --poison \
  --steps 2 --lr 0.001 "$@"
