#!/usr/bin/env bash
# The check of PAPER.md: the tree passes, each kind of wrong name is found, and --fix mends a file that moved.
set -euo pipefail
check=$HVI_SOURCE_DIR/scripts/check-paper.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "paper: $*" >&2
  exit 1
}

"$check" "$HVI_SOURCE_DIR" || fail "PAPER.md names what is not there"

for folder in src cli tests experiments; do
  ln -s "$HVI_SOURCE_DIR/$folder" "$scratch/$folder"
done
home=$(cd "$HVI_SOURCE_DIR" && grep -rlE --include='*.c' '^hvi_status hvi_solver_new\(' src)

accepted() {
  printf '%s\n' "$@" >"$scratch/PAPER.md"
  "$check" "$scratch" || fail "refused: $*"
}

refused() {
  local words=$1 said
  printf '%s\n' "${@:2}" >"$scratch/PAPER.md"
  if said=$("$check" "$scratch"); then fail "accepted: ${*:2}"; fi
  [[ $said == *"$words"* ]] || fail "${*:2} was refused with: $said"
}

accepted "| \`alg:surr\` | code | \`hvi_solver_new\` in \`$home\` |" '| | test | `test_presets:phgd_on_pennies` |' \
  '| | claim | `theory/rate`, `ant/lowest-ant`, `offline-gap/gap-per-second-reset-ant` |' 'run `hvi list`'
refused "no function 'hvi_solver_knew'" '`hvi_solver_knew`'
refused "is not defined in 'src/base/error.c'" '`hvi_solver_new` in `src/base/error.c`'
refused "no test 'test_presets:phgd_on_penny'" '`test_presets:phgd_on_penny`'
refused "no test 'test_preset:phgd_on_pennies'" '`test_preset:phgd_on_pennies`'
refused "no claim 'theory/ratio-of-nothing'" '`theory/ratio-of-nothing`'
refused "no claim 'theorem/rate'" '`theorem/rate`'
refused "no claim 'ant/lowest'" '`ant/lowest`'
refused "no claim 'ant/lowest-hopper'" '`ant/lowest-hopper`'
refused "no claim 'theory/rate-ant'" '`theory/rate-ant`'
refused "no file 'docs/none.md'" '`docs/none.md`'
refused "PAPER.md:2: no function" 'fine' '`hvi_none`'
refused "of no kind" '`lambda`'
refused 'twice' '| `eq:vi` | a |' '| `eq:vi` | b |'

# verdicts against the results of full runs
mkdir -p "$scratch/docs/results/theory"
cat >"$scratch/docs/results/theory/claims.json" <<'END'
  "claims": [
    { "a": 0,
      "id": "rate",
      "verdict": "holds",
    },
      "id": "lemma",
      "verdict": "does not hold",
      "id": "signs",
      "verdict": "not decided",
END
accepted '| a | holds | 1 | full | `theory/rate` |' '| a | verified | 1 | full | `theory/rate` |' \
  '| a | holds for α < 1 | 1 | full | `theory/rate`, `theory/lemma` |' '| a | does not hold | 1 | full | `theory/lemma` |' \
  '| a | not decided | 1 | full | `theory/signs` |' '| a | does not hold | 1 | quick | `ant/lowest-ant` |'
refused 'PAPER.md:2: the verdict' 'fine' '| a | holds | 1 | full | `theory/lemma` |'
refused 'the verdict' '| a | verified | 1 | full | `theory/rate`, `theory/signs` |'
refused 'the verdict' '| a | does not hold | 1 | full | `theory/rate` |'
refused 'the verdict' '| a | holds for α < 1 | 1 | full | `theory/lemma` |'
refused 'the verdict' '| a | not decided | 1 | full | `theory/rate` |'
refused 'the verdict' '| a | perhaps | 1 | full | `theory/rate` |'

echo '`hvi_solver_new` in `src/gone.c`' >"$scratch/PAPER.md"
"$check" --fix "$scratch" || fail "--fix leaves a fault"
grep -qF "in \`$home\`" "$scratch/PAPER.md" || fail "--fix wrote $(cat "$scratch/PAPER.md")"
