#!/usr/bin/env bash
# hvi env: what there is, replays to the bit, and what is refused.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
usage=2 input=3 diverged=4 system=5

# numbers VALUE COUNT: that many times the same double, as bytes; only those spelt here
numbers() {
  local bytes i
  case $1 in
  0) bytes='\0\0\0\0\0\0\0\0' ;;
  0.5) bytes='\0\0\0\0\0\0\xe0\x3f' ;;
  nan) bytes='\0\0\0\0\0\0\xf8\x7f' ;;
  1e300) bytes='\x9c\x75\x00\x88\x3c\xe4\x37\x7e' ;;
  esac
  for ((i = 0; i < $2; i++)); do printf "$bytes"; done
}
# array FILE SHAPE VALUE COUNT
array() { { npy "$2" && numbers "$3" "$4"; } >"$1"; }

expect 0 env --help
said out '^usage: hvi env '
cp out help
expect 0 help env
cmp -s out help || fail "help env is not env --help"
for verb in list info replay bench; do
  expect 0 env $verb --help
  said out "^usage: hvi env $verb"
  awk 'length > 100 { exit 1 }' out || fail "env $verb --help is wider than 100 columns"
done
refused $usage "did you mean 'replay'" env repaly
refused $usage 'env needs a verb' env
refused $usage 'env info needs a name of an environment' env info

expect 0 env list
for name in lqr pendulum half_cheetah ant ant-v5; do said out "^  $name "; done
expect 0 env list --json
[[ $(member environments 0 name) == lqr && $(member environments 0 available) == true ]] || fail "list"
mujoco=$(member environments 3 available)
[[ $(member environments 3 needs) == MuJoCo ]] || fail "ant needs MuJoCo"

expect 0 env info pendulum
said out '^action +1 numbers in \[-2, 2\]'
expect 0 env info pendulum --json
[[ $(member obs) == 3 && $(member time_limit) == 200 ]] || fail "info pendulum"
refused $input "did you mean 'pendulum'" env info pendulun

# a replay repeats to the bit, and goes on from where another one stopped
array all.npy '20, 1' 0.5 20
array half.npy '10, 1' 0.5 10
expect 0 env replay pendulum --actions all.npy --out rows.npy --save-state end.npy
said out '^pendulum: 20 steps, return -'
expect 0 env replay pendulum --actions all.npy --out again.npy -q
cmp rows.npy again.npy || fail "two replays differ"
expect 0 env replay pendulum --actions half.npy --save-state mid.npy
expect 0 env replay pendulum --actions half.npy --state mid.npy --out second.npy --save-state last.npy
cmp end.npy last.npy || fail "a continued replay ends elsewhere"
cmp <(tail -c 400 rows.npy) <(tail -c 400 second.npy) || fail "a continued replay differs"
expect 0 env replay pendulum --actions all.npy --json
[[ $(member steps) == 20 && $(member terminated) == false && $(member rows 19 reward) == -* ]] ||
  fail "replay --json"
expect 0 env replay pendulum --actions all.npy --json --out rows.npy
! grep -q '"rows"' out || fail "rows twice"

# noise only with a seed; a file without the second axis will do for one action
array lqr.npy '5, 2' 0 10
expect 0 env replay lqr --actions lqr.npy
said out '^lqr: 5 steps, return -?0$'
expect 0 env replay lqr --actions lqr.npy --seed 3
cp out first
said out 'return -[0-9]*\.[0-9]'
expect 0 env replay lqr --actions lqr.npy --seed 3
cmp out first || fail "a seed does not repeat"
expect 0 env replay lqr --actions lqr.npy --seed 4
! cmp -s out first || fail "two seeds agree"
array flat.npy '250,' 0.5 250
expect 0 env replay pendulum --actions flat.npy
said out '^the time limit was reached at step 200'

# what is refused
refused $usage 'needs --actions' env replay pendulum
refused $system "cannot open|cannot read" env replay pendulum --actions none.npy
refused $input "rows of 2 numbers: an action of lqr" env replay lqr --actions half.npy
array bad.npy '2, 1' nan 2
refused $input 'not finite' env replay pendulum --actions bad.npy
array state.npy '4,' 0.5 4
refused $input "rows of 3 numbers: a saved state of pendulum" \
  env replay pendulum --actions half.npy --state state.npy
array states.npy '2, 3' 0.5 6
refused $input '2 states; one is needed' env replay pendulum --actions half.npy --state states.npy
head -c 130 all.npy >short.npy
refused $input 'short.npy' env replay pendulum --actions short.npy
array huge.npy '2, 2' 1e300 4
expect $diverged env replay lqr --actions huge.npy --out broken.npy
said err 'broke at step 1'
refused $system 'none/rows.npy' env replay pendulum --actions half.npy --out none/rows.npy
refused $usage 'jobs: must be a whole number' env bench pendulum --jobs -1
refused $usage 'no option --threads; did you mean .--jobs' env bench pendulum --threads 2

expect 0 env bench pendulum --steps 100 --repeats 2 --jobs 2 --json
[[ $(member agrees) == true && $(member of_bare) == null && $(member threads) == 2 ]] || fail "bench"
expect 0 env bench lqr --steps 100 --repeats 1
said out 'steps per second'

if [[ $mujoco != true ]]; then
  refused $input 'libmujoco-dev' env info ant
  expect 0 env list
  said out 'needs MuJoCo \(Debian: hvi-mujoco, or libmujoco-dev and a new build\)'
  exit 0
fi
expect 0 env info ant-v4 --json
[[ $(member name) == ant && $(member obs) == 27 ]] || fail "info ant-v4"
expect 0 env bench half_cheetah --steps 50 --repeats 1 --jobs 3 --json
[[ $(member agrees) == true && $(member of_bare) != null ]] || fail "bench half_cheetah"

for case in 'ant 8' 'half_cheetah 6' 'ant-v5 8'; do
  read -r name width <<<"$case"
  array all.npy "20, $width" 0.5 $((20 * width))
  array half.npy "10, $width" 0.5 $((10 * width))
  expect 0 env replay "$name" --actions all.npy --out rows.npy --save-state end.npy
  expect 0 env replay "$name" --actions half.npy --save-state mid.npy
  expect 0 env replay "$name" --actions half.npy --state mid.npy --save-state last.npy
  cmp end.npy last.npy || fail "$name: a continued replay ends elsewhere"
done
# a state far outside what the physics can bear
expect 0 env info half_cheetah --json
count=$(member state)
array state.npy "$count," 1e300 "$count"
array all.npy "20, 6" 0.5 120
expect $diverged env replay half_cheetah --actions all.npy --state state.npy
said err 'broke at step 1'
[[ $(wc -l <err) == 1 ]] || fail "MuJoCo talks"
[[ ! -e MUJOCO_LOG.TXT ]] || fail "MuJoCo left a log"
