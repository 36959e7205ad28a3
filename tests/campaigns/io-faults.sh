#!/usr/bin/env bash
# Faults of a disk at every call in turn: EIO, ENOSPC once and from then on, EINTR, short writes and reads; then file
# systems that are too small, or read-only. A fault is told in one line with exit status 5, or made no difference. What
# was there before stays, and --resume ends in the same bits. Interrupted reads, writes, syncs and closes must make none.
# Usage: io-faults.sh small|full; COUNT: faults per command and kind.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/campaigns/common.sh"
plain_only
build faults.so tests/campaigns/faults.c -shared -fPIC

# told NAME MUST_WORK: exit status 0 and the same bits; 5 and a line, where it may fail.
told() {
  if [[ $code == 0 ]]; then same work "$1"; else [[ $2 == no ]] && one_line 5 "$1"; fi
}
# and what was there is old or new, not torn
kept() { told "$1" "$2" && { whole work "$1" || return 1; }; }
# or the run goes on
goes_on() {
  told "$1" "$2" || return 1
  [[ $code == 0 ]] || { in_folder work "${line[$1]} --resume" && [[ $code == 0 ]] && same work "$1"; }
}

calls() { # FOLDER LINE CALLS: how many there are
  rm -f log
  in_folder "$1" "$2" LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/$1" FAULT_CALLS="$3" FAULT_LOG="$here/log"
  [[ -e log ]] && stat -c %s log || echo 0
}

faults() { # NAME KIND ON CALLS MUST_WORK
  local total i at verb=$1 again="${line[$1]} ${fresh[$1]-}"
  anew work old
  total=$(calls work "$again" "$4")
  for ((i = 0; i < points && i < total; i++)); do
    at=$((i * total / (points < total ? points : total) + 1))
    if ((i % 2)); then
      anew work
      in_folder work "${line[$1]}" "${shim[@]}" FAULT_KIND=$2 FAULT_CALLS=$4 FAULT_AT=$at ${3:+FAULT_ON=1}
      check "$verb: $2 $3 at call $at of $total ($4)" goes_on "$1" "$5"
    else
      anew work old
      in_folder work "$again" "${shim[@]}" FAULT_KIND=$2 FAULT_CALLS=$4 FAULT_AT=$at ${3:+FAULT_ON=1}
      check "$verb over an older one: $2 $3 at call $at of $total ($4)" kept "$1" "$5"
    fi
  done
}

shim=(LD_PRELOAD="$here/faults.so" FAULT_ROOT="$here/work")
declare -A fresh=([solve]=--fresh [evaluate]=--fresh [train]=--fresh)
points=$(many 4 40)
for name in "${commands[@]}"; do
  before=$tried
  make_straight "$name"
  anew old
  in_folder old "${older[$name]}"
  [[ $code == 0 ]] || fail "${older[$name]}"
  faults "$name" eio '' owstrmp no
  faults "$name" enospc '' owrlm no
  faults "$name" enospc on owrlm no
  faults "$name" eintr '' wspc yes
  faults "$name" eintr '' oitrlum no
  faults "$name" short '' wp yes
  echo "$name: $((tried - before)) faults"
done

# File systems: a tiny one, that grows afterwards, and one that becomes read-only.
full_disk() { # NAME
  local status=$code
  { [[ $status == 0 ]] && same disk "$1"; } || one_line 5 "$1" || return 1
  mount -o remount,size=8m disk
  [[ $status == 0 ]] || in_folder disk "${line[$1]} --resume"
  [[ $code == 0 ]] && same disk "$1"
}
unchanged() { one_line 5 "$1" && diff -rq old disk >/dev/null; }

mkdir disk
if mount -t tmpfs -o size=64k none disk 2>/dev/null; then
  trap 'umount "$here/disk"; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
  before=$tried
  for name in "${commands[@]}"; do
    make_straight "$name"
    need=$(($(du -sk straight | cut -f1) + 4))
    for ((i = 1; i <= $(many 2 12); i++)); do
      umount disk
      mount -t tmpfs -o size=$((need * i / ($(many 2 12) + 1) / 4 * 4 + 4))k none disk
      in_folder disk "${line[$name]}"
      check "$name on a disk of a $i-th of what it needs" full_disk "$name"
    done
    anew old
    in_folder old "${older[$name]}"
    umount disk
    mount -t tmpfs -o size=8m none disk
    cp -a old/. disk
    mount -o remount,ro disk
    in_folder disk "${line[$name]} ${fresh[$name]-}"
    check "$name on a disk that is read-only" unchanged "$name"
  done
  echo "small and read-only disks: $((tried - before))"
fi
finish
