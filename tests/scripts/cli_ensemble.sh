#!/usr/bin/env bash
# hvi solve --ensemble: the same figures for any number of threads, and sums that add up.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

run() { expect 0 solve pennies --method gd --inner 10 --iters 200 --ensemble 100 --json "$@"; }

run --jobs 1
grep -v '"seconds"' out >one
run --jobs 2 -q
[[ ! -s err ]] || fail "-q talks"
grep -v '"seconds"' out | cmp -s - one || fail "1 and 2 threads differ"

[[ $(member instances) == 100 ]] || fail "other instances"
total=0
for outcome in converged limit stalled diverged stopped; do
  total=$((total + $(member outcomes "$outcome")))
done
[[ $total == 100 ]] || fail "$total outcomes"
for name in mean median q05 q25 q75 q95 min max; do member dist2 "$name" >/dev/null; done
awk -v a="$(member dist2 q05)" -v b="$(member dist2 median)" -v c="$(member dist2 q95)" \
  'BEGIN { exit !(0 <= a && a <= b && b <= c && c < 10) }' || fail "quantiles out of order"
[[ $(member rows 0 outer) == 0 && $(member rows 1 outer) == 10 && $(member rows 20 outer) == 200 ]] ||
  fail "other rows"

# instance k of the ensemble is --instance k
expect 0 solve pennies --method gd --inner 10 --iters 50 --ensemble 1 --json
one=$(member dist2 median)
expect 0 solve pennies --method gd --inner 10 --iters 50 --instance 1 --json
near "$(member dist2)" "$one" 1e-9

expect 0 solve rps --ensemble 20 --method lm --iters 50
said out '^problem +rps, 20 random instances'
said out '^dist2 +mean .* median '
expect 1 solve pennies --ensemble 10 --iters 3 --tol 1e-9

refused 2 'does not go with --ensemble' solve pennies --ensemble 5 --theta0 1,2
refused 2 'does not go with --ensemble' solve pennies --ensemble 5 --trace t.csv
refused 2 'goes with --ensemble' solve pennies --jobs 2
refused 3 'built-in problem' solve "$HVI_SOURCE_DIR/problems/rps.yaml" --ensemble 5
