#!/usr/bin/env bash
# The wheel of the Python package, with the library, the program and every shared library but glibc's.
# Usage: wheel.sh BUILD     BUILD has the targets hvi, man, hvi_bundle and hvi_static; the wheel goes to python/dist/
# Its builders come from the Debian packages python3-cffi, -setuptools and -wheel; no index is asked.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

XZ_OPT=-0 "$source/scripts/bundle.sh" "$build" "$scratch" >/dev/null
tar -C "$scratch" -xf "$scratch"/hvi-*.tar.xz
bundle=$(find "$scratch" -maxdepth 1 -type d -name 'hvi-*')
# every Linux has the compiler's two, and an older one of ours could stand in the way of another package
rm "$bundle"/lib/hvi/lib{gcc_s.so.1,stdc++.so.6} "$bundle"/share/doc/hvi/licences/lib{gcc-s1,stdc++6}
# liblapack and libblas are OpenBLAS under other names. A wheel holds no links: empty libraries that need it do as well.
find "$bundle/lib/hvi" -type l | while read -r link; do
  target=$(readlink "$link")
  rm "$link"
  gcc -shared -nostdlib -o "$link" -Wl,-soname,"${link##*/}" -Wl,--no-as-needed "$bundle/lib/hvi/$target" -Wl,--disable-new-dtags -Wl,-rpath,'$ORIGIN'
done
rm -rf "$source/python/build" "$source/python/hvi.egg-info"
cd "$source/python"
HVI_BUNDLE=$bundle HVI_BUILD_DIR=$build /usr/bin/python3 -W ignore setup.py -q bdist_wheel --dist-dir "$source/python/dist"
rm -rf build hvi.egg-info
ls -l "$source"/python/dist/*.whl
