#!/usr/bin/env bash
# What hvi keeps for itself and what it draws: damage, locks, links, modes, full disks, levels of
# instructions; and that the program ends.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

evaluate=(evaluate lqr --policy default --batch 50 --hidden 4 --inner 2 --test-states 5 -q)
train=(policy train pendulum --start 50 --batch 8 --hidden 4,4 -q)
collect=(data collect lqr --policy default -n 2000 -q)

# An address space in which threads of OpenBLAS would find no memory: it prints, and it ends. It has none of them,
# whatever the environment asks for.
for blas in '' 8; do
  for kilobytes in 90000 120000 180000 260000 400000; do
    code=0
    (export OPENBLAS_NUM_THREADS=$blas && ulimit -v $kilobytes && exec timeout -s KILL 60 "$HVI" --version) >out 2>err || code=$?
    [[ $code == 0 || -n ${HVI_SANITIZE-} ]] || fail "with $kilobytes KB it does not end well: $code"
  done
  OPENBLAS_NUM_THREADS=$blas "$HVI" solve quadratic --set n=40 --method lm --eta 1e-9 --iters 100000000 -q >/dev/null 2>&1 &
  pid=$!
  sleep 0.5
  threads=$(ls /proc/$pid/task | wc -l)
  kill -9 $pid
  wait $pid 2>/dev/null || true
  [[ $threads == 1 || -n ${HVI_SANITIZE-} ]] || fail "a solve on one thread has $threads"
done

# flip FILE AT [BIT]: changes a bit of a byte.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  printf "%b" "\\x$(printf %x $((byte ^ (1 << ${3:-0}))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# refuses_flips FILE PATTERN ARGUMENT...: a bit here and there, each refused by the file's name.
refuses_flips() {
  local file=$1 pattern=$2 size step
  shift 2
  cp "$file" good
  size=$(stat -c %s good)
  step=$((size / 23 + 1))
  for ((at = 0; at < size; at += step)); do
    flip "$file" "$at" $((at % 8))
    refused 3 "$pattern" "$@"
    cp good "$file"
  done
}

# Checkpoints: a changed bit, and the one before.
expect 0 "${evaluate[@]}" --steps 4 --out e
flip e-testset.safetensors "$(grep -abo 'test set' e-testset.safetensors | cut -d: -f1)" # in the mark of a file of hvi's
refused 3 "e-testset.safetensors'? is damaged" "${evaluate[@]}" --steps 6 --out e --resume
rm e-testset.safetensors
expect 0 "${evaluate[@]}" --steps 4 --out e --fresh
refuses_flips e.checkpoint "'e.checkpoint' is damaged" "${evaluate[@]}" --steps 6 --out e --resume
expect 0 "${evaluate[@]}" --steps 6 --checkpoint-every 2 --out straight
expect 0 "${evaluate[@]}" --steps 6 --out e --resume
cmp -s e.safetensors straight.safetensors || fail "a resumed evaluation has other bits"
flip e.checkpoint 3000
refused 3 "e.checkpoint' is damaged.*mv 'e.checkpoint.previous' 'e.checkpoint'" "${evaluate[@]}" --steps 6 --out e --resume
mv e.checkpoint.previous e.checkpoint
expect 0 "${evaluate[@]}" --steps 6 --out e --resume
cmp -s e.safetensors straight.safetensors || fail "the checkpoint before leads to other bits"

expect 0 "${train[@]}" --steps 300 --out p.safetensors
refuses_flips p.safetensors.checkpoint "'p.safetensors.checkpoint' is damaged" "${train[@]}" --steps 400 --out p.safetensors --resume
# Open files that hvi wrote are held to their checksum too.
expect 0 "${collect[@]}" --out rows
for file in p.safetensors:'policy info' rows:'data info' e-testset.safetensors:'data info'; do
  cp "${file%:*}" changed
  flip changed $(($(stat -c %s changed) - 5))
  read -ra verb <<<"${file#*:}"
  refused 3 "'changed' is damaged" "${verb[@]}" changed
done

# Partial files of roll-outs: a changed bit is refused by name, or computed again to the same bits.
big=(data collect lqr --policy default -n 200000 -q --out big)
expect 0 "${big[@]}"
mv big whole
"$HVI" "${big[@]}" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 2000); do
  if [[ $(stat -c %s big.partial 2>/dev/null || echo 0) -gt 300000 ]]; then break; fi
done
kill -9 $pid 2>/dev/null || true # a fast machine may have come to the end
wait $pid 2>/dev/null || true
if [[ -e big.partial ]]; then
  cp big.partial good
  size=$(stat -c %s good)
  for ((at = 0; at < size; at += size / 11 + 1)); do
    cp good big.partial
    flip big.partial "$at" $((at % 8))
    code=0
    "$HVI" "${big[@]}" --resume >out 2>err || code=$?
    [[ $code == 3 ]] && grep -q "big.partial' is" err && continue
    [[ $code == 0 ]] && cmp -s big whole || fail "byte $at of big.partial: exit code $code"
  done
  rm -f big.partial
fi

# The cells of a study: a changed record is computed again, a changed head is refused, and changed
# claims are not believed.
expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out study -q
cp out table
cells=study/pennies/cells.partial
cp study/pennies/claims.json claims
sed -i 's/"seconds": [0-9.]*/"seconds": 0.25/' study/pennies/claims.json
refused 3 "claims.json' is damaged" reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out study --resume -q
sed 's/settings_hash/settings_hasi/' claims >study/pennies/claims.json # the mark of a file of hvi's
refused 3 "claims.json' is damaged" reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out study --resume -q
rm study/pennies/claims.json
flip $cells 40
refused 3 "cells.partial' is damaged at its beginning" reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out study --resume -q
flip $cells 40
cp $cells good
size=$(stat -c %s good)
for ((at = 200; at < size; at += size / 7)); do
  cp good $cells
  flip $cells "$at"
  rm -f study/pennies/claims.json
  expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out study --resume -q
  diff -q <(sed 's/, [0-9.]* s)$//' out) <(sed 's/, [0-9.]* s)$//' table) >/dev/null || fail "a changed cell changes the result"
done
grep -q '"level": "[a-z0-9]*"' study/pennies/claims.json || fail "claims.json does not name the level"

# Two runs on one name.
"$HVI" "${evaluate[@]}" --steps 1000000 --checkpoint-every 1000000 --out busy >/dev/null 2>&1 &
pid=$!
for _ in $(seq 200); do
  if [[ -e busy.checkpoint.lock && -s busy-testset.safetensors ]]; then break; fi
  sleep 0.05
done
refused 5 "'busy.checkpoint' is in use" "${evaluate[@]}" --steps 5 --out busy
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
expect 0 "${evaluate[@]}" --steps 5 --out busy
[[ ! -e busy.checkpoint.lock ]] || fail "a lock is left behind"

# Other people's files: never through a link, never replaced.
echo precious >precious
ln -s precious linked.partial
ln -s precious linked.checkpoint
ln -s precious l.safetensors.checkpoint
for rule in --fresh --resume; do
  refused 5 "linked.partial' is a symbolic link" "${collect[@]}" --out linked $rule
  refused 5 "l.safetensors.checkpoint' is a symbolic link" "${train[@]}" --steps 100 --out l.safetensors $rule
  refused 5 "linked.checkpoint' is a symbolic link" "${evaluate[@]}" --steps 2 --out linked $rule
done
cp precious mine.csv
cp precious mine.png
cp precious mine.partial
refused 5 "mine.csv' is there, and hvi did not make it" "${train[@]}" --steps 100 --out q.safetensors --log mine.csv
refused 5 "mine.csv' is there, and hvi did not make it" "${train[@]}" --steps 100 --out mine.safetensors --fresh
refused 5 "mine.csv' is there, and hvi did not make it" "${evaluate[@]}" --steps 2 --out mine --fresh
refused 3 "mine.partial' is there and is not the partial" "${collect[@]}" --out mine --fresh
rm mine.csv
refused 5 "mine.png' is there, and hvi did not make it" "${evaluate[@]}" --steps 2 --out mine --fresh
[[ ! -e mine.safetensors && ! -e mine.csv ]] || fail "an evaluation begins although its picture is refused"
for file in precious mine.png mine.partial; do
  [[ $(cat "$file") == precious ]] || fail "$file was changed"
done

# --fresh: what was there stays until there is a new one.
cp p.safetensors.checkpoint before
cp p.csv rows-before
(
  trap '' XFSZ
  ulimit -f 8
  refused 5 'cannot write' "${train[@]}" --steps 300 --seed 9 --out p.safetensors --fresh
)
cmp -s p.safetensors.checkpoint before || fail "--fresh removes a checkpoint before there is another"
cmp -s p.csv.previous rows-before || fail "--fresh loses the log"
chmod 600 p.safetensors p.safetensors.checkpoint
expect 0 "${train[@]}" --steps 300 --seed 9 --out p.safetensors --fresh
cmp -s p.safetensors.checkpoint.previous before || fail "the checkpoint before is not kept"
for file in p.safetensors p.safetensors.checkpoint; do
  [[ $(stat -c %a $file) == 600 ]] || fail "$file has another mode"
done
# every file that is replaced, set aside or drawn anew
private() {
  rm -rf private.d
  mkdir private.d
  for _ in 1 2; do
    find private.d -type f -exec chmod 600 {} +
    rm -f private.d/*.previous
    for line in "$@"; do
      read -ra command <<<"$line"
      expect 0 "${command[@]}"
    done
  done
  [[ -z $(find private.d -type f ! -perm 600) ]] || fail "other modes: $(find private.d -type f ! -perm 600)"
}
private "${train[*]} --steps 300 --fresh --out private.d/p" "${evaluate[*]} --steps 2 --fresh --out private.d/e" \
  "${collect[*]} --out private.d/d" "reproduce $HVI_SOURCE_DIR/tests/data/pennies.yaml -q --out private.d/o" \
  "solve pennies -q --fresh --checkpoint private.d/c --trace private.d/t.csv --plot private.d/s.png --save private.d/s.npy"

# Threads beyond what a machine can use take no memory.
([[ -n ${HVI_SANITIZE-} ]] || ulimit -v 1000000
  expect 0 evaluate lqr --policy default --batch 5000 --hidden 64,64 --inner 2 --test-states 50 --steps 5 -q --out wide --jobs 1000)

# Levels of instructions, and the kernels of BLAS that belong to them.
HVI_CPU_LEVEL=sse9 refused 2 "HVI_CPU_LEVEL is .*not 'sse9'" list
if HVI_CPU_LEVEL=avx2 "$HVI" --version >/dev/null 2>&1; then
  HVI_CPU_LEVEL=baseline expect 0 "${evaluate[@]}" --steps 3 --out level-v
  HVI_CPU_LEVEL=baseline expect 0 "${train[@]}" --steps 100 --out level-policy.safetensors --log level-log.csv --fresh
  HVI_CPU_LEVEL=avx2
  export HVI_CPU_LEVEL
  refused 3 'baseline instructions.*--accept-other-bits' "${evaluate[@]}" --steps 5 --out level-v --resume
  expect 0 "${evaluate[@]}" --steps 5 --out level-v --resume --accept-other-bits --json
  [[ $(member level) == baseline+avx2 ]] || fail "the result does not name both levels"
  refused 3 'baseline instructions.*--accept-other-bits' "${train[@]}" --steps 200 --out level-policy.safetensors --log level-log.csv --resume
  expect 0 "${train[@]}" --steps 200 --out level-policy.safetensors --log level-log.csv --resume --accept-other-bits
  expect 0 policy info level-policy.safetensors --json
  [[ $(member notes level) == baseline+avx2 ]] || fail "the policy does not name both levels"
  unset HVI_CPU_LEVEL
  HVI_CPU_LEVEL=baseline expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out level.d -q
  refused 3 'baseline instructions.*--accept-other-bits' reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out level.d --resume -q
  rm level.d/pennies/claims.json
  refused 3 'baseline instructions.*--accept-other-bits' reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out level.d --resume -q
  expect 0 reproduce "$HVI_SOURCE_DIR/tests/data/pennies.yaml" --out level.d --resume --accept-other-bits -q
  grep -q '"level": "baseline+avx' level.d/pennies/claims.json || fail "the claims do not name both levels"
  HVI_CPU_LEVEL=avx2 expect 0 "${evaluate[@]}" --steps 3 --out blas-v
  HVI_CPU_LEVEL=avx2 OPENBLAS_CORETYPE=Haswell expect 0 "${evaluate[@]}" --steps 4 --out blas-v --resume
  HVI_CPU_LEVEL=avx2 OPENBLAS_CORETYPE=Prescott refused 3 'with avx2 instructions, not with avx2-Prescott' \
    "${evaluate[@]}" --steps 5 --out blas-v --resume
fi

# Pictures that are cut short, or missing: status 5, the result is printed, the old picture stays.
cp e.png picture
mkdir bin
real=$(command -v gnuplot)
printf '#!/bin/sh\n"%s" "$@" && for f in .hvi-drawing*.png; do head -c 500 "$f" >cut && mv cut "$f"; done\n' "$real" >bin/gnuplot
chmod +x bin/gnuplot
PATH=$PWD/bin:$PATH expect 5 "${evaluate[@]}" --steps 7 --out e --resume
said err "cannot write '.*e.png': the picture is cut short"
said out 'error'
cmp -s e.png picture || fail "a picture that is cut short replaces a whole one"
printf '#!/bin/sh\nexit 0\n' >bin/gnuplot
PATH=$PWD/bin:$PATH expect 5 "${evaluate[@]}" --steps 8 --out e --resume
said err 'the picture is missing'
printf '#!/bin/sh\nexit 3\n' >bin/gnuplot
PATH=$PWD/bin:$PATH expect 5 "${evaluate[@]}" --steps 9 --out e --resume
said err 'gnuplot ended with status 3'

# A disk that is full: every size leaves whole files or none, and says so.
mkdir disk
if mount -t tmpfs -o size=256k none disk 2>/dev/null; then
  trap 'umount "$scratch/disk"; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
  for kilobytes in 230 180 130 80; do
    rm -rf disk/*
    head -c ${kilobytes}K /dev/zero >disk/filler
    code=0
    "$HVI" "${evaluate[@]}" --steps 3 --out disk/v >out 2>err || code=$?
    [[ $code == 0 || $code == 5 ]] || fail "a full disk: exit code $code"
    [[ $code == 0 || -s err ]] || fail "a full disk without a word"
    for picture in disk/*.png; do
      [[ ! -e $picture ]] || tail -c 8 "$picture" | grep -q IEND || fail "$picture is cut short, exit code $code"
    done
    ! compgen -G 'disk/.hvi-drawing*' >/dev/null || fail "a drawing is left on a full disk"
    [[ $code == 5 || -s disk/v-calibration.svg ]] || fail "no picture, and exit code 0"
    rm -rf disk/v*
    code=0
    "$HVI" solve pennies -q --plot disk/v.png >out 2>err || code=$?
    [[ $code == 5 && -s err ]] || { [[ $code == 0 ]] && tail -c 8 disk/v.png | grep -q IEND; } || fail "--plot on a full disk: exit code $code"
  done
fi
