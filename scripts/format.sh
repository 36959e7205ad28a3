#!/usr/bin/env bash
# Formats every file of C, C++ and CUDA in place, or with --check fails on one that is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

# Versions of clang-format disagree in details; the tree follows Debian 12's.
tool=$(command -v clang-format-14 || command -v clang-format)
mode=(-i)
[[ ${1-} == --check ]] && mode=(--dry-run -Werror)

folders=()
for folder in include src cli tests bench fuzz examples python; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" ! -path 'python/build/*' \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z |
  xargs -0 --no-run-if-empty "$tool" "${mode[@]}"
