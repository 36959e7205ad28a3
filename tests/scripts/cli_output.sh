#!/usr/bin/env bash
# Where output goes wrong from outside: a full disk, a closed pipe, Ctrl-C.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

# ends CODE COMMAND...: a shell command that must end so.
ends() {
  local code=$1 got=0
  "${@:2}" 2>err || got=$?
  [[ $got == "$code" ]] || fail "${*:2}: exit code $got, not $code"
}

full() { "$HVI" "$@" -q >/dev/full; }
closed() { "$HVI" "$@" -q >&-; }
if [[ -w /dev/full ]]; then
  ends 5 full solve pennies --json
  said err '^hvi: cannot write to standard output: '
  expect 5 solve pennies --trace /dev/full -q
  said err '^hvi: .*/dev/full'
fi
ends 5 closed solve pennies
said err '^hvi: cannot write to standard output'

# a reader that leaves: an ordinary error and no signal
{ "$HVI" solve rps --set seed=0 2>/dev/null || true; } >/dev/null
{ code=0; "$HVI" list 2>err || code=$?; echo "$code" >code; } | true
# (list is short enough to fit into the pipe before the reader has left)
grep -Eq '^(0|5)$' code || fail "a closed pipe ends in $(cat code)"

# Ctrl-C: the results so far, a complete trace, exit code 130
interrupt() {
  local signal=$1 code=0 pid
  shift
  "$HVI" "$@" >out 2>err &
  pid=$!
  sleep 0.5
  kill "-$signal" "$pid"
  wait "$pid" || code=$?
  [[ $code == 130 ]] || fail "$signal: exit code $code"
}
endless=(solve pennies --iters 0 --max-seconds 60 --stall-window 0 --method gd --eta 1e-9)
# bash starts background jobs with SIGINT ignored; the program's own handler replaces that
interrupt INT "${endless[@]}" --trace trace.csv
said out '^status +stopped'
said err '^status +stopped'
last=$(tail -1 trace.csv)
[[ $(tail -c 1 trace.csv | od -An -c | tr -d ' ') == '\n' ]] || fail "the trace ends within a row"
said out "^outer +${last%%,*}\$"
interrupt TERM "${endless[@]}"
