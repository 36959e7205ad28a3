#!/usr/bin/env bash
# One changed bit in each file that hvi keeps for itself, or wrote with a checksum: it is refused by name with exit
# status 3, or the result has the same bits. Usage: tamper.sh small|full; COUNT: bits per file.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
build flip tests/campaigns/flip.c
points=$(many 6 180)

is_refused() { [[ $code == 3 ]]; }

# refused_or_same FILE RESULT...: of the run in ./work; `printed` stands for what it prints.
refused_or_same() {
  local file
  if is_refused; then
    [[ $(wc -l <err) -le 2 ]] && grep -q "^hvi: .*${1##*/}" err
  else
    [[ $code == 0 ]] || return 1
    for file in "${@:2}"; do
      if [[ $file == printed ]]; then
        cmp -s out printed || return 1
      else
        [[ $(bits work "$file") == $(bits straight "$file") ]] || return 1
      fi
    done
  fi
}

# flips FILE LINE RESULT...: bits of a file of ./good; the line is run after each.
flips() {
  local total i bit before=$tried refused=0
  total=$(./flip good/"$1")
  anew work good
  in_folder work "$2"
  [[ $code == 0 ]] || fail "$2: exit code $code"
  cp out printed
  anew straight work
  for ((i = 0; i < points; i++)); do
    # half of them in the first bytes, where the head is
    bit=$(((RANDOM << 15 | RANDOM) % (i % 2 || total < 8000 ? total : 8000)))
    anew work good
    ./flip work/"$1" $bit
    in_folder work "$2"
    if is_refused; then refused=$((refused + 1)); fi
    check "bit $bit of $1: $2" refused_or_same "$1" "${@:3}"
  done
  echo "$1: $((tried - before)) bits, $refused refused, $((tried - before - refused)) the same bits"
}

# start LINE: what is there before.
start() {
  anew good
  in_folder good "$1"
  [[ $code == 0 ]] || fail "$1: exit code $code"
}

# cut_short NAME FILE AT: a run that is killed when there is something in its partial file.
cut_short() {
  anew good
  in_folder good "${line[$1]}" LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/good" FAULT_CALLS=w FAULT_KIND=kill FAULT_AT="$3"
  [[ -s good/$2 ]] || fail "$1 leaves no $2"
}

start "${line[solve]/--iters 25/--iters 12}"
flips c "${line[solve]} --resume" s.npy t.csv
start "${line[evaluate]/--steps 12/--steps 6}"
flips e.checkpoint "${line[evaluate]} --resume" e.safetensors e.csv
flips e-testset.safetensors "${line[evaluate]} --resume" e.safetensors e.csv
start "${line[train]/--steps 500/--steps 300}"
flips p.safetensors.checkpoint "${line[train]} --resume" p.safetensors p.csv
flips p.safetensors 'hvi policy score pendulum --policy p.safetensors --episodes 1' printed
start "${line[collect]/-n 10000/-n 300}"
flips d 'hvi evaluate --data d --batch 50 --hidden 4 --inner 1 --steps 2 --out e' e.safetensors
start "${line[testset]}"
flips t 'hvi evaluate lqr --policy default --testset t --batch 50 --hidden 4 --inner 1 --steps 2 --out e' e.csv
if [[ -z ${HVI_SANITIZE-} ]]; then
  build faults.so tests/campaigns/faults.c -shared -fPIC
  cut_short collect d.partial 8
  flips d.partial "${line[collect]} --resume" d
  cut_short testset t.partial 12
  flips t.partial "${line[testset]} --resume" t
fi
start "${line[reproduce]}"
flips o/pennies/claims.json "${line[reproduce]} --resume" o/pennies/summary.csv o/pennies/trace-lm.csv
rm good/o/pennies/claims.json
flips o/pennies/cells.partial "${line[reproduce]} --resume" o/pennies/summary.csv o/pennies/trace-lm.csv
if [[ -z ${HVI_SANITIZE-} ]]; then
  anew good
  for ((at = 40; at < 400; at += 20)); do
    anew good
    in_folder good "${line[values]} --jobs 1" LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/good" FAULT_CALLS=r FAULT_KIND=kill FAULT_AT=$((at / 10))
    kept=$(cd good && compgen -G 'o/values/checkpoints/*.checkpoint' | head -1) || true
    if [[ -n $kept ]]; then break; fi
  done
  if [[ -n $kept ]]; then flips "$kept" "${line[values]} --resume" o/values/runs.csv; fi
fi
finish
