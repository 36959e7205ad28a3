#!/usr/bin/env bash
# One tarball that runs without an installation: the program, its modules, data, and every shared library
# that they need but glibc's. The build folder has the targets hvi, man and hvi_bundle.
# Usage: bundle.sh BUILD [FOLDER]     writes FOLDER/hvi-VERSION-x86_64.tar.xz, in BUILD without FOLDER
# The environment: GPU_CHECK=1 for hvi-gpu-check too (targets hvi_gpu_check_bundle and hvi_gpu_racecheck), XZ_OPT for xz (-6 -T2), SOURCE_DATE_EPOCH for the files' times (the last commit's).
set -euo pipefail
newest_glibc=2.36 # of Debian 12: what a bundle may ask for
glibc='^(ld-linux-x86-64|lib(c|m|mvec|dl|rt|pthread|util|resolv|anl|nsl|BrokenLocale|thread_db))\.so\.[0-9]+$'

fail() {
  echo "bundle: $*" >&2
  exit 1
}

(($# == 1 || $# == 2)) || fail "usage: bundle.sh BUILD [FOLDER]"
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
folder=$(mkdir -p "${2:-$1}" && cd "${2:-$1}" && pwd)
for tool in dpkg-query ldd objdump readelf strip xz; do
  command -v "$tool" >/dev/null || fail "$tool is missing"
done
[[ -x $build/bundle/hvi ]] || fail "'$build' lacks the program: cmake --build '$build' --target hvi hvi_bundle man"
! grep -E '^CMAKE_C(XX)?_FLAGS(_RELEASE)?:.*-m' "$build/CMakeCache.txt" || fail "flags as above may ask for more than x86-64"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$build/CMakeCache.txt")
name=hvi-$version-x86_64
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
top=$scratch/$name
umask 022

# The installed program is replaced by the one that looks for libraries from where it lies.
for part in program module gpu; do
  cmake --install "$build" --prefix "$top" --component $part --strip >"$scratch/log" || fail "$(cat "$scratch/log")"
done
cp "$build/bundle/hvi" "$top/bin/hvi"
if [[ ${GPU_CHECK-} ]]; then
  [[ -x $build/bundle/hvi-gpu-check ]] || fail "'$build' lacks hvi-gpu-check: cmake --build '$build' --target hvi_gpu_check_bundle"
  cp "$build/bundle/hvi-gpu-check" "$source/scripts/gpu-check.sh" "$top/bin/"
  strip "$top/bin/hvi-gpu-check"
  mkdir -p "$top/lib/hvi/racecheck"
  strip -o "$top/lib/hvi/racecheck/libhvi_gpu.so" "$build/racecheck/libhvi_gpu.so"
fi
strip "$top/bin/hvi"
module=$(find "$top" -name libhvi_mujoco.so)
[[ $module ]] || fail "'$build' has no module for MuJoCo"
libraries=$(dirname "$module")
cp -r "$source/include" "$top/"
rm -rf "$top/share/doc" # of Debian packages
licences=$top/share/doc/hvi/licences
mkdir -p "$licences"
cp "$source/LICENSE" "$top/LICENSE"

# The Debian package of a library, which may be recorded without /usr.
package_of() {
  local file
  file=$(readlink -f "$1")
  { dpkg-query -S "$file" || dpkg-query -S "${file#/usr}"; } 2>/dev/null | head -n 1 | sed 's/:.*//'
}

# Libraries as the build finds them. OpenBLAS has all of BLAS and LAPACK, so it stands for both; which
# variant the machine prefers does not matter.
needed=$({ ldd "$build/hvi" && ldd "$build/libhvi_mujoco.so"; } | awk '$2 == "=>" { print $1 "\t" $3 }' | sort -u -k 1,1)
while IFS=$'\t' read -r soname path; do
  [[ $soname =~ $glibc ]] && continue
  [[ $path == /* ]] || fail "$soname is not found"
  case $soname in
    libblas.so.3 | liblapack.so.3)
      ln -s libopenblas.so.0 "$libraries/$soname"
      continue
      ;;
  esac
  package=$(package_of "$path")
  [[ $package ]] || fail "$path belongs to no Debian package, so its licence is not known"
  [[ $soname != libopenblas.so.* || $package == libopenblas0-pthread ]] || fail "OpenBLAS is $package, not libopenblas0-pthread"
  install -m 644 "$path" "$libraries/$soname"
  # as named in Debian's files: /usr/share/common-licenses holds the texts that they refer to
  install -m 644 "/usr/share/doc/$package/copyright" "$licences/$package"
done <<<"$needed"
grep -oh '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$licences"/* | sort -u | while read -r text; do
  [[ ! -f $text ]] || install -m 644 "$text" "$licences/"
done

# Nothing but glibc may come from elsewhere, and no newer one than promised.
mapfile -t binaries < <(find "$top/bin" "$libraries" -type f ! -name '*.sh')
for binary in "${binaries[@]}"; do
  while read -r soname; do
    [[ $soname =~ $glibc || -e $libraries/$soname ]] || fail "${binary##*/} needs $soname, which is not bundled"
  done < <(objdump -p "$binary" | awk '$1 == "NEEDED" { print $2 }')
  ! readelf -d "$binary" | grep -E '\((RPATH|RUNPATH)\)' | grep -v '\[\$ORIGIN[^:]*\]' || fail "${binary##*/} looks elsewhere, as above"
done
wants=$(objdump -T "${binaries[@]}" | grep -o 'GLIBC_2[0-9.]*' | sort -u -V | tail -n 1)
wants=${wants#GLIBC_}
[[ $(printf '%s\n' "$wants" $newest_glibc | sort -V | tail -n 1) == "$newest_glibc" ]] ||
  fail "this machine's libraries need glibc $wants; build on one with glibc $newest_glibc or older"

cat >"$top/README" <<END
hvi $version: hidden monotone variational inequalities, solved by surrogate losses.

  bin/hvi --version
  bin/hvi solve pennies
  bin/hvi reproduce --out out      figures need gnuplot; everything else is here

It runs on x86-64 Linux with glibc $wants or later ('ldd --version' tells), from any folder, and nothing is
installed. A link to bin/hvi may lie on the PATH. Kernels use AVX2 or AVX-512 where the processor has them.

  bin/hvi             the program
  lib/hvi             the modules for MuJoCo and GPUs, and the libraries: Debian's, as they are
  include/hvi         headers, for problems of your own in C (these need a compiler)
  share/hvi           trained policies, test sets, results of full runs
  share/man           manual pages; 'bin/hvi man' prints them too
  share/doc/hvi       licences of the libraries, each named after its Debian package
  LICENSE             the licence of hvi
END

epoch=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)}
export XZ_OPT=${XZ_OPT:--6 -T2}
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=u-w --mtime="@$epoch" \
  --format=gnu -cJf "$scratch/$name.tar.xz" "$name"
mv "$scratch/$name.tar.xz" "$folder/"
echo "$folder/$name.tar.xz: $(stat -c %s "$folder/$name.tar.xz") bytes, needs glibc $wants"
