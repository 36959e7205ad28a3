#!/usr/bin/env bash
# Fails on a function that is too long or takes too many parameters. Usage: check-functions.sh [ROOT]
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$scripts/..}"
find src cli -name '*.[ch]' -print0 2>/dev/null | sort -z |
  xargs -0 --no-run-if-empty awk -f "$scripts/check-functions.awk"
