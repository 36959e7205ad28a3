#!/usr/bin/env bash
# The bundle, unpacked where there is nothing but glibc: it runs experiments with the bits of the build,
# from a path with blanks too, and for a user who may not write there.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root

fail() {
  echo "bundle: $*" >&2
  exit 1
}
skip() {
  echo "bundle: not tested: $*" >&2
  exit 77
}

[[ -e $HVI_BUILD_DIR/libhvi_mujoco.so ]] || skip "this build has no module for MuJoCo"
if unshare -m true 2>/dev/null; then
  enter=(unshare -m)
elif unshare -r -m true 2>/dev/null; then
  enter=(unshare -r -m)
elif ((EUID == 0)) && chroot / true 2>/dev/null; then
  enter=()
else
  skip "an empty root needs root's rights or user namespaces"
fi

# after a commit, too, the program that other tests run is not linked again
HVI_KEEP_COMMIT=1 cmake --build "$HVI_BUILD_DIR" --target hvi_bundle >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
XZ_OPT=-0 "$HVI_SOURCE_DIR/scripts/bundle.sh" "$HVI_BUILD_DIR" "$scratch" >"$scratch/log" || fail "$(cat "$scratch/log")"
tarball=$(echo "$scratch"/hvi-*-x86_64.tar.xz)
(($(stat -c %s "$tarball") <= 40000000)) || fail "$(cat "$scratch/log")"
name=$(basename "$tarball" .tar.xz)
mkdir -p "$root"/{proc,tmp,opt,'a folder/with blanks'}
chmod 1777 "$root/tmp"
tar -C "$root/opt" -xf "$tarball"
bundle=$root/opt/$name

# From outside: whatever the machine has, libraries come from the bundle. What does not is glibc, and goes
# into the empty root.
LD_DEBUG=libs LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu env -u HVI_MODULE_PATH "$bundle/bin/hvi" info 2>&1 >/dev/null |
  sed -n 's/.*calling init: //p' | sort -u >"$scratch/loaded"
grep -q "^$bundle/.*/libmujoco.so" "$scratch/loaded" || fail "MuJoCo is not loaded: $(cat "$scratch/loaded")"
while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux-x86-64.so.*)
      mkdir -p "$root${library%/*}"
      cp -L "$library" "$root$library"
      ;;
    *) [[ $(realpath -s "$library") == "$bundle"/lib/* ]] || fail "$library comes from outside" ;;
  esac
done <"$scratch/loaded"
mkdir -p "$root/lib64"
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
for file in README LICENSE share/doc/hvi/licences/libmujoco2.2.2 share/doc/hvi/licences/GPL-3 share/hvi/results/README.md \
  share/hvi/policies/ant.safetensors share/hvi/testsets/ant.safetensors; do
  [[ -s $bundle/$file ]] || fail "$file is not there"
done

# inside FOLDER USER ARGUMENT...: the program of FOLDER in the empty root. /proc is mounted only where the
# mount is the test's own and ends with it; elsewhere it has the one link that counts.
inside() {
  local folder=$1 user=$2
  shift 2
  "${enter[@]}" bash -c '
    root=$1 folder=$2 user=$3 own=$4; shift 4
    if ((!own)) || ! mount --rbind /proc "$root/proc" 2>/dev/null; then
      mkdir -p "$root/proc/self" && ln -sfn "$folder/bin/hvi" "$root/proc/self/exe"
    fi
    exec env -i "$(command -v chroot)" ${user:+"--userspec=$user"} "$root" "$folder/bin/hvi" "$@"' \
    bash "$root" "$folder" "$user" "${#enter[@]}" "$@" >"$scratch/out" 2>"$scratch/err" ||
    fail "'hvi $*' ended with $? and said: $(cat "$scratch/out" "$scratch/err")"
}
said() { grep -Eq "$1" "$scratch/out" "$scratch/err" || fail "nothing like '$1' in: $(cat "$scratch/out" "$scratch/err")"; }

cat >"$root/tmp/tiny.yaml" <<END
id: tiny
title: Two ways to evaluate the policy of HalfCheetah
kind: value
seed: 1
quick: {iterations: 5, instances: 2, batch: 20, width: 8, states: 50, measures: 2}
full: {iterations: 5, instances: 2, batch: 20}
value:
  environments: [{environment: half_cheetah, policy: policies/half_cheetah.safetensors, testset: testsets/half_cheetah.safetensors}]
  hidden: [8]
  gamma: 0.99
methods:
  - {label: TD(0), method: adamw, inner: 1, keep_state: true, inner_lr: 0.01}
  - {label: LM 1, method: lm, inner: 1, damping: 0.1}
claims:
  - {id: both, each: environment, text: Both end somewhere., holds: 'mean(end(error, "LM 1")) > 0'}
END

# The rows of all runs, without the columns that are clocks.
bits() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) clock[i] = $i ~ /^seconds/ }
    { for (i = 1; i <= NF; i++) if (!clock[i]) printf "%s,", $i; print "" }' "$1"
}
HVI_DATA=$HVI_SOURCE_DIR/data "$HVI" reproduce "$root/tmp/tiny.yaml" --out "$scratch/here" >/dev/null 2>&1
bits "$scratch/here/tiny/runs.csv" >"$scratch/want"
(($(wc -l <"$scratch/want") > 4)) || fail "the build ran nothing"

# experiments FOLDER USER OUT: from MuJoCo to the page, without a gnuplot
experiments() {
  inside "$1" "$2" reproduce /tmp/tiny.yaml pennies --out "$3"
  said 'gnuplot'
  bits "$root$3/tiny/runs.csv" | cmp -s - "$scratch/want" || fail "'$1': other bits than the build's"
  [[ -s $root$3/pennies/claims.json && -s $root$3/index.html ]] || fail "'$1': no results"
}

inside "/opt/$name" "" --version
said "^${name%-x86_64}$|^hvi $(cut -d- -f2 <<<"$name")$"
inside "/opt/$name" "" info
said '^blas +OpenBLAS'
said "^mujoco +MuJoCo .*/opt/$name/"
said '^gnuplot +not found'
inside "/opt/$name" "" solve pennies
said '^status +converged'
experiments "/opt/$name" "" /tmp/out

mv "$bundle" "$root/a folder/with blanks/"
experiments "/a folder/with blanks/$name" "" "/tmp/from blanks"
if [[ ${enter[*]} != *-r* ]]; then # else there is one user
  chmod -R a-w "$root/a folder"
  experiments "/a folder/with blanks/$name" 65534:65534 /tmp/other
  [[ $(stat -c %u "$root/tmp/other") == 65534 ]] || fail "not as another user"
fi
