#!/usr/bin/env bash
# Lines and branches that were run, by folder, from gcov's notes in a build folder; then the files among readers and
# resume with the most branches that never were. Usage: coverage.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
readers='io/|base/file|checkpoint|policy_file|columns|dataset|testset|rollout[.]c|study/(read|work|runs|study)[.]c|claims[.]c|mlp_file|credit_data|(games|mdp)/(file|read)|solve_files|args[.]c'

cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
find "$build/src" "$build/cli" -name '*.gcda' | while read -r notes; do
  gcov -b -n "$notes" 2>/dev/null
done | awk -v root="$root/" -v readers="$readers" '
  /^File / { file = substr($0, 7, length($0) - 7); sub(root, "", file); sub(/^([.][.]\/)+/, "", file) } # ccache may make names relative
  /^Lines executed/ { split($0, a, /[:%]/); split($0, b, " of "); lines = b[2]; run = a[2] * lines / 100 }
  /^Branches executed/ { next }
  /^Taken at least once/ { split($0, a, /[:%]/); split($0, b, " of "); branches = b[2]; taken = a[2] * branches / 100 }
  /^No branches/ { branches = taken = 0 }
  /^(Calls executed|No calls)/ {
    # a file of several builds counts once, by the build that ran most
    if (file ~ /^(src|cli)\// && file ~ /[.]c$/ && run >= best[file]) {
      best[file] = run; all[file] = lines; b_all[file] = branches; b_run[file] = taken
    }
  }
  END {
    for (f in best) {
      folder = f; sub(/\/[^\/]*$/, "", folder)
      l[folder] += all[f]; r[folder] += best[f]; bl[folder] += b_all[f]; br[folder] += b_run[f]
      tl += all[f]; tr += best[f]; tbl += b_all[f]; tbr += b_run[f]
    }
    printf "%-28s %7s %7s %9s %7s\n", "folder", "lines", "run", "branches", "taken"
    for (f in l) printf "%-28s %7d %6.1f%% %9d %6.1f%%\n", f, l[f], 100 * r[f] / l[f], bl[f], bl[f] ? 100 * br[f] / bl[f] : 100 | "sort"
    close("sort")
    printf "%-28s %7d %6.1f%% %9d %6.1f%%\n", "all", tl, 100 * tr / tl, tbl, 100 * tbr / tbl
    print "\nreaders and resume, branches never taken:"
    for (f in best) if (f ~ readers && b_all[f] > b_run[f]) printf "%5.0f of %5d  %s\n", b_all[f] - b_run[f], b_all[f], f | "sort -rn | head -15"
  }'
