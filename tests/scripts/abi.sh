#!/usr/bin/env bash
# The binary interface: what is recorded is what the headers say and the library exports; a change that breaks
# plug-ins is found where no size tells of it; and a plug-in of other headers is refused.
set -euo pipefail
check() { python3 "$HVI_SOURCE_DIR/scripts/abi.py" --root "$scratch" "$@"; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "abi: $*" >&2
  exit 1
}

python3 "$HVI_SOURCE_DIR/scripts/abi.py" --root "$HVI_SOURCE_DIR" --library "$HVI_BUILD_DIR/src/libhvi.so" || fail "as above"

# fresh: a tree of its own, with a version that is released ($1 released) or not
fresh() {
  rm -rf "$scratch"/*
  mkdir -p "$scratch/tests/golden"
  cp -r "$HVI_SOURCE_DIR/include" "$scratch/"
  cp "$HVI_SOURCE_DIR/tests/golden/abi.txt" "$scratch/tests/golden/"
  if [[ $1 == released ]]; then echo '## 0.0.0 (2026-01-31)'; else echo '## 1.2.3 (unreleased)'; fi >"$scratch/CHANGELOG.md"
}
edit() { # HEADER EXPRESSION, which must change something
  sed -E -i.before "$2" "$scratch/include/hvi/$1"
  ! cmp -s "$scratch/include/hvi/$1"{,.before} || fail "$1: nothing to plant in"
  rm "$scratch/include/hvi/$1.before"
}
refused() { # WORDS OPTION...
  local said words=$1
  shift
  ! said=$(check "$@") || fail "accepted, not refused with '$words'"
  [[ $said == *"$words"* ]] || fail "said: $said"
}

# two members of one size change places
swap='s/size_t obs, act; /size_t act, obs; /'
fresh unreleased
check || fail "a copy differs"
edit env.h "$swap"
refused 'gone: hvi_env.obs 16 size_t'
refused 'raise HVI_PLUGIN_REVISION' --write
edit plugin.h 's/(HVI_PLUGIN_REVISION = )[0-9]+/\199/'
refused 'record it by' # no longer unsafe, but not recorded
check --write && check || fail "not recorded"
fresh released
edit env.h "$swap"
edit plugin.h 's/(HVI_PLUGIN_REVISION = )[0-9]+/\199/'
refused 'scripts/release.sh VERSION unreleased' --write
edit version.h 's/(HVI_VERSION_MINOR) [0-9]+/\1 77/'
check --write || fail "another SONAME was not enough"

# a parameter's type, an enum's value, a function that is gone: each breaks; one that is new does not
for plant in 'rng.h s/uint64_t seed/uint32_t seed/' 'error.h s/HVI_OK = 0/HVI_OK = 1/' 'version.h /hvi_version/d'; do
  fresh released
  edit ${plant%% *} "${plant#* }"
  refused 'gone: '
done
fresh released
edit version.h 's/^(HVI_API const char \*hvi_)version.*/&\n\1number(int part);/'
refused 'new: function hvi_number(int): const char *'
refused 'not exported: hvi_number' --library "$HVI_BUILD_DIR/src/libhvi.so"
check --write || fail "a new function was refused"
fresh released
edit version.h '/hvi_version/d'
refused 'exported, but in no header: hvi_version' --library "$HVI_BUILD_DIR/src/libhvi.so"

# the program takes a plug-in of its own headers, and none of headers with another revision or version
try() { # NAME: the plug-in of $scratch/include
  "${CC:-cc}" -shared -fPIC -std=c11 -I"$scratch/include" "$HVI_SOURCE_DIR/examples/own.c" -o "$scratch/$1.so" -lm
  "$HVI" inspect "$scratch/$1.so" >"$scratch/said" 2>&1
}
fresh released
try same || fail "$(cat "$scratch/said")"
for plant in 'plugin.h s/(HVI_PLUGIN_REVISION = )[0-9]+/\199/' 'version.h s/(HVI_VERSION_MINOR) [0-9]+/\1 77/'; do
  fresh released
  edit ${plant%% *} "${plant#* }"
  ! try other || fail "loaded in spite of $plant"
  grep -q "other.so' was compiled for another hvi than .*; compile it again" "$scratch/said" || fail "$(cat "$scratch/said")"
done
