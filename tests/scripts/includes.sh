#!/usr/bin/env bash
# The check of the includes: the tree passes, and each kind of planted fault is found.
set -euo pipefail
check=$HVI_SOURCE_DIR/scripts/check-includes.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "includes: $*" >&2
  exit 1
}

"$check" "$HVI_SOURCE_DIR" || fail "an include points up"

# plant FILE INCLUDE makes a tree of that one file.
plant() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/$(dirname "$1")"
  printf '#include <stdio.h>\n#  include %s\n' "$2" >"$scratch/tree/$1"
}

accepted() {
  plant "$1" "$2"
  "$check" "$scratch/tree" || fail "$1 may include $2"
}

refused() {
  plant "$1" "$2"
  local said
  if said=$("$check" "$scratch/tree"); then fail "$1 must not include $2"; fi
  [[ $said == "$1:2: "* ]] || fail "$1 including $2 was refused with: $said"
}

accepted src/num/dense.c '"base/memory.h"'
accepted src/num/dense.c '"num/vec.h"'
accepted src/problems/games/game.c '"vi/sets.h"'
accepted src/problems/games/game.c '<hvi/game.h>'
accepted src/ensemble/run.c '"problems/games/pennies.h"'
accepted src/gpu/step.cu '"gpu/device.h"'
accepted cli/main.c '<hvi/hvi.h>'
accepted cli/main.c '"commands.h"'
accepted include/hvi/solver.h '<hvi/optimizer.h>'

refused src/base/memory.c '"num/dense.h"'
refused src/num/dense.c '<hvi/model.h>'
refused src/inner/gd.c '"outer/solver.h"'
refused src/outer/solver.c '"problems/games/pennies.h"'
refused src/outer/solver.c '<hvi/game.h>'
refused src/problems/games/game.c '"surrogate/surrogate.h"'
refused src/surrogate/surrogate.c '"problems/games/game.h"'
refused src/theory/rate.c '"ensemble/run.h"'
refused src/report/trace.c '"experiments/claims.h"'
refused src/outer/solver.c '<hvi/hvi.h>'
refused src/num/dense.c '"../base/memory.h"'
refused src/num/dense.c '"hvi/error.h"'
refused src/num/dense.c '"util/things.h"'
refused src/gpu/step.cu '"model/stack.h"'
refused src/gpu/gpu.cuh '"inner/optimizers.h"'
refused include/hvi/model.h '<hvi/solver.h>'
