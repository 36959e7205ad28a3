#!/usr/bin/env bash
# hvi check: what it says of games, files and code; a fault planted in code fails its own test with exit
# code 3; nonsense is refused.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
export HVI_INCLUDE=$HVI_SOURCE_DIR/include
# verdict NAME: of a test, out of the JSON in ./out
verdict() { local i=0; until [[ $(member tests $i name) == "$1" ]]; do i=$((i + 1)); done; member tests $i verdict; }

# a zero-sum game with a regulariser, in words and as JSON
expect 0 check pennies
said out '^players +2, 2 parameters, 2 outputs$'
said out '^ +even: 1 parameter, 1 output in \[0.268941, 1\] \(2 layers, 0 trainable, theta is the input\)$'
said out "^F +affine, zero-sum but for players' own terms, without samples$"
said out '^kind +strongly monotone: mu = 0.75, L = 4.0697$'
said out '^solution +known$'
said out '^auto +lm inside, proximal targets, eta adaptive$'
said out '^vjp +passed '
said out '^0 failed, 0 warnings$'
[[ ! -s err ]] || fail "a check talks on stderr"
expect 0 check rps --points 7 --seed 3 --json
[[ $(member passed) == true && $(member operator kind) == 'strongly monotone' ]] || fail "rps"
[[ $(member operator zero_sum) == true && $(member settings target) == proximal ]] || fail "rps"
near "$(member operator mu)" 0.2 1e-9
[[ $(member players 1 set) == 'on a simplex' && $(member tests 15 name) == seek ]] || fail "rps"
cp out first
expect 0 check rps --points 7 --seed 3 --json
cmp -s out first || fail "two checks differ"

# a warning is no failure
expect 0 check pennies --set signs=printed
said out '^kind +not monotone: mu = -0.75'
said out '^ +worst pair: x = '
said out '^monotone +warning +0.158 '
said out '^0 failed, 1 warning$'
expect 0 check chain --set data=trajectory
said out '^F +affine, reads theta, stochastic$'
said out '^draws +passed '

# a file: a game without a regulariser whose set is too large
cat >game.yaml <<'YAML'
players:
  - name: row
    start: [0.5]
    layers: [{matrix: [[1]], activation: sigmoid}]
    outputs: box
    lower: 0
    upper: 10
  - name: column
    start: [0.1]
    layers: [{matrix: [[1]], activation: sigmoid}]
    outputs: box
    lower: 0
    upper: 1
payoffs:
  zero_sum: {matrix: [[1]]}
YAML
expect 0 check game.yaml
said out '^ +row: 1 parameter, 1 output in \[0, 10\]'
said out '^kind +monotone: mu = '
said out '^reach +warning'
said out 'output 1 stays within .* however far theta goes, and its set is larger'
sed 's/upper: 10/upper: 0.5/' game.yaml >small.yaml
expect 3 check small.yaml
said out '^sets +failed'
said err '^hvi: game: sets: point [0-9]+: output 1 is 0.[5-9][0-9]*, and the nearest of its set 0.5$'

# code: right, and wrong in one place each
own=$HVI_SOURCE_DIR/examples/own.c
expect 0 check "$own" --set firms=4
said out '^F +not affine, without samples$'
said out '^players +4, 8 parameters, 4 outputs$'
# planted NAME SED: fails that test
planted() {
  sed "$2" "$own" >wrong.c
  cmp -s wrong.c "$own" && fail "nothing was planted by $2"
  expect 3 check wrong.c --json
  [[ $(verdict "$1") == failed ]] || fail "$2: $1 is $(verdict "$1")"
  [[ $(wc -l <err) == 1 ]] || fail "not one line: $2"
}
planted vjp 's/cache\[0\] \* w\[k\] \* u\[0\]/-cache[0] * w[k] * u[0]/'
[[ $(verdict adjoint) == failed && $(verdict jvp) == passed ]] || fail "the wrong one is blamed"
planted jvp 's/w\[1\] \* v\[1\]/w[0] * v[1]/'
expect 0 solve wrong.c --quiet # and nobody else notices
said out '^status +converged'
planted jvp 's/half \* (1.0 - t \* t)/half * (1.0 + t * t)/'
planted arrays 's/out\[k\] = cache\[0\]/out[k] += cache[0]/'

# nonsense
refused 2 'problem' check
refused 2 'points' check pennies --points 0
refused 2 'tolerance' check pennies --tolerance 2
refused 2 "did you mean '--points'" check pennies --point 3
refused 2 'check has no option --method' check pennies --method lm
refused 3 "did you mean 'pennies'" check penies
refused 3 'unknown key' check pennies --set nothing=1
refused 5 'nothing.yaml' check nothing.yaml
refused 3 'theta0' check pennies --theta0 1
