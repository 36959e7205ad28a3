#!/usr/bin/env bash
# Help, version, list and info, and that words which nobody knows are refused.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
commands=(solve check inspect reproduce env policy data testset evaluate bench list info man completion)

expect 2
[[ ! -s out ]] || fail "hvi alone prints to stdout"
said err '^usage: hvi COMMAND'
expect 0 --help
for command in "${commands[@]}"; do said out "^  $command "; done
expect 0 --version
said out '^hvi [0-9]+\.[0-9]+\.[0-9]+$'
refused 2 'stands alone' --version junk
expect 0 help policy train
said out '^usage: hvi policy train'
refused 2 "did you mean '--method'\?" solve pennies --metod lm
refused 2 "did you mean '--help'\?" list --hlp

for command in "${commands[@]}"; do
  expect 0 "$command" --help
  [[ ! -s err ]] || fail "$command --help writes to stderr"
  said out "^usage: hvi $command"
  said out '^EXAMPLES$'
  cp out help
  expect 0 help "$command"
  cmp -s out help || fail "help $command is not $command --help"
  awk 'length > 100 { exit 1 }' help || fail "$command --help is wider than 100 columns"
done

expect 0 list
for name in pennies rps quadratic counterexample gd lm phgd extragradient; do said out "^  $name "; done
expect 0 list pennies
said out '^  weight +0.75 +real in '
expect 0 list lm
said out '^  --damping +'
if grep -q -- '--momentum' out; then fail "lm has no momentum"; fi
expect 0 list --json
[[ $(member problems 0 name) == pennies ]] || fail "list --json"
expect 0 list pennies --json
[[ $(member kind) == problem && $(member keys 0 name) != "" ]] || fail "list pennies --json"
expect 0 list lm --json
[[ $(member kind) == method && $(member options linear) == auto ]] || fail "list lm --json"
refused 3 "did you mean 'pennies'" list penies

expect 0 info
for word in version compiler cpu blas threads gnuplot mujoco; do said out "^$word "; done
expect 0 info --json
for name in version compiler build cpu_features ensemble_kernel threads blas modules; do
  member "$name" >/dev/null
done
PATH=/nonexistent "$HVI" info --json >out
[[ $(member gnuplot) == null ]] || fail "gnuplot found on an empty path"

# a reader that leaves early, before the end or just at it, is no complaint
for i in 1 2 3 4 5 6 7 8; do
  { "$HVI" list && true; echo $? >code; } 2>err | head -1 >out
  [[ ! -s err && $(<code) =~ ^(0|141)$ ]] || fail "list | head -1: $(<code)"
done
