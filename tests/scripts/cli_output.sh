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
ends 5 closed solve pennies --method gd --iters 10 --trace trace.csv
said err '^hvi: cannot write to standard output'
[[ $(wc -l <trace.csv) == 12 ]] || fail "the trace took the place of a closed stdout"

# a reader that has left: not a word, and the code of SIGPIPE
left() {
  {
    sleep 0.3
    code=0
    "$HVI" "$@" 2>err || code=$?
    echo "$code" >code
  } | true
  [[ $(cat code) == 141 ]] || fail "$*: a closed pipe ends in $(cat code)"
  [[ ! -s err ]] || fail "$*: a closed pipe is complained about"
}
left list
left --help
left solve pennies --json -q
left solve pennies --trace /dev/stdout -q
left inspect pennies
left env list
left data collect lqr --policy default -n 10 --out d.safetensors -q
left policy score lqr --policy default --episodes 2 -q
left evaluate lqr --policy default --steps 1 --test-states 5 --hidden 4 --out e -q
left reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out out.d -q
left bench games --repeats 1 --iters 10 --instances 1 -q

# Ctrl-C: the results so far, a complete trace, exit code 130; SIGTERM: 143
interrupt() {
  local signal=$1 expected=$2 code=0 pid
  shift 2
  : >err
  "$HVI" "$@" >out 2>err &
  pid=$!
  for ((i = 0; i < 300; i++)); do
    grep -Eq '^ *[0-9]{3,} ' err && break
    sleep 0.1
  done
  kill "-$signal" "$pid"
  wait "$pid" || code=$?
  [[ $code == "$expected" ]] || fail "$signal: exit code $code"
}
endless=(solve pennies --iters 0 --max-seconds 60 --stall-window 0 --method gd --eta 1e-9)
interrupt INT 130 "${endless[@]}" --trace trace.csv
said out '^status +stopped \(interrupted\)$'
said err '^status +stopped \(interrupted\)'
last=$(tail -1 trace.csv)
[[ $(tail -c 1 trace.csv | od -An -c | tr -d ' ') == '\n' ]] || fail "the trace ends within a row"
said out "^outer +${last%%,*}\$"
interrupt TERM 143 "${endless[@]}"
# what has nothing to keep ends at once, however deep in a library it is
for what in 'inspect chain --set states=2000000' 'check quadratic --set n=1000' 'solve chain --set states=2000000'; do
  read -ra command <<<"$what"
  "$HVI" "${command[@]}" >out 2>err </dev/null &
  pid=$! code=0
  sleep 0.2
  kill -TERM "$pid"
  for _ in $(seq 100); do
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.05
  done
  if kill -9 "$pid" 2>/dev/null; then fail "hvi $what: SIGTERM does not end it within 5 s"; fi
  wait "$pid" 2>/dev/null || code=$?
  [[ $code == 143 ]] || fail "hvi $what: exit code $code after SIGTERM"
done

# on a terminal there are colours, unless NO_COLOR is set
if script -qec true /dev/null >/dev/null 2>&1; then # where a terminal can be had
  on_terminal() { script -qec "$1 '$HVI' solve pennies --iters 10 2>&1 >/dev/null" /dev/null >shown; }
  export TERM=xterm
  on_terminal "env -u NO_COLOR"
  grep -q $'\033' shown || fail "no colours on a terminal"
  on_terminal "env NO_COLOR=1"
  if grep -q $'\033' shown; then fail "colours in spite of NO_COLOR"; fi
  on_terminal "env TERM=dumb"
  if grep -q $'\033' shown; then fail "colours on a dumb terminal"; fi
fi

# without a terminal a long run says that it is long
"$HVI" testset lqr --policy default --states 1e6 --out long.safetensors 2>err >/dev/null &
pid=$!
for ((i = 0; i < 600; i++)); do
  grep -q 'roll-outs: this takes about [0-9:]*$' err && break
  sleep 0.1
done
kill -INT "$pid"
wait "$pid" || true
said err 'roll-outs: this takes about'
