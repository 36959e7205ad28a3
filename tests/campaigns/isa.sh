#!/usr/bin/env bash
# Levels of instructions: on each that this machine has, every command twice, on one thread and on two, must give the
# same bits; a checkpoint of another level is refused. The table has a hash of results per level. With `full` the
# unit tests run on each level too, JOBS at a time. Usage: isa.sh small|full
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"

levels=()
for level in baseline avx2 avx512; do
  if HVI_CPU_LEVEL=$level "$HVI" --version >out 2>err; then levels+=($level); fi
done

hash_of() { for file in ${results[$2]}; do without_clocks "$1/$file"; done | md5sum | cut -c1-12; }
jobs_of() { case $1 in solve | train) ;; *) echo "--jobs $2" ;; esac }
refused_level() { [[ $code == 3 ]] && grep -q 'was computed with .*other bits' err; }

printf '%-10s' command
printf ' %-12s' "${levels[@]}"
echo
for name in "${commands[@]}"; do
  row=$(printf '%-10s' "$name")
  for level in "${levels[@]}"; do
    anew straight
    anew work
    in_folder straight "${line[$name]} $(jobs_of "$name" 1)" HVI_CPU_LEVEL=$level
    [[ $code == 0 ]] || fail "$name on $level"
    in_folder work "${line[$name]} $(jobs_of "$name" 2)" HVI_CPU_LEVEL=$level
    check "$name on $level, twice" same work "$name"
    row+=$(printf ' %-12s' "$(hash_of straight "$name")")
  done
  echo "$row"
done

for name in solve evaluate train; do
  for one in "${levels[@]}"; do
    for other in "${levels[@]}"; do
      [[ $one != "$other" ]] || continue
      anew work
      in_folder work "${line[$name]}" HVI_CPU_LEVEL=$one
      in_folder work "${line[$name]} --resume" HVI_CPU_LEVEL=$other
      check "$name of $one resumed on $other" refused_level
    done
  done
done

if [[ $size == full ]]; then
  cd "$here"
  suite() { ctest --test-dir "$HVI_BUILD_DIR" -L unit -j"${JOBS:-$(nproc)}" --output-on-failure >suite.log 2>&1; }
  for level in "${levels[@]}"; do
    export HVI_CPU_LEVEL=$level
    check "the unit tests on $level" suite
    grep 'tests passed' suite.log | sed "s/^/$level: /"
  done
fi
finish
