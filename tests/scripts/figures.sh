#!/usr/bin/env bash
# Pictures: no text lies on another or leaves its canvas; maps, lines across and what diverged are drawn; the JSON
# beside a script is JSON and has as many series as the script.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
command -v gnuplot >/dev/null || exit 77
build_json

# what figures can have, with words that are too long
cat >all.yaml <<'YAML'
id: all
title: A title that is longer than a figure of two panels with bars of colours is wide, so that it must have
  several lines, and all of them in plain sight
kind: trajectory
problem: quadratic
options: {n: 3}
seed: 1
grid: {mu: '10^-2..10^0, 5 levels', L: [1, 2, 5, 20]}
split: method
quick: {iterations: 30}
full: {iterations: 30}
methods:
  - {label: a method with a name that leaves no room for a second column in the legend, method: gn, eta: 0.2}
  - {label: small, method: gn, eta: best}
figures:
  - columns: 2
    panels:
      - title: Distances over a grid, with a title that does not fit into one line above its panel
        x: {label: μ, log: true}
        y: {label: L, log: true}
        z: {label: 'squared distance |z − z*|^2', log: true, least: 1e-16, most: 10}
        series:
          - {table: summary, x: mu, y: L, z: dist2, mark: map, at: {method: small}}
          - {mark: vertical, x: 0.09, label: a number}
          - {table: summary, mark: vertical, x: mu, at: {method: small}, label: levels of μ, style: 1}
      - title: Not two powers of ten
        x: {label: μ, log: true, low: 0.2, high: 0.9}
        y: {label: L, log: true, low: 30, high: 45}
        series: [{table: summary, x: mu, y: L, mark: points, at: {method: small}}]
  - name: all-lines
    panels:
      - {x: t, y: {label: distance, log: true}, series: [{table: trace, x: outer, y: dist2, each: method, mark: thin}]}
YAML
expect 0 reproduce all.yaml --out out.d
script=out.d/all/all.gp picture=out.d/all/all.svg
[[ $(grep -c '>A title\|>[a-z ]*sight<' "$picture") == 2 ]] || fail "the title is not on two lines"
grep -q "'summary-small.csv' using (column('mu')):(column('L')) with points" "$script" || fail "points are no points"
grep -q 'with boxxyerror lc palette' "$script" || fail "no map"
[[ $(grep -c 'set arrow from [0-9.]*,graph 0' "$script") == 6 ]] || fail "not six lines across"
grep -q "set xtics ('0.2' 0.2, '0.5' 0.5)" "$script" || fail "no tics between powers of ten: x"
grep -q "set ytics (.*'40' 40" "$script" || fail "no tics between powers of ten: y"
[[ $(grep -c 'a number\|levels of μ' "$picture") == 2 ]] || fail "the legend does not name lines across"

# runs that end in infinity are grey in a map, and a cross in a plot
cat >diverged.yaml <<'YAML'
id: diverged
title: What diverges
kind: trajectory
problem: quadratic
options: {n: 3}
seed: 1
grid: {L: [1, 100]}
split: L method
quick: {iterations: 400}
full: {iterations: 400}
methods:
  - {label: GD, method: gn, eta: 0.2}
  - {label: best, method: gn, eta: best}
figures:
  - panels:
      - {title: 'L = {L}', each: L, x: t, y: {label: distance, log: true, low: 1e-9, high: 1e+4},
         series: [{table: trace, x: outer, y: dist2, each: method}]}
YAML
expect 0 reproduce diverged.yaml --out out.d
[[ $(grep -c 'front$' out.d/diverged/diverged.gp) == 1 ]] || fail "not one cross"
grep -q '>diverged<' out.d/diverged/diverged.svg || fail "the legend does not name the cross"

# shipped ones, but at seed 1: the draws of reports are not for tests. A tenth of the runs of `linear` make
# the same figures.
ids="pennies-time pennies linear theory"
[[ -z ${HVI_SANITIZE-} ]] || ids=pennies-time
for id in $ids; do
  sed 's/^seed: .*/seed: 1/; s/instances: 2000}/instances: 200}/' "$HVI_SOURCE_DIR/experiments/$id.yaml" >"$id.yaml"
  ! grep -q '^ *seed: 20' "$id.yaml" || fail "$id has seeds that are kept for reports"
  expect 0 reproduce "$id.yaml" --out out.d
done
for gp in out.d/*/*.gp; do
  svg=${gp%.gp}.svg json=${gp%.gp}.json
  LC_ALL=C awk -f "$HVI_SOURCE_DIR/scripts/check-svg.awk" "$svg" >found || fail "$(cat found)"
  ./json <"$json" >whole || fail "$json is no JSON"
  [[ $(./json name <"$json") == "$(basename "${gp%.gp}")" ]] || fail "$json has another name"
  # the start of a path is drawn on its own
  drawn=$(grep -c 'notitle' "$gp") starts=$(grep -c 'every ::0::0' "$gp") || true
  listed=$(grep -o '"mark":' "$json" | wc -l)
  [[ $((drawn - starts)) == "$listed" ]] || fail "$json has $listed series, and $gp draws $((drawn - starts))"
done
[[ $(./json panels 0 series 0 mark <out.d/all/all.json) == map ]] || fail "no map in the JSON"
[[ $(./json panels 0 series 0 z <out.d/all/all.json | tr ',' '\n' | wc -l) == 20 ]] || fail "not 20 cells"
near "$(./json panels 0 series 1 x 0 <out.d/all/all.json)" 0.09 1e-6
./json panels 1 series 0 diverged <out.d/diverged/diverged.json >cross || fail "no cross in the JSON"

# the checker sees what is wrong: a text out of the picture, and letters that are too large
sed '0,/translate([0-9.]*,/s//translate(-5,/' "$picture" >moved.svg
LC_ALL=C awk -f "$HVI_SOURCE_DIR/scripts/check-svg.awk" moved.svg >found && fail "a text left the canvas unseen"
grep -q 'leaves the canvas' found || fail "it is not said which"
sed 's/font-size="14.00"/font-size="34.00"/' "$picture" >moved.svg
LC_ALL=C awk -f "$HVI_SOURCE_DIR/scripts/check-svg.awk" moved.svg >found && fail "texts on each other are not seen"
grep -q "lies on" found || fail "it is not said which lie on each other"
