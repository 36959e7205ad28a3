#!/usr/bin/env bash
# The reference from the headers: it is whole, and what is missing from it is found.
set -euo pipefail
command -v doxygen >/dev/null || { echo "api: not tested: there is no doxygen" >&2; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "api: $*" >&2
  exit 1
}
fresh() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/cmake"
  cp -r "$HVI_SOURCE_DIR"/{include,scripts,README.md} "$scratch/tree/"
  cp -r "$HVI_SOURCE_DIR/cmake/api" "$scratch/tree/cmake/"
}
make_it() { python3 "$scratch/tree/scripts/api.py" "$scratch/tree/api" >"$scratch/said" 2>&1; }
refused() {
  ! make_it || fail "accepted, not refused with '$1'"
  grep -qF "$1" "$scratch/said" || fail "said: $(cat "$scratch/said")"
}

fresh
make_it || fail "$(cat "$scratch/said")"
html=$scratch/tree/api/html
grep -q 'alpha-descent on surrogates' "$html/solver_8h.html" || fail "solver.h does not open with its mathematics"
grep -q 'theta_{t+1} &lt;- theta' "$html/solver_8h.html" || fail "the loop is not as it stands in solver.h"
grep -q '>The inner loop<' "$html/structhvi__settings.html" || fail "hvi_settings has no headings"

echo 'EXCLUDE_SYMBOLS = hvi_hidden hvi_secret' >>"$scratch/tree/cmake/api/Doxyfile"
sed -i 's/^HVI_API const char \*hvi_version.*/&\n\n\/* A. *\/\nHVI_API int hvi_hidden(void);\ntypedef struct hvi_secret {\n  int a;\n} hvi_secret;/' \
  "$scratch/tree/include/hvi/version.h"
refused 'missing: function hvi_hidden'
grep -q 'missing: struct hvi_secret' "$scratch/said" || fail "said: $(cat "$scratch/said")"
fresh
echo 'EXCLUDE_SYMBOLS = hvi_solver_new' >>"$scratch/tree/cmake/api/Doxyfile"
refused "unable to resolve reference to 'hvi_solver_new'" # a warning of doxygen
fresh
sed -i 's/^HVI_API const char \*hvi_version.*/&\n\nHVI_API int hvi_wordless(void);/' "$scratch/tree/include/hvi/version.h"
refused 'without a word: function hvi_wordless'
fresh
sed -i 's/, mdp\.h//' "$scratch/tree/cmake/api/main.dox"
refused 'mdp.h: not on the first page'
fresh
sed -i 's/tell("\/\*\* @file", 1)/next_one = 1/' "$scratch/tree/scripts/api-filter.awk"
refused 'solver.h: its opening comment is not on its page'
