#!/usr/bin/env bash
# hvi inspect: the constants of both games, the verdicts, why ten inner steps beat a hundred.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

# flat: ./out as one line, since paragraphs are broken anywhere
flat() { tr -s ' \n' '  ' <out; }
tells() { [[ $(flat) == *"$1"* ]] || fail "does not say '$1'"; }

# mu, L and what follows from them
expect 0 inspect pennies --method gd --json
near "$(member constants mu)" 0.75 1e-12
near "$(member constants lipschitz)" 4.0697051490249265 1e-12
near "$(member rates eta_max)" 0.090566037735849056 1e-12
near "$(member rates kappa2)" 1.015625 1e-12
[[ $(member constants exact) == true && $(member schema_version) == 1 ]] || fail "not exact"
expect 0 inspect rps --json --steps 50
near "$(member constants mu)" 0.2 1e-12
near "$(member constants lipschitz)" 1.7435595774162693 1e-12

# ten inner steps and a hundred, each with the reason
for inner in 10 100; do
  expect 0 inspect pennies --eta 0.1 --method gd --inner "$inner"
  tells 'verdict not covered'
  tells '10 inner steps beat 100'
  tells 'eta = 0.1 is beyond 2 mu / L^2 = 0.09057'
  tells 'kappa^2 = 1.0156'
  [[ ! -s err ]] || fail "an inspection talks on stderr"
done
expect 0 inspect pennies --eta 0.1 --method gd --inner 10 --json
near "$(member run rate)" 0.97546 1e-4
near "$(member run rate_exact)" 1.015625 1e-6
[[ $(member obstacle) == eta-too-large ]] || fail "another obstacle"

# the other verdicts
verdict() {
  local expected=$1 obstacle=$2
  shift 2
  expect 0 inspect "$@" --json
  [[ $(member verdict) == "$expected" && $(member obstacle) == "$obstacle" ]] ||
    fail "inspect $*: $(member verdict), $(member obstacle)"
}
verdict safe none pennies --method phgd --eta 0.01
verdict safe none pennies --method lm --eta theorem --alpha 0.09 --inner 200 --damping 1e-4
verdict unsafe not-monotone pennies --set signs=printed --method lm
verdict unsafe alpha-too-large pennies --method gn --eta 0.01 --inner 5
verdict unsafe alpha-too-large counterexample --method adversary --eta 0.1
verdict 'not covered' sampled-constants "$HVI_SOURCE_DIR/examples/own.c" --method gn --eta 0.02
verdict 'not covered' not-a-surrogate-method pennies --method extragradient
verdict 'not covered' variant-of-the-loop pennies --method lm --target optimistic
verdict solved steps-that-adapt pennies # auto
verdict unsafe not-monotone pennies --set signs=printed --method gd

# the same bits each time; --steps and --iters mean the same
expect 0 inspect rps --method gd --inner 20 --steps 80 --json
mv out first
expect 0 inspect rps --method gd --inner 20 --steps 80 --json
cmp -s out first || fail "two inspections differ"
expect 0 inspect pennies --method gd --iters 30 --json
[[ $(member run outer) == 30 ]] || fail "--iters is not taken for --steps"

# what is refused
refused 2 'steps' inspect pennies --steps 0
refused 2 'problem' inspect
refused 3 "did you mean 'pennies'" inspect penies
refused 2 'eta' inspect pennies --eta -1
refused 2 'alpha' inspect pennies --alpha 1.5
refused 2 'method' inspect pennies --method gradients
