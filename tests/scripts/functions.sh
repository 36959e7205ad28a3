#!/usr/bin/env bash
# The check of functions: the tree passes, and a planted long one and one of many parameters are found.
set -euo pipefail
check=$HVI_SOURCE_DIR/scripts/check-functions.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "functions: $*" >&2
  exit 1
}

"$check" "$HVI_SOURCE_DIR" || fail "a function is too long or takes too much"

mkdir -p "$scratch/src" "$scratch/cli"
body() { for ((i = 0; i < $1; i++)); do echo "  x++;"; done; }

{ echo "static void f(int x) {"; body 45; echo "}"; } >"$scratch/src/a.c"
"$check" "$scratch" || fail "45 lines are allowed"
{ echo "static void f(int x) {"; body 46; echo "}"; } >"$scratch/src/a.c"
{ "$check" "$scratch" || true; } | grep -q 'src/a.c:1: f has 46 lines' || fail "46 lines are not found"
printf 'int g(int a, int b, int c, int d, int e,\n      int f, int h, int i) {\n  return a;\n}\n' >"$scratch/src/a.c"
{ "$check" "$scratch" || true; } | grep -q 'g has 8 parameters' || fail "8 parameters are not found"
