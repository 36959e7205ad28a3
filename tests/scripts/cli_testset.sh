#!/usr/bin/env bash
# hvi testset: the same bits on any number of threads and after any interruption, and its figures.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

make=(testset lqr --policy default --states 203 --rollouts 4 --horizon 50 --gamma .9)

expect 0 "${make[@]}" --out one --jobs 1 --json
[[ $(member states) == 203 && $(member rollouts) == 4 && $(member horizon) == 50 ]] || fail "counts"
near "$(member gamma)" 0.9 1e-15
[[ $(member contents) == 'test set' ]] || fail "notes"
[[ $(member truncation below_standard_error) == true && $(member truncation bound) == null ]] || fail "truncation"
near "$(member truncation share)" 0.005153775207 1e-6
for threads in 2 3; do
  expect 0 "${make[@]}" --out many --jobs "$threads"
  cmp -s one many || fail "$threads threads give other bits"
done
said out '^many: 203 states, 4 roll-outs of 50 steps each, gamma 0.9$'
said out 'below the mean standard error$'
[[ -z $(find . -name '*.partial*' -o -name '*.tmp.*') ]] || fail "something is left behind"

# a horizon that cuts off too much is said to do so
expect 0 "${make[@]}" --out short --horizon 1
said out 'NOT below the mean standard error'

expect 0 data info one
said out '^episodes +1[0-9][0-9]$'
said out '^standard error +[0-9.e-]+ on average$'
said out '^noise floor '
expect 0 data info one --json
[[ $(member contents) == 'test set' && $(member environment) == lqr ]] || fail "data info --json"
[[ $(member classes) == '[]' ]] || fail "lqr has no classes"
few=$(member episodes)
expect 0 "${make[@]}" --out few --episodes 3 --visits 203 --json
[[ $few -gt 100 && $(member episodes) == 3 ]] || fail "$few episodes, and $(member episodes)"

# killed at any moment, again and again, then resumed
long=(testset lqr --policy default --states 1000 --rollouts 10 --horizon 100)
expect 0 "${long[@]}" --out whole --jobs 1
kills=0
for pause in 0.02 0.06 0.11 0.03 0.17 0.08; do
  "$HVI" "${long[@]}" --out cut --jobs 2 --resume -q >/dev/null 2>&1 &
  pid=$!
  sleep $pause
  kill -9 $pid 2>/dev/null || true
  code=0
  wait $pid 2>/dev/null || code=$?
  if [[ $code == 137 ]]; then kills=$((kills + 1)); fi
done
[[ $kills -ge 1 ]] || fail "no run was killed in time"
expect 0 "${long[@]}" --out cut --jobs 2 --resume
cmp -s whole cut || fail "a resumed run gives other bits"
[[ ! -e cut.partial ]] || fail "the partial file is left behind"

# a full disk
(
  trap '' XFSZ
  ulimit -f 40
  refused 5 'cannot write .full.partial.' "${make[@]}" --out full
)
[[ ! -e full ]] || fail "a full disk leaves half a file"
expect 0 "${make[@]}" --out full --resume
cmp -s full one || fail "after a full disk the bits are others"

refused 2 'rollouts: must be' "${make[@]}" --out x --rollouts 1
refused 2 'gamma: must be' "${make[@]}" --out x --gamma 1
refused 2 '203 states cannot be chosen among 10' "${make[@]}" --out x --visits 10
refused 2 'policy is missing' testset lqr --out x
refused 3 'unknown environment' testset moon --policy default --out x
[[ ! -e x && ! -e x.partial ]] || fail "a refused run leaves a file"

# a bit that has changed in the name of the checksum does not make a file pass unchecked
LC_ALL=C sed 's/hvi\.checksum/hvi.checksuo/' one >flipped
refused 3 "'flipped' is damaged: it has hvi's note 'level' and not its checksum" data info flipped
