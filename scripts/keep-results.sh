#!/usr/bin/env bash
# keep-results.sh OUT COMMIT ID...: copies what `hvi reproduce ID --full --out OUT` has written to docs/results/ID:
# the figures with their numbers, the tables, the claims, the tuning, and in made-by.txt the command, the commit it was
# built from, the machine and the day, as claims.json has them. Cells and checkpoints stay behind. Where the experiment
# ran without gnuplot, run gnuplot on its scripts first.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# -ge 3 ]] || {
  echo "usage: scripts/keep-results.sh OUT COMMIT ID..." >&2
  exit 2
}
out=$1 commit=$2
shift 2

# member FILE NAME: a text of claims.json
member() { sed -n "s/^  \"$2\": \"\(.*\)\",\{0,1\}$/\1/p" "$1" | head -n 1; }

for id; do
  from=$out/$id to=docs/results/$id
  [[ -s $from/claims.json ]] || {
    echo "keep-results.sh: $from is not finished" >&2
    exit 1
  }
  rm -rf "$to.new"
  mkdir -p "$to.new"
  cp "$from"/*.png "$from"/*.json "$to.new"
  # the command without folders of a machine; the checksum, which was of the other, goes
  device=$(member "$from/claims.json" command | grep -oE -- '--device(-precision)? [a-z0-9]+' | paste -sd' ' || true)
  command="hvi reproduce $id --full${device:+ $device}"
  sed -i -E -z "s|\"command\": \"[^\"]*\"|\"command\": \"$command\"|; s|,\n  \"checksum\": \"[^\"]*\"||" "$to.new/claims.json"
  # long traces stay behind: the figures' JSON has their curves, and the command makes them again
  find "$from" -maxdepth 1 -name '*.csv' -size -200k -exec cp -t "$to.new" {} +
  left=$(find "$from" -maxdepth 1 -name '*.csv' -size +199k -printf '%f\n' | sort | paste -sd' ')
  {
    echo "command  $command"
    echo "seeds    those of experiments/$id.yaml"
    echo "commit   $commit"
    echo "machine  $(member "$from/claims.json" machine)"
    echo "date     $(member "$from/claims.json" date)"
    echo "left out ${left:-nothing}"
  } >"$to.new/made-by.txt"
  rm -rf "$to"
  mv "$to.new" "$to"
done
