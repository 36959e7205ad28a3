#!/usr/bin/env bash
# The version: every place says the same, a planted other one is found in each, and release.sh changes all at once.
set -euo pipefail
check=$HVI_SOURCE_DIR/scripts/check-version.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "version: $*" >&2
  exit 1
}

"$check" "$HVI_SOURCE_DIR" || fail "as above"
version=$(sed -n 's/^version: *//p' "$HVI_SOURCE_DIR/CITATION.cff")
[[ $("$HVI" --version) == "hvi $version" ]] || fail "the program is $("$HVI" --version)"

fresh() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree"/{docs,python,examples,tests/golden}
  (cd "$HVI_SOURCE_DIR" && cp --parents CMakeLists.txt CHANGELOG.md CITATION.cff README.md ARCHITECTURE.md CONTRIBUTING.md \
    docs/*.md python/{setup.py,pyproject.toml,README.md} examples/README.md cmake/version.cmake tests/golden/abi.txt "$scratch/tree")
  cp -r "$HVI_SOURCE_DIR/include" "$scratch/tree/"
}
found() { # FILE EXPRESSION WORDS: the edit changes something, and is found
  local said
  fresh
  sed -E -i "$2" "$scratch/tree/$1"
  ! cmp -s "$scratch/tree/$1" "$HVI_SOURCE_DIR/$1" || fail "$1: nothing to plant in"
  ! said=$("$check" "$scratch/tree") || fail "$1: accepted after $2"
  [[ $said == *"$3"* ]] || fail "$1: $said"
}
other=9.8.7
found CMakeLists.txt "s/(project\(hvi VERSION) [^ ]+/\1 $other/" 'a version of its own'
found python/pyproject.toml "s/^name = .*/&\nversion = \"$other\"/" 'a version of its own'
found CHANGELOG.md "0,/^## /s/^## [0-9.]+/## $other/" "'## $other"
found CITATION.cff "s/^version: .*/version: $other/" "version '$other'"
found CITATION.cff 's/^version: .*/&\ndate-released: 1999-12-31/' "date-released"
found include/hvi/version.h 's/(HVI_VERSION_PATCH) .*/\1 77/' 'CITATION.cff'
found docs/install.md "s/hvi-${version//./\\.}-x86_64/hvi-$other-x86_64/" "'hvi-$other', not $version"
found docs/install.md "s/_${version//./\\.}-1_amd64/_$other-1_amd64/" "_$other', not $version"
found docs/install.md 's/libhvi\.so\.[0-9.]+/libhvi.so.77/' "'libhvi.so.77', not"
found docs/install.md 's/`libhvi[0-9.]+`/`libhvi77`/' "'libhvi77', not"
found docs/python.md "s/hvi-${version//./\\.}-cp/hvi-$other-cp/" "docs/python.md"

# towards a version, released, the next one: each leaves a tree that agrees
release() { HVI_SOURCE_DIR=$scratch/tree "$HVI_SOURCE_DIR/scripts/release.sh" "$@" >"$scratch/said" 2>&1; }
says() { grep -q "$2" "$scratch/tree/$1" || fail "$1 does not say '$2'"; }
fresh
sed -i '0,/^## /s/^## .*/## '"$version"' (unreleased)/' "$scratch/tree/CHANGELOG.md"
sed -i '/^date-released:/d' "$scratch/tree/CITATION.cff"
release 77.8.9 2031-02-28 || fail "$(cat "$scratch/said")"
says CHANGELOG.md '^## 77\.8\.9 (2031-02-28)$'
says CITATION.cff '^date-released: 2031-02-28$'
says include/hvi/version.h '^#define HVI_VERSION_MAJOR 77$'
says docs/install.md 'hvi-77\.8\.9-x86_64'
says docs/install.md 'libhvi\.so\.77\b'
says docs/data-files.md '^made by hvi      0\.2\.0'
says tests/golden/abi.txt '^soname libhvi\.so\.77$'
! release 77.9.0 || fail "released twice"
grep -q 'nothing that is not released' "$scratch/said" || fail "$(cat "$scratch/said")"
! release 0.0.1 unreleased || fail "went back"
! release 77.9 || fail "took a version of two numbers"
release 77.9.0 unreleased || fail "$(cat "$scratch/said")"
says CHANGELOG.md '^## 77\.9\.0 (unreleased)$'
says CHANGELOG.md '^## 77\.8\.9 (2031-02-28)$'
! grep -q '^date-released' "$scratch/tree/CITATION.cff" || fail "a date without a release"
release 77.9.0 2031-03-31 || fail "$(cat "$scratch/said")"
says CHANGELOG.md '^## 77\.9\.0 (2031-03-31)$'
