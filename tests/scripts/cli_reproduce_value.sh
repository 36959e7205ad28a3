#!/usr/bin/env bash
# hvi reproduce with policy evaluation: the example of the documentation, a kill and --resume, --tune,
# and data that are missing.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

awk '/^```yaml$/ { on = 1; next } /^```/ { on = 0 } on' "$HVI_SOURCE_DIR/docs/deep-evaluation.md" >lqr-values.yaml
expect 0 reproduce lqr-values.yaml --out out.d
said err 'lqr-testset.safetensors is not there; made one of 100 states'
for file in summary.csv claims.json lqr-values.gp lqr-td-0-outer.csv lqr-lm-1-seconds.csv pieces/lqr-surr-10-3.csv; do
  [[ -s out.d/lqr-values/$file ]] || fail "out.d/lqr-values/$file is missing"
done
[[ $(find out.d/lqr-values/pieces -name '*.csv' | wc -l) == 9 ]] || fail "not nine pieces"
! find out.d/lqr-values/pieces -name '*.checkpoint' | grep -q . || fail "a checkpoint is left"

# Columns that are no clock, of all pieces.
bits() { (cd "$1" && cut -d, -f1-15 -- *.csv | grep -v "^# hvi checksum"); }

# killed without a warning, and taken up again: the same bits
sed -e 's/iterations: 60/iterations: 400/' lqr-values.yaml >long.yaml
sed 's/^value:$/value:\n  checkpoint: 0/' long.yaml >saving.yaml
"$HVI" reproduce saving.yaml --out killed --jobs 2 >/dev/null 2>&1 &
victim=$!
for _ in $(seq 600); do
  compgen -G 'killed/lqr-values/pieces/*.checkpoint' >/dev/null && break
  sleep 0.05
done
kill -9 "$victim" 2>/dev/null || fail "it ended before it could be killed"
wait "$victim" 2>/dev/null || true
compgen -G 'killed/lqr-values/pieces/*.checkpoint' >/dev/null || fail "no checkpoint to go on from"
[[ ! -e killed/lqr-values/claims.json ]] || fail "claims of a run that was killed"
expect 0 reproduce long.yaml --out killed --resume --jobs 2
expect 0 reproduce long.yaml --out whole --jobs 1
bits killed/lqr-values/pieces >one
bits whole/lqr-values/pieces >two
cmp -s one two || fail "a resumed run has other bits"

# rates
expect 0 reproduce lqr-values.yaml --out out.d --tune
said out '^lqr, TD\(0\): 0.003 -> '
said out 'best: damping '
[[ $(wc -l <out.d/lqr-values/tune.csv) == 10 ]] || fail "tune.csv has not a header and nine rows"
refused 3 'no rates to tune' reproduce pennies --out out.d --tune
refused 2 'by name' reproduce --out out.d --tune

# what is missing is named, and no error
sed -e 's/policy: default/policy: gone.safetensors/' lqr-values.yaml >gone.yaml
expect 0 reproduce gone.yaml --out out.d
said err 'lqr not run: needs data/gone.safetensors .made by: hvi policy train lqr'
sed 's/  gamma: /  gama: /' lqr-values.yaml >bad.yaml
refused 3 "bad.yaml:11: .*'gama'.*did you mean 'gamma'" reproduce bad.yaml
sed 's/inner: 10, inner_lr: 0.003/&, rate_at: {moon: 1}/' lqr-values.yaml >bad.yaml
refused 3 "'Surr 10': rate_at names 'moon', which is none of its places" reproduce bad.yaml --out out.d
sed 's/inner: 10, inner_lr: 0.003/&, rate_at: 1/' lqr-values.yaml >bad.yaml
refused 3 'rate_at must be a map of 1 to 4 rates' reproduce bad.yaml
