#!/usr/bin/env bash
# Methods that belong to one problem, their options, and the columns that policy evaluation adds.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
usage=2 input=3
trajectory=(chain --set data=trajectory)

expect 0 list
for name in td0 td-lambda lstd tdc gtd2 residual-gradient; do said out "^  $name "; done
expect 0 list td-lambda
said out '^  --trace-decay +0 '
expect 0 list gtd2 --json
[[ $(member kind) == method && $(member options second_rate) == 1 ]] || fail "list gtd2 --json"
refused 3 "did you mean 'lstd'" list lst

for method in td0 td-lambda lstd tdc gtd2 residual-gradient; do
  expect 0 solve "${trajectory[@]}" --method "$method" --eta 0.1 --eta-decay 1e-3 --iters 500 --json -q
  [[ $(member method) == "$method" && $(member settings eta_decay) == 0.001 ]] || fail "$method"
done
refused $input 'method td0 is for chain --set data=trajectory, not for pennies' solve pennies --method td0
refused $input 'method lstd is for chain' solve chain --method lstd
refused $usage 'method td0 does not use --trace-decay; it is for td-lambda' \
  solve "${trajectory[@]}" --method td0 --trace-decay 0.5
refused $usage 'method gd does not use --second-rate' solve "${trajectory[@]}" --method gd --second-rate 0.5
refused $usage 'method auto does not use --second-rate' solve "${trajectory[@]}" --second-rate 0.5
refused $usage 'redraw-every is for problems with draws' solve pennies --redraw-every 2
refused $usage 'redraw-every: must be a whole number' solve "${trajectory[@]}" --redraw-every 0
refused $usage 'trace-decay: must be a number' solve "${trajectory[@]}" --method td-lambda --trace-decay 2
refused $usage 'eta-decay: must be a number' solve "${trajectory[@]}" --eta-decay -1

# the exact update is its own yardstick; Surr-GD comes near it
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } END { print $c }' "$2"; }
expect 0 solve "${trajectory[@]}" --set kind=blocks --method gn --iters 300 --trace exact.csv -q
awk -v x="$(column exact_theta exact.csv)" 'BEGIN { exit !(x == 0) }' || fail "gn is not the exact update"
expect 0 solve "${trajectory[@]}" --set kind=blocks --method gd --inner 50 --iters 300 --trace run.csv -q
awk -v x="$(column exact_theta run.csv)" 'BEGIN { exit !(x > 0 && x < 0.1) }' || fail "exact_theta"
awk -v x="$(column to_fixed_point run.csv)" -v y="$(column dist2 run.csv)" \
  'BEGIN { d = x - y; exit !(d < 1e-12 && d > -1e-12) }' || fail "to_fixed_point is not dist2"
for name in exact_value to_true_values mspbe bellman_gap; do
  [[ -n $(column $name run.csv) ]] || fail "no column $name"
done
expect 0 solve pennies --method gd --iters 5 --trace run.csv -q
if grep -q exact_theta run.csv; then fail "a game has no exact update"; fi
