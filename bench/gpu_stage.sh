#!/usr/bin/env bash
# One stage of bench/gpu.sh, which says in FOLDER, RESULTS, VDNN, ... where and how; run with a time limit.
#   bench/gpu_stage.sh NAME ARGUMENTS...
set -uo pipefail

# Packages in a folder of their own instead of /usr.
if [[ -n ${PREFIX:-} ]]; then
  libraries=$PREFIX/usr/lib/x86_64-linux-gnu
  export CMAKE_PREFIX_PATH=$PREFIX/usr PKG_CONFIG_SYSROOT_DIR=$PREFIX PATH=$PATH:$PREFIX/usr/bin
  export PKG_CONFIG_PATH=$libraries/pkgconfig:$PREFIX/usr/share/pkgconfig CPATH=$PREFIX/usr/include
  export LIBRARY_PATH=$libraries LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

python_package() { python3 -c "import nvidia.$1 as p; print(list(p.__path__)[0])" 2>/dev/null; }

nvcc_path() { command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null; }

has_header() {  # has_header NAME: in the system's or the toolkit's folder
  [[ -e /usr/include/$1 || -e $(dirname "$(realpath "$(nvcc_path)")")/../include/$1 ]]
}

# CMake's options for what came with PyTorch and not with the toolkit. Its libraries lack the link without a version,
# which find_library looks for.
library_options() {
  local folder
  if ! has_header cudnn.h && folder=$(python_package cudnn); then
    echo "-DCUDNN_INCLUDE_DIR=$folder/include -DCUDNN_LIBRARY=$folder/lib/libcudnn.so.9"
  fi
  if ! has_header cublasLt.h && { folder=$(python_package cu13) || folder=$(python_package cublas); }; then
    echo "-DCUDA_cublasLt_LIBRARY=$(ls "$folder"/lib/libcublasLt.so.*) -DCMAKE_CXX_FLAGS=-isystem$folder/include"
  fi
}

# Libraries that cuDNN and cuBLASLt open while they run, where they came with PyTorch.
runtime_libraries() {
  local package folder
  for package in cu13 cudnn cublas cuda_nvrtc; do
    folder=$(python_package "$package") && [[ -d $folder/lib ]] && printf ':%s' "$folder/lib"
  done
}

stage_tools() {
  local missing=() header
  for tool in cmake c++ pkg-config python3 ctest; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  nvcc_path || missing+=("nvcc (the CUDA toolkit 12 or later)")
  for header in cudnn.h cublasLt.h; do
    has_header "$header" || [[ $(library_options) == *"${header%.h}"* ]] || missing+=("$header (cuDNN 9, cuBLASLt)")
  done
  # Package of scripts/setup: header.
  for header in libfmt-dev:fmt/format.h nlohmann-json3-dev:nlohmann/json.hpp libcli11-dev:CLI/CLI.hpp \
    libdnnl-dev:dnnl.hpp liburing-dev:liburing.h libxxhash-dev:xxhash.h zlib1g-dev:zlib.h \
    libgtest-dev:gtest/gtest.h libgmock-dev:gmock/gmock.h librapidcheck-dev:rapidcheck.h; do
    echo "#include <${header#*:}>" | c++ -std=c++20 -E -x c++ - >/dev/null 2>&1 ||
      missing+=("${header%:*} (<${header#*:}>)")
  done
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv || missing+=("nvidia-smi, and so a driver")
  python3 -c 'import torch; print("PyTorch", torch.__version__)' || echo "no PyTorch: nothing to compare with"
  ((${#missing[@]} == 0)) && return
  printf 'missing here: %s\n' "${missing[@]}"
  echo "without a network: bench/gpu_prefix.sh on a Debian 12 machine, then bench/gpu.sh --prefix FOLDER here"
  return 1
}

stage_configure() {
  local generator=() words architecture
  command -v ninja >/dev/null && generator=(-G Ninja)
  read -ra words < <(library_options | tr '\n' ' ')
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ')
  cmake -S . -B "$BUILD" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DVDNN_CUDA=ON -DVDNN_TESTS=ON \
    -DVDNN_WERROR=OFF -DCMAKE_CUDA_ARCHITECTURES="${architecture:-90}-real" \
    -DCMAKE_CUDA_COMPILER="$(nvcc_path)" "${words[@]}"
}

# The program, and of the tests those that need a GPU.
stage_build() {
  local targets
  mapfile -t targets < <(cd tests && find . -name '*_gpu_test.cpp' | sed 's/\.cpp$//; s/^\.\///; s/\//_/g')
  cmake --build "$BUILD" --parallel "$(nproc)" --target vdnn_cli "${targets[@]}"
}

# Here a skipped test has failed.
stage_tests() {
  ctest --test-dir "$BUILD" -L gpu --no-tests=error --output-on-failure --parallel 5 --timeout 140 |
    tee "$FOLDER/ctest.txt"
  ((PIPESTATUS[0] == 0)) && ! grep -F '(Skipped)' "$FOLDER/ctest.txt"
}

vdnn() { "$VDNN" "$@"; }
key() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

on_device=(--device "$DEVICE" ${TF32:+"$TF32"})

# verify FAMILY: every policy in the least memory that it says it needs, and the one that moves most over three tiers.
stage_verify() {
  local family=$1 policy least size common_run failures=0 cache=$FOLDER/cache-$1 plan=$FOLDER/least-$1.json
  case $family in
    alexnet) size=(--batch 8 --image 128) ;;
    overfeat) size=(--batch 4 --image 103) ;;
    googlenet) size=(--batch 4 --image 128) ;;
    vgg-16) size=(--batch 4 --image 64) ;;
    *) size=(--batch 4 --image 96) ;;
  esac
  [[ $DEVICE == cuda* ]] || size=(--batch 2 --image 96)
  local common=("$family" "${size[@]}" --classes 100 "${on_device[@]}" --data synthetic:64 --cache "$cache")
  for policy in baseline vdnn-all vdnn-conv vdnn-dyn auto; do
    rm -f "$plan"
    vdnn verify "${common[@]}" --policy "$policy" --memory 1MiB --steps 1 --json "$plan" >/dev/null
    least=$(key "$plan" least_budget_bytes)
    common_run=(--policy "$policy" --memory "$least" --steps 2 --lr 0.001 --poison)
    # What the table looks for, should the run break.
    echo '{}' >"$RESULTS/verify-${family}_$policy.json"
    vdnn verify "${common[@]}" "${common_run[@]}" --json "$RESULTS/verify-${family}_$policy.json" ||
      failures=$((failures + 1))
    [[ $policy == vdnn-all && $DEVICE == cuda* ]] || continue
    echo '{}' >"$RESULTS/verify-${family}_$policy,disk.json"
    vdnn verify "${common[@]}" "${common_run[@]}" --host-memory 1MiB \
      --json "$RESULTS/verify-${family}_$policy,disk.json" || failures=$((failures + 1))
  done
  return "$((failures > 0))"
}

split() {  # split CASE: network, batch, image
  IFS=: read -r network batch image <<<"$1"
  sizes=(--batch "$batch" ${image:+--image "$image"})
}

# The budgets that are measured, a line "NAME BYTES" each: everything, halves of network-wide, the least.
budgets() {
  python3 - "$RESULTS/plan-$network-$batch.json" <<'PYTHON'
import json, sys
plan = json.load(open(sys.argv[1]))
wide, least = plan["network_wide_bytes"], plan["least_budget_bytes"]
print("all 0")
for name, size in (("half", wide // 2), ("quarter", wide // 4), ("least", least)):
    print(name, size if size >= least else "too-small")
PYTHON
}

# measure CASE: plans once, then times oracle, auto and vdnn-dyn in turn in each budget.
stage_measure() {
  local network batch image sizes name bytes memory failures=0 steps=6
  split "$1"
  [[ -z ${QUICK:-} ]] || steps=3
  vdnn plan "$network" "${sizes[@]}" "${on_device[@]}" --cache "$FOLDER/cache" \
    --json "$RESULTS/plan-$network-$batch.json" || return 1
  while read -r name bytes; do
    if [[ $bytes == too-small || (-n ${QUICK:-} && $name == quarter) ]]; then
      : >"$RESULTS/bench-$network-$batch-$name.not-asked"
      continue
    fi
    memory=()
    [[ $name == all ]] || memory=(--memory "$bytes")
    vdnn bench "$network" "${sizes[@]}" "${on_device[@]}" --cache "$FOLDER/cache" "${memory[@]}" \
      --data synthetic:2048 --policies oracle,auto,vdnn-dyn --lr 0.001 --steps "$steps" \
      --json "$RESULTS/bench-$network-$batch-$name.json" || failures=$((failures + 1))
  done < <(budgets)
  return "$((failures > 0))"
}

# pytorch CASE
stage_pytorch() {
  local network batch image sizes more=()
  split "$1"
  [[ -z ${QUICK:-} ]] || more=(--steps 3 --warmup 1)
  [[ $DEVICE == cuda* ]] || more+=(--device cpu --quick)
  python3 bench/gpu_pytorch.py "$network" "$batch" ${image:+--image "$image"} ${TF32:+"$TF32"} --seconds 8 "${more[@]}" \
    >"$RESULTS/pytorch-$network-$batch.jsonl"
  local status=$?
  cat "$RESULTS/pytorch-$network-$batch.jsonl"
  return "$status"
}

profile_name() {
  case $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null) in
    *4090*) echo rtx-4090-24gb ;;
    *4060*) echo rtx-4060-8gb ;;
    *TITAN\ X*) echo titan-x ;;
    *) echo h200-141gb ;;
  esac
}

# predict CASES: what the nearest profile says of what was measured, which it has not seen.
stage_predict() {
  local network batch image sizes name bytes memory policy profile
  profile=$(profile_name)
  echo "$profile" >"$RESULTS/profile"
  for case; do
    split "$case"
    while read -r name bytes; do
      [[ -e $RESULTS/bench-$network-$batch-$name.json ]] || continue
      memory=()
      [[ $name == all ]] || memory=(--memory "$bytes")
      for policy in oracle auto vdnn-dyn; do
        vdnn plan "$network" "${sizes[@]}" --device "profile:$profile" "${memory[@]}" --policy "$policy" \
          --json "$RESULTS/predict-$network-$batch-$name-$policy.json" >/dev/null || echo "$case $name $policy: no plan"
      done
    done < <(budgets)
  done
}

name=$1
shift
# Only vdnn's programs: PyTorch brings its own.
if [[ $name != pytorch ]]; then
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}$(runtime_libraries)
  export LD_LIBRARY_PATH
fi
"stage_$name" "$@"
