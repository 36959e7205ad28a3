#!/usr/bin/env bash
# hvi data: the same bits on any number of threads and after any interruption, and what is refused.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

collect=(data collect lqr --policy default)

expect 0 "${collect[@]}" -n 10007 --out one --jobs 1 --json
[[ $(member transitions) == 10007 && $(member truncated) == 10 && $(member terminated) == 0 ]] || fail "counts"
[[ $(member environment) == lqr && $(member seed) == 1 && $(member mean_length) == 1000 ]] || fail "notes"
for threads in 2 3; do
  expect 0 "${collect[@]}" -n 10007 --out many --jobs "$threads"
  cmp -s one many || fail "$threads threads give other bits"
done
said out '^many: 10007 transitions'
said err 'steps in .*many'
expect 0 "${collect[@]}" -n 10007 --out other --seed 2 -q
[[ ! -s err ]] || fail "-q talks"
if cmp -s one other; then fail "another seed gives the same bits"; fi
expect 0 "${collect[@]}" -n 10007 --out other --deterministic
if cmp -s one other; then fail "without noise the bits are the same"; fi
[[ -z $(find . -name '*.partial*' -o -name '*.tmp.*') ]] || fail "something is left behind"

expect 0 data info one
said out '^one: 10007 transitions, observations of 4 numbers, actions of 2$'
said out '^policy +default \([0-9a-f]{16}\)$'
expect 0 data info one --json
[[ $(member contents) == transitions && $(member policy) == default ]] || fail "data info --json"

# killed at any moment, again and again, then resumed
n=600000
expect 0 "${collect[@]}" -n $n --out whole --jobs 1
kills=0
for pause in 0.02 0.06 0.11 0.03 0.17 0.08; do
  "$HVI" "${collect[@]}" -n $n --out cut --jobs 2 --resume -q >/dev/null 2>&1 &
  pid=$!
  sleep $pause
  kill -9 $pid 2>/dev/null || true
  code=0
  wait $pid 2>/dev/null || code=$?
  if [[ $code == 137 ]]; then kills=$((kills + 1)); fi
done
[[ $kills -ge 1 ]] || fail "no run was killed in time"
expect 0 "${collect[@]}" -n $n --out cut --jobs 2 --resume
cmp -s whole cut || fail "a resumed run gives other bits"
[[ ! -e cut.partial ]] || fail "the partial file is left behind"

# Ctrl-C keeps what is finished and says how to go on
"$HVI" "${collect[@]}" -n 4e6 --out stopped --jobs 2 >out 2>err &
pid=$!
for _ in $(seq 200); do
  if [[ $(stat -c %s stopped.partial 2>/dev/null || echo 0) -gt 100000 ]]; then break; fi
  sleep 0.05
done
kill -TERM $pid
code=0
wait $pid || code=$?
[[ $code == 143 ]] || fail "an interrupted run ends with $code"
said err '^hvi: interrupted; --resume goes on from here \(stopped.partial\)$'
[[ ! -e stopped && -s stopped.partial ]] || fail "an interrupted run leaves other files"
refused 2 'stopped.partial.*--resume.*--fresh' "${collect[@]}" -n 4e6 --out stopped
refused 3 "stopped.partial.*transitions=4000000', not 'transitions=100" "${collect[@]}" -n 100 --out stopped --resume
refused 3 "'seed=1', not 'seed=2'" "${collect[@]}" -n 4e6 --out stopped --resume --seed 2
expect 0 "${collect[@]}" -n 10007 --out stopped --fresh
cmp -s stopped one || fail "--fresh gives other bits"

# a torn and an altered partial file
"$HVI" "${collect[@]}" -n 10007 --out torn -q >/dev/null 2>&1
rm torn
head -c 1000 /dev/urandom >torn.partial
refused 3 'torn.partial.*is not the partial file of a run' "${collect[@]}" -n 10007 --out torn --resume
: >torn.partial
expect 0 "${collect[@]}" -n 10007 --out torn
cmp -s torn one || fail "an empty partial file changes the result"

# a full disk: nothing is damaged, and what is finished is kept
cp one full
(
  trap '' XFSZ
  ulimit -f 600
  refused 5 'cannot write .full.partial.' "${collect[@]}" -n 40007 --out full
)
cmp -s full one || fail "a full disk damaged the file that was there"
expect 0 "${collect[@]}" -n 40007 --out full --resume --json
[[ $(member run resumed_groups) -ge 1 && $(member transitions) == 40007 ]] || fail "a full disk lost what was finished"
expect 0 "${collect[@]}" -n 40007 --out enough
cmp -s full enough || fail "after a full disk the bits are others"

# every verb has its help
for command in data 'data collect' 'data info' testset; do
  read -ra words <<<"$command"
  expect 0 "${words[@]}" --help
  said out "^usage: hvi $command "
  said out '^EXAMPLES$'
  awk 'length > 100 { exit 1 }' out || fail "$command --help is wider than 100 columns"
done

# what is wrong is said in one line
refused 2 'needs a verb' data
refused 2 "did you mean 'collect'" data colect
refused 2 'needs an? environment' data collect --policy default --out x
refused 2 'policy is missing' data collect lqr --out x
refused 2 'file to write is missing' "${collect[@]}"
refused 2 'exclude' "${collect[@]}" --out x --resume --fresh
refused 2 'transitions: must be' "${collect[@]}" -n 0 --out x
refused 3 "did you mean 'lqr'" data collect lqrr --policy default --out x
refused 3 'brings no policy' data collect pendulum --policy default --out x
refused 3 '' data collect lqr --policy one --out x
refused 5 'nowhere' data collect lqr --policy nowhere --out x
refused 5 'cannot create .nowhere/x' "${collect[@]}" --out nowhere/x
refused 5 'nowhere' data info nowhere
head -c 1000 one >cut-off
refused 3 'cut-off' data info cut-off
[[ ! -e x && ! -e x.partial ]] || fail "a refused run leaves a file"
