#!/usr/bin/env bash
# Installs into a scratch prefix and builds an outside program there: with pkg-config and with CMake,
# against the shared and the static library, from C and from C++. None of it needs what modules need.
set -euo pipefail
cc=${CC:-cc}
outside=$HVI_SOURCE_DIR/tests/outside
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved

fail() {
  echo "install: $*" >&2
  exit 1
}

# Installed in one place and used from another: nothing may remember the first.
cmake --install "$HVI_BUILD_DIR" --prefix "$scratch/first" >"$scratch/log" || fail "$(cat "$scratch/log")"
mv "$scratch/first" "$prefix"
lib=$(dirname "$(find "$prefix" -name libhvi.so)")
pkgconfig=$lib/pkgconfig
version=$(PKG_CONFIG_PATH=$pkgconfig pkg-config --modversion hvi)

for file in bin/hvi include/hvi/hvi.h share/man/man1/hvi.1 share/man/man1/hvi-policy-train.1 share/doc/hvi/LICENSE \
  share/bash-completion/completions/hvi share/zsh/vendor-completions/_hvi share/fish/vendor_completions.d/hvi.fish; do
  [[ -e $prefix/$file ]] || fail "$file is not there"
done
if grep -rIl -e "$HVI_SOURCE_DIR" -e "$HVI_BUILD_DIR" "$prefix"; then
  fail "the files above name the build tree"
fi

# Each file is in one package, and the library's holds the library alone.
for part in library development program module mpi gpu; do
  cmake --install "$HVI_BUILD_DIR" --prefix "$scratch/parts/$part" --component $part >"$scratch/log" || fail "$(cat "$scratch/log")"
  (cd "$scratch/parts/$part" 2>/dev/null && find . ! -type d) || true
done | grep -v -e /copyright$ -e /changelog | sort >"$scratch/parts.txt"
(cd "$prefix" && find . ! -type d) | sort | diff - "$scratch/parts.txt" || fail "packages and installation differ"
found=$(cd "$scratch/parts/library" && find . ! -type d ! -name 'libhvi.so.*' ! -path './share/doc/libhvi*')
[[ -z $found ]] || fail "the library's package also has" $found

soname=$(objdump -p "$lib/libhvi.so" | awk '$1 == "SONAME" { print $2 }')
# before 1.0 each minor version has a name of its own
number=${version%%.*}
((number > 0)) || number=${version%.*}
[[ $soname == "libhvi.so.$number" ]] || fail "the SONAME is $soname, the version $version"
strangers() { nm --defined-only "$@" | awk 'NF == 3 && $3 !~ /^hvi_/ { print $3 }'; }
found=$(strangers -D "$lib/libhvi.so")
[[ -z $found ]] || fail "the shared library also exports" $found
found=$(strangers -g "$lib/libhvi.a")
[[ -z $found ]] || fail "the static library also defines" $found
nm -D --defined-only "$lib/libhvi.so" | grep -q ' hvi_version$' || fail "hvi_version is not exported"

physics() { ldd "$1" | grep -Ei 'mujoco|stdc\+\+'; }
for file in "$prefix/bin/hvi" "$lib/libhvi.so"; do
  ! physics "$file" || fail "$file needs the above"
done
! grep -rIil mujoco "$pkgconfig" "$lib/cmake" || fail "the files above name MuJoCo"
gpu=$lib/hvi/libhvi_gpu.so
[[ ! -e $HVI_BUILD_DIR/libhvi_gpu.so || -e $gpu ]] || fail "the module for GPUs is not installed"
if [[ -e $gpu ]]; then
  found=$(nm -D --defined-only "$gpu" | awk '{ print $3 }')
  [[ $found == hvi_module_table ]] || fail "the module for GPUs exports" $found
  ! ldd "$gpu" | grep -Ei 'cuda|cublas|cusolver|stdc\+\+' || fail "$gpu needs the above"
fi
module=$lib/hvi/libhvi_mujoco.so
[[ ! -e $HVI_BUILD_DIR/libhvi_mujoco.so || -e $module ]] || fail "the module is not installed"
if [[ -e $module ]]; then
  found=$(nm -D --defined-only "$module" | awk '{ print $3 }')
  [[ $found == hvi_module_table ]] || fail "the module exports" $found
  env -u HVI_MODULE_PATH "$prefix/bin/hvi" info | grep -q "MuJoCo .*libhvi_mujoco.so" ||
    fail "the program does not find its module"
fi

# $1 must run, name the version, and need libhvi.so ($2 shared) or not ($2 static).
check_program() {
  local said needs=static
  said=$(LD_LIBRARY_PATH=$lib "$1") || fail "$1 failed and said: $said"
  [[ $said == "hvi $version"* ]] || fail "$1 said: $said"
  objdump -p "$1" | grep -q 'NEEDED.*libhvi' && needs=shared
  [[ $needs == "$2" ]] || fail "$1 is linked to the $needs library"
  [[ $1 == */cxx ]] || ! physics "$1" || fail "$1 needs the above"
}

export PKG_CONFIG_PATH=$pkgconfig
"$cc" -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags hvi) "$outside/main.c" \
  -o "$scratch/shared" $(pkg-config --libs hvi)
check_program "$scratch/shared" shared

# -lhvi would take the shared library where both lie side by side.
"$cc" -std=c11 $(pkg-config --cflags hvi) "$outside/main.c" \
  -o "$scratch/static" $(pkg-config --static --libs hvi | sed 's/-lhvi\b/-l:libhvi.a/')
check_program "$scratch/static" static

"${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags hvi) "$outside/main.cpp" \
  -o "$scratch/cxx" $(pkg-config --libs hvi)
check_program "$scratch/cxx" shared

# The shared library finds modules from where it lies; a program that contains libhvi is told.
if [[ -e $module ]]; then
  "$cc" -std=c11 $(pkg-config --cflags hvi) "$outside/env.c" -o "$scratch/env_shared" $(pkg-config --libs hvi)
  "$cc" -std=c11 $(pkg-config --cflags hvi) "$outside/env.c" -o "$scratch/env_static" \
    $(pkg-config --static --libs hvi | sed 's/-lhvi\b/-l:libhvi.a/')
  shared=$(env -u HVI_MODULE_PATH LD_LIBRARY_PATH=$lib "$scratch/env_shared") || fail "$shared"
  static=$(HVI_MODULE_PATH=$lib/hvi "$scratch/env_static") || fail "$static"
  [[ $shared == "ant: 27 numbers, reward "* && $shared == "$static" ]] || fail "$shared, but $static"
  ! said=$(env -u HVI_MODULE_PATH "$scratch/env_static") || fail "a module was found somewhere: $said"
  [[ $said == *"HVI_MODULE_PATH can name more folders" ]] || fail "said: $said"
fi

unset PKG_CONFIG_PATH
{
  cmake -S "$outside" -B "$scratch/outside" -DWANTED="${version%.*}" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" &&
    cmake --build "$scratch/outside"
} >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
check_program "$scratch/outside/outside_shared" shared
check_program "$scratch/outside/outside_static" static
! cmake -S "$outside" -B "$scratch/newer" -DWANTED="${version%%.*}.77" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1 ||
  fail "another minor version fits"
grep -q 'compatible' "$scratch/log" || fail "$(cat "$scratch/log")"
