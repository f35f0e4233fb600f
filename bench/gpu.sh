#!/usr/bin/env bash
# What the cuda device does on the GPU of this machine, in some eight minutes: builds, runs the tests labelled
# gpu, compares every policy with unlimited memory bit for bit, times steps beside PyTorch on the same card, and
# prints one table. A stage that fails or runs out of time stops nothing; it is named at the end.
#
#   bench/gpu.sh [--quick] [--minutes N, 8] [--tf32] [--prefix FOLDER] [--program FILE] [--device NAME, cuda]
#                [--stages tools,configure,build,tests,verify,measure] [CASE...]
#
# CASE is NETWORK:BATCH[:IMAGE]. --quick: small batches, three steps. --prefix: where bench/gpu_prefix.sh put the
# packages that the machine lacks. --program: a vdnn that is built already; tools, configure, build and tests are left
# out. Output: build/gpu/; where OUT is set, the table, the log and a packed copy of all of it go there, too.
# Needs no network: nvcc, cuDNN 9, CMake, the packages of scripts/setup (or --prefix) and, for its share, PyTorch.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

quick='' minutes=8 tf32='' prefix='' program='' device=cuda cases=()
stages=tools,configure,build,tests,verify,measure
while (($#)); do
  case $1 in
    --quick) quick=1 ;;
    --tf32) tf32=--tf32 ;;
    --minutes | --prefix | --program | --device | --stages)
      (($# > 1)) || { echo "bench/gpu.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift
      ;;
    -*) echo "bench/gpu.sh: unknown option $1" >&2; exit 2 ;;
    *) cases+=("$1") ;;
  esac
  shift
done
if ((${#cases[@]} == 0)); then
  cases=(vgg-16:256 resnet-50:64 googlenet:128 alexnet:256 vgg-16:64)
  [[ -z $quick ]] || cases=(vgg-16:16 resnet-50:16 googlenet:32 alexnet:64)
fi
folder=build/gpu results=build/gpu/results
rm -rf "$folder" && mkdir -p "$results" "$folder/spill"
exec > >(tee "$folder/log.txt") 2>&1
[[ -z $prefix ]] || prefix=$(realpath "$prefix")
export FOLDER=$folder RESULTS=$results QUICK=$quick TF32=$tf32 DEVICE=$device PREFIX=$prefix
export VDNN=${program:-build/gpu-release/vdnn} BUILD=build/gpu-release VDNN_SPILL=${VDNN_SPILL:-$folder/spill}
deadline=$((SECONDS + 60 * minutes))
failed=() others=()

keep() {  # what is there so far, packed, should the run be ended
  [[ -n ${OUT:-} ]] || return 0
  tar czf "$OUT/gpu.tar.gz" --exclude=spill -C "$folder" . 2>/dev/null
  cp "$folder/log.txt" "$OUT/" 2>/dev/null
}

# run STAGE SECONDS NAME [CASE...]: bench/gpu_stage.sh NAME CASE..., where its stage is wanted; output to a file.
run() {
  local stage=$1 limit=$2 label=$3 left=$((deadline - SECONDS - 5)) begin=$SECONDS status file
  (($# != 4)) || label+=-${4//:/-}
  [[ ,$stages, == *,$stage,* ]] || return 0
  ((left >= limit)) || limit=$left
  if ((limit < 3)); then
    echo "$label: NOT RUN, no time is left"
    failed+=("$label, not run")
    return 1
  fi
  shift 2
  file=$folder/$label.txt
  timeout --kill-after=5 "$limit" bench/gpu_stage.sh "$@" >"$file" 2>&1
  status=$?
  if ((status == 0)); then
    echo "$label: done in $((SECONDS - begin)) s"
  else
    case $status in (124 | 137) label+=", over $limit s" ;; (*) label+=", exit $status" ;; esac
    printf '%s\n' "$label: FAILED after $((SECONDS - begin)) s; the end of $file:" \
      "$(tail -n 15 "$file" | cut -c1-300 | sed 's/^/    /')"
    failed+=("$label")
  fi
  keep
  return "$status"
}

background() {  # the same beside others; join collects what failed
  local mark
  mark=$(mktemp "$folder/failed.XXXXXX")
  run "$@" || printf '%s\n' "${failed[-1]}" >"$mark" &
  others+=($!)
}
join() {
  local label
  wait "${others[@]}"  # not all: tee only ends with this script
  while read -r label; do failed+=("$label"); done < <(cat "$folder"/failed.*)
  rm -f "$folder"/failed.*
}

built=1
if [[ -z $program ]]; then
  run tools 20 tools || built=''
  [[ -z $built ]] || run configure 60 configure || built=''
  [[ -z $built ]] || run build 220 build || built=''
fi
if [[ -z $built ]]; then
  failed+=("everything of vdnn, which is not built")
else
  # For right or wrong, which needs no machine to itself.
  [[ -n $program ]] || background tests 150 tests
  for family in alexnet overfeat googlenet vgg-16 resnet-50; do background verify 130 verify "$family"; done
  join
fi
printf '%s\n' "${cases[@]}" | cut -d: -f1,2 >"$results/cases"
# Each with the machine to itself, so that what was measured is whole however far one gets.
for case in "${cases[@]}"; do
  [[ -z $built ]] || run measure 75 measure "$case"
  run measure 60 pytorch "$case"
done
[[ -z $built ]] || run measure 20 predict "${cases[@]}"

echo
python3 bench/gpu_table.py "$results" | tee "$folder/table.txt"
complete=${PIPESTATUS[0]}
rm -rf "$folder/spill"
if ((${#failed[@]})); then printf 'failed: %s\n' "${failed[@]}"; else echo "every stage passed"; fi
echo "$SECONDS s in all; output in $folder"
keep
[[ -z ${OUT:-} ]] || cp "$folder/table.txt" "$OUT/"
((${#failed[@]} == 0 && complete == 0))
