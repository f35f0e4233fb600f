#!/usr/bin/env bash
# VGG-16's training step in vdnn beside PyTorch on the same threads: Debian's package with OpenBLAS, and,
# with PIP_TORCH=1, the newest that pip installs.
#   bench/pytorch.sh [BATCH [STEPS]]
set -euo pipefail
cd "$(dirname "$0")/.."
batch=${1:-16} steps=${2:-3} threads=$(nproc)
make -s build >&2
dpkg -s python3-torch libopenblas0-pthread >/dev/null 2>&1 ||
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread >&2
build/release/vdnn bench vgg-16 --batch "$batch" --data synthetic --policies oracle --steps "$steps" --threads "$threads"
/usr/bin/python3 bench/pytorch_step.py "$batch" "$steps" "$threads"
if [[ -n ${PIP_TORCH:-} ]]; then
  venv=$(mktemp -d)
  trap 'rm -rf "$venv"' EXIT
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q torch numpy >&2
  "$venv/bin/python" bench/pytorch_step.py "$batch" "$steps" "$threads"
fi
build/release/vdnn bench vgg-16 --batch "$batch" --data synthetic --policies oracle --steps "$steps" --threads "$threads"
