#!/usr/bin/env bash
# The version stands in include/hvi/version.h; fails on a place that says another. Usage: check-version.sh [ROOT]
#
#   - CMakeLists.txt, python/setup.py and python/pyproject.toml read it there and have none of their own
#   - the first heading of CHANGELOG.md: "## VERSION (unreleased)" or "## VERSION (YYYY-MM-DD)"
#   - CITATION.cff: the version, and date-released exactly where the changelog has a date
#   - files, packages and the SONAME that documents name; "made by hvi" is what a file says of its maker
# `scripts/release.sh` changes all of them.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
status=0

wrong() {
  echo "$*"
  status=1
}

part() { sed -n "s/^#define HVI_VERSION_$1 \([0-9]*\)$/\1/p" include/hvi/version.h; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || wrong "include/hvi/version.h: no version"
soversion=${version%%.*}
((soversion > 0)) || soversion=${version%.*}

grep -nE '(VERSION|version) *=? *"?[0-9]+\.[0-9]+\.[0-9]+' CMakeLists.txt cmake/version.cmake python/setup.py python/pyproject.toml |
  sed 's/$/: a version of its own/' | grep . && status=1

heading=$(grep -m 1 '^## ' CHANGELOG.md || true)
[[ $heading =~ ^'## '$version' ('(unreleased|[0-9]{4}-[0-9]{2}-[0-9]{2})')'$ ]] ||
  wrong "CHANGELOG.md: '$heading', the version is $version"
date=${BASH_REMATCH[1]-}
cited=$(sed -n 's/^version: *//p' CITATION.cff)
[[ $cited == "$version" ]] || wrong "CITATION.cff: version '$cited', not $version"
released=$(sed -n 's/^date-released: *//p' CITATION.cff)
[[ ${released:-unreleased} == "$date" ]] || wrong "CITATION.cff: date-released '$released', the changelog says '$date'"

mapfile -t pages < <(find README.md ARCHITECTURE.md CONTRIBUTING.md docs python/README.md examples/README.md \
  -name '*.md' -not -path 'docs/results/*' | sort)
# told PATTERN RIGHT: the number at the end of each match of PATTERN in the pages is RIGHT
told() {
  local page line text number
  while IFS=: read -r page line text; do
    number=${text##*[!0-9.]}
    [[ ${number#.} == "$2" ]] || wrong "$page:$line: '$text', not $2"
  done < <(grep -nvH 'made by' "${pages[@]}" | grep -oE "^[^:]*:[0-9]+:|$1" |
    awk '/^[^:]*:[0-9]+:$/ { at = $0; next } { print at $0 }')
}
told '\b(lib)?hvi[a-z0-9.-]*[-_ ][0-9]+\.[0-9]+\.[0-9]+' "$version"
told '\blibhvi(\.so\.)?[0-9]+(\.[0-9]+)*' "$soversion"
exit $status
