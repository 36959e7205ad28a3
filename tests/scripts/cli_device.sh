#!/usr/bin/env bash
# --device: none there, and an emulated one as module `gpu`: reproduce, evaluate, info; lost half-way,
# taken up again on another device, and with little memory.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
input=3 system=5
mkdir bin # where no module lies beside the program
cp "$HVI" bin/hvi
HVI=$scratch/bin/hvi
unset HVI_MODULE_PATH

cat >study.yaml <<'END'
id: small
title: t
kind: value
quick: {iterations: 15, instances: 3, batch: 20, measures: 3}
value:
  environments: [{environment: lqr, policy: default, testset: nowhere, stand_in: {states: 30, rollouts: 3, horizon: 50}}]
  hidden: [8]
  gamma: 0.9
  checkpoint: 0
methods:
  - {label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}
  - {label: Surr 10, method: adamw, inner: 10, inner_lr: 0.01}
END
evaluate=(evaluate lqr --policy default --steps 6 --batch 50 --test-states 10 --hidden 8 --checkpoint-every 2)

# none: an error where one is asked for, and a line where it would have been welcome
refused $input 'no libhvi_gpu.so in .*HVI_MODULE_PATH' reproduce study.yaml --device gpu
refused $input 'no libhvi_gpu.so in .*HVI_MODULE_PATH' "${evaluate[@]}" --device gpu
refused 2 '--device: must be .*auto' reproduce study.yaml --device tpu
expect 0 reproduce study.yaml --out cpu
! grep -q device err || fail "the CPU is the default, and nothing to talk about"
expect 0 reproduce study.yaml --out auto --device auto
said err '^hvi: --device auto is the CPU: no libhvi_gpu.so in '
expect 0 reproduce pennies --device auto --out pennies.d
said err '^hvi: --device auto is the CPU: no network learns in these experiments$'
expect 0 "${evaluate[@]}" --device auto
said err '^hvi: --device auto is the CPU: no libhvi_gpu.so in '
expect 0 info
said out '^gpu +no libhvi_gpu.so in '
expect 0 info --json
[[ $(member modules 1 available) == false ]] || fail "info --json: a device where there is none"

export HVI_MODULE_PATH=$HVI_BUILD_DIR/tests/emulated
expect 0 info
said out '^gpu +emulated.* driver .* level emulated'
expect 0 info --json
[[ $(member modules 1 level) == emulated* ]] || fail "info --json: no level of the device"

# one that is there
for how in gpu auto; do
  expect 0 reproduce study.yaml --out $how --device $how --force
  said err '^hvi: networks learn on '
  said err '^hvi: small: device busy [0-9.]+ s of [0-9.]+ s; a learner waited [0-9.]+ s for data: .* was the bottleneck$'
done
grep -q '"level": "[a-z0-9]*+emulated[^+]*"' gpu/small/claims.json || fail "claims.json does not name the device"

# the rows without clocks
bits() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) clock[i] = $i ~ /^seconds/ }
    { for (i = 1; i <= NF; i++) if (!clock[i]) printf "%s,", $i; print "" }' "$1"
}
bits gpu/small/runs.csv >one
bits auto/small/runs.csv >two
cmp -s one two || fail "two runs on a device differ"
bits cpu/small/runs.csv >two
! cmp -s one two || fail "the emulated device has the bits of the processor"

# parts: merged where no device is, and with other instructions, to the bits of one run
for k in 1 2; do expect 0 reproduce study.yaml --out parts --device gpu --part $k/2 -q; done
md5sum parts.part-*/small/cells.partial >parts.md5
for level in $(if [[ $("$HVI" info) == *avx* ]]; then echo avx2; fi) baseline; do
  HVI_MODULE_PATH=$scratch/none HVI_CPU_LEVEL=$level expect 0 merge parts.part-* --out merged.$level
  ! grep -q 'networks learn\|test set' err || fail "a merge of parts of a device computes"
  bits merged.$level/small/runs.csv >two
  cmp -s one two || fail "parts of a device, merged without it: other bits"
  [[ $(grep '"level"' merged.$level/small/claims.json) == $(grep '"level"' gpu/small/claims.json) ]] || fail "merged: another level"
done
md5sum --quiet -c parts.md5 || fail "a merge alters its parts"
expect 0 reproduce study.yaml --out merged.baseline --device gpu --resume -q
# of several levels: by name, or accepted and named
expect 0 reproduce study.yaml --out here --part 2/2 -q
refused $input "'here.part-2-of-2' is .*level [a-zA-Z0-9-]*, and 'parts.part-1-of-2' .*emulated: --accept-other-bits" \
  merge parts.part-1-of-2 here.part-2-of-2
expect 0 merge parts.part-1-of-2 here.part-2-of-2 --accept-other-bits --out both
grep -q '"level": ".*+emulated+mixed"' both/small/claims.json || fail "merged: claims.json does not name both"
# what is missing is not computed
export HVI_MODULE_PATH=$scratch/none
cp -r parts.part-2-of-2 hurt
truncate -s -8 hurt/small/cells.partial
refused $input "^hvi: small: the cell '.*' is in no part" merge parts.part-1-of-2 hurt --out hurt.whole -q
: >hurt/small/cells.partial
refused $input "^hvi: 'hurt/small/cells.partial' is damaged" merge hurt parts.part-1-of-2 --out hurt.whole -q
rm hurt/testsets/*
refused $system "^hvi: cannot .* 'hurt/testsets/" merge hurt parts.part-1-of-2 --out hurt.whole -q
export HVI_MODULE_PATH=$HVI_BUILD_DIR/tests/emulated

# room for two of six cells, then for none
HVI_EMULATED_MEMORY=6000 expect 0 reproduce study.yaml --out little --device gpu
bits little/small/runs.csv >two
cmp -s one two || fail "with little memory the device has other bits"
for how in gpu auto; do
  HVI_EMULATED_MEMORY=1500 expect $system reproduce study.yaml --out none --device $how -q
  [[ $(wc -l <err) == 1 ]] || fail "not one line about a device without room"
  said err '^hvi: the emulated device has no memory for .*, with no other network there; .*--device cpu --accept-other-bits$'
done
expect 0 reproduce study.yaml --out none --resume --device cpu --accept-other-bits
bits cpu/small/runs.csv >three
bits none/small/runs.csv >two
cmp -s two three || fail "after a device without room the processor has other bits"

# lost half-way: a line with how to go on
HVI_EMULATED_FAILS=40 expect $system reproduce study.yaml --out lost --device gpu -q
[[ $(wc -l <err) == 1 ]] || fail "not one line about a device that is lost"
said err '^hvi: the emulated device is lost; .*--resume goes on .*--device cpu --accept-other-bits$'
[[ ! -e lost/small/claims.json ]] || fail "claims of a device that is lost"
compgen -G 'lost/small/checkpoints/*.checkpoint' >/dev/null || fail "no checkpoint to go on from"
cp -r lost other
expect 0 reproduce study.yaml --out lost --device gpu --resume
bits lost/small/runs.csv >two
cmp -s one two || fail "taken up again on the device it has other bits"
refused $input 'emulated.*--device says.*--accept-other-bits' reproduce study.yaml --out other --resume -q
expect 0 reproduce study.yaml --out other --resume --device cpu --accept-other-bits
grep -q '"level": ".*emulated.*+mixed"' other/small/claims.json || fail "claims.json does not name both"

# and begun on the processor
expect 0 reproduce study.yaml --out begun
rm begun/small/claims.json
refused $input '--device says.*--accept-other-bits' reproduce study.yaml --out begun --resume --device gpu -q
expect 0 reproduce study.yaml --out begun --resume --device gpu --accept-other-bits
grep -q '"level": ".*emulated.*+mixed"' begun/small/claims.json || fail "claims.json does not name both"

# the same for one network
expect 0 "${evaluate[@]}" --out whole --device gpu
HVI_EMULATED_FAILS=20 expect $system "${evaluate[@]}" --out broken --device gpu
said err '^hvi: the emulated device is lost; .*--resume goes on '
expect 0 "${evaluate[@]}" --out broken --device gpu --resume
bits whole.csv >one
bits broken.csv >two
cmp -s one two || fail "evaluate, taken up again: other bits"
refused $input 'emulated.*--device says.*--accept-other-bits' "${evaluate[@]}" --out broken --resume -q
expect 0 "${evaluate[@]}" --steps 8 --out broken --resume --accept-other-bits
grep -aq 'emulated+mixed' broken.checkpoint || fail "evaluate, from the device to the processor: both are not named"
expect 0 "${evaluate[@]}" --steps 4 --out here
refused $input '--device says.*--accept-other-bits' "${evaluate[@]}" --out here --resume --device gpu -q
expect 0 "${evaluate[@]}" --out here --resume --device gpu --accept-other-bits
grep -aq 'emulated+mixed' here.checkpoint || fail "evaluate, from the processor to the device: both are not named"

# no room for it
HVI_EMULATED_MEMORY=1500 expect $system "${evaluate[@]}" --out tight --device gpu -q
[[ $(wc -l <err) == 1 ]] || fail "evaluate: not one line about a device without room"
said err '^hvi: the emulated device has no memory for .*, with no other network there; .*--device cpu'
HVI_EMULATED_MEMORY=1500 expect 0 "${evaluate[@]}" --out tight --device auto --fresh
said err '^hvi: --device auto is the CPU: the emulated device has no memory for .*, with no other network there$'
! grep -aq emulated tight.checkpoint || fail "evaluate: a device without room is named"
expect 0 "${evaluate[@]}" --out second --device gpu --method lm
said err '^hvi: this network, or this method, stays on the CPU$'

# a trainer: on a device, from run to run, taken up again, lost, and from one to the other
train=(policy train pendulum --steps 450 --start 20 --batch 16 --hidden 8,8 --checkpoint-every 50 --delay 3)
expect 0 "${train[@]}" --out pc.safetensors
expect 0 "${train[@]}" --out p1.safetensors --device gpu
said err '^hvi: networks learn on emulated$'
expect 0 "${train[@]}" --out p2.safetensors --device gpu
cmp -s p1.safetensors p2.safetensors || fail "two trainings on a device differ"
cmp -s p1.safetensors.checkpoint p2.safetensors.checkpoint || fail "two trainings on a device: checkpoints differ"
! cmp -s p1.csv pc.csv || fail "the emulated device trains with the bits of the processor"
grep -aq 'level [a-z0-9]*+emulated"' p1.safetensors.checkpoint || fail "the checkpoint does not name the device"
expect 0 "${train[@]}" --out p3.safetensors --device gpu --steps 230
expect 0 "${train[@]}" --out p3.safetensors --device gpu --resume
cmp -s p1.safetensors.checkpoint p3.safetensors.checkpoint || fail "a training taken up again: other bits"
HVI_EMULATED_FAILS=300 expect $system "${train[@]}" --out pl.safetensors --device gpu -q
[[ $(wc -l <err) == 1 ]] || fail "policy train: not one line about a device that is lost"
said err '^hvi: the emulated device is lost; .*--resume goes on .*--device cpu --accept-other-bits$'
cp pl.safetensors.checkpoint po.safetensors.checkpoint
cp pl.safetensors po.safetensors
cp pl.csv po.csv
expect 0 "${train[@]}" --out pl.safetensors --device gpu --resume
cmp -s p1.safetensors.checkpoint pl.safetensors.checkpoint || fail "a training after a lost device: other bits"
cmp -s p1.csv pl.csv || fail "the log of a training after a lost device: other bits"
refused $input 'emulated.*--device says.*--accept-other-bits' "${train[@]}" --out po.safetensors --resume -q
expect 0 "${train[@]}" --out po.safetensors --resume --accept-other-bits
grep -aq 'emulated+mixed' po.safetensors.checkpoint || fail "policy train, from the device to the processor: both are not named"
refused $input '--device says.*--accept-other-bits' "${train[@]}" --steps 470 --out pc.safetensors --resume --device gpu -q
expect 0 "${train[@]}" --steps 470 --out pc.safetensors --resume --device gpu --accept-other-bits
grep -aq 'emulated+mixed' pc.safetensors.checkpoint || fail "policy train, from the processor to the device: both are not named"
expect 0 "${train[@]}" --out pa.safetensors --device auto
said err '^hvi: --device auto is the CPU: these networks are too small for a GPU$'
big=("${train[@]}" --hidden 128,128 --batch 64 --steps 30)
HVI_EMULATED_MEMORY=5000 expect 0 "${big[@]}" --out pt.safetensors --device auto
said err '^hvi: --device auto is the CPU: the emulated device has no memory for a trainer$'
! grep -aq emulated pt.safetensors.checkpoint || fail "policy train: a device without room is named"
HVI_EMULATED_MEMORY=5000 expect $system "${big[@]}" --out pt.safetensors --fresh --device gpu -q
said err '^hvi: the emulated device has no memory for a trainer'
expect 0 "${big[@]}" --out pt.safetensors --fresh --device auto
said err '^hvi: networks learn on emulated$'
refused 2 '--device-precision' policy train pendulum --out x --device-precision fp16
