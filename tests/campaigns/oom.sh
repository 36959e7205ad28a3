#!/usr/bin/env bash
# Memory that runs out: every allocation of a command in turn fails, once or from then on. That is told as such in one
# line with exit status 5, or made no difference; what was there before is whole, and nothing leaks where HVI_ASAN names
# a program under AddressSanitizer. Usage: oom.sh small|full; COUNT: failures per command, once and from then on each.
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

# held NAME: told as a lack of memory, or the same result.
holds() {
  if [[ $code == 5 ]]; then
    grep -qi memory err && one_line 5 "$1" && { [[ ! -d old ]] || whole work "$1"; }
  else
    [[ $code == 0 ]] && { [[ ! -d old ]] || same work "$1"; }
  fi
}
# the same, and no report of a sanitizer's
no_leak() { [[ $code == 5 || $code == 0 ]] && ! grep -q 'Sanitizer\|runtime error' err; }

starve() { # NAME LINE POINTS TEST VARIABLE...
  local total on i at
  rm -f count
  if [[ -d old ]]; then anew work old; else anew work; fi
  in_folder work "$2" "${@:5}" STARVE_COUNT="$here/count"
  [[ $code == 0 && -s count ]] || fail "$2: exit code $code"
  total=$(cat count)
  for on in '' on; do
    for ((i = 0; i < $3 && i < total; i++)); do
      at=$((i * total / ($3 < total ? $3 : total) + 1))
      if [[ -d old ]]; then anew work old; fi
      in_folder work "$2" "${@:5}" STARVE_AT=$at ${on:+STARVE_ON=1}
      check "$2: allocation $at of $total $on" "$4" "$1"
    done
  done
}

all() { # POINTS TEST VARIABLE...
  local name before
  for name in "${commands[@]}"; do
    before=$tried
    make_straight "$name"
    anew old
    in_folder old "${older[$name]}"
    starve "$name" "${line[$name]} ${fresh[$name]-}" "$1" "$2" "${@:3}"
    echo "$name: $((tried - before)) allocations"
  done
  rm -rf old
  for name in "${!reading[@]}"; do
    before=$tried
    in_folder . "${reading[$name]}"
    [[ $code == 0 ]] || { echo "$name: not here" && continue; }
    starve "$name" "${reading[$name]}" "$1" "$2" "${@:3}"
    echo "$name: $((tried - before)) allocations"
  done
}

all "$(many 5 400)" holds LD_PRELOAD="$here/starve.so"
if [[ -x ${HVI_ASAN-} ]]; then
  asan=$("${CC:-cc}" -print-file-name=libasan.so)
  HVI=$HVI_ASAN
  echo "under AddressSanitizer:"
  all "$(many 2 25)" no_leak LD_PRELOAD="$here/starve-next.so:$asan" \
    ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0:allocator_may_return_null=1
fi
finish
