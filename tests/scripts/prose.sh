#!/usr/bin/env bash
# The check of the prose: the tree passes, and each kind of planted fault is found.
set -euo pipefail
check=$HVI_SOURCE_DIR/scripts/check-prose.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "prose: $*" >&2
  exit 1
}

"$check" "$HVI_SOURCE_DIR" || fail "the tree's prose"

plant() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/docs"
  cat >"$scratch/tree/$1"
}

accepted() {
  plant "$1"
  "$check" "$scratch/tree" || fail "refused: $2"
}

refused() {
  plant "$1"
  local said
  if said=$("$check" "$scratch/tree"); then fail "accepted: $2"; fi
  [[ $said == *"$3"* ]] || fail "$2 was refused with: $said"
}

words() {
  for ((i = 0; i < $1; i++)); do printf 'word '; done
}

printf 'Short. %s.\n' "$(words 20)" | accepted README.md "sentences that are short"
printf '%s\n%s.\n' "$(words 20)" "$(words 20)" | refused README.md "a long sentence" "40 words"
printf '%s\n%s.\n' "$(words 20)" "$(words 20)" | accepted docs/page.md "a long sentence on another page"
{
  echo '```'
  words 24
  echo
  words 24
  echo
  echo '```'
} | accepted README.md "words in code"
printf '| %s | %s |\n' "$(words 11)" "$(words 11)" | accepted README.md "cells of a table"
printf '%0121d\n' 0 | refused docs/page.md "a long line" "page.md:1: over 120 characters"
printf 'λ%0119d\n' 0 | accepted docs/page.md "120 characters in more bytes"
echo '[a](page.md#part) [b](https://example.org/x)' | accepted docs/page.md "links that lead somewhere"
echo 'See [a](gone.md).' | refused docs/page.md "a dead link" "page.md:1: no file 'gone.md'"
echo 'The rest is still to come.' | refused docs/page.md "a promise" "still to come"
printf '\n%.0s' {1..121} | refused README.md "a long front page" "over 120 lines"
