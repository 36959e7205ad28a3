#!/usr/bin/env bash
# hvi reproduce with policy evaluation: the example of the documentation, a kill and --resume, --tune,
# and data that are missing.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

awk '/^```yaml$/ { on = 1; next } /^```/ { on = 0 } on' "$HVI_SOURCE_DIR/docs/deep-evaluation.md" >lqr-values.yaml
expect 0 reproduce lqr-values.yaml --out out.d
said err 'no test set lqr-095-testset.safetensors for gamma 0.95; made one of 100 states'
for file in summary.csv claims.json lqr-values.gp outer-lqr-td-0.csv seconds-lqr-lm-1.csv runs.csv; do
  [[ -s out.d/lqr-values/$file ]] || fail "out.d/lqr-values/$file is missing"
done
[[ $(cut -d, -f1-3 out.d/lqr-values/runs.csv | sort -u | wc -l) == 10 ]] || fail "not a header and nine runs"
! find out.d -name '*.checkpoint' | grep -q . || fail "a checkpoint is left"

# The rows of all runs, without the columns that are clocks.
bits() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) clock[i] = $i ~ /^seconds/ }
    { for (i = 1; i <= NF; i++) if (!clock[i]) printf "%s,", $i; print "" }' "$1"
}

# killed without a warning, and taken up again: the same bits
sed -e 's/iterations: 60/iterations: 400/' lqr-values.yaml >long.yaml
sed 's/^value:$/value:\n  checkpoint: 0/' long.yaml >saving.yaml
"$HVI" reproduce saving.yaml --out killed --jobs 2 >/dev/null 2>&1 &
victim=$!
for _ in $(seq 600); do
  compgen -G 'killed/lqr-values/checkpoints/*.checkpoint' >/dev/null && break
  sleep 0.05
done
kill -9 "$victim" 2>/dev/null || fail "it ended before it could be killed"
wait "$victim" 2>/dev/null || true
compgen -G 'killed/lqr-values/checkpoints/*.checkpoint' >/dev/null || fail "no checkpoint to go on from"
[[ ! -e killed/lqr-values/claims.json ]] || fail "claims of a run that was killed"
expect 0 reproduce long.yaml --out killed --resume --jobs 2
expect 0 reproduce long.yaml --out whole --jobs 1
bits killed/lqr-values/runs.csv >one
bits whole/lqr-values/runs.csv >two
cmp -s one two || fail "a resumed run has other bits"
! find killed -name '*.checkpoint' | grep -q . || fail "a checkpoint of a finished run is left"

# cells of an experiment that nobody has run are run, and are its own from then on
sed '1i runs: elsewhere' lqr-values.yaml >others.yaml
sed 's,^id: .*,id: elsewhere,' lqr-values.yaml >elsewhere.yaml
expect 0 reproduce others.yaml --out fresh
[[ -s fresh/elsewhere/cells.partial ]] || fail "the cells are not where 'runs' says"

# rates
expect 0 reproduce lqr-values.yaml --out out.d --tune
said out '^lqr, TD\(0\): 0.003 -> '
said out 'best: damping '
# two grids end too low, and are extended until the best is inside; ten steps at 0.03 are no descent
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
  { n[$at["method"]]++; if ($at["best"]) best[$at["method"]] = n[$at["method"]] }
  $at["rejected"] { if ($at["ratio"] <= 1 || $at["best"]) exit 1; rejected++ }
  END { for (m in n) if (!(best[m] > 1 && best[m] < n[m])) exit 1
        exit !(n["TD(0)"] > 3 && n["Surr 10"] > 3 && n["LM 1"] == 3 && rejected) }' \
  out.d/lqr-values/tune.csv || fail "tune.csv: a best rate at an end, or nothing rejected"
said out '^  Surr 10: at: \[\{environment: lqr, size: quick, inner_lr: 0.01\}\]$'
cp out.d/lqr-values/tune.csv first
cp out told
expect 0 reproduce lqr-values.yaml --out out.d --tune --resume --jobs 1
cmp -s out.d/lqr-values/tune.csv first || fail "--resume finds other rates"
cmp -s out told || fail "--resume tells of other rates"
sed 's/first: 1001/first: 20/' lqr-values.yaml >among.yaml
refused 3 'tuning seeds 20 to 22 are among the reported ones' reproduce among.yaml --out out.d --tune
refused 3 'no rates to tune' reproduce pennies --out out.d --tune
refused 2 'by name' reproduce --out out.d --tune

# what is missing is named, and no error
sed -e 's/policy: default/policy: gone.safetensors/' lqr-values.yaml >gone.yaml
expect 0 reproduce gone.yaml --out out.d
said err 'lqr not run: needs data/gone.safetensors .made by: hvi policy train lqr'
sed 's/  gamma: /  gama: /' lqr-values.yaml >bad.yaml
refused 3 "bad.yaml:11: .*'gama'.*did you mean 'gamma'" reproduce bad.yaml
sed 's/inner: 10, inner_lr: 0.003/&, at: [{environment: moon, inner_lr: 1}]/' lqr-values.yaml >bad.yaml
refused 3 "bad.yaml:15: 'Surr 10': at names environment 'moon', which is none of its levels" reproduce bad.yaml --out out.d
sed 's/inner: 10, inner_lr: 0.003/&, at: [{environment: lqr, moon: 1}]/' lqr-values.yaml >bad.yaml
refused 3 "'moon' is no factor and no setting" reproduce bad.yaml --out out.d
sed 's/inner: 10, inner_lr: 0.003/&, at: 1/' lqr-values.yaml >bad.yaml
refused 3 'at must be a list of maps' reproduce bad.yaml

# an environment has a rate of its own, which --tune tells
sed 's/inner: 10, inner_lr: 0.003/&, at: [{environment: lqr, inner_lr: 0.02}]/' lqr-values.yaml >own.yaml
expect 0 reproduce own.yaml --out own --tune
said out 'best: inner_lr 0.01; in the file: 0.02$'
cmp -s own/lqr-values/tune.csv first || fail "the rate of the file is not replaced by those of the grid"
