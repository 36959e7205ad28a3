#!/usr/bin/env bash
# The installer of packages, with stand-ins for the system's tools: it asks for exactly what is
# missing, and calls nothing when nothing is.
set -euo pipefail
install=$HVI_SOURCE_DIR/scripts/install-dependencies.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SCRATCH=$scratch PATH=$scratch/bin:$PATH

fail() {
  echo "dependencies: $*" >&2
  exit 1
}

stand_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

mkdir "$scratch/bin"
touch "$scratch/calls"
stand_in apt-get 'echo "$*" >>"$SCRATCH/calls"'
stand_in sudo 'shift; exec "$@"'
stand_in dpkg-query '
for package; do :; done
case " $MISSING " in *" $package "*) exit 1 ;; esac
printf installed'

MISSING="" "$install" || fail "failed although nothing is missing"
[[ ! -s $scratch/calls ]] || fail "called apt-get although nothing is missing"

MISSING="libcmocka-dev valgrind" "$install" >"$scratch/said" || fail "failed to install"
grep -q '^update' "$scratch/calls" || fail "did not update the lists"
grep -q '^install .* libcmocka-dev$' "$scratch/calls" || fail "called: $(cat "$scratch/calls")"

MISSING="libcmocka-dev valgrind" "$install" valgrind >"$scratch/said" || fail "failed to install"
grep -q '^install .* libcmocka-dev valgrind$' "$scratch/calls" || fail "a package asked for is missing"

stand_in apt-get 'exit 100'
if MISSING=cmake "$install" >"$scratch/said" 2>&1; then fail "hid a failure of apt-get"; fi

# Without the rights to install, one line says what to do.
if ((EUID != 0)); then
  stand_in sudo 'exit 1'
  if MISSING=cmake "$install" 2>"$scratch/said"; then fail "went on without the rights"; fi
  grep -q 'apt-get install cmake$' "$scratch/said" || fail "said: $(cat "$scratch/said")"
fi
