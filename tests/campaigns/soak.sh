#!/usr/bin/env bash
# Long runs that must not grow: one process that solves again and again, and one each that solves, evaluates and trains
# with a checkpoint at every turn. Memory and descriptors are looked at every second; after a third of the time neither
# grows. No temporary file is left. Usage: soak.sh small|full; SOAK_SECONDS (600, small 12).
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
plain_only
seconds=${SOAK_SECONDS:-$(if [[ $size == full ]]; then echo 600; else echo 12; fi)}
# gnuplot is not drawn with, and limits that no run reaches in this time
declare -A long=(
  [solve]='solve quadratic --set n=40 --method lm --eta 1e-9 --tol 1e-30 --stall-window 0 --iters 1000000000 --checkpoint c --checkpoint-every 0.05 --log l.jsonl -q'
  [evaluate]='evaluate --data ../rows --batch 50 --hidden 16,16 --inner 5 --steps 100000000 --measure-every 100000 --checkpoint-every 100 --out e -q'
  [train]='policy train pendulum --start 100 --batch 16 --hidden 16,16 --buffer 2000 --steps 100000000 --checkpoint-every 500 --out p.safetensors -q'
)
declare -A pid=() first=() last=() most_fds=()

# kilobytes PID: what is resident; fds PID: open descriptors.
kilobytes() { awk '/^VmRSS/ { print $2 }' /proc/"$1"/status; }
fds() { find /proc/"$1"/fd -mindepth 1 2>/dev/null | wc -l; }

build_again() {
  read -ra flags <<<"$(pkg-config --libs openblas lapacke yaml-0.1 jansson libzip)"
  "${CC:-cc}" -std=c11 -O1 -I"$HVI_SOURCE_DIR/include" -o again "$HVI_SOURCE_DIR/tests/campaigns/again.c" \
    "$HVI_BUILD_DIR/src/libhvi.a" "${flags[@]}" -lpthread -ldl -lm 2>err
}

hvi data collect lqr --policy default -n 500 --out rows >out 2>err || fail "no data"
for name in "${!long[@]}"; do
  mkdir "$name"
  (cd "$name" && eval "PATH=$here/bin exec '$HVI' ${long[$name]}") >"$name.out" 2>"$name.err" &
  pid[$name]=$!
done
if build_again; then
  ./again "$seconds" >again.out 2>again.err &
  pid[again]=$!
fi
stop() {
  for name in "${!pid[@]}"; do kill -9 "${pid[$name]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
}
trap stop EXIT

start=$SECONDS
while ((SECONDS - start < seconds - 1)); do
  for name in "${!pid[@]}"; do
    [[ -e /proc/${pid[$name]}/status ]] || fail "$name has ended: $(cat "$name.err")"
    now=$(kilobytes "${pid[$name]}") open=$(fds "${pid[$name]}")
    if ((SECONDS - start < seconds / 3)); then
      if ((now > ${first[$name]:-0})); then first[$name]=$now; fi
      if ((open > ${most_fds[$name]:-0})); then most_fds[$name]=$open; fi
    elif ((now > ${last[$name]:-0})); then
      last[$name]=$now
    fi
    ((SECONDS - start < seconds / 3 || open <= ${most_fds[$name]} + 2)) || fail "$name has $open descriptors"
  done
  sleep 1
done

small_growth() { ((${last[$1]} <= ${first[$1]} + 1024 + ${first[$1]} / 50)); }
tidy() { [[ ! -d $1 ]] || (($(find "$1" -name '*.tmp.*' | wc -l) <= 2)); } # of the write that is under way
for name in "${!pid[@]}"; do
  check "$name: ${first[$name]} kB at first, ${last[$name]} kB later" small_growth "$name"
  check "$name: temporary files" tidy "$name"
  echo "$name: at most ${first[$name]} kB in the first third, ${last[$name]} kB later; ${most_fds[$name]} descriptors"
done
if [[ -n ${pid[again]-} ]]; then wait "${pid[again]}" && cat again.out; fi
echo "$seconds seconds, ${#pid[@]} processes"
finish
