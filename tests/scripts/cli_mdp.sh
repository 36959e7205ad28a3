#!/usr/bin/env bash
# Policy evaluation from the command line: built-in chains, processes from files, bad files.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
input=3 usage=2
data=$HVI_SOURCE_DIR/tests/data/mdp
build_json

# the step size that suits the problem is the default
expect 0 solve chain --method gn --tol 1e-10 --json
[[ $(member status) == converged ]] || fail "gn does not solve the chain"
near "$(member settings eta)" 1 0

# without a tolerance rounding ends it, and that is a good end
expect 0 solve chain --method gn --json
[[ $(member reason) == 'residual at rounding' ]] || fail "gn does not end at rounding"

# Surr-GD; with a fixed count the walk's first steps are those of value iteration
expect 0 solve chain --method gd --inner 50 --iters 100 --json
near "$(member outer)" 100 0
for kind in walk blocks random; do
  expect 0 solve chain --set kind=$kind --method gn --tol 1e-9 --json
  [[ $(member status) == converged ]] || fail "gn does not solve kind=$kind"
done
expect 0 solve chain --set features=0 --method gn --tol 1e-9 --json

# the example of the documentation, from every kind of file
for file in "$HVI_SOURCE_DIR/problems/three-states.yaml" "$data"/good/{inline,csv,market,npy}.yaml; do
  expect 0 solve "$file" --method gn --tol 1e-13 --no-rounding
  said out '^theta +-2 8$'
done
expect 0 inspect "$HVI_SOURCE_DIR/problems/three-states.yaml" --method gn
said out 'mu +0\.5 '
said out 'L +0\.75 '

# bad input: one line each
for file in "$data"/bad/*.yaml; do
  words=$(sed -n '1s/^# expect: //p' "$file")
  expect "$(grep -q file_missing <<<"$file" && echo 5 || echo $input)" solve "$file"
  [[ $(wc -l <err) == 1 && ! -s out ]] || fail "$file: not one line"
  grep -qF -- "$words" err || fail "$file: the line does not say '$words'"
done
head -c 2000000 /dev/zero | tr '\0' 1 | sed 's/1/1,/g; s/,$//' >wide.csv
printf 'gamma: 0.5\ntransitions_file: wide.csv\nrewards: [1]\n' >wide.yaml
refused $input '1 x 2000000 numbers; expected 1 x 1' solve wide.yaml
refused $input 'gamma: must be a number at least 0 and below 1' solve chain --set gamma=1
refused $input 'branch is for kind=random' solve chain --set branch=3
refused $input 'kind: must be walk, blocks or random' solve chain --set kind=ring
refused $usage 'for built-in problems' solve "$data/good/csv.yaml" --set gamma=0.5
