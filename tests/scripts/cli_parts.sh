#!/usr/bin/env bash
# --part K/N and hvi merge: the same bits as one run, and what is refused.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
study=$HVI_SOURCE_DIR/tests/data/pennies.yaml

# without_clocks FILE.csv: the columns but for the seconds
without_clocks() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } { if (s) $s = ""; print }' "$1"; }
# kill_at BYTES FILE: kills what was started last, once the file has as many; it may have come to the end before.
kill_at() {
  for _ in $(seq 1000); do
    if [[ $(stat -c %s "$2" 2>/dev/null || echo 0) -ge $1 ]] || ! kill -0 $! 2>/dev/null; then break; fi
    sleep 0.01
  done
  kill -9 $! 2>/dev/null || true
  wait $! || true
}
same_study() {
  for file in whole/pennies/*.csv; do
    cmp -s <(without_clocks "$file") <(without_clocks "$1/pennies/${file##*/}") || fail "$1: ${file##*/} has other bits"
  done
  cmp -s <(grep -E '"(settings_hash|value|judgement)"' whole/pennies/claims.json) \
    <(grep -E '"(settings_hash|value|judgement)"' "$1/pennies/claims.json") || fail "$1: other claims"
}

# A study in three parts, one of which is killed and resumed.
expect 0 reproduce "$study" --out whole -q
expect 0 reproduce "$study" --out p --part 1/3 -q
[[ ! -s out && ! -e p && -s p.part-1-of-3/pennies/cells.partial && ! -e p.part-1-of-3/index.html ]] || fail "not a part alone"
expect 0 reproduce "$study" --out p --part 3/3
said err '^part 3 of 3 is finished: p.part-3-of-3$'
refused 3 '^hvi: part 2 of 3 is missing: hvi reproduce .*pennies.yaml --out p -q --part 2/3$' merge p.part-*
sed 's/quick: .*/quick: {iterations: 3000000}/' "$study" >long.yaml
"$HVI" reproduce long.yaml --out p --part 2/3 -q &
kill_at 1 p.part-2-of-3/pennies/cells.partial
refused 3 '^hvi: part 2 of 3 is not finished: hvi reproduce .* --part 2/3 --resume$' merge p.part-*
expect 0 reproduce "$study" --out p --part 2/3 -q --resume
expect 0 merge p.part-* -q
said out '^1 claims: 1 hold'
same_study p
[[ -s p/index.html && $(member_count=$(grep -c . p/pennies/summary.csv) && echo "$member_count") == $(grep -c . whole/pennies/summary.csv) ]] || fail "no whole"
expect 0 merge p.part-3-of-3 p.part-1-of-3 p.part-2-of-3 -q --out elsewhere
same_study elsewhere

# The scripts of the documentation, with the variables that Slurm and Kubernetes set.
mkdir cluster bin
ln -s "$HVI" bin/hvi
cp "$study" cluster/mine.yaml
awk '/^```bash$/ { n++; on = 1; next } /^```/ { on = 0 } on { print >("cluster/script" n) }' "$HVI_SOURCE_DIR/docs/clusters.md"
sed -n "s/.*command: .sh, -c, '\\(.*\\)'.$/\\1/p" "$HVI_SOURCE_DIR/docs/clusters.md" >cluster/pod
sed -i '/^export HVI_CPU_LEVEL/d' cluster/script1
grep -q SLURM cluster/script1 && grep -q '^parallel' cluster/script2 && grep -q COMPLETION cluster/pod || fail "other scripts"
for ((k = 1; k <= 3; k++)); do
  (cd cluster && PATH=$scratch/bin:$PATH SLURM_ARRAY_TASK_ID=$k SLURM_CPUS_PER_TASK=1 bash script1) >>slurm.log 2>&1 || fail "Slurm's script"
done
expect 0 merge cluster/out.part-* -q --out slurm $(cp cluster/mine.yaml . && :)
same_study slurm
rm -r cluster/out.part-*
for ((k = 0; k < 3; k++)); do
  (cd cluster && PATH=$scratch/bin:$PATH JOB_COMPLETION_INDEX=$k sh pod) >>pod.log 2>&1 || fail "Kubernetes's script"
done
expect 0 merge cluster/out.part-* -q --out pods
same_study pods
if command -v parallel >/dev/null; then
  rm -r cluster/out.part-*
  (cd cluster && PATH=$scratch/bin:$PATH bash script2) >parallel.log 2>&1 || fail "the script for GNU parallel"
  expect 0 merge cluster/out.part-* -q --out parallel
  same_study parallel
fi

# What does not belong together.
refused 3 "'p.part-1-of-3' and 'copy' are the same part, 1 of 3" merge p.part-* $(cp -r p.part-1-of-3 copy && echo copy)
expect 0 reproduce "$study" --out two --part 1/2 -q
refused 3 "'two.part-1-of-2' is one of 2 parts, and 'p.part-1-of-3' one of 3" merge p.part-1-of-3 p.part-3-of-3 two.part-1-of-2
expect 0 reproduce "$study" --out full --part 2/3 -q --full
refused 3 "'full.part-2-of-3' was made with other settings \(hvi reproduce .* --full\) than 'p.part-1-of-3'" \
  merge p.part-1-of-3 full.part-2-of-3 p.part-3-of-3
if [[ $("$HVI" info) == *avx* ]]; then
  HVI_CPU_LEVEL=baseline expect 0 reproduce "$study" --out low --part 2/3 -q
  refused 3 "'low.part-2-of-3' is a part of a run; hvi .*; level baseline.*, and 'p.part-1-of-3' .*; level avx.*--accept" \
    merge p.part-1-of-3 low.part-2-of-3 p.part-3-of-3
  expect 0 merge p.part-1-of-3 low.part-2-of-3 p.part-3-of-3 --accept-other-bits --out both -q
  grep -Eq '"level": "avx[^+]*\+baseline[^+]*"' both/pennies/claims.json || fail "not both levels"
  HVI_CPU_LEVEL=baseline expect 0 merge p.part-* -q --out lower
  same_study lower
  grep -q '"level": "avx' lower/pennies/claims.json || fail "the level of the merge"
fi
refused 3 "'whole' is no part of a run" merge whole
sed -i 's/finished/Finished/' copy/part
refused 3 'checksum|damaged' merge copy p.part-2-of-3 p.part-3-of-3
for wrong in 0/3 4/3 1 1/ a/b 1/2/3 -1/2 1/1001; do refused 2 'should be K/N' reproduce "$study" --part "$wrong"; done
refused 2 'goes with --ensemble' solve rps --part 1/2
refused 2 'go with --checkpoint' solve rps --ensemble 10 --part 1/2
# nor does a merge write into a part
cp -r p.part-3-of-3 third
refused 3 "'third/pennies/cells.partial' is a part's" merge p.part-1-of-3 p.part-2-of-3 third --out third -q
diff -r third p.part-3-of-3 || fail "a part is no longer what it was"
# a part whose journal lost a cell is not believed
cp -r p.part-2-of-3 hurt
truncate -s -8 hurt/pennies/cells.partial
refused 3 "the cell '.*' is in no part" merge p.part-1-of-3 hurt p.part-3-of-3 -q --out hurt.whole

# Test sets, data sets and ensembles: files to the byte, and numbers to the digit.
testset=(testset lqr --policy default --states 60 --rollouts 4 --horizon 50 -q)
collect=(data collect lqr --policy default -n 9500 -q)
ensemble=(solve pennies --method lm --iters 50 --ensemble 1800 --json -q)
expect 0 "${testset[@]}" --out t.st
expect 0 "${collect[@]}" --out d.st
expect 0 "${ensemble[@]}"
grep -v seconds out >e.out
for k in 1 2 3; do
  expect 0 "${testset[@]}" --out tp.st --part $k/3
  expect 0 "${collect[@]}" --out dp.st --part $k/3
  expect 0 "${ensemble[@]}" --checkpoint ep --part $k/3
done
expect 0 merge tp.st.part-*
cmp -s t.st tp.st || fail "another test set"
chmod a-w dp.st.part-*/* ep.part-*/*
expect 0 merge dp.st.part-*
cmp -s d.st dp.st || fail "another data set"
expect 0 merge dp.st.part-* --out renamed.st
cmp -s d.st renamed.st || fail "another data set under another name"
expect 0 merge ep.part-* --out renamed
grep -v seconds out | cmp -s - e.out || fail "another ensemble under another name"
expect 0 merge ep.part-*
grep -v seconds out | cmp -s - e.out || fail "another ensemble"
# with other instructions it is the same whole, and what is in no part is not computed
mkdir low
cp -r dp.st.part-2-of-3 hurt.d
truncate -s 1000 hurt.d/dp.st.partial
if [[ $("$HVI" info) == *avx* ]]; then
  export HVI_CPU_LEVEL=baseline
  expect 0 merge tp.st.part-* --out low/tp.st
  cmp -s t.st low/tp.st || fail "a test set of the merge's level"
  expect 0 merge dp.st.part-* --out low/dp.st
  cmp -s d.st low/dp.st || fail "a data set of the merge's level"
  expect 0 merge ep.part-*
  grep -v seconds out | cmp -s - e.out || fail "an ensemble of the merge's level"
  refused 3 "'low/dp.st.partial': unit [0-9]+ is in no part, and they are of another level: avx" \
    merge dp.st.part-1-of-3 hurt.d dp.st.part-3-of-3 --out low/dp.st --force -q
  unset HVI_CPU_LEVEL
fi
expect 0 merge dp.st.part-1-of-3 hurt.d dp.st.part-3-of-3 --out low/dp.st --force
cmp -s d.st low/dp.st || fail "another data set where a group was in no part"
expect 0 "${collect[@]}" --out dp.st --part 2/3 --seed 2 --fresh
refused 3 "was made with 'seed=2', not 'seed=1'" merge dp.st.part-*
# an ensemble that is stopped goes on
ensemble=(solve rps --method lm --ensemble 20000 --json -q)
expect 0 "${ensemble[@]}"
grep -v seconds out >e.out
"$HVI" "${ensemble[@]}" --checkpoint kept -j 1 >/dev/null &
kill_at 300000 kept.partial # a block is 258,064
expect 0 "${ensemble[@]}" --checkpoint kept --resume
grep -v seconds out | cmp -s - e.out || fail "another ensemble after a kill"
[[ ! -e kept.partial ]] || fail "the journal stays"
