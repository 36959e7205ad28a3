#!/usr/bin/env bash
# hvi solve beside its result: checkpoints that go on to the same bits, traces and logs that can be
# followed, pictures; files of others, full disks and hostile names.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json

# A run of 1,500 steps, fewer under sanitizers; what it leaves, the clocks apart, in a form to compare.
steps=${HVI_SANITIZE:+300}
steps=${steps:-1500}
run=(quadratic --set n=40 --method lm --inner 3 --eta 0.01 --iters "$steps" --stall-window 0)
files() { echo --trace "$1.csv" --log "$1.jsonl" --plot "$1.svg" --save "$1.npy" --checkpoint "$1.ck"; }
same() {
  cmp -s "$1.npy" "$2.npy" || fail "$2 ends in other bits"
  cmp -s <(cut -d, -f1-11,13- "$1.csv") <(cut -d, -f1-11,13- "$2.csv") || fail "$2 has another trace"
  cmp -s <(sed 's/"seconds": [^,]*//' "$1.jsonl") <(sed 's/"seconds": [^,]*//' "$2.jsonl") ||
    fail "$2 has another log"
  cmp -s "$1.plot.csv" "$2.plot.csv" || fail "$2 has another picture"
}
read -ra a <<<"$(files a)"
read -ra b <<<"$(files b)"
expect 0 solve "${run[@]}" "${a[@]}"
[[ $(wc -l <a.csv) == $((steps + 2)) && $(wc -l <a.jsonl) == $((steps + 1)) ]] || fail "rows of trace and log"

# killed, interrupted, terminated: it goes on, and nobody can tell
for signal in KILL:137 INT:130 TERM:143; do
  rm -f b.*
  code=0
  "$HVI" solve "${run[@]}" "${b[@]}" --checkpoint-every 0 -q >out 2>err &
  for ((i = 0; i < 300; i++)); do
    [[ -s b.ck && $(wc -l <b.jsonl) -gt 20 ]] && break
    sleep 0.02
  done
  kill -"${signal%:*}" $! 2>/dev/null || true
  wait $! 2>/dev/null || code=$?
  # a fast machine may have come to the end
  [[ $code == "${signal#*:}" || $code == 0 ]] || fail "$signal ends with $code"
  [[ $code == 137 || $code == 0 ]] || said out '^status +stopped \(interrupted\)$'
  expect 0 solve "${run[@]}" "${b[@]}" --resume
  [[ $code == 0 ]] || said err '^resumed +at outer step'
  same a b
done

# after its end it ends again; with more steps it goes on
expect 0 solve "${run[@]}" "${b[@]}" --resume --json
said err "^resumed +at outer step $((steps - 1))"
[[ $(member level) =~ ^(baseline|avx2|avx512)$ ]] || fail "no level of instructions"
same a b
expect 0 solve "${run[@]}" "${b[@]}" --fresh --iters $((steps / 2))
expect 0 solve "${run[@]}" "${b[@]}" --resume
same a b
# auto too, whose end is its best iterate, and problems that draw samples
for problem in 'rps --tol 1e-30 --iters 40:23' 'chain --set data=trajectory --method td0 --eta 0.1 --iters 50:23' \
  'credit --method gd --redraw-every 3 --iters 20:11'; do
  read -ra words <<<"${problem%:*}"
  rm -f a.* b.*
  "$HVI" solve "${words[@]}" "${a[@]}" >out 2>err || true # 1: short of the tolerance
  "$HVI" solve "${words[@]}" "${b[@]}" --iters "${problem#*:}" >out 2>err || true
  "$HVI" solve "${words[@]}" "${b[@]}" --resume >out 2>err || true
  same a b
done

# what a checkpoint is not gone on with
rm -f a.* b.*
game=$HVI_SOURCE_DIR/problems/rps.yaml
expect 0 solve "$game" --method lm --iters 30 --checkpoint c
refused 2 "'c' is there: --resume .* --fresh" solve "$game" --method lm --iters 30 --checkpoint c
refused 3 "made with 'seed 1', not 'seed 2'" solve "$game" --method lm --seed 2 --checkpoint c --resume -q
refused 3 "made with 'eta 0.1', not 'eta 0.2'" solve "$game" --method lm --eta 0.2 --checkpoint c --resume -q
refused 3 "'problem from a file', not 'problem pennies'" solve pennies --method lm --checkpoint c --resume -q
sed 's/weight: 0.2/weight: 0.3/' "$game" >changed.yaml
refused 3 "problem of contents .*, not 'problem of contents" \
  solve changed.yaml --method lm --iters 30 --checkpoint c --resume -q
cp "$game" moved.yaml
expect 0 solve moved.yaml --method lm --iters 30 --checkpoint c --resume # the name is not what counts
cp c damaged
printf x | dd of=damaged bs=1 seek=3000 conv=notrunc status=none
refused 3 "'damaged' is damaged" solve "$game" --method lm --iters 30 --checkpoint damaged --resume -q
expect 0 solve "$game" --method lm --iters 30 --checkpoint new --resume # there is none: it begins
for words in '--resume' '--fresh' '--accept-other-bits' '--trace-z'; do
  refused 2 'goes with' solve pennies "$words"
done
refused 2 'exclude each other' solve pennies --checkpoint d --resume --fresh
refused 2 '--trace and --log name the same file' solve pennies --trace d --log d
refused 2 'for one instance' solve pennies --ensemble 3 --log d
# a trace from any step on is that of one run
timeless() { cut -d, -f1-11,13- "$1"; }
expect 0 solve pennies --method gd --iters 10 --trace one.csv
for ((step = 2; step <= 10; step += 2)); do
  expect 0 solve pennies --method gd --iters $step --checkpoint s --trace s.csv --fresh
  expect 0 solve pennies --method gd --iters 10 --checkpoint s --trace s.csv --resume
  cmp -s <(timeless one.csv) <(timeless s.csv) || fail "a trace that goes on from step $step differs"
done
# a trace that has other columns, or that has gone
expect 0 solve pennies --method gd --iters 5 --checkpoint t --trace t.csv
expect 0 solve pennies --method gd --iters 9 --checkpoint t --trace u.csv --resume
said err "'u.csv' lacks rows before outer step 5"
[[ $(sed -n 2p u.csv) == 5,* ]] || fail "a new trace of a resumed run begins elsewhere"
sed -i '1s/alpha/beta/' t.csv
refused 3 'other columns' solve pennies --method gd --iters 9 --checkpoint t --trace t.csv --resume -q

# trace and log are there while the solve runs
"$HVI" solve pennies --iters 0 --max-seconds 60 --stall-window 0 --method gd --eta 1e-9 --trace grow.csv \
  --log grow.jsonl -q >out 2>err &
for ((i = 0; i < 300; i++)); do
  [[ -s grow.csv && $(wc -l <grow.csv) -gt 100 && $(wc -l <grow.jsonl) -gt 100 ]] && break
  sleep 0.05
done
head -3 grow.jsonl | while read -r line; do ./json residual <<<"$line" >/dev/null; done
refused 5 'grow.csv.* is in use' solve pennies --trace grow.csv -q
kill -KILL $!
wait $! 2>/dev/null || true
[[ $(wc -l <grow.csv) -gt 100 ]] || fail "a killed run leaves no trace"

# files of others stay; by force they go
for option in trace:m.csv log:m.jsonl plot:m.png save:m.npy; do
  echo precious >"${option#*:}"
  refused 5 "m\..* is there, and hvi did not make it for this: --force" solve pennies "--${option%:*}" "${option#*:}" -q
  [[ $(cat "${option#*:}") == precious ]] || fail "${option#*:} is gone"
  expect 0 solve pennies "--${option%:*}" "${option#*:}" --force -q
  [[ $(head -c 8 "${option#*:}" | tr -d '\0') != precious ]] || fail "--force does not replace ${option#*:}"
done
echo precious >m.ck
expect 0 data collect lqr --policy default -n 10 --out rows -q
for file in m.ck rows; do # no state that could be resumed
  cp $file kept
  for option in --fresh --force; do
    refused 5 "'$file' is there and .*: it is not replaced" solve pennies --checkpoint $file $option -q
  done
  refused 3 "'$file' is (damaged|no checkpoint of a solve)" solve pennies --checkpoint $file --resume -q
  cmp -s $file kept || fail "$file is gone"
done
for option in trace:m.csv log:m.jsonl plot:m.png save:m.npy; do # what it made itself it replaces
  expect 0 solve pennies "--${option%:*}" "${option#*:}" -q
done
# a pipe that nobody reads and a link to nothing are refused at once
mkfifo unread
ln -s nowhere dangling
for option in trace log; do
  refused 5 "cannot create 'unread'" solve pennies "--$option" unread -q
  refused 5 "cannot create 'dangling': it is a link to nothing" solve pennies "--$option" dangling -q
done
[[ ! -e nowhere ]] || fail "a file was made behind a link to nothing"
refused 2 'goes with --checkpoint' solve pennies --checkpoint-every 3

if [[ -w /dev/full ]]; then
  for option in trace log save; do
    expect 5 solve pennies "--$option" /dev/full -q
    said err "^hvi: cannot write '/dev/full'"
  done
  refused 5 '/dev/full' solve pennies --trace /dev/full -q # at once
fi
for option in trace:no/x log:no/x save:no/x checkpoint:no/x plot:no/x.png; do
  refused 5 "no/x" solve pennies "--${option%:*}" "${option#*:}" -q
done

# pictures: one format, names that are nobody's commands, players' names as they are
refused 2 'must end in .png or .svg' solve pennies --plot p.pdf
if command -v gnuplot >/dev/null; then
  expect 0 solve rps --plot r.svg -q
  [[ -s r.svg && -s r.gp && -s r.plot.csv && ! -e r.png ]] || fail "other files than asked for"
  grep -q '>column<' r.svg || fail "no name of a player in the picture"
  mkdir 'bad $(touch ran)'
  for name in "a'b" 'c"d' '`touch ran`' '$(touch ran)' '<touch ran' '|touch ran' ';touch ran;' '-e' \
    "'.system('touch ran').'" 'bad $(touch ran)/x'; do
    expect 0 solve pennies --plot "$name.png" -q
    [[ -s $name.png ]] || fail "no picture '$name.png'"
  done
  [[ ! -e ran && -z $(find . -name ran) ]] || fail "a name was run"
  cat >names.yaml <<'END'
players:
  - name: 'a_b^2 {x}'
    start: [0.1, 0.2]
    layers: [{matrix: [[1, 0], [0, 1]], activation: softmax}]
  - name: '$(touch ran);\'
    start: [0.3]
payoffs:
  polymatrix:
    - {row: '$(touch ran);\', column: 1, matrix: [[1, -1]]}
regulariser: {weight: 1}
END
  expect 0 solve names.yaml --plot names.svg --trace names.csv -q
  grep -qF 'a_b^2 {x}' names.svg && grep -qF '$(touch ran);\' names.svg || fail "names are changed"
  [[ $(head -1 names.csv) == *',z_a_b^2 {x}_1,z_a_b^2 {x}_2,z_$(touch ran);\_1' ]] || fail "columns"
  [[ ! -e ran ]] || fail "a player's name was run"
fi
