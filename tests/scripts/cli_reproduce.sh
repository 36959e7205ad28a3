#!/usr/bin/env bash
# hvi reproduce: files of one's own, what it leaves behind, --resume, and what it refuses.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"

# the examples of the documentation are files that run
awk '/^```yaml$/ { on = 1; next } /^```/ { on = 0 } on && /^id: / { file = $2 ".yaml" } on { print >file }' \
  "$HVI_SOURCE_DIR/docs/experiments.md"
expect 0 reproduce mine.yaml --out out.d
for file in trace-phgd.csv trace-gd-10.csv trace-lm.csv summary.csv mine.gp claims.json; do
  [[ -s out.d/mine/$file ]] || fail "out.d/mine/$file is missing"
done
[[ $(wc -l <out.d/mine/trace-lm.csv) == 302 ]] || fail "not a header and 301 rows"
head -1 out.d/mine/trace-lm.csv |
  grep -q '^outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds' ||
  fail "other columns"
if command -v gnuplot >/dev/null; then
  for file in mine.png mine.svg; do [[ -s out.d/mine/$file ]] || fail "$file is missing"; done
fi

# with a grid, a figure and claims of its own
expect 0 reproduce weights.yaml --out out.d
said out '^3 claims: 3 hold, 0 do not hold'
for file in trace-0p5-lm.csv trace-0p75-gd-10.csv summary-0p75-lm.csv weights-distance.gp; do
  [[ -s out.d/weights/$file ]] || fail "out.d/weights/$file is missing"
done
[[ $(wc -l <out.d/weights/trace-0p5-lm.csv) == 302 ]] || fail "not a header and 301 rows of a level"
said out '^  holds          LM ends nearer to the solution than GD\(10\). \(0.5\)  .*-0.00415$'
said err '^The report: out.d/index.html$'
expect 0 reproduce weights.yaml --out out.d -v
said out 'decades a step of LM -0.00415; LM 0.0058'
for key in version commit command date machine; do
  grep -q "^  \"$key\": \"..*\"" out.d/weights/claims.json || fail "claims.json does not name the $key"
done
grep -q '<dt>command</dt><dd>hvi reproduce weights.yaml --out out.d -v</dd>' out.d/index.html ||
  fail "the page does not name the command"
sed 's/end(dist2, "LM") </end(dist2, "LM") >/' weights.yaml >other.yaml
expect 0 reproduce other.yaml --out other.d
said out '^3 claims: 1 hold, 2 do not hold'
sed 's/end(dist2, "LM")/end(dist, "LM")/' weights.yaml >bad.yaml
refused 3 "bad.yaml:[0-9]+: unknown column 'dist' in .*did you mean 'dist2'" reproduce bad.yaml --quiet --out bad.d
for name in ../up a/b .hidden; do
  sed "s|weights-distance  |$name |" weights.yaml >bad.yaml
  refused 3 'name must be made of a-z, 0-9 and .-.' reproduce bad.yaml --out bad.d
done

# what the quick size cannot decide is not judged by it, and is counted apart
sed 's/id: lm-nearer/id: lm-nearer\n    needs: full/; s/iterations: 3000/iterations: 300/' weights.yaml >needs.yaml
expect 0 reproduce needs.yaml --out needs.d
said out '^  needs --full   LM ends nearer'
said out '^3 claims: 1 hold, 0 do not hold, 2 need --full, 0 not judged'
expect 0 reproduce needs.yaml --out needs.d --full
said out '^  (holds|does not hold)  +LM ends nearer'
said out '^4 claims: [0-9] hold, [0-9] do not hold, 0 not judged'

# a finished one is not run again with --resume, and gives the same table
expect 0 reproduce pennies --out out.d
cp out first
touch -d '2001-01-01' out.d/pennies/trace-lm.csv
expect 0 reproduce pennies --out out.d --resume
cmp -s out first || fail "--resume tells something else"
[[ $(stat -c %Y out.d/pennies/trace-lm.csv) -lt 1000000000 ]] || fail "--resume ran it again"
said out 'claims: [0-9]+ hold, [0-9]+ do not hold'

refused 3 "'pennys'.*did you mean 'pennies'" reproduce pennys
refused 5 'nowhere.yaml' reproduce nowhere.yaml
refused 2 'quick.*full|full.*quick' reproduce pennies --quick --full
: >file
refused 5 'file' reproduce pennies --out file/below
sed 's/inner: 10/iner: 10/' mine.yaml >bad.yaml
refused 3 "bad.yaml:11: .*'iner'.*did you mean 'inner'" reproduce bad.yaml

# names and values of problems are refused when the file is read, at their line
problem() { sed "s/^problem: .*/problem: $1/; s/^seed: .*/seed: 1\noptions: $2\ngrid: $3/" small.yaml >bad.yaml; }
cat >small.yaml <<'Y'
id: small
title: small
kind: trajectory
problem: pennies
seed: 1
quick: {iterations: 2}
full: {iterations: 2}
methods: [{label: LM, method: lm}]
Y
problem pennies '{weight: 0.7}' '{case: [{problem: pennies, weight: 0.5}, {problem: quadratic, n: 7}]}'
sed -i '/^options/d' bad.yaml
expect 0 reproduce bad.yaml --out small.d -q
problem pennys '{weight: 0.7}' '{signs: [mended]}'
refused 3 "bad.yaml:4: unknown problem 'pennys'; did you mean 'pennies'" reproduce bad.yaml --out no.d
problem pennies '{wieght: 0.7}' '{signs: [mended]}'
refused 3 "bad.yaml:6: unknown option 'wieght'; did you mean 'weight'" reproduce bad.yaml --out no.d
problem pennies '{weight: much}' '{signs: [mended]}'
refused 3 "bad.yaml:6: pennies: weight: must be a number" reproduce bad.yaml --out no.d
problem pennies '{weight: 0.7}' '{signs: [mended, minted]}'
refused 3 "bad.yaml:7: pennies: signs: must be mended or printed, not 'minted'" reproduce bad.yaml --out no.d
problem pennies '{}' '{problem: [pennies, rsp]}'
refused 3 "bad.yaml:7: unknown problem 'rsp'; did you mean 'rps'" reproduce bad.yaml --out no.d
problem pennies '{}' '{case: [{problem: pennies, weight: 500}, {problem: quadratic, n: 7}]}'
refused 3 "bad.yaml:7: pennies: weight: must be a number from 0 to 100" reproduce bad.yaml --out no.d
[[ ! -e no.d ]] || fail "what is refused leaves a folder"
