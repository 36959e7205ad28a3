#!/usr/bin/env bash
# Memory that runs out: every allocation of a command in turn fails, once or from then on. That is told as such in one
# line with exit status 5, or made no difference; what was there before is whole, and nothing leaks where HVI_ASAN names
# a program under AddressSanitizer. Usage: oom.sh small|full; COUNT: failures per command; STEPS: some of "files sweeps
# asan", which are all.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
plain_only
build starve.so tests/cli/starve.c -shared -fPIC
build starve-next.so tests/cli/starve.c -shared -fPIC -DNEXT

declare -A fresh=([solve]=--fresh [evaluate]=--fresh [train]=--fresh)
shipped=$HVI_SOURCE_DIR/data
declare -A reading=(
  [list]='hvi list --json' [policy]="hvi policy info '$shipped/policies/half_cheetah.safetensors'"
  [score]='hvi policy score lqr --policy default --episodes 2' [inspect]='hvi inspect pennies'
  [check]='hvi check pennies' [env]='hvi env info half_cheetah' [game]="hvi solve '$HVI_SOURCE_DIR/examples/game.yaml'"
  [ensemble]='hvi solve rps --method lm --ensemble 20'
)
# some have no -q
hvi() { case $1-$2 in list-* | policy-info | env-info | inspect-* | check-*) PATH=$here/bin "$HVI" "$@" ;; *) PATH=$here/bin "$HVI" "$@" -q ;; esac }

# told as a lack of memory, or the same result; of a letter that Jansson drops the checksum tells
holds() {
  if [[ $code == 5 ]]; then
    grep -qi memory err && one_line 5 "$1" && whole work "$1"
  elif [[ $code == 3 ]]; then
    grep -q 'is damaged: the checksum' err && whole work "$1"
  else
    [[ $code == 0 ]] && same work "$1"
  fi
}

allocations() { # FOLDER LINE: how many there are
  rm -f count
  in_folder "$1" "$2" "${preload[@]}" STARVE_COUNT="$here/count"
  [[ $code == 0 && -s count ]] || fail "$2: exit code $code"
  cat count
}

# A run for each of some allocations, over older results, which must be whole afterwards.
files() { # NAME POINTS
  local text="${line[$1]} ${fresh[$1]-}" total on i at
  make_straight "$1"
  anew old
  in_folder old "${older[$1]}"
  anew work old
  total=$(allocations work "$text")
  for on in '' on; do
    for ((i = 0; i < $2 && i < total; i++)); do
      at=$((i * total / ($2 < total ? $2 : total) + 1))
      anew work old
      in_folder work "$text" "${preload[@]}" STARVE_AT=$at ${on:+STARVE_ON=1}
      check "$text: allocation $at of $total $on" holds "$1"
    done
  done
}

# The same by forks before main, which is quicker: what is said and the exit status alone.
sweep() { # NAME LINE POINTS
  local total on step count before=$tried
  anew work
  total=$(allocations work "$2")
  step=$((total / $3 + 1))
  for on in '' on; do
    in_folder work "$2" "${preload[@]}" ${reading[$1]+STARVE_SAME=1} STARVE_SWEEP="$((step > 1 ? RANDOM % step + 1 : 1)) $step $total" ${on:+STARVE_ON=1}
    count=$(tail -1 out)
    [[ $count =~ ^([0-9]+)\ tried,\ ([0-9]+)\ held$ ]] || fail "$2: no sweep"
    tried=$((tried + BASH_REMATCH[1])) held=$((held + BASH_REMATCH[2]))
    if [[ $code != 0 ]]; then sed "s|^|does not hold: $1 $on |" out | head -8 >&2; fi
  done
  echo "$1: $total allocations, $((tried - before)) failed"
}

sweeps() { # POINTS
  local name
  for name in "${!reading[@]}"; do
    if ! (eval "${reading[$name]}") >out 2>err; then
      echo "$name: not here"
    elif [[ $name == list ]]; then # a hundred thousand, a tenth of a second each time
      sweep list "${reading[list]}" $(($1 / 10 + 1))
    else
      sweep "$name" "${reading[$name]}" "$1"
    fi
  done
  for name in "${commands[@]}"; do sweep "$name" "${line[$name]} ${again[$name]}" "$1"; done
}

# over what is there, whatever the child before has left
declare -A again=([solve]=--fresh [evaluate]=--fresh [train]=--fresh [testset]=--fresh [collect]=--fresh [reproduce]='' [values]='')
preload=(LD_PRELOAD="$here/starve.so")
steps=${STEPS:-files sweeps asan}
if [[ $steps == *files* ]]; then
  for name in "${commands[@]}"; do files "$name" "$(many 3 30)"; done
  echo "over older files: $tried"
fi
if [[ $steps == *sweeps* ]]; then sweeps "$(many 30 450)"; fi
if [[ $steps == *asan* && -x ${HVI_ASAN-} ]]; then
  before=$tried
  preload=(LD_PRELOAD="$here/starve-next.so:$("${CC:-cc}" -print-file-name=libasan.so)"
    ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0:allocator_may_return_null=1)
  HVI=$HVI_ASAN
  unset 'reading[env]' # the loader keeps a block of a module, which is taken for a leak
  sweeps "$(many 3 60)"
  echo "under AddressSanitizer: $((tried - before))"
fi
finish
