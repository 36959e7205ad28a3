#!/usr/bin/env bash
# The unit tests on aarch64: cross-compiled against Debian's own packages, which are unpacked into a folder and not
# installed, and run under qemu. Usage: aarch64.sh BUILD [ARGUMENT OF CTEST]..., such as -R '^test_games$'
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
build=$(cd "$1" && pwd)
sysroot=$build/sysroot
packages=(libc6-dev libgcc-12-dev libopenblas-pthread-dev liblapacke-dev libyaml-dev libjansson-dev libzip-dev libcmocka-dev)

# apt with a state of its own, in which nothing is installed
if [[ ! -e $sysroot/.complete ]]; then
  mkdir -p "$build"/apt/{state/lists/partial,cache/archives/partial} "$sysroot"
  : >"$build/apt/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$build/apt/state"
    -o Dir::State::status="$build/apt/status" -o Dir::Cache="$build/apt/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" install --download-only --no-install-recommends -y "${packages[@]}" </dev/null
  for package in "$build"/apt/cache/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  # links that are alternatives, and those that lead to the root
  for library in openblas-pthread lapack; do
    for file in "$sysroot"/usr/lib/aarch64-linux-gnu/"$library"/lib*.so*; do
      if [[ -e $file ]]; then ln -sf "$library/${file##*/}" "$sysroot/usr/lib/aarch64-linux-gnu/"; fi
    done
  done
  cp -an "$sysroot"/usr/include/aarch64-linux-gnu/openblas-pthread/. "$sysroot/usr/include/" 2>/dev/null || true
  cp -an "$sysroot"/usr/lib/aarch64-linux-gnu/openblas-pthread/pkgconfig/. "$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig/" || true
  for library in blas lapack; do ln -sf $library-openblas.pc "$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig/$library.pc"; done
  touch "$sysroot/.complete"
fi

cat >"$build/toolchain.cmake" <<T
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT $sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L $sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
T
export PKG_CONFIG_SYSROOT_DIR=$sysroot
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig
export QEMU_LD_PREFIX=$sysroot
cmake --log-level=NOTICE -S "$root" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" -DHVI_GPU=OFF -DHVI_MUJOCO=OFF \
  -DHVI_TEST_LAUNCHER="qemu-aarch64-static;-L;$sysroot" ${HVI_LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER=$HVI_LAUNCHER}
cmake --build "$build" -j"$(nproc)" -- -k
ctest --test-dir "$build" -L unit -j"$(nproc)" --output-on-failure "${@:2}"
