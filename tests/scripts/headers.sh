#!/usr/bin/env bash
# Every header compiles alone: the public ones as C11 and as C++17 with nothing but themselves, the
# internal ones as C11, and the bodies of kernels in either precision.
set -euo pipefail
cd "$HVI_SOURCE_DIR"
warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only)

# alone COMPILER... INCLUDE: a file of this include and nothing else.
alone() {
  printf '#include %s\nint main(void) { return 0; }\n' "${@: -1}" | "${@:1:$#-1}" "${warnings[@]}" -
}

for header in include/hvi/*.h; do
  name="<${header#include/}>"
  alone "${CC:-cc}" -xc -std=c11 -Iinclude "$name"
  alone "${CXX:-c++}" -xc++ -std=c++17 -Iinclude "$name"
  if grep -q '^HVI_API' "$header" && ! grep -q '^extern "C" {' "$header"; then
    echo "headers: $header declares functions outside extern \"C\"" >&2
    exit 1
  fi
done

read -ra flags <<<"$(pkg-config --cflags openblas lapacke yaml-0.1 jansson)"
find src -name '*.h' | sort | while read -r header; do
  alone "${CC:-cc}" -xc -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc "${flags[@]}" \
    "\"${header#src/}\""
  [[ $header != src/net/*_body.h ]] ||
    alone "${CC:-cc}" -xc -std=c11 -DNET_DOUBLE -Iinclude -Isrc "\"${header#src/}\""
done
