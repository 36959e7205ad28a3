#!/usr/bin/env bash
# Manual pages: one for every command and verb, with every option of its help and no word that troff dislikes.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

expect 0 man --pages
mapfile -t pages <out
[[ ${pages[0]} == hvi ]] || fail "the first page is ${pages[0]}"
for part in "$HVI_SOURCE_DIR"/man/*.roff; do
  name=${part##*/}
  [[ " ${pages[*]} " == *" ${name%.roff} "* ]] || fail "man/$name belongs to no page"
done

for page in "${pages[@]}"; do
  IFS=- read -ra words <<<"${page#hvi}"
  words=("${words[@]:1}")
  expect 0 man "${words[@]}"
  [[ ! -s err ]] || fail "man ${words[*]} writes to stderr"
  mv out "$page.1"
  for section in NAME SYNOPSIS DESCRIPTION EXAMPLES 'SEE ALSO'; do
    grep -qx ".SH $section" "$page.1" || fail "$page has no section $section"
  done
  twice=$(grep '^.SH' "$page.1" | sort | uniq -d)
  [[ -z $twice ]] || fail "$page has two sections $twice"
  if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$page.1" >err || fail "mandoc on $page"
  fi
  if command -v groff >/dev/null; then
    groff -man -ww -z -Tutf8 "$page.1" 2>err || fail "groff on $page"
    [[ ! -s err ]] || fail "groff on $page"
  fi
  [[ $page != hvi ]] || continue
  grep -qx '.SH OPTIONS' "$page.1" || fail "$page has no section OPTIONS"
  expect 0 "${words[@]}" --help
  sed -e 's/\\f.//g' -e 's/\\-/-/g' -e 's/\\(aq/'\''/g' -e 's/\\(ti/~/g' "$page.1" >text
  grep -Eo '^  (    |-[a-z], )--[a-z0-9-]+' out | grep -o -- '--[a-z0-9-]*' | while read -r option; do
    grep -Eq -- "^(-[a-z], )?$option( |$)" text || fail "$page does not know $option"
  done
  sed -n '/^EXAMPLES$/,$p' out | sed 1d | while read -r example; do
    grep -qF -- "$example" text || fail "$page does not have the example: $example"
  done
  for verb in $(sed -n "/^verbs/,/^$/s/^  \([a-z]*\) .*/\1/p" out); do
    [[ " ${pages[*]} " == *" $page-$verb "* ]] || fail "$page-$verb is no page"
  done
done

# what a table says is there: choices, range, default
sed -e 's/\\f.//g' -e 's/\\-/-/g' hvi-solve.1 >text
grep -A4 -x -- '--eta X|theorem|best|adaptive' text | tr '\n' ' ' | grep -q 'A number above 0, theorem' || fail "the range of --eta"
grep -A4 -x -- '--average N' text | tr '\n' ' ' | grep -q 'from 1 to 1e6; default 10\.' || fail "the range of --average"
grep -A4 -x -- '--target plain|optimistic|averaged|proximal' text | grep -q 'Default plain' || fail "the default of --target"
expect 0 list
sed -e 's/\\-/-/g' hvi.1 >text
for name in $(sed -n '1,/^inner/s/^  \([a-z0-9-]*\) .*/\1/p' out); do
  grep -qx -- ".B $name" text || fail "hvi(1) does not know $name"
done
for code in 0 1 2 3 4 5 130 141 143; do grep -qx ".B $code" text || fail "hvi(1) does not explain exit code $code"; done

refused 2 "did you mean 'solve'" man slove
refused 2 "env has no 'repaly'" man env repaly
refused 2 'does not know what to do' man env replay more
