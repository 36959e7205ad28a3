#!/usr/bin/env bash
# Processes that share work and die: kill -9 of any rank of an MPI job, of the first one, of a part, at random times; a
# full disk under the first rank. --resume on another number of ranks ends in the bits of one process, and keeps all
# but the units that were under way. Usage: ranks.sh small|full; COUNT: of each.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
plain_only
[[ -e $HVI_BUILD_DIR/libhvi_mpi.so ]] || { echo "this build has no module for MPI" && exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
mpirun -n 1 true >out 2>&1 || { echo "mpirun does not work here" && exit 77; }
mpirun=$(command -v mpirun)

commands=(ensemble testset collect reproduce values)
[[ $size == full ]] || commands=(values) # seconds
declare -A words=(
  [ensemble]='solve rps --method lm --ensemble 6000 --checkpoint c --json'
  [testset]='testset lqr --policy default --states 60 --rollouts 40 --horizon 200 --out t'
  [collect]='data collect lqr --policy default -n 40000 --out d'
  [reproduce]="reproduce '$HVI_SOURCE_DIR/tests/data/pennies.yaml' --out o"
  [values]="reproduce '$HVI_SOURCE_DIR/tests/campaigns/values.yaml' --out o"
)
results[ensemble]=printed

# command NAME RANKS [ARGUMENT]...: into the array `command`; 0 ranks are plain hvi.
command() {
  eval "command=(timeout -s KILL 300 env PATH='$here/bin' '$HVI' ${words[$1]} -q -j 1)"
  if (($2)); then eval "command=(timeout -s KILL 300 '$mpirun' -n $2 env PATH='$here/bin' '$HVI' ${words[$1]} -q -j 1)"; fi
  command+=("${@:3}")
}

# run FOLDER NAME RANKS [ARGUMENT]...: to its end.
run() {
  code=0
  command "${@:2}"
  (cd "$1" && exec "${command[@]}") >out 2>err </dev/null || code=$?
  grep -v seconds out >"$1/printed" || true
}

# rank_of JOB RANK: the process, if there is one; the job is timeout's, whose child is mpirun.
rank_of() {
  local launcher process
  launcher=$(pgrep -P "$1") || return 0
  for process in $(pgrep -P "$launcher"); do
    if grep -zqx "OMPI_COMM_WORLD_RANK=$2" "/proc/$process/environ" 2>/dev/null; then echo "$process"; fi
  done
}

# begins JOB RANK: waits for the process; on a busy machine mpirun itself may take most of the time.
begins() {
  while [[ -e /proc/$1 && -z $(rank_of "$1" "$2") ]]; do sleep 0.05; done
}

# unstick JOB: ends an mpirun that waits for itself when all its ranks are gone, as that of OpenMPI 4.1 may.
unstick() {
  local launcher n=0
  launcher=$(pgrep -P "$1") || return 0
  while ((n < 100)) && [[ -e /proc/$launcher ]]; do
    sleep 0.2
    if ps -o stat= --ppid "$launcher" | grep -qv '^Z'; then n=0; else n=$((n + 1)); fi
  done
  if ((n == 100)) && kill -9 "$launcher" 2>/dev/null; then stuck=$((stuck + 1)); fi
}

# alive PROCESS...: whether one of them has not ended.
alive() { (($#)) && ps -o stat= -p "$*" | grep -qv '^Z'; }

# outlive PROCESS...: waits for ranks that mpirun has killed: it ends before they have, and they hold locks.
outlive() {
  local n
  alive "$@" || return 0
  late=$((late + 1))
  for ((n = 0; n < 600; n++)); do
    alive "$@" || return 0
    sleep 0.05
  done
  fail "ranks go on without their mpirun"
}

# stops PROCESS: whether it does; one that has just ended can still be sent signals. A busy machine takes its time.
stops() {
  local n
  kill -STOP "$1" 2>/dev/null || return 1
  for ((n = 0; n < 100; n++)); do
    case $(ps -o stat= -p "$1") in
      T*) return 0 ;;
      Z* | '') return 1 ;;
    esac
    sleep 0.02
  done
  kill -CONT "$1" 2>/dev/null || true
  return 1
}

# die NAME RANKS VICTIM: a job in ./work of which a rank is killed at some time; whether it was. Victim 0 of 0 ranks is
# plain hvi.
die() {
  local job process='' ranks=''
  command "$1" "$2" "${@:4}"
  (cd work && exec "${command[@]}") >out 2>err </dev/null &
  job=$!
  if (($2)); then begins $job "$3"; fi
  sleep "$(printf '%d.%03d' $((RANDOM % ms / 1000)) $((RANDOM % (ms < 1000 ? ms : 1000))))"
  if (($2)); then process=$(rank_of $job "$3"); else process=$(pgrep -P $job || true); fi
  if [[ -n $process ]] && stops "$process"; then
    ranks=$(ps -o pid= --ppid "$(pgrep -P $job)")
    kill -9 "$process"
  else
    process=''
  fi
  code=0 SECONDS=0
  if (($2)) && [[ -n $process ]]; then unstick $job; fi
  wait $job 2>/dev/null || code=$?
  ((SECONDS < 200)) || fail "$1, rank $3 of $2 is killed, and the job does not end"
  outlive $ranks
  [[ -n $process ]]
}

# whole_records JOURNAL: how many bytes its head and the whole records behind it have. A kill between the two writes of a
# record leaves some of it, which is cut off and written anew.
whole_records() {
  local size at next
  number() { od -An -tu8 -j "$2" -N 8 "$1"; }
  size=$(stat -c %s "$1")
  ((size >= 32)) || { echo 0 && return; }
  for ((next = 32 + $(number "$1" 16); next <= size; next += 32 + $(number "$1" $((at + 16))))); do
    at=$next
    ((at + 32 <= size)) || break
  done
  echo "${at:-0}"
}

# Of a study the finished cells stay: those of before the kill are not computed again.
resumes() { # NAME RANKS
  local cells size=0
  for cells in work/o/*/cells.partial; do
    if [[ -e $cells && ! -e ${cells%/*}/claims.json ]]; then cp "$cells" before && size=$(whole_records before); fi
  done
  run work "$1" "$2" --resume
  [[ $code == 0 ]] && same work "$1" && ! compgen -G 'work/*.tmp.*' >/dev/null || return 1
  ((size == 0)) || { kept=$((kept + 1)) && cmp -s -n "$size" before work/o/*/cells.partial; }
}

# measure NAME RANKS [ARGUMENT]...: runs it in ./work; the milliseconds that it takes, in $ms.
measure() {
  local start
  anew work
  start=$(date +%s%N)
  run work "$@"
  ms=$((($(date +%s%N) - start) / 1000000))
}

# straight NAME: what one process gives, in ./straight, and the time of three ranks.
straight() {
  anew straight
  run straight "$1" 0
  [[ $code == 0 ]] || fail "$1: exit code $code"
  measure "$1" 3
  check "$1 on three ranks" same work "$1"
}

kills=$(many 2 30) kept=0 stuck=0 late=0
for name in "${commands[@]}"; do
  before=$tried missed=0
  straight "$name"
  most=$ms
  anew work
  run work "$name" 8
  check "$name on eight ranks" same work "$name"
  for ((i = 0; i < kills; )); do
    anew work
    victim=$((i % 3 == 0 ? 0 : RANDOM % 3))
    if die "$name" 3 $victim; then
      i=$((i + 1)) ms=$most
      check "$name, rank $victim of 3 is killed, and the job ends well" test $code != 0
      check "$name, rank $victim of 3 killed, resumed on $((i % 4))" resumes "$name" $((i % 4))
    else
      missed=$((missed + 1)) ms=$((ms * 2 / 3 + 1)) # it was over; sooner next time
      check "$name without a kill" resumes "$name" 2
      ((missed < 3 * kills + 9)) || fail "$name is too short to be killed"
    fi
  done
  echo "$name: $kills ranks killed, $missed missed, $((tried - before)) checks"
done

# The last record cut short, as a kill may leave it: the others stay.
anew work
run work values 0
rm work/o/values/claims.json
truncate -s -1000 work/o/values/cells.partial
(($(whole_records work/o/values/cells.partial) < $(stat -c %s work/o/values/cells.partial))) || fail "a whole record"
check "values, half a record" resumes values 2

echo "finished cells were kept: $kept times; mpirun did not end by itself: $stuck times; ranks outlived it: $late times"

# A part that is killed.
merged() { # NAME
  local k
  for k in 1 2 3; do
    run work "$1" 0 --part $k/3 --resume
    [[ $code == 0 ]] || return 1
  done
  code=0
  (cd work && "$HVI" merge ./*.part-* -q) >out 2>err || code=$?
  grep -v seconds out >work/printed || true
  [[ $code == 0 ]] && same work "$1"
}
parts=0
for name in "${commands[@]}"; do
  straight "$name"
  measure "$name" 0 --part 2/3
  most=$ms missed=0 i=0
  while ((i < $(many 1 6) && missed < 3 * kills + 9)); do
    anew work
    if die "$name" 0 0 --part 2/3; then i=$((i + 1)) ms=$most; else missed=$((missed + 1)) ms=$((ms * 2 / 3 + 1)); fi
    check "$name, part 2 of 3 is killed" merged "$name"
  done
  parts=$((parts + i))
done
echo "$parts parts killed"

# A disk that is full under the first rank.
full_disk() { # NAME
  # 137: it did not end, and was killed
  [[ $code == 0 ]] || { [[ $code != 137 ]] && grep -q '^hvi: .*No space left' err; } || return 1
  mount -o remount,size=64m disk
  run disk "$1" 2 --resume
  [[ $code == 0 ]] && same disk "$1"
}
mkdir disk
disks=$(many 1 4) full=0
if [[ $size == full ]] && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
  trap 'umount "$here/disk"; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
  for name in ensemble testset collect values; do
    straight "$name"
    need=$(du -sk work | cut -f1)
    for ((i = 1; i <= disks; i++)); do
      umount disk
      mount -t tmpfs -o size=$((need * i / (disks + 1) / 4 * 4 + 4))k none disk
      run disk "$name" 3
      if [[ $code != 0 ]]; then full=$((full + 1)); fi
      check "$name, a disk of $((need * i / (disks + 1))) of $need kB under the first rank" full_disk "$name"
    done
  done
  echo "small disks: $((4 * disks)), of which $full were too small"
fi
finish
