#!/usr/bin/env bash
# Gathers what building vdnn and its tests needs beside compiler, CMake and CUDA in a folder, from the Debian
# packages of this machine: for bench/gpu.sh --prefix on a machine with a GPU and without a network.
#   bench/gpu_prefix.sh [FOLDER, build/gpu-prefix]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/gpu-prefix}
packages=(libdnnl-dev libdnnl2 ocl-icd-opencl-dev ocl-icd-libopencl1 opencl-c-headers liburing-dev liburing2
          libcli11-dev libfmt-dev libfmt9 nlohmann-json3-dev libxxhash-dev libxxhash0 zlib1g-dev zlib1g
          libgtest-dev libgmock-dev librapidcheck-dev pkgconf pkgconf-bin libpkgconf3)
scripts/setup --tests >&2
rm -rf "$folder"
mkdir -p "$folder"
for package in "${packages[@]}"; do
  dpkg-query -W "$package" >/dev/null 2>&1 || { echo "not installed here: $package" >&2; continue; }
  dpkg -L "$package"
done | grep -E '^(/usr)?/(include|lib|bin|share/(cmake|pkgconfig|rapidcheck))/' | sort -u |
  while read -r file; do
    [[ -d $file && ! -L $file ]] || printf '%s\n' "$file"
  done | tar cf - --ignore-failed-read -T - 2>/dev/null | tar xf - -C "$folder"
# What lies in /lib here may lie in /usr/lib there, and links with whole names would leave the folder.
if [[ -d $folder/lib ]]; then
  mkdir -p "$folder/usr/lib"
  cp -a "$folder/lib/." "$folder/usr/lib/"
  rm -rf "${folder:?}/lib"
fi
find "$folder" -type l -lname '/*' -print | while read -r link; do
  ln -sfr "$folder$(readlink "$link" | sed 's#^/lib/#/usr/lib/#')" "$link"
done
du -sh "$folder"
