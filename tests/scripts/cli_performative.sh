#!/usr/bin/env bash
# Performative prediction from outside: stable points, coverage, a user's own file, bad files.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
credit=$HVI_SOURCE_DIR/tests/data/credit

below() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x != "null" && x < y) }' || fail "$1 is not below $2"; }

# the stable point in closed form: with plain settings, with an exact inner solve, and by auto, whose
# residual of 1e-6 is (1 - eps) of the distance at least
expect 0 solve performative-linear --set eps=0.9 --method gd --json
below "$(member dist2)" 1e-16
expect 0 solve performative-linear --set eps=0.9 --json
[[ $(member status) == converged ]] || fail "auto does not converge"
below "$(member dist2)" 1e-10
expect 0 solve performative-linear --set eps=0.9 --method lm --inner 20 --tol 1e-9 --json
below "$(member dist2)" 1e-16
[[ $(member status) == converged ]] || fail "not to the tolerance"

# beyond 1: said, and the result is what it is
expect 4 solve performative-linear --set eps=1.1 --method gd --json
[[ $(member status) == diverged ]] || fail "eps = 1.1 does not diverge"
expect 0 inspect performative-linear --set eps=1.1 --method gd --steps 300
said out 'beta / mu +1.1 +not covered'
said out 'covered +eps below 1'
said out 'verdict +unsafe'
expect 0 inspect performative-linear --set eps=0.9 --json
[[ $(member repeated_minimisation covered) == true ]] || fail "eps = 0.9 is not covered"
near "$(member repeated_minimisation ratio)" 0.9 1e-12
expect 0 inspect pennies --json --steps 5
./json repeated_minimisation <out >/dev/null 2>&1 && fail "pennies has no deployments"

# samples: 100 within the sampling error
expect 0 solve performative-mean --eta-decay 0.05 --iters 20000 --json
near "$(member theta 0)" 100 0.0005

# credit: a file as Kaggle distributes it, repeated minimisation to the stable point for a large eps
expect 0 solve credit --set data="$credit/tiny.csv" --set eps=100 --method lm --damping 1e-9 \
  --redraw-every 400 --iters 1200 --json
below "$(member dist2)" 1e-12
below "$(member residual)" 1e-9
expect 0 inspect credit --set rows=500 --method lm --steps 50 --json
[[ $(member repeated_minimisation beta) == 0 ]] || fail "the outputs answer"
expect 0 inspect credit-rir --set rows=500 --set delta=0.4 --method adam --steps 5 --json
near "$(member repeated_minimisation ratio)" 1.5 1e-12
[[ $(member repeated_minimisation side) == above ]] || fail "delta is covered from above"

# the same bits each time
for i in 1 2; do
  expect 0 solve credit-rir --set rows=300 --method adam --inner 5 --keep-state --inner-lr 3e-4 \
    --iters 8 --seed 5 --json
  grep -v seconds out >"run$i"
done
cmp -s run1 run2 || fail "two runs differ"

# bad files: one clear line each
refused 3 "text.csv:3: column 4 \('age'\): 'old' is not a number" solve credit --set data="$credit/bad/text.csv"
refused 3 "there is no column 'NumberOfDependents'" solve credit-rir --set data="$credit/bad/missing_column.csv"
refused 3 'truncated.csv:12: 9 fields' solve credit --set data="$credit/bad/truncated.csv"
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "a,"; print "a" }' >wide.csv
refused 3 'wide.csv:2: the file has a first line and no data' solve credit --set data=wide.csv
refused 5 'nowhere.csv' solve credit --set data=nowhere.csv
refused 3 'eps: must be a number from 0 to 1e6' solve credit --set eps=-1
refused 3 'delta: must be a number from 0.001 to 0.999' solve credit-rir --set delta=1
