#!/usr/bin/env bash
# Fails on prose that is hard to read. Usage: check-prose.sh [ROOT]
#
#   - a line of Markdown over 120 characters
#   - README.md over 120 lines
#   - a link to a file that is not there
#   - words that promise something later, or that only their author understands
#   - a sentence over 25 words in README.md; for the other pages their number is told
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/..}"
export LC_ALL=C.UTF-8
status=0
long=$(mktemp)
trap 'rm -f "$long"' EXIT

mapfile -t pages < <(find . -name '*.md' -not -path './build*' -not -path './.git/*' -not -path './out/*' -not -path './.venv*' | sort)

if grep -nE '^.{121,}' "${pages[@]}" /dev/null | sed -E 's/^([^:]*:[0-9]+):.*/\1: over 120 characters/' | grep .; then
  status=1
fi

if [[ -f README.md ]] && (($(wc -l <README.md) > 120)); then
  echo "./README.md: over 120 lines"
  status=1
fi

while IFS=: read -r page line link; do
  target=${link#](} target=${target%)} target=${target%%#*}
  [[ -z $target || $target == *://* || -e $(dirname "$page")/$target ]] && continue
  echo "$page:$line: no file '$target'"
  status=1
done < <(grep -noE '\]\([^) ]+\)' "${pages[@]}" /dev/null)

promises='still to come|coming soon|will be added'
coinages='look further ahead|mode corrected|mean over the steps|\bpurse\b'
if grep -niE "$promises|$coinages" "${pages[@]}" /dev/null | cut -c1-120 | grep .; then status=1; fi
for folder in experiments man problems; do
  [[ -d $folder ]] && grep -rniE "$promises" "$folder" | cut -c1-120 | grep . && status=1
done

for page in "${pages[@]}"; do
  awk -f "$here/check-prose.awk" "$page" >"$long"
  count=$(wc -l <"$long")
  ((count == 0)) && continue
  echo "$page: $count sentences over 25 words"
  if [[ $page == ./README.md ]]; then
    cat "$long"
    status=1
  elif [[ ${VERBOSE-} ]]; then
    cat "$long"
  fi
done
exit $status
