#!/usr/bin/env bash
# Checks the module for GPUs on a machine with one: every kind of work against double precision, then again under
# compute-sanitizer where that is on the PATH. When all is green a log with machine, driver and commit is written.
# Usage: gpu-check.sh FOLDER LOG     FOLDER: a build folder or an unpacked bundle, with hvi-gpu-check and hvi
# The environment: GPU_CHECK_OPTIONS for hvi-gpu-check (--seed 7, say).
set -euo pipefail

fail() {
  echo "gpu-check: $*" >&2
  exit 1
}

(($# == 2)) || fail "usage: gpu-check.sh FOLDER LOG"
folder=$1 log=$2
[[ -x $folder/hvi-gpu-check ]] || folder=$1/bin
[[ -x $folder/hvi-gpu-check && -x $folder/hvi ]] || fail "'$1' has no hvi-gpu-check and hvi"
folder=$(cd "$folder" && pwd)
read -ra options <<<"${GPU_CHECK_OPTIONS-}"
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# run TITLE COMMAND...: both go to the screen and to the log
run() {
  local title=$1
  shift
  printf '\n== %s\n' "$title" | tee -a "$scratch"
  "$@" 2>&1 | tee -a "$scratch" || fail "$title: failed, as above; '$log' is not written"
}

about() {
  "$folder/hvi" info | grep -E '^(version|commit|compiler|build) '
  printf 'machine          %s, %d cores\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  ! command -v nvidia-smi >/dev/null ||
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/gpu, driver      /'
}

about >"$scratch"
cat "$scratch"
run "hvi-gpu-check ${options[*]}" "$folder/hvi-gpu-check" "${options[@]}"
if command -v compute-sanitizer >/dev/null; then
  # a network that no device has room for is asked for, and refused: not an error
  for tool in memcheck racecheck; do
    run "compute-sanitizer --tool $tool, --quick" compute-sanitizer --tool $tool --error-exitcode 9 \
      --report-api-errors no "$folder/hvi-gpu-check" --quick "${options[@]}"
  done
else
  printf '\ncompute-sanitizer is not on the PATH: not run\n' | tee -a "$scratch"
fi
mkdir -p "$(dirname "$log")"
cp "$scratch" "$log"
chmod 644 "$log"
echo "gpu-check: all green; $log"
