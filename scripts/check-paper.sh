#!/usr/bin/env bash
# Fails on a name in PAPER.md that the tree does not have. Usage: check-paper.sh [--fix] [ROOT]
#
# What stands in backticks there is one of
#   hvi_name             a function or table, defined in src or cli; "`hvi_name` in `FILE`": in that file
#   test_x:y             the test function y of the program tests/**/test_x.c
#   ID/claim             a row of `claims` in experiments/ID.yaml; with `each` the id ends in a level, as a file's name
#   path/to/file.ext     a file of the tree
#   kind:label           a label of the paper's LaTeX, or one of ours; a row's label occurs once
#   hvi ..., make ...    a command
# A row of the table of verdicts, "| statement | verdict | number | decided at | claims |", is compared with
# docs/results/ID/claims.json where that is there: "holds" and "verified" ask that all its claims hold, "holds for ..."
# that one does, "does not hold" that none does, "not decided" that one is not.
# With --fix the file behind "in" becomes the one that defines the function now.
set -euo pipefail
fix=false
[[ ${1-} == --fix ]] && fix=true && shift
cd "${1:-$(dirname "$0")/..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=PAPER.md

# Definitions begin in the first column, calls do not: "FILE NAME" for each.
grep -rHE --include='*.c' '^[A-Za-z].*\bhvi_[a-z0-9_]+(\(|\[| =)' src cli |
  awk -F: '{ file = $1; text = substr($0, length(file) + 2)
    if (!match(text, /hvi_[a-z0-9_]+(\(|\[| =)/)) next
    name = substr(text, RSTART, RLENGTH); sub(/[^a-z0-9_].*/, "", name)
    print file, name }' | sort -u >"$scratch/defined"

if $fix; then
  awk 'NR == FNR { if (!($2 in at)) at[$2] = $1; next }
    { out = ""; rest = $0
      while (match(rest, /`hvi_[a-z0-9_]+` in `[^`]*`/)) {
        pair = substr(rest, RSTART, RLENGTH); name = pair
        sub(/^`/, "", name); sub(/`.*/, "", name)
        if (name in at) pair = "`" name "` in `" at[name] "`"
        out = out substr(rest, 1, RSTART - 1) pair; rest = substr(rest, RSTART + RLENGTH) }
      print out rest }' "$scratch/defined" "$page" >"$scratch/page"
  cat "$scratch/page" >"$page"
fi

status=0
complain() {
  echo "$page:$1: $2"
  status=1
}

is_test() {
  local file
  file=$(find -L tests -name "$1.c" -print -quit)
  [[ -n $file ]] && grep -qE "cmocka_unit_test[a-z_]*\( *$2\b" "$file"
}

# "CLAIM" or "CLAIM -" for each row of claims; "-": it has the key each.
claims_of() {
  awk '/^[a-z]/ { inside = /^claims:/ }
    inside && /^  - / { if (id) print id, each; id = each = "" }
    inside && /^  (-|  ) id: / { id = $NF }
    inside && /^    each: / { each = "-" }
    END { if (id) print id, each }' "$1"
}

is_claim() {
  local id each level
  [[ -f experiments/$1.yaml ]] || return 1
  while read -r id each; do
    [[ $2 == "$id" && -z $each ]] && return 0
    level=${2#"$id"-}
    [[ $each && $level != "$2" ]] && grep -qw -- "${level//-/[-_ ]}" "experiments/$1.yaml" && return 0
  done < <(claims_of "experiments/$1.yaml")
  return 1
}

check() {
  local line=$1 name=$2
  case $name in
  hvi_*) grep -q " $name\$" "$scratch/defined" || complain "$line" "no function '$name'" ;;
  test_*:*) is_test "${name%%:*}" "${name#*:}" || complain "$line" "no test '$name'" ;;
  *.c | *.h | *.md | *.sh | *.py | *.csv | *.yaml) [[ -e $name ]] || complain "$line" "no file '$name'" ;;
  'hvi '* | 'make '*) ;;
  *:*) ;;
  */*) is_claim "${name%%/*}" "${name#*/}" || complain "$line" "no claim '$name'" ;;
  *) complain "$line" "'$name' is of no kind that can be checked" ;;
  esac
}

while IFS=: read -r line token; do
  check "$line" "$(tr -d '`' <<<"$token")"
done < <(grep -noE '`[^`]+`' "$page")

while IFS=: read -r line pair; do
  read -r name _ file <<<"$(tr -d '`' <<<"$pair")"
  grep -qxF "$file $name" "$scratch/defined" || complain "$line" "'$name' is not defined in '$file'"
done < <(grep -noE '`hvi_[a-z0-9_]+` in `[^`]+`' "$page")

while read -r label; do
  complain "$(grep -nF "| $label " "$page" | tail -1 | cut -d: -f1)" "label $label stands there twice"
done < <(grep -oE '^\| `[^`]+`' "$page" | cut -c3- | sort | uniq -d)

# "ID/CLAIM VERDICT" for each claim of the full results.
for file in docs/results/*/claims.json; do
  [[ -f $file ]] || continue
  id=${file#docs/results/} id=${id%/claims.json}
  awk -F'"' -v id="$id" '$2 == "id" { claim = $4 } $2 == "verdict" { print id "/" claim, $4 }' "$file"
done >"$scratch/verdicts"

# How the claims of a row came out: "2 1 0" hold, do not, are not decided.
tell() {
  local claim found counts=(0 0 0)
  for claim in $(grep -oE '`[a-z0-9-]+/[a-z0-9-]+`' <<<"$1" | tr -d '`'); do
    found=$(grep "^$claim " "$scratch/verdicts" | cut -d' ' -f2- || true)
    case $found in
    holds) counts[0]=$((counts[0] + 1)) ;;
    'does not hold') counts[1]=$((counts[1] + 1)) ;;
    'not decided') counts[2]=$((counts[2] + 1)) ;;
    esac
  done
  echo "${counts[@]}"
}

while IFS='|' read -r line _ verdict _ _ claims _; do
  read -r yes no open <<<"$(tell "$claims")"
  ((yes + no + open)) || continue
  case $verdict in
  ' holds for '*) ((yes)) ;;
  ' holds'* | ' verified'*) ((no + open == 0)) ;;
  ' does not hold'*) ((yes + open == 0)) ;;
  ' not decided'*) ((open)) ;;
  *) false ;;
  esac || complain "${line%:}" "the verdict is '${verdict//  /}', docs/results have $yes that hold, $no that do not, $open open"
done < <(grep -nE '^\| [^`|]+\|[^|]+\|[^|]*\|[^|]*\|[^|]*\|$' "$page" | sed -E 's/^([0-9]+):\|/\1:|/')

exit $status
