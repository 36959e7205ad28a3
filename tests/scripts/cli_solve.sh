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
solve 1 --method gn --eta 0.01 --inner 5
near "$(member dist2)" 0.107 0.01
[[ $(member status) == stalled ]] || fail "GN(5) is not called stalled"
said err 'hvi inspect pennies --method gn --eta 0.01 --inner 5'
solve 1 --method gn --eta 0.1 --inner 1
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
expect 0 solve pennies --tol 1e-6 --eta 0.1 --target plain --json
[[ $(member settings target) == plain && $(member settings step_rule) == fixed &&
  $(member settings tol_relative) == false ]] || fail "what is given does not stay"
near "$(member settings eta)" 0.1 0
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

# the trace: a row for the start and one for each iteration, whole or not at all
expect 0 solve pennies --method gd --iters 10 --trace trace.csv
columns=outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds
[[ $(head -1 trace.csv) == "$columns"* ]] || fail "other columns: $(head -1 trace.csv)"
[[ $(wc -l <trace.csv) == 12 ]] || fail "$(wc -l <trace.csv) lines in the trace"
[[ $(find . -name '*.tmp*' -o -name '.trace*') == "" ]] || fail "a temporary file is left"

# a game from a file, and the other built-in problems
expect 0 solve "$HVI_SOURCE_DIR/problems/rps.yaml" --method lm --iters 20 --json
[[ $(member dimensions players) == 2 ]] || fail "rps.yaml has other players"
cp "$HVI_SOURCE_DIR/problems/rps.yaml" game
expect 0 solve game --method lm --iters 20
odd=$'g \x01"\\\xc3\xa9\xff.yaml'
cp game "$odd"
expect 0 solve "$odd" --method lm --iters 20 --json
member problem >/dev/null
expect 0 solve rps --instance 3 --seed 9 --method gd --iters 20
expect 0 solve pennies --set weight=0.5 --method gd --iters 20 --json
near "$(member settings options weight)" 0.5 0
