#!/usr/bin/env bash
# Fails on an include that points up the layers. Usage: check-includes.sh [ROOT]
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$scripts/..}"

folders=()
for folder in include src cli; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z |
  xargs -0 --no-run-if-empty awk -f "$scripts/check-includes.awk"
