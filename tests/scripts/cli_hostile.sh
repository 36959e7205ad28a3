#!/usr/bin/env bash
# Names, titles and claims that would be commands, options, scripts or pages: nothing of it is run, and pictures are
# drawn or refused in one line.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
command -v gnuplot >/dev/null || exit 77
mkdir work
cd work

evaluate=(evaluate lqr --policy default --batch 50 --hidden 4 --inner 2 --test-states 5 --steps 2 -q)
train=(policy train pendulum --start 50 --batch 8 --hidden 4,4 --steps 300 -q --fresh)
study=$HVI_SOURCE_DIR/tests/data/pennies.yaml

# draws PICTURE ARGUMENT...: the picture is there, and nothing is said.
draws() {
  local picture=$1
  shift
  expect 0 "$@"
  [[ -s $picture && ! -s err ]] || fail "hvi $*: no picture"
  [[ ! -e ran && ! -e ../ran ]] || fail "hvi $*: a name was run"
}

for name in "x'.system(\"touch ran\").'" '<touch ran;' $'x\nsystem("touch ran")\n#' "bob's" './-e system("touch ran")' \
  '`touch ran`' '|touch ran' '-' '$x' 'a{b' '$(touch ran)' '"; system("touch ran"); "' '!touch ran' '@a' '%s%n' 'a\' '-e' \
  $'\001' $'\377\376' $'tab\t'; do
  draws "$name.png" "${evaluate[@]}" --out "$name"
  [[ -s $name.svg && -s $name-calibration.png ]] || fail "not all pictures of '$name'"
  # = for names with a dash in front
  draws "$name-l.png" "${train[@]}" --out p.safetensors --log="$name-l.csv"
  draws "$name-s.png" solve pennies -q --plot="$name-s.png"
  draws "$name-b/profile.png" bench solve --games 1 --method gd -q --out="$name-b"
  draws "$name-r/pennies/pennies.png" reproduce "$study" -q --out="$name-r"
done
draws 'h.png' "${train[@]}" --out '<touch ran;h' --log h.csv
! compgen -G '.hvi-drawing*' >/dev/null || fail "a drawing is left behind"

# titles, labels and claims of a file
cat >hostile.yaml <<'Y'
id: hostile
title: "x'.system(\"touch ran\").' `touch ran` $(touch ran) @a {/:Bold <b>"
kind: trajectory
problem: pennies
quick: {iterations: 30}
full: {iterations: 60}
split: method
methods:
  - {label: "a'.system('touch ran').'`touch ran`", method: lm, eta: 0.1}
  - {label: "<touch ran;", method: phgd, eta: 0.1}
  - {label: "|touch ran \"; system('touch ran')", method: gd, eta: 0.1}
figures:
  - name: hostile-f
    title: "<script>`touch ran` $(touch ran)'.system('touch ran').'"
    panels:
      - title: "\"; system('touch ran'); '"
        x: {label: "'.system('touch ran').'"}
        y: {label: "`touch ran`", log: true}
        series: [{table: trace, x: outer, y: dist2, each: method}]
claims:
  - {id: c, text: "<script>alert(1)</script>`touch ran`", holds: 'end(dist2, "<touch ran;") < 1e9'}
Y
draws o/hostile/hostile-f.png reproduce hostile.yaml -q --out o
if grep -q '<script>alert\|Bold <b>' o/index.html; then fail "a title is part of the page's script"; fi
for id in ../x "a'b" '<touch ran;' -e 'a b'; do
  sed "s|^id: .*|id: \"$id\"|" hostile.yaml >other.yaml
  refused 3 'id must be made of' reproduce other.yaml -q --out o
  sed "s|name: hostile-f|name: \"$id\"|" hostile.yaml >other.yaml
  refused 3 'name must be made of' reproduce other.yaml -q --out o
done

# claims that somebody has edited: a file that is damaged is refused, one without a checksum is text
expect 0 reproduce "$study" -q --out page
mkdir page/rps
sed -e 's/"experiment": "[^"]*"/"experiment": "rps"/' -e 's/"title": "[^"]*"/"title": "<script>alert(2)<\/script>"/' \
  page/pennies/claims.json >page/rps/claims.json
expect 3 reproduce "$study" -q --out page
said err "'page/rps/claims.json' is damaged"
[[ -s page/pennies/claims.json && -s page/index.html ]] || fail "a damaged result of before keeps a new one back"
sed -i -z 's/,\n  "checksum": "[^"]*"//' page/rps/claims.json
expect 0 reproduce "$study" -q --out page
grep -q 'alert(2)' page/index.html || fail "an earlier result is not on the page"
if grep -q '<script>alert' page/index.html; then fail "an edited title is part of the page's script"; fi
