#!/usr/bin/env bash
# keep-results.sh OUT COMMIT ID...: copies what `hvi reproduce ID --full --out OUT` has written to docs/results/ID:
# the figures with their numbers, the tables, the claims, the tuning, and in made-by.txt the command, the commit it was
# built from, this machine, on which it is run after the experiment, and the day. Cells and checkpoints stay behind.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# -ge 3 ]] || {
  echo "usage: scripts/keep-results.sh OUT COMMIT ID..." >&2
  exit 2
}
out=$1 commit=$2
shift 2
machine="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
for id; do
  from=$out/$id to=docs/results/$id
  [[ -s $from/claims.json ]] || {
    echo "keep-results.sh: $from is not finished" >&2
    exit 1
  }
  rm -rf "$to.new"
  mkdir -p "$to.new"
  cp "$from"/*.png "$from"/*.json "$to.new"
  # the command without folders of this machine; the checksum, which was of the other, goes
  sed -i -E -z "s|\"command\": \"[^\"]*\"|\"command\": \"hvi reproduce $id --full\"|; s|,\n  \"checksum\": \"[^\"]*\"||" "$to.new/claims.json"
  # long traces stay behind: the figures' JSON has their curves, and the command makes them again
  find "$from" -maxdepth 1 -name '*.csv' -size -200k -exec cp -t "$to.new" {} +
  left=$(find "$from" -maxdepth 1 -name '*.csv' -size +199k -printf '%f\n' | sort | paste -sd' ')
  {
    echo "command  hvi reproduce $id --full"
    echo "seeds    those of experiments/$id.yaml"
    echo "commit   $commit"
    echo "machine  $machine"
    echo "date     $(date -u -r "$from/claims.json" +%Y-%m-%d)"
    echo "left out ${left:-nothing}"
  } >"$to.new/made-by.txt"
  rm -rf "$to"
  mv "$to.new" "$to"
done
