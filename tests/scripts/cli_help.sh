#!/usr/bin/env bash
# Help, version, list and info, and the manual page, which must know every option.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
commands=(solve inspect reproduce env policy data testset evaluate bench list info)

sed 's/\\-/-/g' "$HVI_SOURCE_DIR/man/hvi.1" >manual

expect 2
[[ ! -s out ]] || fail "hvi alone prints to stdout"
said err '^usage: hvi COMMAND'
expect 0 --help
for command in "${commands[@]}"; do said out "^  $command "; done
expect 0 --version
said out '^hvi [0-9]+\.[0-9]+\.[0-9]+$'

for command in "${commands[@]}"; do
  expect 0 "$command" --help
  [[ ! -s err ]] || fail "$command --help writes to stderr"
  said out "^usage: hvi $command"
  said out '^EXAMPLES$'
  cp out help
  expect 0 help "$command"
  cmp -s out help || fail "help $command is not $command --help"
  # every option of the help stands in the manual
  grep -Eo '^ +(-[a-z], )?--[a-z0-9-]+' help | grep -o -- '--[a-z0-9-]*' | while read -r option; do
    grep -q -- "$option\b" manual ||
      fail "the manual does not know $option of $command"
  done
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

if command -v man >/dev/null && command -v groff >/dev/null; then
  warnings=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l "$HVI_SOURCE_DIR/man/hvi.1" 2>&1 >/dev/null)
  [[ -z $warnings ]] || fail "the manual page: $warnings"
fi
