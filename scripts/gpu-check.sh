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
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# run TITLE COMMAND...: both go to the screen and to the log
run() {
  local title=$1
  shift
  printf '\n== %s\n' "$title" | tee -a "$scratch/log"
  "$@" 2>&1 | tee -a "$scratch/log" || fail "$title: failed, as above; '$log' is not written"
}

about() {
  "$folder/hvi" info | grep -E '^(version|commit|compiler|build) '
  printf 'machine          %s, %d cores\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  ! command -v nvidia-smi >/dev/null ||
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/gpu, driver      /'
}

about >"$scratch/log"
cat "$scratch/log"
run "hvi-gpu-check ${options[*]}" "$folder/hvi-gpu-check" "${options[@]}"
# sanitize TOOL PROGRAM; a network that no device has room for is asked for, and refused: not an error
sanitize() {
  run "compute-sanitizer --tool $1, --quick" compute-sanitizer --tool "$1" --error-exitcode 9 \
    --report-api-errors no "$2" --quick "${options[@]}"
}
if command -v compute-sanitizer >/dev/null; then
  sanitize memcheck "$folder/hvi-gpu-check"
  # racecheck knows what a barrier orders for those threads alone that arrive there: in its module all of them do
  race=$folder/racecheck
  [[ -d $race ]] || race=$folder/../lib/hvi/racecheck
  cp "$folder/hvi-gpu-check" "$race/libhvi_gpu.so" "$scratch/"
  LD_LIBRARY_PATH=$folder/../lib/hvi sanitize racecheck "$scratch/hvi-gpu-check"
else
  printf '\ncompute-sanitizer is not on the PATH: not run\n' | tee -a "$scratch/log"
fi
mkdir -p "$(dirname "$log")"
cp "$scratch/log" "$log"
chmod 644 "$log"
echo "gpu-check: all green; $log"
