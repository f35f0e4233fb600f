#!/usr/bin/env bash
# VGG-16's training step in vdnn beside PyTorch's on the same threads: Debian's package with OpenBLAS, and the
# newest that pip installs (several GB, kept in build/pytorch; PIP_TORCH=0 leaves it out).
#   bench/pytorch.sh [BATCH [STEPS]]
set -euo pipefail
cd "$(dirname "$0")/.."
batch=${1:-16} steps=${2:-5} threads=$(nproc)
make -s build >&2
if ! dpkg -s python3-torch libopenblas0-pthread >/dev/null 2>&1; then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread >&2
fi
pythons=(/usr/bin/python3)
if [[ ${PIP_TORCH:-1} != 0 ]]; then
  venv=build/pytorch
  if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q torch numpy >&2
  fi
  pythons+=("$venv/bin/python")
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# The machine may get slower or faster meanwhile: vdnn before and after the others.
vdnn_steps() {
  build/release/vdnn bench vgg-16 --batch "$batch" --data synthetic --policies oracle --steps "$steps" \
    --threads "$threads" --json "$results/$1.json" >/dev/null
}
vdnn_steps before
for python in "${pythons[@]}"; do
  "$python" bench/pytorch_step.py "$batch" "$steps" "$threads" | tee -a "$results/pytorch"
done
vdnn_steps after
python3 - "$results" "$batch" <<'PYTHON'
import json, re, statistics, sys
results, batch = sys.argv[1:]
seconds = [s for name in ("before", "after")
           for s in json.load(open(f"{results}/{name}.json"))["policies"][0]["step_seconds"]]
ours = statistics.median(seconds)
theirs = min(float(s) for s in re.findall(r": ([0-9.]+) s a step", open(f"{results}/pytorch").read()))
print(f"vdnn oracle, VGG-16 batch {batch}: {ours:.3f} s a step ({min(seconds):.3f} to {max(seconds):.3f}), "
      f"{ours / theirs:.3f} of the faster PyTorch")
PYTHON
