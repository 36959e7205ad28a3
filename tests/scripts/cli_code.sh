#!/usr/bin/env bash
# Problems as code: C files that are compiled, shared libraries, what is wrong with one, and files that
# name code.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
usage=2 input=3 system=5
examples=$HVI_SOURCE_DIR/examples
export HVI_INCLUDE=$HVI_SOURCE_DIR/include TMPDIR=$scratch/tmp
mkdir tmp
cp "$examples/own.c" .
# the compiler's folder is gone, however the command ended
tidy() { [[ -z $(ls -A tmp) ]] || fail "left behind: $(ls -A tmp)"; }
build() { "${CC:-cc}" -shared -fPIC -I"$HVI_INCLUDE" "$@"; }

# solved to its closed form: d z^2 + b (n + 1) z = a - c
expect 0 solve own.c --set firms=5 --set convexity=0.25 --json
near "$(member z 4)" "$(awk 'BEGIN { printf "%.12g", (-6 + sqrt(36 + 9)) / 0.5 }')" 1e-6
[[ $(member settings options firms) == 5 && $(member settings options half) == 2.5 ]] || fail "options in JSON"
tidy
cp out by-c

# the same from a shared library: bits, and all that a built-in problem can do
build own.c -o own.so -lm
for name in own.so ./own.so "$scratch/own.so"; do
  expect 0 solve "$name" --set firms=5 --set convexity=0.25 --json
  [[ $(member theta) == "$(./json theta <by-c)" ]] || fail "$name is not own.c"
done
expect 0 solve own.so --trace trace.csv --instance 7 -q
[[ $(wc -l <trace.csv) -gt 4 ]] || fail "no trace"
expect 0 solve own.so --ensemble 12 --jobs 3 --json
[[ $(member outcomes converged) == 12 ]] || fail "instances of own.so"
cp out three
expect 0 solve own.so --ensemble 12 --jobs 1 --json
[[ $(member rows 0) == "$(./json rows 0 <three)" ]] || fail "another number of threads, other bits"
expect 0 inspect own.so --method gn --eta 0.05
said out 'strong monotonicity'
expect 0 list own.c
said out '^own.c: firms that decide how much to produce'
said out '^  firms +3 +whole in \[1,100\] +n$'
expect 0 list ./own.so --json
[[ $(member keys 5 name) == half && $(member kind) == problem ]] || fail "list --json"
refused $input "market: firms: must be a whole number from 1 to 100, not '0'" solve own.so --set firms=0
refused $input "market: unknown key 'frims'; did you mean 'firms'\?" solve own.so --set frims=3

# one that is linked with libhvi.so: the program's own functions are used, and there is one copy
build own.c -o linked.so -L"$HVI_BUILD_DIR/src" -lhvi -lm 2>err || { [[ -n $HVI_SANITIZE ]] || fail "linked.so"; }
if [[ -z $HVI_SANITIZE ]]; then
  LD_LIBRARY_PATH=$HVI_BUILD_DIR/src expect 0 solve linked.so --set firms=5 --set convexity=0.25 --json
  [[ $(member theta) == "$(./json theta <by-c)" ]] || fail "linked.so is not own.c"
fi

# names that a shell or a compiler would take for something else
for name in 'my own.c' "it's.c" '-x.c' '$(touch hacked).c' 'a;b.c' $'new\nline.c'; do
  cp own.c "./$name"
  expect 0 solve -q -- "$name"
  tidy
done
[[ ! -e hacked ]] || fail "a name was executed"
mkdir 'a folder'
cp own.c 'a folder/own.c'
expect 0 solve -q 'a folder/own.c'
TMPDIR="$scratch/a folder" expect 0 solve -q own.c
[[ $(ls 'a folder') == own.c ]] || fail "TMPDIR with a blank"

# the compiler: its words are shown, CC and CFLAGS count, and what it leaves is removed
echo 'int f(void) { return nonsense; }' >wrong.c
expect $input solve wrong.c
said err undeclared
[[ $(tail -1 err) == "hvi: 'wrong.c' does not compile; see "*" above" ]] || fail "wrong.c"
tidy
CFLAGS='-DUSELESS  -O1' CPPFLAGS=-Wno-all LDFLAGS=-s LDLIBS=-lm expect 0 solve -q own.c
CC=' ' expect 0 solve -q own.c
CFLAGS=--no-such-option expect $input solve own.c
said err no-such-option
CFLAGS=-save-temps=obj expect 0 solve -q own.c
tidy
CC=no-such-compiler refused $input "there is no compiler 'no-such-compiler' for 'own.c' .*CC can name" solve own.c
tidy
printf '#!/bin/sh\nyes "a very long complaint" | head -c 3000000\nexit 1\n' >noisy
chmod +x noisy
CC=./noisy expect $input solve own.c
(($(wc -c <err) > 3000000)) || fail "the compiler's messages were cut"
[[ ! -s out ]] || fail "the compiler's messages are on stdout"
CFLAGS=$(yes x | head -300 | tr '\n' ' ') refused $input 'more than 250 words' solve own.c
mkdir nothing
HVI_INCLUDE=$scratch/nothing expect $input solve own.c
said err 'hvi/hvi.h'
cp "$HVI" nothing/hvi
if ! pkg-config --exists hvi; then
  env -u HVI_INCLUDE nothing/hvi solve own.c >out 2>err && fail "headers from nowhere"
  said err "^hvi: no headers of hvi in '$scratch/nothing/.*', and pkg-config knows none .*HVI_INCLUDE can name"
fi
tidy

# Ctrl-C while it compiles
printf '#!/bin/sh\necho $$ >compiling\nexec sleep 60\n' >slow
chmod +x slow
for signal in INT TERM; do
  rm -f compiling
  CC=./slow "$HVI" solve own.c >out 2>err &
  pid=$!
  for ((i = 0; i < 200; i++)); do [[ -s compiling ]] && break || sleep 0.05; done
  kill -$signal $pid
  code=0
  wait $pid || code=$?
  ((code == 130 || code == 143)) || fail "SIG$signal while it compiles: exit code $code"
  ! kill -0 "$(cat compiling)" 2>err || fail "the compiler goes on"
  tidy
done

# files that are not what they are called
refused $system "cannot open 'missing.c': No such file" solve missing.c
refused $system "cannot open 'missing.so': No such file" solve missing.so
mkfifo pipe.c pipe.so
refused $input "'pipe.c' is not a file" solve pipe.c
refused $input "pipe.so' is damaged or no shared library" solve pipe.so
mkdir folder.c folder.so
refused $input "'folder.c' is not a file" solve folder.c
refused $input "folder.so' is damaged or no shared library" solve folder.so
echo text >text.so
refused $input "text.so' is damaged or no shared library" solve text.so
head -c 5000 own.so >short.so
refused $input "short.so' is damaged or no shared library" solve short.so
TMPDIR=$scratch/absent refused $system "cannot make a folder in '.*absent'" solve own.c
noexec=$(awk '$4 ~ /(^|,)noexec(,|$)/ { print $2; exit }' /proc/mounts)
[[ -z $noexec ]] || TMPDIR=$noexec refused $input "mounted noexec.*TMPDIR can name another" solve own.c

# shared libraries that lack something
make_so() { # NAME, and the rest of a file that begins with the headers
  printf '#include <hvi/plugin.h>\n#include <stdio.h>\n%s\n' "$2" >"$1.c"
  build "$1.c" -o "$1.so"
}
problem='const hvi_plugin hvi_plugin_problem ='
make='static hvi_status make(hvi_problem **p, const hvi_options *o, hvi_error *err) { (void)p, (void)o, (void)err;'
make_so none 'int something;'
refused $input "'none.so' has no hvi_plugin_problem, which <hvi/plugin.h> asks for" solve none.so
refused $input "'none.c' has no hvi_plugin_problem, which <hvi/plugin.h> asks for" solve none.c
make_so lost 'int nowhere(void), f(void); int f(void) { return nowhere(); }'
refused $input "cannot load 'lost.c': lost.c: undefined symbol: nowhere" solve lost.c
make_so abi "$make return HVI_OK; } $problem {HVI_PLUGIN_ABI + 1, {\"x\", \"y\", NULL, make}};"
refused $input "'abi.so' was compiled for another hvi than .*; compile it again" solve abi.so
make_so empty "$problem {HVI_PLUGIN_ABI, {\"x\", \"y\"}};"
refused $input "lacks a name, a summary or a function" solve empty.so
make_so lazy "$make return HVI_OK; } $problem {HVI_PLUGIN_ABI, {\"lazy\", \"y\", NULL, make}};"
refused $input "lazy: what makes it left no problem" solve lazy.so
refused $input "lazy: unknown key 'n'" solve lazy.so --set n=1
expect 0 list lazy.so
said out 'It has no keys'
make_so mute "$make return HVI_ERROR_MEMORY; } $problem {HVI_PLUGIN_ABI, {\"mute\", \"y\", NULL, make}};"
refused $system "mute: out of memory" solve mute.so
make_so says "$make snprintf(err->text, sizeof err->text, \"no\\nluck\"); return (hvi_status)77; } $problem {HVI_PLUGIN_ABI, {\"says\", \"y\", NULL, make}};"
refused $input '^hvi: no\?luck$' solve says.so
make_so undefined "hvi_status nobody(hvi_problem **, const hvi_options *, hvi_error *); $problem {HVI_PLUGIN_ABI, {\"x\", \"y\", NULL, nobody}};"
refused $input "cannot load './undefined.so': .*undefined symbol: nobody" solve undefined.so
sed 's/f\[i\] = /f[i] = 0.0 \/ 0.0 * /' own.c >nan.c
expect 4 solve nan.c --method gd -q
# a crash of the code is one of the program; of files that appear whole there is nothing
sed 's/double total = 0.0;/double total = 0.0; static int calls; if (++calls > 20) abort();/' own.c >crash.c
code=0
(ulimit -c 0; exec "$HVI" solve crash.c --method gd --save theta.npy -q >out 2>err) 2>/dev/null || code=$?
((code == 134)) || fail "a crash: exit code $code"
[[ ! -s out && -z $(find . -name 'theta.npy*') ]] || fail "a crash left a result"
tidy
refused $usage "are for built-in problems and code, and '.*three-states.yaml' is a file" \
  solve "$HVI_SOURCE_DIR/problems/three-states.yaml" --set n=1

# files that name code
mkdir study
cp own.c own.so study
cat >study/market.yaml <<'YAML'
id: market
title: Firms
kind: trajectory
problem: ./own.c
options: {firms: 4}
quick: {iterations: 30}
methods:
  - {label: GN, method: gn, eta: 0.1}
YAML
sed 's/own.c/own.so/; s/id: market/id: loaded/' study/market.yaml >study/loaded.yaml
for file in market loaded; do
  refused $input "^hvi: study/$file.yaml:4: problem: './own\..*' is code, .* --allow-code" reproduce study/$file.yaml --out out-no
  expect 0 reproduce study/$file.yaml --allow-code --out results -q
  tidy
done
[[ ! -e out-no ]] || fail "a refused file left a folder"
columns() { cut -d, -f1-11,13- "results/$1/trace-gn.csv"; } # but for the seconds
[[ $(columns market) == "$(columns loaded)" && $(columns market | wc -l) == 32 ]] || fail "own.c and own.so in experiments"
# code that has changed is run again, and code that has not is not
before=$(columns loaded)
expect 0 reproduce study/loaded.yaml --allow-code --resume --out results -q
[[ $(columns loaded) == "$before" ]] || fail "resumed without a change, other numbers"
sed 's/m->o.price + /m->o.price + 1.0 + /' own.c >changed.c
build changed.c -o study/own.so -lm
expect 0 reproduce study/loaded.yaml --allow-code --resume --out results -q
[[ $(columns loaded) != "$before" ]] || fail "changed code was not run"

cat >study/many.yaml <<'YAML'
id: many
title: Firms
problem: own.c
quick: {iterations: 20, instances: 6}
methods:
  - {label: GN, method: gn, eta: 0.1}
parts:
  - {name: one, kind: ensemble, grid: {firms: [2, 3]}}
  - {name: two, kind: timing}
YAML
printf '#!/bin/sh\necho >>%s\nexec cc "$@"\n' "$scratch/compiled" >counted
chmod +x counted
CC=$scratch/counted expect 0 reproduce study/many.yaml --allow-code --out results -q
[[ $(wc -l <compiled) == 1 ]] || fail "two parts compile one file $(wc -l <compiled) times"
awk -F, 'NR > 1 && ($7 != $7 + 0 || $8 != 0) { exit 1 }' results/many/one-ensemble-gn.csv || fail "an ensemble of code"
sed 's/firms: \[2, 3\]/frims: [2, 3]/' study/many.yaml >study/typo.yaml
refused $input "unknown factor 'frims'; did you mean 'firms'\?" reproduce study/typo.yaml --allow-code
sed 's/firms: 4/frims: 4/' study/market.yaml >study/option.yaml
refused $input "study/option.yaml:5: unknown option 'frims'; did you mean 'firms'\?" reproduce study/option.yaml --allow-code
sed 's/firms: 4/firms: 400/' study/market.yaml >study/option.yaml
refused $input "study/option.yaml:5: market: firms: must be a whole number from 1 to 100" reproduce study/option.yaml --allow-code
cp lazy.so study
sed 's/own.c/lazy.so/' study/market.yaml >study/option.yaml
refused $input "study/option.yaml:5: unknown option 'firms'" reproduce study/option.yaml --allow-code
printf 'problem: [own.so]\n' >study/game.yaml
refused $input "a problem has 'players'" solve study/game.yaml
