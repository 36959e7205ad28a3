#!/usr/bin/env bash
# Memory that runs out: one allocation fails, or all from then on. That is told as such, with exit code 5, or it made
# no difference.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
# a sanitizer has an allocator of its own
[[ -z ${HVI_SANITIZE-} ]] || exit 77
"${CC:-cc}" -shared -fPIC -o starve.so "$HVI_SOURCE_DIR/tests/cli/starve.c" 2>err || exit 77
tried=0
mkdir bin # without gnuplot

# run [NAME=VALUE]... -- ARGUMENT...: hvi with these variables.
run() (
  export PATH=$scratch/bin LD_PRELOAD=$scratch/starve.so
  while [[ $1 != -- ]]; do export "$1" && shift; done
  shift
  exec "$HVI" "$@" </dev/null
)

without_clocks() { sed -E '/^(cost|seconds| )/d; s/[0-9.]+ s\)/s)/' "$1"; }

# starves POINTS FILES ARGUMENT...: at so many places; FILES are removed before each run.
starves() {
  local points=$1 files=$2 total at on code i
  shift 2
  rm -rf $files
  run STARVE_COUNT="$scratch/count" -- "$@" >straight 2>err || fail "hvi $*"
  total=$(cat count)
  for on in '' STARVE_ON=1; do
    for ((i = 0; i < points; i++)); do
      # half of them at the start, where most is read
      at=$((i % 2 ? 1 + total * i / points : 1 + 5 * i)) code=0
      rm -rf $files
      run STARVE_AT=$at $on -- "$@" >out 2>err || code=$?
      tried=$((tried + 1))
      [[ $code == 5 ]] && grep -qi 'memory' err && continue
      [[ $code == 0 ]] && cmp -s <(without_clocks straight) <(without_clocks out) && continue
      fail "hvi $*: allocation $at of $total $on: exit code $code"
    done
  done
}

starves 30 none list --json
starves 30 none policy info "$HVI_SOURCE_DIR/data/policies/half_cheetah.safetensors"
starves 30 'v v.* v-*' evaluate lqr --policy default --batch 50 --hidden 8,8 --inner 2 --test-states 5 -q --steps 2 --out v
starves 30 'd d.*' data collect lqr --policy default -n 500 -q --out d
starves 30 o reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" -q --out o
expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" -q --out kept
starves 30 none reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" -q --out kept --resume
if "$HVI" env info half_cheetah >out 2>err; then starves 60 none env info half_cheetah; fi
echo "$tried allocations failed"
