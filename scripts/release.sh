#!/usr/bin/env bash
# Sets the version everywhere that scripts/check-version.sh looks, and the description of the interface, in one go.
# Usage: release.sh VERSION [DATE]          a release, today (UTC) or on DATE (YYYY-MM-DD)
#        release.sh VERSION unreleased      work towards VERSION; needed before a change that breaks programs
# The environment: HVI_SOURCE_DIR for another tree than this one. Nothing is committed.
set -euo pipefail

fail() {
  echo "release: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
cd "${HVI_SOURCE_DIR:-$here/..}"
version=${1-} date=${2:-$(date -u +%F)}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "usage: release.sh VERSION [DATE|unreleased], VERSION as 0.2.0"
[[ $date =~ ^([0-9]{4}-[0-9]{2}-[0-9]{2}|unreleased)$ ]] || fail "'$date' is no date, as 2026-11-30"
"$here/check-version.sh" . || fail "the places above do not agree"
IFS=. read -r major minor patch <<<"$version"
old=$(sed -n 's/^version: *//p' CITATION.cff)
[[ $(printf '%s\n' "$old" "$version" | sort -V | tail -n 1) == "$version" ]] || fail "the tree has $old already"

heading=$(grep -m 1 '^## ' CHANGELOG.md)
if [[ $heading == *'(unreleased)' ]]; then
  sed -i "0,/^## /s/^## .*/## $version ($date)/" CHANGELOG.md
elif [[ $version == "$old" || $date != unreleased ]]; then
  fail "CHANGELOG.md has nothing that is not released: '$heading'"
else
  sed -i "0,/^## /s/^## /## $version (unreleased)\n\n## /" CHANGELOG.md
fi

for part in major minor patch; do
  sed -i "s/^\(#define HVI_VERSION_${part^^}\) .*/\1 ${!part}/" include/hvi/version.h
done
sed -i -e "s/^version: .*/version: $version/" -e '/^date-released:/d' CITATION.cff
[[ $date == unreleased ]] || sed -i "/^version: /a date-released: $date" CITATION.cff

soversion=$major
((soversion > 0)) || soversion=$major.$minor
find README.md ARCHITECTURE.md CONTRIBUTING.md docs python/README.md examples/README.md -name '*.md' -not -path 'docs/results/*' \
  -exec sed -E -i -e '/made by/!s/\b((lib)?hvi[a-z0-9.-]*[-_ ])[0-9]+\.[0-9]+\.[0-9]+/\1'"$version/g" \
  -e 's/\b(libhvi(\.so\.)?)[0-9]+(\.[0-9]+)*/\1'"$soversion/g" {} +
python3 "$here/abi.py" --write --root .
"$here/check-version.sh" .
echo "$old -> $version ($date). What documents show of sizes is not measured anew: see CONTRIBUTING.md."
