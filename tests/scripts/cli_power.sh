#!/usr/bin/env bash
# A loss of power: what a run did to its files is recorded, then cut off at some event, with any part of what was
# not synced lost. From each such disk the run is resumed and ends in the same bits.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
# a sanitizer's library must come first
[[ -z ${HVI_SANITIZE-} ]] || exit 77
source=$HVI_SOURCE_DIR/tests/cli/power.c
"${CC:-cc}" -std=gnu11 -O1 -shared -fPIC -DRECORD -o power.so "$source" 2>err || exit 77
"${CC:-cc}" -std=gnu11 -O1 -o power "$source"
here=$PWD tried=0
mkdir bin # without gnuplot: pictures are drawn again from what is kept

# A file as it is; a table of a study without its seconds.
without_clocks() {
  if [[ $1 != o/* && $1 != */o/* ]]; then
    cat "$1"
  else
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } { $s = ""; print }' "$1"
  fi
}

# losses COUNT RESULTS BEFORE RUN RESUME: each of the last three is a command line; RESULTS are files whose bits count.
losses() {
  local count=$1 results=$2 before=$3 run=$4 resume=$5 seed bad=0 file
  rm -rf root base base.inodes log straight
  mkdir root straight
  (cd straight && eval "$before" && eval "$run") >out 2>err || fail "$run"
  (cd root && eval "$before") >out 2>err || fail "$before"
  cp -a root base
  (cd root && find . -type f -printf '%i %P\n') >base.inodes
  (cd root && export POWER_ROOT=$here/root POWER_LOG=$here/log LD_PRELOAD=$here/power.so && eval "$run") >out 2>err || fail "$run"
  [[ $(./power base log) -gt 5 ]] || fail "nothing was recorded of $run"
  for ((seed = 1; seed <= count; seed++)); do
    rm -rf lost
    mkdir lost
    when=any code=0
    if ((seed % 5 == 0)); then when=end; fi
    ./power base log lost $seed $when ${nosync-}
    # what has ended is on the disk; all else is resumed
    [[ $when == end ]] || (cd lost && eval "$resume") >out 2>err || code=$?
    for file in $results; do
      [[ $code == 0 ]] && [[ -e lost/$file ]] && cmp -s <(without_clocks lost/$file) <(without_clocks straight/$file) && continue
      [[ -n ${nosync-} ]] || fail "loss $seed, $when, of '$run': exit code $code, $file"
      bad=$((bad + 1))
    done
    tried=$((tried + 1))
  done
  [[ -z ${nosync-} || $bad -gt 0 ]] || fail "a disk that ignores syncs is not noticed: $run"
}

hvi() { PATH=$here/bin "$HVI" "$@" -q; }
evaluate='hvi evaluate lqr --policy default --batch 50 --hidden 4 --inner 2 --test-states 5 --checkpoint-every 2 --out e'
train='hvi policy train pendulum --start 50 --batch 8 --hidden 4,4 --checkpoint-every 100 --out p.safetensors'
collect='hvi data collect lqr --policy default -n 20000 --out d'
testset='hvi testset lqr --policy default --states 40 --rollouts 8 --horizon 40 --out t'
solve='hvi solve quadratic --set n=5 --method lm --eta 1e-3 --checkpoint c --trace t.csv --save s.npy'
study="hvi reproduce '$HVI_SOURCE_DIR/tests/data/pennies.yaml' --out o"

losses 40 'e.safetensors e-testset.safetensors' "$evaluate --steps 4" "$evaluate --steps 20 --resume" "$evaluate --steps 20 --resume"
losses 25 e.safetensors true "$evaluate --steps 8" "$evaluate --steps 8 --resume"
losses 25 'p.safetensors p.csv' "$train --steps 300" "$train --steps 900 --resume" "$train --steps 900 --resume"
losses 40 d true "$collect" "$collect --resume"
losses 40 t true "$testset" "$testset --resume"
losses 40 's.npy' "$solve --iters 20 || true" "$solve --iters 4000 --checkpoint-every 0.01 --resume || true" "$solve --iters 4000 --resume || true"
losses 25 'o/pennies/trace-lm.csv o/pennies/summary.csv' true "$study" "$study --resume"
losses 25 'o/pennies/trace-lm.csv o/pennies/summary.csv' "$study" "$study" "$study --resume"
echo "$tried losses of power"

# the plant: on a disk that ignores syncs results are lost, and this notices
nosync=nosync
losses 25 e.safetensors "$evaluate --steps 4" "$evaluate --steps 20 --resume" "$evaluate --steps 20 --resume"
losses 25 d true "$collect" "$collect --resume"
