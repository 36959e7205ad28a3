#!/usr/bin/env bash
# hvi policy: training with checkpoints, scores, files that do not fit.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

train=(policy train pendulum --steps 1500 --start 300 --batch 32 --hidden 16,16 --seed 7
  --checkpoint-every 250)

# A run that is never stopped.
expect 0 "${train[@]}" --out whole.safetensors
said out '^pendulum: 1500 steps, 7 episodes'
[[ $(head -1 whole.csv) == step,episode,return,length,* ]] || fail "the log's header"
[[ $(wc -l <whole.csv) == 8 ]] || fail "one row per episode"
[[ $(sed -n 3p whole.csv | cut -d, -f1,2,4) == 400,2,200 ]] || fail "the log's second row"

# Killed at three moments, wherever that is, and resumed: the same bits.
for moment in 0.05 0.15 0.3; do
  "$HVI" "${train[@]}" --out killed.safetensors --resume -q >/dev/null 2>&1 &
  pid=$!
  sleep "$moment"
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
done
# a row that was cut short, as a crash may leave it
printf '12' >>killed.csv
expect 0 "${train[@]}" --out killed.safetensors --resume --jobs 1
for ending in safetensors csv safetensors.checkpoint; do
  cmp "whole.$ending" "killed.$ending" || fail "the resumed run's $ending is not the same"
done

# The log as JSON: a line an episode, there while the run lasts, cut back with the checkpoint.
for moment in 0.1 0.3; do
  "$HVI" "${train[@]}" --out lines.safetensors --log lines.jsonl --resume -q >/dev/null 2>&1 &
  pid=$!
  sleep "$moment"
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
done
printf '{"step": 12' >>lines.jsonl
expect 0 "${train[@]}" --out lines.safetensors --log lines.jsonl --resume -q
cmp whole.csv lines.csv || fail "rows beside a log of JSON"
[[ $(wc -l <lines.jsonl) == 7 ]] || fail "one line per episode"
while read -r line; do
  row=$(./json step <<<"$line"),$(./json episode <<<"$line"),
  grep -q "^$row" whole.csv || fail "no row $row"
done <lines.jsonl
cp whole.csv mine.jsonl
refused 5 "mine.jsonl' is there, and hvi did not make it" "${train[@]}" --out x.safetensors --log mine.jsonl

# Interrupted: a usable policy, exit code 130, and the run goes on. The signal may come before the
# program listens, or after the end.
"$HVI" "${train[@]}" --steps 200000 --out stopped.safetensors -q >out 2>err &
pid=$!
for _ in $(seq 200); do
  if [[ -s stopped.safetensors ]]; then break; fi
  sleep 0.05
done
kill -INT "$pid"
code=0
wait "$pid" || code=$?
[[ $code == 130 ]] || fail "interrupted training: exit code $code"
said err 'interrupted at step [0-9]+ of 200000; --resume'
expect 0 policy score pendulum --policy stopped.safetensors --episodes 2

# More steps than before.
expect 0 "${train[@]}" --steps 1000 --out longer.safetensors -q
expect 0 "${train[@]}" --out longer.safetensors --resume -q
cmp whole.safetensors longer.safetensors || fail "a continued run is not the same"

# A checkpoint is not overwritten by accident, nor continued with other settings.
refused 2 'whole.safetensors.checkpoint.*--resume.*--fresh' "${train[@]}" --out whole.safetensors
refused 2 'made with gamma 0.99, not 0.9' "${train[@]}" --gamma 0.9 --out whole.safetensors --resume
refused 2 'at step 1500 already' "${train[@]}" --steps 1400 --out whole.safetensors --resume
refused 2 'one or the other' "${train[@]}" --out whole.safetensors --resume --fresh
refused 2 'needs --out' "${train[@]}"
refused 2 'hidden' "${train[@]}" --hidden 16,x --out x.safetensors
refused 3 'range' policy train lqr --out x.safetensors
refused 3 "did you mean 'pendulum'" policy train pendulm --out x.safetensors
refused 5 'nowhere' "${train[@]}" --out nowhere/x.safetensors
head -c 20000 whole.safetensors.checkpoint >short.safetensors.checkpoint
refused 3 'short.safetensors.checkpoint' "${train[@]}" --out short.safetensors --resume
# What is refused damages nothing: a checkpoint under --fresh, a policy that was to go on without it.
cp whole.safetensors.checkpoint kept
refused 2 'hidden' "${train[@]}" --out whole.safetensors --fresh --hidden 0
refused 5 'nowhere' "${train[@]}" --out whole.safetensors --fresh --log nowhere/x.csv
cmp -s whole.safetensors.checkpoint kept || fail "a run that was refused took the checkpoint along"
cp whole.safetensors alone.safetensors
refused 2 'alone.safetensors. is there and its checkpoint is not' "${train[@]}" --out alone.safetensors --resume
cmp -s whole.safetensors alone.safetensors || fail "a policy without its checkpoint was replaced"
expect 0 "${train[@]}" --steps 100 --out alone.safetensors -q # a policy of hvi's
echo mine >foreign.safetensors
refused 5 "foreign.safetensors' is there, and hvi did not make it" "${train[@]}" --out foreign.safetensors
[[ ! -e foreign.csv && $(cat foreign.safetensors) == mine ]] || fail "what is refused leaves files"
expect 0 "${train[@]}" --steps 100 --out foreign.safetensors --force -q
cp whole.safetensors fig.safetensors
cp whole.csv fig.png
refused 5 "fig.png' is there, and hvi did not make it" "${train[@]}" --out fig.safetensors

# Two at once.
"$HVI" "${train[@]}" --steps 200000 --out busy.safetensors -q >/dev/null 2>&1 &
pid=$!
for _ in $(seq 200); do
  if [[ -s busy.safetensors ]]; then break; fi
  sleep 0.05
done
refused 5 'busy.safetensors.checkpoint. is in use: another run' "${train[@]}" --out busy.safetensors --resume -q --steps 200000
refused 5 'busy.csv. is in use: another run' "${train[@]}" --out other.safetensors --log busy.csv -q
[[ ! -e other.safetensors.checkpoint.lock ]] || fail "a run that was refused leaves its lock"
kill -INT "$pid"
wait "$pid" || true

# A full disk: one line, and the checkpoint that was there goes on.
expect 0 "${train[@]}" --steps 1000 --out full.safetensors -q
(
  trap '' XFSZ # what a full disk says, without the signal
  ulimit -f 30
  refused 5 'cannot write .full.safetensors' "${train[@]}" --out full.safetensors --resume -q
)
expect 0 "${train[@]}" --out full.safetensors --resume -q
cmp whole.safetensors full.safetensors || fail "after a full disk the bits are others"

expect 0 "${train[@]}" --out whole.safetensors --fresh -q

# Numbers that run away are an outcome of their own.
refused 4 'no longer finite at step' "${train[@]}" --critic-lr 1e30 --out x.safetensors

# Scores: the same for any number of threads, with an interval.
expect 0 policy score pendulum --policy whole.safetensors --episodes 5 --jobs 1 --json
cp out one
for jobs in 0 2 3; do
  expect 0 policy score pendulum --policy whole.safetensors --episodes 5 --jobs $jobs --json
  cmp one out || fail "the score depends on the number of threads"
done
[[ $(member episodes) == 5 && $(member mean_length) == 200 && $(member terminated) == 0 ]] ||
  fail "policy score --json"
[[ $(member half_width_95) != null ]] || fail "no interval"
expect 0 policy score pendulum --policy whole.safetensors --episodes 5 --deterministic --json
if cmp -s one out; then fail "the mean action gives the same returns as sampled ones"; fi
expect 0 policy score lqr --policy default --episodes 3
said out '^mean return +-'
said out '^range +-[0-9.]+ \.\. -[0-9.]+$'
said out '^length +1000 \(1000 \.\. 1000\)$'
refused 3 'takes 3 observations and gives 1 actions, but .lqr. has' policy score lqr --policy whole.safetensors
refused 3 "brings no policy" policy score pendulum --policy default
refused 5 'missing.safetensors' policy score pendulum --policy missing.safetensors
refused 2 'policy is missing' policy score pendulum
refused 2 "did you mean 'score'" policy scor

expect 0 policy info whole.safetensors
said out '^hidden +16 16$'
said out '^env +pendulum$'
expect 0 policy info whole.safetensors --json
[[ $(member notes seed) == 7 && $(member hidden 0) == 16 ]] || fail "policy info --json"
sed -e 's/hvi.checksum/HVI.checksum/' -e 's/"level"/"LEVEL"/' -e 's/"env":"pendulum"/"env":"\\u001b[m"/' whole.safetensors >loud.safetensors
expect 0 policy info loud.safetensors
said out '^env +\?\[m$'
head -c 300 whole.safetensors >cut.safetensors
refused 3 'cut.safetensors' policy info cut.safetensors
refused 3 'no policy' policy info whole.safetensors.checkpoint

# policies of others: what they are, their actions, and what does not fit
golden=$HVI_SOURCE_DIR/tests/golden/policies
expect 0 policy info "$golden/sb3-ppo.safetensors" --json
[[ $(member layout) == "Stable-Baselines3 PPO or A2C" && $(member not_used) == '[]' ]] || fail "info of another's policy"
expect 0 policy info "$golden/sequential.safetensors" --squash clip --policy-activation gelu
said out '^form +Sequential: gelu layers, deterministic, clipped to'
refused 3 'does not say how its actions are made' policy info "$golden/sequential.safetensors"
refused 2 "squash: must be" policy info "$golden/sequential.safetensors" --squash hard
refused 3 "takes 4 observations and gives 2 actions, but 'pendulum' has 3 and 1" policy score pendulum --policy "$golden/sb3-sac.safetensors"
# two observations of zeros
{
  printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
  head -c 48 /dev/zero
} >obs.npy
expect 0 policy act pendulum --policy whole.safetensors --obs obs.npy
[[ $(wc -l <out) == 2 && $(uniq out | wc -l) == 1 ]] || fail "actions: $(cat out)"
expect 0 policy act pendulum --policy whole.safetensors --obs obs.npy --out actions.npy
[[ $(stat -c %s actions.npy) == 144 ]] || fail "a file of two actions"
refused 5 'hvi did not make it' policy act pendulum --policy whole.safetensors --obs obs.npy --out obs.npy
refused 3 'should have rows of 4 numbers' policy act lqr --policy default --obs obs.npy
refused 2 'needs --policy FILE and --obs' policy act pendulum --obs obs.npy

for verb in train score info act; do
  expect 0 policy "$verb" --help
  said out "^usage: hvi policy $verb"
done
