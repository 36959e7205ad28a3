#!/usr/bin/env bash
# Bad input: one line that says what, where and what would be right, and the documented exit code.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
usage=2 input=3 system=5

# unknown names, with the nearest one
refused $usage "no command 'slove'; did you mean 'solve'" slove
refused $usage 'no option --eat; did you mean .--eta' solve pennies --eat 0.1
refused $usage 'no option --zzzzzz; .hvi solve --help' solve pennies --zzzzzz
refused $usage 'no option -z' solve pennies -z
refused $usage "unknown method 'lmm'; did you mean 'lm'" solve pennies --method lmm
refused $usage "unknown method 'quantum'; 'hvi list'" solve pennies --method quantum
refused $input "unknown problem 'pennis'; did you mean 'pennies'" solve pennis
refused $input "unknown problem 'xyzzy'" solve xyzzy
refused $input "unknown key 'wieght'; did you mean 'weight'" solve pennies --set wieght=1
refused $usage 'a command comes first' --json solve pennies
refused $usage "no command 'sovle'" help sovle

# the shape of the command line
refused $usage 'solve needs a problem' solve
refused $usage "not know what to do with 'rps'" solve pennies rps
refused $usage '--eta needs a value' solve pennies --eta
refused $usage '--trace needs a value' solve pennies --trace --json
refused $usage "--json: must be yes or no, not 'perhaps'" solve pennies --json=perhaps
refused $usage '--no-json takes no value' solve pennies --no-json=yes
refused $usage "--trace: must be text, not ''" solve pennies --trace=
refused $usage 'KEY=VALUE' solve pennies --set weight
refused $usage 'KEY=VALUE' solve pennies --set =1

# numbers
for eta in 0 -0.1 nan inf 1e999 0.1x '' ' 0.1' 0x1 1,2; do
  refused $usage '--eta: must be a number above 0, theorem, best or adaptive, not ' solve pennies "--eta=$eta"
done
for alpha in 0 1 1.5 -0.5 nan; do
  refused $usage "--alpha: must be a number above 0 and below 1, or none, not '$alpha'" solve pennies --alpha "$alpha"
done
for count in -1 0 1.5 1e400 99999999999999999999999 ten; do
  refused $usage "--inner: must be a whole number from 1 to 1e12, not '$count'" solve pennies --inner "$count"
done
refused $usage 'iters: must be a whole number' solve pennies --iters -5
refused $usage 'every: must be a whole number' solve pennies --every -1
refused $usage 'ensemble: must be a whole number' solve pennies --ensemble -3
refused $usage 'max-evals: must be a whole number' solve pennies --max-evals 2.5
refused $usage 'seed: must be a whole number' solve pennies --seed -1
refused $usage 'seed: must be a whole number' solve pennies --seed 18446744073709551616
refused $usage 'tol: must be a number' solve pennies --tol -1
refused $usage 'inner-lr: must be a number' solve pennies --method gd --inner-lr 0
refused $usage 'damping: must be a number' solve pennies --method lm --damping -1
refused $usage 'momentum: must be a number at least 0 and below 1' solve pennies --method momentum --momentum 1
refused $usage 'target: must be plain, optimistic, averaged or proximal' solve pennies --target best
refused $usage 'linear: must be auto, dense, matrix-free or gram' solve pennies --method gn --linear sparse
refused $input 'pennies: weight: must be a number from 0 to 100' solve pennies --set weight=-1
refused $input "weight: must be a number from 0 to 100, not 'x'" solve pennies --set weight=x
refused $input 'nan' solve pennies --set weight=nan

# options that do not belong together, or not to the method
refused $usage 'method gd does not use --damping; it is for lm' solve pennies --method gd --damping 0.1
refused $usage 'method auto does not use --momentum; it is for momentum' solve pennies --momentum 0.5
refused $usage 'method gn does not use --inner-lr' solve pennies --method gn --inner-lr 1
refused $usage 'method extragradient does not use --inner' solve pennies --method extragradient --inner 3
refused $usage 'method phgd fixes --inner at 1; --method gn' solve pennies --method phgd --inner 5
refused $usage 'method gda fixes --alpha at none; --method gd' solve pennies --method gda --alpha 0.5
refused $usage 'factor and --line-search exclude' solve pennies --method dgn --factor 0.1 --line-search
refused $usage 'average goes with --target averaged' solve pennies --average 5
refused $usage 'restarts goes with --eta adaptive' solve pennies --method gd --restarts 5
refused $usage 'tol-relative goes with --tol' solve pennies --method gd --tol-relative
refused $usage 'lstd-rows goes with --accelerate lstd' solve pennies --method gd --lstd-rows 5
refused $usage 'nothing would stop this' solve pennies --iters 0
refused $usage 'same file' solve pennies --trace x --save x

# theta0 and step sizes that do not fit
refused $input 'has 3 numbers, and pennies has 2 parameters' solve pennies --theta0 1,2,3
refused $usage 'neither numbers .* nor a .npy file' solve pennies --theta0 1,two
refused $usage 'neither numbers .* nor a .npy file' solve pennies --theta0 1,,2
refused $usage 'neither numbers .* nor a .npy file' solve pennies --theta0 nan,1
refused $system "'missing.npy'" solve pennies --theta0 missing.npy
mkdir folder.npy
refused $system "'folder.npy'.*not a regular file" solve pennies --theta0 folder.npy
echo hello >text.npy
refused $input "'text.npy'" solve pennies --theta0 text.npy
{ npy '2,' && printf '\0\0\0\0\0\0\xf8\x7f\0\0\0\0\0\0\xf0\x3f'; } >nan.npy
refused $input 'number 1 of 2 is not finite' solve pennies --theta0 nan.npy
{ npy '2,' && printf '\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x7f'; } >inf.npy
refused $input 'number 2 of 2 is not finite' solve pennies --theta0 inf.npy
{ npy '2,' && printf '\0\0\0\0\0\0\xf0'; } >short.npy
refused $input 'truncated' solve pennies --theta0 short.npy
{ npy '3,' && head -c 24 /dev/zero; } >three.npy
refused $input 'has 3 numbers, and pennies has 2 parameters' solve pennies --theta0 three.npy
{ npy '2,' && head -c 16 /dev/zero; } >good.npy
expect 0 solve pennies --method gd --theta0 good.npy --iters 1

# problem files
refused $system "'missing.yaml'" solve missing.yaml
refused $system "'no/such/game'" solve no/such/game
mkdir folder.yaml
refused $system "'folder.yaml'.*not a regular file" solve folder.yaml
refused $system "'/dev/zero'.*not a regular file" solve /dev/zero
printf 'players: [' >broken.yaml
refused $input 'broken.yaml' solve broken.yaml
: >empty.yaml
refused $input 'empty.yaml' solve empty.yaml
truncate -s 5G huge.yaml
refused $input 'huge.yaml' solve huge.yaml
truncate -s 5G huge.npy
refused $input 'huge.npy' solve pennies --theta0 huge.npy
refused $usage 'for built-in problems' solve "$HVI_SOURCE_DIR/problems/rps.yaml" --set a=1
refused $usage 'for built-in problems' solve "$HVI_SOURCE_DIR/problems/rps.yaml" --instance 1
if [[ $(id -u) != 0 ]]; then
  cp good.npy secret.npy && chmod 0 secret.npy
  refused $system "'secret.npy'" solve pennies --theta0 secret.npy
fi

# output that cannot be written, found before the first iteration
refused $system "'no/folder/t.csv'" solve pennies --trace no/folder/t.csv
refused $system "'no/folder/t.npy'" solve pennies --save no/folder/t.npy
mkdir folder
refused $system "'folder'" solve pennies --trace folder
refused $system "'folder'" solve pennies --save folder
if [[ $(id -u) != 0 ]]; then
  mkdir locked && chmod a-w locked
  refused $system "'locked/t.csv'" solve pennies --trace locked/t.csv
fi
if [[ -d /proc/self ]]; then refused $system "'/proc/t.csv'" solve pennies --trace /proc/t.csv; fi

# a method that needs what a problem lacks
refused $input 'not strongly monotone' solve pennies --set signs=printed --eta theorem
refused $input 'alternating needs at least two' solve counterexample --method agda
refused $input 'alternating needs at least two' solve counterexample --alternating

# one line, whatever stands on the command line
refused $input 'unknown problem' solve $'two\nlines'
refused $usage 'not know what to do' list pennies $'a\033[31mb'
