#!/usr/bin/env bash
# hvi evaluate: the value of lqr's policy, files, interruptions at any moment, bad input.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

small=(--batch 100 --hidden 16,16 --inner 5 --test-states 20 --checkpoint-every 3)
run=(evaluate lqr --policy default "${small[@]}")

# everything but the clocks
untimed() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) clock[i] = $i ~ /^seconds/ }
    { line = ""; for (i = 1; i <= NF; i++) if (!clock[i]) line = line "," $i; print line }' "$1"
}

# files and figures
expect 0 "${run[@]}" --steps 20 --out one --json
[[ $(member environment) == lqr && $(member status) == limit && $(member outer) == 20 ]] || fail "status"
[[ $(member inner) == 100 && $(member counts env_steps) == 2000 ]] || fail "counts"
[[ $(member score states) == 20 && $(member closed_form noise) == 0 ]] || fail "scores"
[[ $(member bellman transitions) == 100 && $(member settings inner_lr) != null ]] || fail "gap, settings"
[[ $(member settings keep_state) == true ]] || fail "the state is not kept"
for file in one.safetensors one.csv one.checkpoint one.gp one-calibration.csv one-calibration.gp \
  one-testset.safetensors; do
  [[ -s $file ]] || fail "$file is missing"
done
[[ $(head -1 one.csv) == outer,inner,loss0,*,seconds_measure,noise ]] || fail "the trace's header"
[[ $(tail -1 one.csv | cut -d, -f1) == 20 ]] || fail "the trace's last row"
error=$(member score error)
near "$error" "$(tail -1 one.csv | cut -d, -f7)" 1e-12
[[ -z $(find . -name '*.tmp*' -o -name '*.partial') ]] || fail "something is left behind"
expect 0 "${run[@]}" --steps 20 --out two --jobs 2
said out '^error +[0-9.e-]+, 95 %: [0-9.e-]+ to [0-9.e-]+ \(mean squared, [0-9]+ states of [0-9]+ episodes\)$'
said out '^Bellman gap '
said out '^closed form '
cmp -s one.safetensors two.safetensors || fail "two threads give another network"
diff <(untimed one.csv) <(untimed two.csv) >/dev/null || fail "two threads give another trace"

# replay: taken up again, the same bits
expect 0 "${run[@]}" --steps 12 --out again --replay 150
expect 0 "${run[@]}" --steps 5 --out parts --replay 150
expect 0 "${run[@]}" --steps 12 --out parts --replay 150 --resume
cmp -s again.safetensors parts.safetensors || fail "a run with replay that was taken up again"
refused 2 'replay goes with an environment' evaluate --data x.safetensors --replay 5

# a flag that is set by default
expect 0 "${run[@]}" --steps 2 --out reset --no-keep-state --json
[[ $(member settings keep_state) == false ]] || fail "--no-keep-state"
refused 2 '\-\-no-keep-state takes no value' "${run[@]}" --no-keep-state=1
refused 2 'has no option --no-batch' "${run[@]}" --no-batch

# presets and rules are what they are: no mean over the steps
expect 0 "${run[@]:0:4}" --batch 50 --hidden 4 --test-states 0 --steps 2 --method td-target --out rule --json
[[ $(member settings polyak) == 0 ]] || fail "a rule that is averaged"

# a checkpoint is not run over, a finished run goes on, another setting is refused
refused 2 "'one.checkpoint' is there" "${run[@]}" --steps 20 --out one
refused 3 "made with 'inner 5', not 'inner 6'" "${run[@]}" --steps 30 --out one --resume --inner 6 -q
refused 3 'at step 20 already, beyond the 10' "${run[@]}" --steps 10 --out one --resume -q
expect 0 "${run[@]}" --steps 30 --out one --resume
expect 0 "${run[@]}" --steps 30 --out two --fresh
cmp -s one.safetensors two.safetensors || fail "a run that went on gives another network"
diff <(untimed one.csv) <(untimed two.csv) >/dev/null || fail "a run that went on gives another trace"

# killed at any moment, again and again
long=("${run[@]}" --steps 400 -q)
expect 0 "${long[@]}" --out whole
kills=0
for pause in 0.1 0.3 0.2 0.5 0.15 0.4; do
  "$HVI" "${long[@]}" --out cut --resume >/dev/null 2>&1 &
  pid=$!
  sleep $pause
  kill -9 $pid 2>/dev/null || true
  code=0
  wait $pid 2>/dev/null || code=$?
  if [[ $code == 137 ]]; then kills=$((kills + 1)); fi
done
[[ $kills -ge 1 ]] || fail "no run was killed in time"
expect 0 "${long[@]}" --out cut --resume
cmp -s whole.safetensors cut.safetensors || fail "after kill -9 the network is another"
diff <(untimed whole.csv) <(untimed cut.csv) >/dev/null || fail "after kill -9 the trace is another"

# Ctrl-C leaves a network, a trace and a checkpoint
"$HVI" "${run[@]}" --steps 20000 --out stopped >out 2>err &
pid=$!
for _ in $(seq 200); do
  [[ -e stopped.checkpoint ]] && break
  sleep 0.1
done
kill -INT $pid
code=0
wait $pid || code=$?
[[ $code == 130 ]] || fail "interrupted: exit code $code"
said out '^error '
said err 'interrupted at step [0-9]+ of 20000; --resume'
[[ -s stopped.safetensors && -s stopped.csv ]] || fail "an interrupted run leaves no network"

# a run that diverges tells how it went
expect 4 "${run[@]}" --steps 20 --out wild --method gd --inner-lr 1e30 --json
[[ $(member status) == diverged && $(member score) == null && -s wild.csv && ! -e wild.safetensors ]] || fail "divergence"

# from a file
expect 0 data collect lqr --policy default --transitions 500 --out data.safetensors
expect 0 testset lqr --policy default --states 20 --rollouts 3 --horizon 50 --gamma .9 --out set.safetensors
offline=(evaluate --data data.safetensors --hidden 8 --steps 10)
expect 0 "${offline[@]}" --inner 5 --batch 50 --testset set.safetensors --out off --json
near "$(member gamma)" 0.9 1e-15
[[ $(member environment) == null && $(member closed_form) == null ]] || fail "offline"
expect 0 "${offline[@]}" --batch 0 --gap --out all --method td-target --json
[[ $(member bellman transitions) == 500 && $(member score) == null ]] || fail "the gap on all data"
[[ $(tail -1 all.csv | cut -d, -f16) != "" ]] || fail "no gap in the trace"
said err '^Bellman gap: 3 times 500 steps of AdamW on 500 rows, about .* times the work of the solve'
said err ' gap collect s'
expect 0 "${offline[@]}" --batch 0 --gap --gap-rows 100 --gap-per-decade 0 --gap-steps 20 --out first --inner 2 --json
[[ $(member bellman transitions) == 100 && $(grep -c '^[0-9]*,\([^,]*,\)\{14\}[0-9]' first.csv) == 9 ]] || fail "gaps of some rows"
expect 0 "${offline[@]}" --inner 5 --double-sampling 3 --batch 50 --out double --json

# targets that look further ahead
[[ $(member settings lambda) == 0 ]] || fail "lambda of a file"
expect 0 "${offline[@]}" --inner 5 --batch 0 --lambda .9 --out ahead --json
near "$(member settings lambda)" 0.9 1e-15
expect 0 "${run[@]}" --steps 3 --out ahead-too --lambda-decay 1 --json
near "$(member settings lambda)" 0.98 1e-15
[[ $(member settings lambda_decay) == 1 ]] || fail "the decay of lambda"
refused 3 "not 'lambda 0.5'" "${run[@]}" --steps 5 --out ahead-too --lambda-decay 1 --lambda .5 --resume -q
refused 2 'lambda: must be a number' "${run[@]}" --lambda 1.1 --out x
refused 2 'lambda-decay: must be a number' "${run[@]}" --lambda-decay -1 --out x
refused 2 'lambda goes with an optimizer' "${run[@]}" --lambda .5 --returns --out x
refused 2 'lambda goes with an optimizer' evaluate lqr --policy default --lambda .5 --method tdc --out x
refused 2 'lambda_decay goes with' "${run[@]}" --lambda 0 --lambda-decay 1 --out x
refused 2 'rows at random' "${offline[@]}" --inner 5 --batch 50 --lambda .5 --out x

# regression on returns, from an environment and from a file
returns=("${run[@]}" --steps 12 --returns --gamma .8)
expect 0 "${returns[@]}" --out regression --json
[[ $(member settings returns) == true && $(member settings accelerate) == none ]] || fail "returns"
expect 0 evaluate lqr --policy default --returns --steps 8 --batch 200 --hidden 4 --inner 2 --test-states 0 --out cut-off --json
[[ $(member bellman transitions) == 200 ]] || fail "the Bellman gap of a regression"
expect 0 "${returns[@]}" --steps 12 --out regression --resume
refused 3 "made with 'steps 12', not 'steps 13'" "${returns[@]}" --steps 13 --out regression --resume -q
expect 0 "${offline[@]}" --inner 5 --batch 50 --gamma .9 --returns --out monte-carlo
refused 2 'returns goes with an optimizer' "${returns[@]}" --accelerate mode --out x
refused 2 'returns goes with an optimizer' evaluate lqr --policy default --returns --method tdc --out x

# transitions FILE NAME:TYPE:SHAPE:BYTES...: a .safetensors file of zeros
transitions() {
  local file=$1 header= at=0 item
  shift
  for item; do
    local name type shape size
    IFS=: read -r name type shape size <<<"$item"
    header+="${header:+,}\"$name\":{\"dtype\":\"$type\",\"shape\":[$shape],\"data_offsets\":[$at,$((at + size))]}"
    at=$((at + size))
  done
  header="{$header}"
  while ((${#header} % 8)); do header+=' '; done
  {
    printf '%b' "$(printf '\\x%02x' $((${#header} & 255)) $((${#header} >> 8)) 0 0 0 0 0 0)"
    printf '%s' "$header"
    head -c "$at" /dev/zero
  } >"$file"
}
obs=obs:F32:10,2:80 action=action:F32:10,1:40 reward=reward:F32:10:40 next=next_obs:F32:10,2:80
ends=terminated:BOOL:10:10 cuts=truncated:BOOL:10:10
mine=(evaluate --hidden 4 --steps 2 --batch 5 --out x --data)

# arrays of NumPy: names of D4RL, texts and objects beside them, a folder, a map, test sets without a simulator
golden=$HVI_SOURCE_DIR/tests/golden/arrays
small=(--hidden 4 --steps 3 --batch 50 --inner 2)
expect 0 evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset "$golden/truth.npz" --out npz --json
said err "no 'next_obs'"
near "$(member gamma)" 0.9 1e-15
[[ $(member score states) == 20 && $(member score too_noisy) == true ]] || fail "a test set of obs and value"
near "$(member score noise_share)" 0.6303259425693 1e-9 # numpy: 0.81 / value.var(ddof=1)
expect 0 evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset "$golden/truth.npz" --out loud
said out '^too noisy .*Monte-Carlo noise'
refused 2 "does not say for which discount" evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset "$golden/plain.npz" --out x -q
expect 0 evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset "$golden/plain.npz" --gamma .9 --standard-error .5 --out se --json
near "$(member score noise)" 0.25 1e-12

# episodes and classes of one's own: of four states the first is of another class, in an episode of its own
zero='\0\0\0\0\0\0\0\0' one='\0\0\0\0\0\0\xf0\x3f'
mkdir grouped
{ npy 4,3 && printf "$zero$one$zero$zero$one$one$one$zero$one$zero$one$zero"; } >grouped/obs.npy
for name in value episode class; do { npy 4, && printf "$one$zero$zero$zero"; } >grouped/$name.npy; done
grouped=(evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset grouped --gamma .9)
expect 0 "${grouped[@]}" --out apart --json
[[ $(member score episodes) == 2 && $(member score class_rare) == 1 && $(member score states_rare) == 1 ]] ||
  fail "episodes or classes"
whole=$(member score error) usual=$(member score error_usual) rare=$(member score error_rare)
near "$whole" "$(awk "BEGIN { print 0.75 * $usual + 0.25 * $rare }")" 1e-5
for pair in error_low:$usual:$rare error_high:$rare:$usual; do
  IFS=: read -r name this other <<<"$pair" # of two episodes, a sample may have one alone
  bound=$(awk "BEGIN { min = $this < $other ? $this : $other; max = $this < $other ? $other : $this; print \"$name\" ~ /low/ ? min : max }")
  near "$(member score $name)" "$bound" 1e-5
done
[[ $(head -1 apart.csv) == *,error_low,error_high,error_usual,error_rare,gap,* ]] || fail "columns of the trace"
expect 0 "${grouped[@]}" --out words
said out '^error .*\(mean squared, 4 states of 2 episodes\)$'
said out '^  0 +[0-9.e-]+ in 3 states '
said out '^  1 +[0-9.e-]+ in 1 states '
expect 0 data info grouped --json
[[ $(member classes 0 count) == 3 && $(member classes 1 episodes) == 1 ]] || fail "data info: classes"
refused 2 'has standard errors of its own' evaluate --data "$golden/d4rl.npz" "${small[@]}" --testset "$golden/truth.npz" --standard-error 1 --out x -q
refused 2 'goes with --testset' evaluate --data "$golden/d4rl.npz" --standard-error 1 --out x
refused 2 'goes with --testset' evaluate --data "$golden/d4rl.npz" --testset-map value=x --out x
refused 3 "no tensor 'x', which is to be 'value'" evaluate --data "$golden/d4rl.npz" --testset "$golden/truth.npz" --testset-map value=x --out x -q
refused 2 'goes with --data' "${run[@]}" --map obs=x --out x
refused 2 'should be COLUMN=NAME' evaluate --data "$golden/d4rl.npz" --map states=x --out x
refused 2 'should be COLUMN=NAME' evaluate --data "$golden/d4rl.npz" --map obs --out x
refused 3 "no tensor 'x', which is to be 'obs'" evaluate --data "$golden/d4rl.npz" --map obs=x --out x
refused 3 "lambda targets need 'truncated'" evaluate --data "$golden/cut.npz" --map next_obs=after --batch 0 --lambda .5 --out x -q
refused 3 "'obs' is an array of type '|O'" evaluate --data "$golden/objects.npz" --out x
mkdir folder empty
refused 3 'folder without .npy' evaluate --data empty --out x
printf nonsense >folder/obs.npy
refused 3 "'obs.npy' is not a .npy file" evaluate --data folder --out x
printf 'PK\3\4nonsense' >broken.npz
refused 3 'no .npz file that can be read' evaluate --data broken.npz --out x
expect 0 data info "$golden/d4rl.npz" --json
[[ $(member transitions) == 118 && $(member remarks) == *"terminated is 'terminals'"* ]] || fail "info of an archive"

# a log, which a resumed run goes on with
expect 0 "${run[@]}" --steps 4 --out logged --log logged.jsonl
expect 0 "${run[@]}" --steps 7 --out logged --log logged.jsonl --resume
[[ $(wc -l <logged.jsonl) == 8 && $(tail -1 logged.jsonl) == '{"outer": 7, '*'"error": '[0-9]* ]] || fail "the log"
echo mine >mine.jsonl
refused 5 'hvi did not make it' "${run[@]}" --steps 4 --out logged --fresh --log mine.jsonl
expect 0 "${run[@]}" --steps 4 --out logged --fresh --log mine.jsonl --force
echo mine >taken.safetensors
refused 5 'hvi did not make it' "${run[@]}" --steps 4 --out taken
for picture in drawn.png drawn-calibration.svg; do
  echo mine >$picture
  refused 5 "$picture' is there, and hvi did not make it" "${run[@]}" --steps 4 --out drawn
  [[ $(<$picture) == mine && ! -e drawn.checkpoint ]] || fail "$picture was replaced"
  rm $picture
done

# data of one's own, good and bad
transitions good "$obs" "$action" "$reward" "$next" "$ends" "$cuts"
expect 0 evaluate --hidden 4 --steps 2 --batch 5 --out own --data good
transitions bad "$obs" "$action" "$reward" "$next" "$cuts"
refused 3 "no tensor 'terminated'" "${mine[@]}" bad
transitions bad "$obs" "$action" reward:F32:9:36 "$next" "$ends" "$cuts"
refused 3 "'reward' has 9 rows, should have 10" "${mine[@]}" bad
transitions bad "$obs" "$action" "$reward" next_obs:F32:10,3:120 "$ends" "$cuts"
refused 3 "'next_obs' has 3 columns, should have 2" "${mine[@]}" bad
transitions bad "$reward" "$obs" "$action" "$next" "$ends" "$cuts"
header=$(($(stat -c %s bad) - 260))
printf '\0\0\xc0\x7f' | dd of=bad bs=1 seek=$((header + 12)) conv=notrunc status=none
refused 3 'reward' "${mine[@]}" bad
refused 2 'gamma: must be a number' "${mine[@]}" good --gamma 1
refused 3 'test set has observations of length 4, and the data of 2' "${mine[@]}" good --testset set.safetensors

# other contents under the same name
expect 0 data collect lqr --policy default --transitions 500 --seed 2 --out other.safetensors
expect 0 "${offline[@]}" --inner 5 --batch 50 --out same
cp other.safetensors data.safetensors
refused 3 "made with 'data and test set" "${offline[@]}" --inner 5 --batch 50 --out same --resume -q

# what is read is never written over, under whatever name
ln -s data.safetensors link.safetensors
refused 2 "'data.safetensors' would be overwritten" "${offline[@]}" --inner 5 --out data
refused 2 "'data.safetensors' would be overwritten" "${offline[@]}" --inner 5 --out link.safetensors
refused 2 "'set.safetensors' would be overwritten" "${offline[@]}" --testset set.safetensors --out set
cmp -s data.safetensors other.safetensors || fail "the data have changed"

# a learner without a loss, and nothing else measured: no curve, and no complaint of gnuplot's
expect 0 "${offline[@]}" --method tdc --out bare
grep -q 'no learning curve' err || fail "a curve of nothing"
[[ ! -e bare.png ]] || fail "an empty picture"
refused 3 "made with 'adam yes', not 'adam no'" "${offline[@]}" --method tdc --out bare --no-adam --resume -q

# settings that do not fit are told before a test set is made
refused 3 'does not apply' evaluate lqr --policy default --method td0 --out x -q
expect 0 evaluate lqr --policy default --seed 7 --steps 3 --inner 2 --hidden 4 --test-states 5 --out seeded -q
rm seeded.checkpoint
refused 2 'is of seed 7, not 8' evaluate lqr --policy default --seed 8 --steps 3 --inner 2 --hidden 4 --test-states 5 --out seeded --resume -q

# adam has the rate of adamw
expect 0 evaluate lqr --policy default --method adam --steps 2 --inner 2 --hidden 4 --test-states 0 --out adam --json
near "$(member settings inner_lr)" 0.002 1e-15
near "$(member settings inner_lr_decay)" 0.02 1e-15

# bad input
refused 2 'environment with --policy FILE, or --data' evaluate
refused 2 'policy is missing' evaluate lqr
refused 2 'not with --data' evaluate --data data.safetensors --policy default
refused 2 'not both' evaluate lqr --policy default --data data.safetensors
refused 3 'unknown environment' evaluate moon --policy default
refused 2 'gamma: must be' evaluate --data data.safetensors --gamma 1
refused 2 'hidden: must be' "${run[@]}" --hidden 8,x --out x
refused 2 'activation: must be' "${run[@]}" --activation cube --out x
refused 2 'unknown method' "${run[@]}" --method magic --out x
refused 2 'does not use --damping' "${run[@]}" --damping 1 --out x
refused 2 'goes with --data' "${run[@]}" --gap --out x
refused 3 'test set is for gamma 0.9, not 0.5' "${offline[@]}" --testset set.safetensors --gamma .5 --out x
refused 5 'cannot open .none' "${offline[@]}" --testset none --out x
# more rows than the memory of any machine has room for, said at once
refused 5 'transitions of lqr take [0-9]+ bytes each, more than the memory' evaluate lqr --policy default --batch 5000 --steps 100000000 --out huge -q
refused 3 '' "${offline[@]}" --testset data.safetensors --out x
expect 0 policy train pendulum --steps 10 --start 5 --batch 4 --hidden 4 --out pendulum.safetensors
refused 3 '' evaluate lqr --policy pendulum.safetensors --out x
expect 0 testset pendulum --policy pendulum.safetensors --states 5 --rollouts 2 --horizon 5 --visits 5 --out pset
refused 3 'test set of pendulum, not of lqr' "${offline[@]}" --testset pset --out x
[[ -z $(find . -name 'x*') ]] || fail "a refused run leaves a file"
