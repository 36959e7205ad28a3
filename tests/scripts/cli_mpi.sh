#!/usr/bin/env bash
# hvi under mpirun: the same bits for any number of ranks, ranks that differ, ranks that die.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
[[ -e $HVI_BUILD_DIR/libhvi_mpi.so ]] || { echo "this build has no module for MPI" && exit 77; }
command -v mpirun >/dev/null || { echo "there is no mpirun" && exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
mpirun -n 1 true >out 2>&1 || { echo "mpirun does not work here" && exit 77; }
study=$HVI_SOURCE_DIR/tests/data/pennies.yaml
testset=(testset lqr --policy default --states 60 --rollouts 4 --horizon 50 -q --fresh)
collect=(data collect lqr --policy default -n 9500 -q --fresh)
ensemble=(solve rps --method lm --iters 200 --ensemble 1800 --json -q)
without_clocks() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } { if (s) $s = ""; print }' "$1"; }

# ranks N ARGUMENT...: hvi on so many
ranks() {
  local n=$1 code=0
  shift
  mpirun -n "$n" "$HVI" "$@" >out 2>err </dev/null || code=$?
  [[ $code == 0 ]] || fail "$n ranks, hvi $*: exit code $code"
}

expect 0 reproduce "$study" --out whole -q
expect 0 "${testset[@]}" --out t.st
expect 0 "${collect[@]}" --out d.st
expect 0 "${ensemble[@]}"
grep -v seconds out >e.out
for n in 1 2 3 8; do
  ranks $n reproduce "$study" --out ranks.$n -q -j $((n % 4 + 1))
  for file in whole/pennies/*.csv; do
    cmp -s <(without_clocks "$file") <(without_clocks "ranks.$n/pennies/${file##*/}") || fail "$n ranks: ${file##*/} has other bits"
  done
  [[ $(grep -c 'claims: 1 hold' out) == 1 && ! -s err ]] || fail "$n ranks: not one table"
  ranks $n "${ensemble[@]}" -j 2
  grep -v seconds out | cmp -s - e.out || fail "$n ranks: another ensemble"
done
ranks 2 "${testset[@]}" --out tm.st -j 2
cmp -s t.st tm.st || fail "another test set"
ranks 3 "${collect[@]}" --out dm.st -j 1
cmp -s d.st dm.st || fail "another data set"
ranks 2 reproduce "$study" --out ranks.2 -q --resume # there is nothing left to do

# Ranks that would compute other bits, and what is for one process.
if [[ $("$HVI" info) == *avx* ]]; then
  ! mpirun -n 1 "$HVI" "${ensemble[@]}" : -n 1 env HVI_CPU_LEVEL=baseline "$HVI" "${ensemble[@]}" >out 2>err || fail "two levels run together"
  [[ $(grep -c '^hvi: ' err) == 1 ]] || fail "not one line"
  said err '^hvi: ranks would compute other bits: rank 0: .*level avx.*; rank 1: .*level baseline; libm [0-9.]+ '
fi
! mpirun -n 2 "$HVI" solve rps -q >out 2>err || fail "a single solve on two ranks"
said err '^hvi: a solve of one instance is for one process, and mpirun has started 2'
mkdir bare
cp "$HVI" bare/hvi
! HVI_MODULE_PATH='' mpirun -n 2 bare/hvi "${ensemble[@]}" >out 2>err || fail "two ranks without a module"
said err '^hvi: no libhvi_mpi.so in '

# rank_of JOB RANK: the process, if it has begun.
rank_of() {
  local process
  for process in $(pgrep -P "$1"); do
    if grep -zqx "OMPI_COMM_WORLD_RANK=$2" "/proc/$process/environ" 2>/dev/null; then echo "$process"; fi
  done
}

# A rank that dies ends the job; --resume goes on from what the first one has.
ensemble=(solve rps --method lm --ensemble 20000 --json -q)
expect 0 "${ensemble[@]}"
grep -v seconds out >e.out
for victim in 1 0; do
  mpirun -n 2 "$HVI" "${ensemble[@]}" --checkpoint kept --fresh -j 1 >out 2>err &
  job=$!
  process=''
  while [[ -e /proc/$job && -z $process ]]; do process=$(rank_of $job $victim); done
  while [[ -e /proc/$job && $(stat -c %s kept.partial 2>/dev/null || echo 0) -lt 300000 ]]; do sleep 0.02; done
  kill -9 "$process"
  ! wait $job || fail "rank $victim is killed, and the job ends well"
  said err "process rank $victim .*signal 9"
  [[ $victim == 0 ]] || said err '^hvi: interrupted; --resume goes on from here'
  [[ -s kept.partial ]] || fail "nothing is kept"
  ranks 2 "${ensemble[@]}" --checkpoint kept --resume
  grep -v seconds out | cmp -s - e.out || fail "another ensemble after rank $victim was killed"
done
