#!/usr/bin/env bash
# hvi solve: the figures of the paper's first game, what the result looks like, files and exit codes.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

timeless() { sed 's/"seconds": .*/"seconds": 0/' "$1"; }
solve() { expect "$1" solve pennies "${@:2}" --iters 1000 --json; }

# the four figures
solve 0 --method gd --eta 0.1 --inner 10 --inner-lr 1
near "$(member dist2)" 2.1e-11 0.024
[[ $(member outer) == 1000 && $(member inner) == 10000 ]] || fail "other counts of steps"
solve 0 --method gn --eta 0.01 --inner 1
near "$(member dist2)" 1.6e-7 0.031
solve 0 --method gn --eta 0.01 --inner 5
near "$(member dist2)" 0.107 0.01
[[ $(member status) == stalled ]] || fail "GN(5) is not called stalled"
said err 'hvi inspect pennies --method gn --eta 0.01 --inner 5'
solve 0 --method gn --eta 0.1 --inner 1
near "$(member dist2)" 0.5 0.01
[[ $(member status) == stalled && $(member advice) == *inspect* ]] || fail "does not say why"

# the object is complete, and its settings are those in force
solve 0 --method gd --eta 0.1 --inner 10
for name in schema_version problem method status reason outer inner dist2 residual gap theta z best \
  settings counts seconds; do
  member "$name" >/dev/null
done
for name in f_evals model_passes grad_evals env_steps; do member counts "$name" >/dev/null; done
[[ $(member settings inner) == 10 && $(member settings inner_lr) == 1.0 ||
  $(member settings inner_lr) == 1 ]] || fail "other settings"
[[ $(member settings tol) == null ]] || fail "no tolerance should be null"
[[ $(member counts f_evals) == 1001 && $(member counts model_passes) == 10001 ]] ||
  fail "something is evaluated twice"

# the same run gives the same bits; saved numbers read back to the same bits
timeless out >first
solve 0 --method gd --eta 0.1 --inner 10 -q --save theta.npy
[[ ! -s err ]] || fail "-q talks"
timeless out | cmp -s - first || fail "two runs differ"
expect 0 solve pennies --method gd --theta0 theta.npy --iters 1 --json
[[ $(member settings theta0) == "$(./json theta <first)" ]] || fail "theta.npy holds other bits"
theta=$(member settings theta0)
expect 0 solve pennies --method gd --theta0 "${theta//[\[\]]/}" --iters 1 --json
[[ $(member settings theta0) == "$theta" ]] || fail "a list of numbers was read to other bits"

# the default: auto, to a tolerance of its own, which is relative only where nobody gives one
expect 0 solve pennies --json
[[ $(member method) == auto && $(member status) == converged ]] || fail "auto does not solve pennies"
[[ $(member settings optimizer) == lm && $(member settings target) == proximal &&
  $(member settings step_rule) == adaptive && $(member settings tol_relative) == true ]] ||
  fail "other choices"
near "$(member settings tol)" 1e-6 0
near "$(member settings max_evals)" 200000 0
expect 0 solve pennies --tol 1e-6 --eta 0.04 --target plain --json
[[ $(member settings target) == plain && $(member settings step_rule) == fixed &&
  $(member settings tol_relative) == false ]] || fail "what is given does not stay"
near "$(member settings eta)" 0.04 0
expect 1 solve pennies --max-evals 3
said err '^not converged: the residual is'
for problem in rps quadratic counterexample chain performative-linear; do
  expect 0 solve $problem --json
  [[ $(member status) == converged ]] || fail "auto does not solve $problem"
done

# presets and the words for the same thing
solve 0 --method phgd --eta 0.01
phgd=$(member theta)
solve 0 --method gn --eta=0.01 --inner=1
[[ $(member theta) == "$phgd" ]] || fail "phgd is not gn with one inner step"
expect 0 solve --method gd --inner 1e1 --iters 1e3 --json -- pennies
[[ $(member inner) == 10000 ]] || fail "1e1 is not 10"

# step rules: 2 mu / 5 L^2 and mu / L^2 with mu = 3/4 and L^2 = 16.5625
solve 0 --method gd --inner 10 --eta theorem
near "$(member settings eta)" 0.018113207547169811 1e-9
solve 0 --method gd --inner 10 --eta best
near "$(member settings eta)" 0.045283018867924529 1e-9

# stops: tolerance, evaluations, an iteration limit before the tolerance
expect 0 solve pennies --method lm --damping 0.02 --tol 1e-6 --json
[[ $(member status) == converged ]] || fail "lm does not converge"
expect 1 solve pennies --method gd --inner 10 --iters 5 --tol 1e-6
said err '^not converged: the residual is'
expect 0 solve pennies --method gd --max-evals 7 --json
[[ $(member reason) == 'evaluation limit' && $(member counts f_evals) == 7 ]] || fail "7 evaluations"
expect 4 solve quadratic --method gd --eta 1e6 --json
[[ $(member status) == diverged ]] || fail "an absurd step size does not diverge"
said err '^diverged at outer step'

# for people: header, table, footer and certificate on stderr, the result on stdout
expect 0 solve pennies --method gd --inner 10
said err '^problem +pennies: 2 parameters, 2 outputs, 2 players'
said err '^ +outer +inner +loss'
said err '^ +1000 +10 '
said err '^judge +residual .* dist2 .* gap '
said out '^status +limit \(iteration limit\)'
rows=$(grep -Ec '^ +[0-9]+ ' err)
((rows >= 15 && rows <= 25)) || fail "$rows rows in the table"
if grep -q $'\033' err; then fail "colours although stderr is no terminal"; fi
expect 0 solve pennies --method gd --iters 100 --every 50
[[ $(grep -Ec '^ +(0|50|100) ' err) == 3 && $(grep -Ec '^ +[0-9]+ ' err) == 3 ]] || fail "--every 50"

# stalled is short of a tolerance only where there is one
expect 1 solve pennies --method gn --eta 0.1 --tol 1e-6
said err '^stalled at dist2'
# the hint looks at the same run: every option that was given, as a shell reads it
expect 1 solve rps --seed 4 --instance 3 --set weight=0.01 --method lm --target optimistic --damping 1e-3 \
  --adaptive-damping --no-keep-state --iters 20 --tol 1e-9 --every 5
said err '"hvi inspect rps --set weight=0.01 --seed 4 --instance 3 --method lm --target optimistic .*--no-keep-state'
hint=$(sed -n 's/.*"hvi \(inspect .*\)" tells more.*/\1/p' err)
for option in --damping --adaptive-damping '--iters 20' '--tol 1e-9'; do
  [[ $hint == *" $option"* ]] || fail "the hint lacks $option: $hint"
done
[[ $hint != *--every* ]] || fail "inspect does not know --every"
eval "expect 0 $hint --json"
near "$(member settings damping)" 1e-3 0
cp "$HVI_SOURCE_DIR/problems/rps.yaml" "a game; it's.yaml"
expect 1 solve "a game; it's.yaml" --max-evals 3
eval "expect 0 $(sed -n 's/.*"hvi \(inspect .*\)" tells more.*/\1/p' err)"
expect 0 solve counterexample
said out '^gap +unbounded$'
expect 0 solve counterexample --json
[[ $(member gap) == null ]] || fail "a gap that is not bounded is no number"

# players have names
expect 0 solve pennies --json
[[ $(./json players 1 name <out) == odd && $(member players 0 z) == "[${z:=$(member z | tr -d '[] ' | cut -d, -f1)}]" ]] ||
  fail "players of pennies: $(member players)"
expect 0 solve pennies
said err '2 players: even, odd$'
said out '^z +even  0\.5$'
said out '^          odd   0\.5$'

# the trace: a row for the start and one for each iteration
expect 0 solve pennies --method gd --iters 10 --trace trace.csv
columns=outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds
[[ $(head -1 trace.csv) == "$columns"* ]] || fail "other columns: $(head -1 trace.csv)"
[[ $(wc -l <trace.csv) == 12 ]] || fail "$(wc -l <trace.csv) lines in the trace"
[[ $(head -1 trace.csv) == *,alpha,theta_even_1,theta_odd_1,z_even_1,z_odd_1 ]] ||
  fail "columns without names: $(head -1 trace.csv)"
[[ $(sed -n 2p trace.csv) == 0,0,,,,*,1.25,2.25,* ]] || fail "row 0 is not the start: $(sed -n 2p trace.csv)"
expect 0 solve counterexample --method gd --iters 10 --trace trace.csv
[[ $(head -1 trace.csv) == *,alpha,theta1,theta2,z1,z2 ]] || fail "columns without numbers"
# z is there however many parameters there are, up to a thousand columns or as asked for
expect 0 solve quadratic --set n=100 --method gd --iters 2 --trace long.csv
[[ $(head -1 long.csv) == *,alpha,z1,*,z100 ]] || fail "no z in a long trace"
cat >wide.yaml <<'END'
players:
  - {name: all, input_size: 3, start_sd: 1, layers: [{trainable: true, out: 1001}]}
END
expect 0 solve wide.yaml --method gd --iters 2 --trace wide.csv
said err '^trace +without z: 1001 columns; --trace-z'
[[ $(head -1 wide.csv) == *,alpha ]] || fail "a thousand columns unasked"
expect 0 solve wide.yaml --method gd --iters 2 --trace wide.csv --trace-z
[[ $(head -1 wide.csv) == *,z_all_1001 ]] || fail "--trace-z has no z"
[[ $(find . -name '*.tmp*' -o -name '.trace*') == "" ]] || fail "a temporary file is left"

# a game from a file, and the other built-in problems
expect 0 solve "$HVI_SOURCE_DIR/problems/rps.yaml" --method lm --iters 20 --json
[[ $(member dimensions players) == 2 ]] || fail "rps.yaml has other players"

# players behind networks: another precision, another rounding, and no game without networks
cat >network.yaml <<'YAML'
players:
  - {start_sd: 1, input: [[1, 2], [3, 4]], layers: [{trainable: true, out: 3, activation: softmax}]}
  - {start_sd: 1, input: [[1], [2]], layers: [{trainable: true, out: 4, bias: trainable, activation: tanh}]}
regulariser: {weight: 1, centre: 0.3}
YAML
expect 0 solve network.yaml --method lm --iters 5 --json
[[ $(member settings precision) == double ]] || fail "players of a game are not in double precision"
double=$(member residual)
expect 0 solve network.yaml --method lm --iters 5 --precision single --json
[[ $(member settings precision) == single ]] || fail "--precision single is not in force"
[[ $(member residual) != "$double" ]] || fail "--precision single changes nothing"
near "$(member residual)" "$double" 1e-3
refused 2 "precision single is for players with fixed inputs, and rps has none" solve rps --precision single
refused 2 "precision: must be double or single, not 'half'" solve network.yaml --precision half
cp "$HVI_SOURCE_DIR/problems/rps.yaml" game
expect 0 solve game --method lm --iters 20
odd=$'g \x01"\\\xc3\xa9\xff.yaml'
cp game "$odd"
expect 0 solve "$odd" --method lm --iters 20 --json
member problem >/dev/null
expect 0 solve rps --instance 3 --seed 9 --method gd --iters 20
expect 0 solve pennies --set weight=0.5 --method gd --iters 20 --json
near "$(member settings options weight)" 0.5 0
