# What the tests of the program share; sourced by tests/scripts/cli_*.sh.
# Each works in an empty folder of its own, $scratch.
unset OPENBLAS_CORETYPE # with kernels of BLAS that are not the level's own, levels have longer names
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "${0##*/}: $*" >&2
  for file in out err; do
    if [[ -s $file ]]; then tail -20 "$file" | sed "s/^/  $file: /" >&2; fi
  done
  exit 1
}

# expect CODE ARGUMENT...: runs hvi, which must end with that code; output in ./out and ./err.
expect() {
  local code=$1 got=0
  shift
  "$HVI" "$@" >out 2>err </dev/null || got=$?
  [[ $got == "$code" ]] || fail "hvi $*: exit code $got, not $code"
}

# refused CODE PATTERN ARGUMENT...: nothing on stdout, one line on stderr that matches the pattern.
refused() {
  local code=$1 pattern=$2
  shift 2
  expect "$code" "$@"
  [[ ! -s out ]] || fail "hvi $*: prints a result although it fails"
  [[ $(wc -l <err) == 1 ]] || fail "hvi $*: not one line on stderr"
  grep -q '^hvi: ' err || fail "hvi $*: the line does not begin with 'hvi: '"
  grep -Eq -- "$pattern" err || fail "hvi $*: the line does not match '$pattern'"
}

# said FILE PATTERN: a line of ./out or ./err matches.
said() { grep -Eq -- "$2" "$1" || fail "nothing in $1 matches '$2'"; }

# near VALUE TARGET SHARE: |VALUE - TARGET| <= SHARE TARGET.
near() {
  awk -v x="$1" -v y="$2" -v s="$3" 'BEGIN { exit !(x != "" && x - y <= s * y && y - x <= s * y) }' ||
    fail "$1 is not $2"
}

# Builds ./json: reads one JSON value from stdin, or fails, and prints the member it is asked for.
build_json() {
  read -ra flags <<<"$(pkg-config --cflags --libs jansson)"
  "${CC:-cc}" -std=c11 -o json "$HVI_SOURCE_DIR/tests/cli/json.c" "${flags[@]}"
}

# member NAME...: a member of the object in ./out.
member() { ./json "$@" <out || fail "no member $*"; }

# What little-endian .npy files begin with: npy SHAPE.
npy() {
  printf '\x93NUMPY\x01\x00\x76\x00'
  printf "%-117s\n" "{'descr': '<f8', 'fortran_order': False, 'shape': ($1), }"
}
