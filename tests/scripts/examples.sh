#!/usr/bin/env bash
# The examples print what examples/README.md shows: its commands are run, and their output is compared
# with the lines below them. First as built in this tree, then, against a copy that is installed, as a user
# builds them. Numbers may differ by 2 %: kernels of other instruction sets round differently. How many
# steps method auto takes, and how far below its tolerance it ends, is not compared.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "examples: $*" >&2
  exit 1
}

# same EXPECTED GOT: the same words, and numbers that are near.
same() {
  awk 'function near(a, b) { d = a - b; return (d < 0 ? -d : d) <= 1e-6 + 0.02 * (b < 0 ? -b : b) }
    function number(x) { return x ~ /^[-+]?[0-9.]+(e[-+]?[0-9]+)?[,;:]?$/ }
    NR == FNR { line[FNR] = $0; count = FNR; next }
    { n = split(line[FNR], word); if (n != NF) exit 1
      if (word[1] == $1 && $1 ~ /^(outer|residual|dist2|gap|theta)$/) next
      for (i = 1; i <= n; i++)
        if (word[i] != $i && !(number(word[i]) && number($i) && near($i + 0, word[i] + 0))) exit 1 }
    END { if (FNR != count) exit 1 }' "$1" "$2"
}

# run_all FOLDER: the README there, written anew with what its commands print now. `hvi` is in PATH.
run_all() {
  local line inside='' ran=0
  cd "$1"
  while IFS= read -r line; do
    if [[ $line == '```console' ]]; then inside=1; elif [[ $line == '```' ]]; then inside=''; fi
    if [[ -z $inside || $line == '```console' ]]; then
      echo "$line"
    elif [[ $line == '$ '* ]]; then
      echo "$line"
      bash -o pipefail -c "${line#'$ '}" 2>&1 </dev/null || fail "$1: ${line#'$ '}"
      ran=$((ran + 1))
    fi
  done <README.md >README.new
  ((ran >= 8)) || fail "README.md has but $ran commands"
  if [[ -n ${HVI_WRITE-} ]]; then cp README.new "$HVI_SOURCE_DIR/examples/README.md"; fi
  same README.md README.new || fail "other output, HVI_WRITE=1 takes it over:"$'\n'"$(diff README.md README.new)"
}

cp -r "$HVI_SOURCE_DIR/examples" "$scratch/tree"
cp "$HVI_BUILD_DIR"/examples/* "$scratch/tree"
mkdir "$scratch/bin"
ln -s "$HVI" "$scratch/bin/hvi"
flags=(${HVI_SANITIZE:+-fsanitize=$HVI_SANITIZE})
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -I"$HVI_SOURCE_DIR/include" \
  "$HVI_SOURCE_DIR/examples/game.cpp" -o "$scratch/tree/game" -L"$HVI_BUILD_DIR/src" -lhvi
export LD_LIBRARY_PATH=$HVI_BUILD_DIR/src HVI_INCLUDE=$HVI_SOURCE_DIR/include
(PATH=$scratch/bin:$PATH run_all "$scratch/tree")
[[ -z $HVI_SANITIZE ]] || exit 0

# as a user does: nothing of this tree is seen
unset HVI_INCLUDE
prefix=$scratch/moved
cmake --install "$HVI_BUILD_DIR" --prefix "$scratch/first" >"$scratch/log" || fail "$(cat "$scratch/log")"
mv "$scratch/first" "$prefix"
lib=$(dirname "$(find "$prefix" -name libhvi.so)")
[[ -s $prefix/share/doc/hvi/own-problems.md ]] || fail "docs/ is not installed"
cp -r "$prefix/share/doc/hvi/examples" "$scratch/installed"
make -C "$scratch/installed" CC="${CC:-cc}" CFLAGS='-O2 -Wall -Wextra -Werror' CXXFLAGS='-O2 -Wall -Wextra -Werror' \
  PKG_CONFIG_PATH="$lib/pkgconfig" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
export LD_LIBRARY_PATH=$lib
(PATH=$prefix/bin:$PATH run_all "$scratch/installed")
make -C "$scratch/installed" clean >"$scratch/log"

# a program that has libhvi inside loads a .so of its own: linked with libhvi.so, or by what it exports itself
cat >"$scratch/load.c" <<'C'
#include <hvi/hvi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  hvi_problem *p = NULL;
  hvi_error err;
  if (argc != 2 || hvi_problem_load(&p, argv[1], 1, 0, &err)) return puts(err.text), 1;
  printf("%s: %zu outputs\n", p->ops->name, p->model->out);
  hvi_problem_free(p);
  return 0;
}
C
cd "$scratch"
export PKG_CONFIG_PATH=$lib/pkgconfig
cc=${CC:-cc}
static=$(pkg-config --static --libs hvi | sed 's/-lhvi\b/-l:libhvi.a/')
"$cc" $(pkg-config --cflags hvi) load.c -o load_shared $(pkg-config --libs hvi)
"$cc" $(pkg-config --cflags hvi) load.c -o load_static $static
"$cc" -shared -fPIC $(pkg-config --cflags hvi) installed/own.c -o bare.so -lm
"$cc" -shared -fPIC $(pkg-config --cflags hvi) installed/own.c -o linked.so $(pkg-config --libs hvi) -lm
for pair in 'load_shared bare.so' 'load_shared linked.so' 'load_static linked.so'; do
  said=$(./${pair/ / }) || fail "$pair: $said"
  [[ $said == 'market: 3 outputs' ]] || fail "$pair: $said"
done
"$cc" $(pkg-config --cflags hvi) load.c -o load_exports -rdynamic \
  ${static/-l:libhvi.a/-Wl,--whole-archive -l:libhvi.a -Wl,--no-whole-archive}
said=$(./load_exports bare.so) || fail "load_exports bare.so: $said"
! said=$(./load_static bare.so) || fail "load_static bare.so: $said"
[[ $said == "cannot load './bare.so': "*"undefined symbol: hvi_"* ]] || fail "load_static bare.so: $said"
! said=$(./load_shared installed/own.c) || fail "the library compiles: $said"
[[ $said == *"is a C file: the program hvi compiles it, the library loads a .so" ]] || fail "own.c: $said"
