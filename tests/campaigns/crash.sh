#!/usr/bin/env bash
# Kills of every command that has a checkpoint, before a write, sync, rename or other change of a file, and at random
# times. Some are killed again while they resume. The end is compared with a run that was never stopped.
# Usage: crash.sh small|full; COUNT: kills per command.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
plain_only
build faults.so tests/campaigns/faults.c -shared -fPIC

# killed FOLDER LINE AT: whether the call was reached.
killed() {
  in_folder "$1" "$2" LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/$1" FAULT_KIND=kill FAULT_CALLS=owstrlum FAULT_AT="$3"
  [[ $code == 137 ]]
}

resumes() { # NAME
  in_folder work "${line[$1]} --resume"
  [[ $code == 0 ]] && same work "$1" && ! compgen -G 'work/*.tmp.*' >/dev/null
}

at_calls() { # NAME KILLS
  local total i at
  rm -f log
  anew work
  in_folder work "${line[$1]}" LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/work" FAULT_CALLS=owstrlum FAULT_LOG="$here/log"
  total=$(stat -c %s log)
  [[ $total -gt 5 ]] || fail "nothing of $1 is counted"
  for ((i = 0; i < $2; i++)); do
    # every call in turn, or evenly over all
    at=$(($2 >= total ? i % total + 1 : i * total / $2 + 1))
    anew work
    killed work "${line[$1]}" $at || continue
    if ((RANDOM % 3 == 0)); then killed work "${line[$1]} --resume" $((RANDOM % total + 1)) || true; fi
    check "$1, killed before call $at of $total" resumes "$1"
  done
}

at_times() { # NAME KILLS
  local i start ms
  start=$(date +%s%N)
  make_straight "$1"
  ms=$((($(date +%s%N) - start) / 1000000))
  for ((i = 0; i < $2; i++)); do
    anew work
    (cd work && eval "exec ${line[$1]/#hvi/env PATH=$here/bin $HVI} -q") >out 2>err &
    local victim=$!
    sleep "$(printf '0.%03d' $((RANDOM % (ms < 900 ? ms + 20 : 900))))"
    kill -9 $victim 2>/dev/null || true
    wait $victim 2>/dev/null || true
    check "$1, killed at some time" resumes "$1"
  done
}

kills=$(many 6 150)
for name in "${commands[@]}"; do
  before=$tried
  make_straight "$name"
  at_calls "$name" "$kills"
  at_times "$name" $((kills / 3))
  echo "$name: $((tried - before)) kills"
done
finish
