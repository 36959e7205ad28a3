#!/usr/bin/env bash
# Runs every fuzzer of a build folder for a while, from the seeds in fuzz/seeds/NAME and with the words of
# fuzz/NAME.dict if there are any. New inputs are kept in the build folder. An input that fails is kept
# there too; in fuzz/seeds/NAME the tests replay it. Usage: fuzz.sh BUILD SECONDS
set -euo pipefail
build=$(cd "$1" && pwd)
seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)

found=0
export OPENBLAS_NUM_THREADS=1
for program in "$build"/fuzz/fuzz_*; do
  [[ -f $program && -x $program ]] || continue
  found=1
  name=$(basename "$program")
  corpus=("$build/fuzz/corpus/$name")
  mkdir -p "${corpus[0]}"
  [[ -d $root/fuzz/seeds/$name ]] && corpus+=("$root/fuzz/seeds/$name")
  words=()
  [[ -f $root/fuzz/$name.dict ]] && words=("-dict=$root/fuzz/$name.dict")
  echo "-- $name"
  # a reader may ask for more memory than there is, and must take no for an answer
  ASAN_OPTIONS=allocator_may_return_null=1 "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=0 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$build/fuzz/$name-" "${words[@]}" "${corpus[@]}"
done
if ((!found)); then
  echo "no fuzzer in $build/fuzz: fuzz/fuzz_*.c is where they are looked for" >&2
  exit 1
fi
