#!/usr/bin/env bash
# Runs every fuzzer of a build folder, or those named, for a while, from the seeds in fuzz/seeds/NAME and with the words
# of fuzz/NAME.dict if there are any; JOBS of them at a time (1). New inputs are kept in the build folder. An input that
# fails is kept there too; in fuzz/seeds/NAME the tests replay it. Prints a line for each, with executions and
# executions a second, and the sum. Usage: fuzz.sh BUILD SECONDS [JOBS [NAME...]]
set -euo pipefail
build=$(cd "$1" && pwd)
seconds=$2 jobs=${3:-1}
root=$(cd "$(dirname "$0")/.." && pwd)
export OPENBLAS_NUM_THREADS=1
# a reader may ask for more memory than there is, and must take no for an answer
export ASAN_OPTIONS=allocator_may_return_null=1
# a folder that was packed with its libraries
if [[ -d $build/fuzz/lib ]]; then export LD_LIBRARY_PATH=$build/fuzz/lib; fi

fuzz() { # PROGRAM
  local name=${1##*/} words=() code=0
  local corpus=("$build/fuzz/corpus/$name")
  mkdir -p "${corpus[0]}"
  [[ -d $root/fuzz/seeds/$name ]] && corpus+=("$root/fuzz/seeds/$name")
  [[ -f $root/fuzz/$name.dict ]] && words=("-dict=$root/fuzz/$name.dict")
  "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=0 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build/fuzz/$name-" "${words[@]}" "${corpus[@]}" >"$build/fuzz/$name.log" 2>&1 || code=$?
  awk -v name="$name" -v code=$code '/stat::number_of_executed_units/ { n = $2 } /stat::average_exec_per_sec/ { rate = $2 }
    END { printf "%-28s %12d executions, %7d a second%s\n", name, n, rate, code ? ", FAILED with " code : "" }' "$build/fuzz/$name.log"
}

programs=() wanted=${*:4}
for program in "$build"/fuzz/fuzz_*; do
  if [[ -f $program && -x $program && (-z $wanted || " $wanted " == *" ${program##*/} "*) ]]; then programs+=("$program"); fi
done
if ((!${#programs[@]})); then
  echo "no fuzzer in $build/fuzz: fuzz/fuzz_*.c is where they are looked for" >&2
  exit 1
fi
for program in "${programs[@]}"; do
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
  fuzz "$program" &
done | tee "$build/fuzz/totals"
awk '{ n += $2; failed += /FAILED/ } END { printf "%-28s %12d executions, %d of %d failed\n", "all", n, failed, NR; exit failed > 0 }' "$build/fuzz/totals" || {
  grep -l 'ERROR\|Test unit written' "$build"/fuzz/fuzz_*.log | xargs tail -40 >&2
  exit 1
}
