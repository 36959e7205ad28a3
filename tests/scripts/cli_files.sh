#!/usr/bin/env bash
# Files that are there: what hvi wrote under the same option is replaced, anything else needs --force, and
# both are known before the work begins.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

foreign="is there, and hvi did not make it for this: --force replaces it"
collect=(data collect lqr --policy default -n 1000 -q)
testset=(testset lqr --policy default --states 8 --rollouts 2 --horizon 10 -q)
{
  npy '4, 2'
  head -c 64 /dev/zero
} >actions.npy
replay=(env replay lqr --actions actions.npy -q)
bench=(bench solve --games 1 --method gd --out in.d -q)

# rule FILE OPTION COMMAND...: FILE, which the command writes, in its three states.
rule() {
  local file=$1
  shift
  rm -rf "$file"
  mkdir -p "$(dirname "$file")"
  echo mine >"$file"
  refused 5 "${file##*/}' $foreign" "$@"
  [[ $(cat "$file") == mine ]] || fail "$file was replaced"
  expect 0 "$@" --force
  if [[ $(cat "$file" 2>/dev/null | tr -d '\0') == mine ]]; then fail "--force does not replace $file"; fi
  expect 0 "$@"
}

rule d.safetensors "${collect[@]}" --out d.safetensors
rule t.safetensors "${testset[@]}" --out t.safetensors
rule r.npy "${replay[@]}" --out r.npy
rule s.npy "${replay[@]}" --save-state s.npy
for file in profile-evals.csv profile-seconds.csv profile.gp; do rule in.d/$file "${bench[@]}"; done
for file in out.d/pennies/{claims.json,summary.csv,trace-lm.csv,pennies.gp} out.d/index.html; do
  rule $file reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out out.d -q
done

# files of other options are not of this one
refused 5 "d.safetensors' $foreign" "${testset[@]}" --out d.safetensors
refused 5 "s.npy' $foreign" "${replay[@]}" --out s.npy
refused 5 "actions.npy' $foreign" "${replay[@]}" --out actions.npy

# pictures have no mark: without a script beside them they are not hvi's
rm in.d/profile.gp
refused 5 "profile.png' $foreign" "${bench[@]}"
expect 0 "${bench[@]}" --force
rm out.d/pennies/pennies.gp
refused 5 "pennies.png' $foreign" reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out out.d -q
[[ -s out.d/pennies/claims.json ]] || fail "what is refused has removed claims.json"
expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out out.d -q --resume --force

# results stay hvi's when an experiment's factors change
cat >grid.yaml <<'Y'
id: grid
title: a grid
kind: trajectory
problem: pennies
seed: 1
quick: {iterations: 5}
full: {iterations: 10}
split: method
grid: {weight: [0.5, 0.75]}
methods:
  - {label: LM, method: lm, eta: 0.1}
Y
expect 0 reproduce grid.yaml --out out.d -q
[[ $(head -c 13 out.d/grid/trace-lm.csv) == weight,outer, ]] || fail "the table of a grid"
sed -i 's/^grid: .*/grid: {signs: [mended, printed]}/' grid.yaml
expect 0 reproduce grid.yaml --out out.d -q
echo a,b,outer >out.d/grid/trace-lm.csv
refused 5 "trace-lm.csv' $foreign" reproduce grid.yaml --out out.d -q

# before the work begins
mkdir folder
for what in "${collect[*]}" "${testset[*]}" "policy train pendulum -q"; do
  read -ra command <<<"$what"
  for force in '' --force; do
    refused 5 "cannot create 'folder': it is a folder" "${command[@]}" --out folder $force
    refused 5 "cannot create 'nowhere/x'" "${command[@]}" --out nowhere/x $force
  done
done
[[ -z $(ls folder) && ! -e folder.partial && ! -e nowhere ]] || fail "what is refused leaves files"

# --fresh is for states alone
echo mine >d.safetensors
refused 5 "d.safetensors' $foreign" "${collect[@]}" --out d.safetensors --fresh
# a pipe is written to
[[ $("$HVI" "${replay[@]}" --out /dev/stdout | head -c 6 | tail -c 5) == NUMPY ]] || fail "no array on stdout"

# a limit on the size of files is an error as any other
code=0
(
  ulimit -f 8
  "$HVI" "${collect[@]}" -n 10000 --out limit.safetensors >out 2>err
) || code=$?
[[ $code == 5 ]] || fail "a limit on files: exit code $code"
said err "^hvi: cannot write 'limit.safetensors.*: File too large"
[[ ! -e limit.safetensors ]] || fail "a file that is not whole"

# what a killed run left under a temporary name goes with the next one
true &
wait $!
left=$(printf %x $!)
: >d.safetensors.tmp."$left".1
: >other.safetensors.tmp."$left".1
expect 0 "${collect[@]}" --out d.safetensors --force
[[ ! -e d.safetensors.tmp.$left.1 ]] || fail "a temporary stays"
[[ -e other.safetensors.tmp.$left.1 ]] || fail "the temporary of another file is gone"
"$HVI" "${bench[@]}" >/dev/null
if compgen -G 'in.d/.hvi-drawing*' >/dev/null; then fail "a drawing is left"; fi

# every core is the default, and the bits are those of one
expect 0 "${collect[@]}" --out d.safetensors
expect 0 "${testset[@]}" --out t.safetensors
for jobs in 1 2 3; do
  expect 0 "${collect[@]}" --out d-$jobs.safetensors -j $jobs
  expect 0 "${testset[@]}" --out t-$jobs.safetensors --jobs=$jobs
  cmp d.safetensors d-$jobs.safetensors || fail "$jobs jobs: other data"
  cmp t.safetensors t-$jobs.safetensors || fail "$jobs jobs: another test set"
done
for command in 'data collect' testset 'policy score' 'policy train' evaluate 'env bench'; do
  read -ra words <<<"$command"
  refused 2 "$command has no option --threads; did you mean '--jobs'\?" "${words[@]}" lqr --threads 2
  expect 0 "${words[@]}" --help
  said out '^  -j, --jobs N '
done
refused 2 "'hvi --version'" --version junk
