# What the campaigns share; sourced by tests/campaigns/*.sh with HVI and HVI_SOURCE_DIR set.
# A campaign takes a size, small or full, and COUNT from the environment, which says how much is tried of each
# kind. Its last line is "NAME: N tried, N held"; what does not hold is told with the command, and fails it.
size=${1:-small}
# syncs cost nothing there
if [[ -d /dev/shm && -w /dev/shm ]]; then export TMPDIR=/dev/shm; fi
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
here=$PWD campaign=${0##*/} tried=0 held=0
campaign=${campaign%.sh}
RANDOM=${SEED:-1}
mkdir bin # without gnuplot

# A sanitizer has an allocator of its own, and must come before other libraries.
plain_only() { [[ -z ${HVI_SANITIZE-} ]] || exit 77; }
# many SMALL FULL: how much is tried.
many() { if [[ $size == full ]]; then echo "${COUNT:-$2}"; else echo "${COUNT:-$1}"; fi; }
build() { "${CC:-cc}" -std=gnu11 -O1 "${@:3}" -o "$1" "$HVI_SOURCE_DIR/$2" 2>err || exit 77; }

hvi() { PATH=$here/bin "$HVI" "$@" -q; }

# Every command that has a checkpoint, as a line for an empty folder, and the files that it ends in.
commands=(solve evaluate train testset collect reproduce values)
declare -A line=(
  [solve]='hvi solve quadratic --set n=5 --method lm --eta 1e-3 --iters 25 --checkpoint c --checkpoint-every 0 --trace t.csv --save s.npy'
  [evaluate]='hvi evaluate lqr --policy default --batch 50 --hidden 4 --inner 2 --test-states 5 --checkpoint-every 2 --steps 12 --out e'
  [train]='hvi policy train pendulum --start 50 --batch 8 --hidden 4,4 --checkpoint-every 100 --steps 500 --out p.safetensors'
  [testset]='hvi testset lqr --policy default --states 20 --rollouts 8 --horizon 40 --out t'
  [collect]='hvi data collect lqr --policy default -n 10000 --out d'
  [reproduce]="hvi reproduce '$HVI_SOURCE_DIR/tests/data/pennies.yaml' --out o"
  [values]="hvi reproduce '$HVI_SOURCE_DIR/tests/campaigns/values.yaml' --out o"
)
declare -A results=(
  [solve]='s.npy t.csv' [evaluate]='e.safetensors e-testset.safetensors e.csv' [train]='p.safetensors p.csv'
  [testset]=t [collect]=d [reproduce]='o/pennies/summary.csv o/pennies/trace-lm.csv' [values]='o/values/runs.csv'
)
# The same with other numbers, which leaves what is there before.
declare -A older=(
  [solve]='hvi solve quadratic --set n=5 --method lm --eta 2e-3 --iters 9 --checkpoint c --trace t.csv --save s.npy'
  [evaluate]="${line[evaluate]/--steps 12/--steps 4 --seed 5}" [train]="${line[train]/--steps 500/--steps 300 --seed 5}"
  [testset]="${line[testset]} --seed 5" [collect]="${line[collect]} --seed 5"
  [reproduce]="${line[reproduce]}" [values]="${line[values]}"
)

# A file as it is; a table without its seconds.
without_clocks() {
  if [[ $1 != *.csv && $1 != *.csv.previous ]]; then
    cat "$1"
  else
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) clock[i] = $i ~ /^seconds/ }
      { for (i = 1; i <= NF; i++) printf "%s,", clock[i] ? "" : $i; print "" }' "$1"
  fi
}

# bits FOLDER FILE: a file's hash, or that there is none.
bits() { if [[ -e $1/$2 ]]; then without_clocks "$1/$2" | md5sum; else echo none; fi; }

# same FOLDER NAME: the results of a command are those in ./straight.
same() {
  local file
  for file in ${results[$2]}; do
    [[ $(bits "$1" "$file") == $(bits straight "$file") ]] || return 1
  done
}

# whole FOLDER NAME: each result is that of before, in ./old, or the new one, or whole as of some step.
whole() {
  local file now
  for file in ${results[$2]}; do
    cmp -s "$1/$file" "old/$file" && continue
    now=$(bits "$1" "$file")
    [[ $now == "$(bits old "$file")" || $now == "$(bits straight "$file")" || ! -s $1/$file ]] && continue
    if [[ $file == *.csv ]]; then
      # rows of the new run up to there; the last one may be cut short
      without_clocks "$1/$file" | sed '$d' >now
      cmp -s -n "$(stat -c %s now)" now <(without_clocks "straight/$file") && continue
    else
      # it is read as far as what it holds, behind its checksum
      { "$HVI" data info "$1/$file" 2>&1 || true; } | grep -Eq "no tensor|rows|states" && continue
    fi
    return 1
  done
}

# anew FOLDER [FROM]: an empty folder, or a copy.
anew() {
  rm -rf "$1"
  if [[ -n ${2-} ]]; then cp -a "$2" "$1"; else mkdir "$1"; fi
}

# in_folder FOLDER LINE [NAME=VALUE]...: runs a line there with these variables; its exit code is $code.
in_folder() {
  code=0
  (cd "$1" && { [[ $# == 2 ]] || export "${@:3}"; } && eval "$2") >out 2>err </dev/null || code=$?
}

# make_straight NAME: what an uninterrupted run leaves.
make_straight() {
  anew straight
  in_folder straight "${line[$1]}"
  [[ $code == 0 ]] || fail "${line[$1]}: exit code $code"
}

# check TEXT COMMAND...: one more thing was tried; the command says whether it held.
check() {
  tried=$((tried + 1))
  if "${@:2}"; then
    held=$((held + 1))
  else
    echo "does not hold: $1" >&2
    for file in out err; do if [[ -s $file ]]; then tail -5 "$file" | sed "s/^/  $file: /" >&2; fi; done
    # a few are enough to see what is wrong
    ((tried - held < 10)) || finish
  fi
}

# one_line CODE NAME: that exit code, and one line of hvi's. A solve and a study that are done end all the same, with
# one for each file that could not be written.
one_line() {
  [[ $code == "$1" && -s err ]] && ! grep -qv '^hvi: ' err &&
    [[ $(wc -l <err) == 1 || $2 == solve || $2 == reproduce || $2 == values ]]
}

finish() {
  echo "$campaign: $tried tried, $held held"
  ((tried > 0 && tried == held)) || exit 1
  exit 0
}
