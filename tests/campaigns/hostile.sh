#!/usr/bin/env bash
# Names of files, titles, labels, YAML and pages that would be commands, options, scripts or markup: nothing of it is
# run, nothing but what was asked for is written, and each ends in a result or in one line.
# Usage: hostile.sh small|full; COUNT: names and texts that are tried.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
command -v gnuplot >/dev/null || exit 77
study=$HVI_SOURCE_DIR/tests/data/pennies.yaml

# Pieces that texts are put together from: gnuplot, shells, printf, HTML, JSON, YAML, terminals, UTF-8 that is none.
pieces=("'.system(\"touch ran\").'" '<touch ran;' '`touch ran`' '$(touch ran)' '|touch ran' '!touch ran' '"; system("touch ran"); "'
  '@a' '%s%n%d' '\' $'\\n' "'" '"' '{' '}' '<script>alert(1)</script>' '<img src=x onerror=alert(1)>' '&amp;' ']]>' '--force' '-e'
  '#' ': ' '- ' '*a' '&a' '!!python/object' $'\t' $'\033[2J' $'\302\240' $'\342\200\256' 'é' '..' ' ' $'\001' 'a' 'x y')
raw=($'\n' $'\377\376' $'\300\257') # in names, not in YAML

# text [raw]: a few pieces, without a slash.
text() {
  local out='' i n=$((RANDOM % 3 + 1)) from=("${pieces[@]}")
  if [[ -n ${1-} ]]; then from+=("${raw[@]}"); fi
  for ((i = 0; i < n; i++)); do out+=${from[RANDOM % ${#from[@]}]//\//}; done
  printf %s "$out"
}

nothing_ran() { ! find "$here" -name ran | grep -q .; }
# a result and nothing to say, or one line; a name with a newline may be told over several
ended() { nothing_ran && { [[ $code == 0 ]] || { [[ $code == [235] ]] && head -1 err | grep -q '^hvi: '; }; }; }
# markup from outside is text in the page
clean_page() {
  ended || return 1
  [[ ! -e work/o/index.html ]] || ! grep -q '<script>alert\|<img src=x' work/o/index.html
}

# one KIND COMMAND...: runs in an empty folder with gnuplot at hand.
one() {
  anew work
  code=0
  (cd work && "$HVI" "${@:2}") >out 2>err </dev/null || code=$?
}

names() { # NAME
  one name evaluate lqr --policy default --batch 20 --hidden 2 --inner 1 --test-states 3 --steps 1 -q --out="$1"
  check "evaluate --out=$(printf %q "$1")" ended
  one name solve pennies -q --plot="$1.png" --trace="$1.csv" --save="$1.npy"
  check "solve --plot=$(printf %q "$1").png" ended
  one name policy train pendulum --start 20 --batch 4 --hidden 2 --steps 210 -q --out p.safetensors --log="$1.csv"
  check "policy train --log=$(printf %q "$1").csv" ended
  one name solve "$1"
  check "solve $(printf %q "$1")" ended
  one name "$1" "$1"
  check "hvi $(printf %q "$1")" ended
}

quoted() { printf '"%s"' "$(text | sed 's/[\\"]/\\&/g' | tr '\t\001\033' '   ')"; }

texts() {
  anew work
  cat >work/hostile.yaml <<Y
id: pennies
title: $(quoted)
kind: trajectory
problem: pennies
quick: {iterations: 5}
full: {iterations: 6}
methods:
  - {label: $(quoted), method: lm, eta: 0.1}
figures:
  - name: f
    title: $(quoted)
    panels:
      - title: $(quoted)
        x: {label: $(quoted)}
        y: {label: $(quoted), log: true}
        series: [{table: trace, x: outer, y: dist2, each: method}]
claims:
  - {id: c, text: $(quoted), holds: '1 < 2'}
Y
  code=0
  (cd work && "$HVI" reproduce hostile.yaml -q --out o) >out 2>err </dev/null || code=$?
  cp work/hostile.yaml last.yaml
  check "titles of a study (SEED=${SEED:-1})" clean_page
}

# A line of a good file gets pieces in some place: a study, a game, a process.
files=("$study" "$HVI_SOURCE_DIR/examples/game.yaml" "$HVI_SOURCE_DIR/fuzz/seeds/fuzz_mdp_file/three-states.yaml")
broken() {
  local file=${files[RANDOM % ${#files[@]}]} lines at
  lines=$(wc -l <"$file")
  at=$((RANDOM % lines + 1))
  anew work
  piece=$(text) awk -v at=$at -v cut=$((RANDOM % 40)) \
    'NR == at { $0 = substr($0, 1, cut) ENVIRON["piece"] substr($0, cut + 1) } { print }' "$file" >work/x.yaml
  code=0
  if [[ $file == "$study" ]]; then
    (cd work && PATH=$here/bin exec "$HVI" reproduce x.yaml -q --out o) >out 2>err </dev/null || code=$?
  else
    (cd work && exec timeout 60 "$HVI" solve x.yaml --iters 20 -q) >out 2>err </dev/null || code=$?
  fi
  if [[ $code == 1 || $code == 4 ]]; then code=0; fi # a solve without success
  check "${file##*/}, line $at" clean_page
}

# Claims that somebody has edited, as text without a checksum.
"$HVI" reproduce "$study" -q --out kept >out 2>err || fail "no claims"
claims() {
  anew work
  mkdir -p work/o/rps
  piece=$(text | sed 's/[\\"]/\\&/g' | tr '\t\001\033' '   ') awk '
    /"(title|text|note|summary)": "/ { sub(/: ".*"/, ": \"" "X" "\""); i = index($0, "\"X\""); $0 = substr($0, 1, i) ENVIRON["piece"] substr($0, i + 2) }
    /"checksum"/ { next } { print }' kept/pennies/claims.json | sed -z 's/,\n}/\n}/; s/"experiment": "[^"]*"/"experiment": "rps"/' >work/o/rps/claims.json
  code=0
  (cd work && PATH=$here/bin exec "$HVI" reproduce "$study" -q --out o) >out 2>err </dev/null || code=$?
  check "edited claims" clean_page
}

for ((i = 0; i < $(many 2 60); i++)); do
  names "$(text raw)"
  texts
  for ((k = 0; k < 5; k++)); do broken; done
  claims
done
finish
