#!/usr/bin/env bash
# hvi bench: every benchmark measures something. Nothing is asserted about time.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
usage=2 input=3 interrupted=130

expect 0 bench games --repeats 1 --iters 10 --instances 8 --json
[[ $(member instances) == 8 ]] || fail "games"
expect 0 bench games --repeats 1 --iters 10 --instances 8
said out 'speed-up'
expect 0 bench bellman --repeats 1 --states 64
said out 'of triad'
expect 0 bench sac --repeats 1
said out 'of sgemm'
# the long ones are stopped once they are under way; a measurement ends before the program does
for name in mlp evaluate; do
  code=0
  timeout -s INT 2 "$HVI" bench $name --repeats 1 --quiet >out 2>err || code=$?
  [[ $code == 0 || $code == "$interrupted" || $code == 124 ]] || fail "bench $name: exit code $code"
done
refused $usage "there is no benchmark 'nothing'" bench nothing
# no device, no module: one line says what is missing
mkdir bare
cp "$HVI" bare/hvi
HVI_MODULE_PATH='' HVI=$scratch/bare/hvi refused $input 'no libhvi_gpu.so in ' bench gpu
HVI_MODULE_PATH='' HVI=$scratch/bare/hvi refused $input 'no libhvi_gpu.so in ' bench gpu --json
HVI_MODULE_PATH='' HVI=$scratch/bare/hvi refused $input 'no libhvi_gpu.so in ' bench sac-gpu

expect 0 bench solve --games 2 --method auto --seed 5 --out profile --json
[[ $(grep -c '"solved": 2' out) == 7 ]] || fail "auto leaves a problem unsolved"
[[ -s profile/profile-evals.csv && -s profile/profile-seconds.csv ]] || fail "no profile"
refused $usage "there is no method 'nothing'" bench solve --method nothing
