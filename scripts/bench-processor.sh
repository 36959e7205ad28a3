#!/usr/bin/env bash
# Which tiles suit a processor: products of layers by kernels of several heights, ensembles in several
# numbers of lanes, next to the FMA peak. The programs are linked statically, so that they can be
# built here and run on a machine that has nothing.
# Usage: bench-processor.sh build FOLDER   (after make; needs cc)
#        bench-processor.sh run FOLDER     (about 40 seconds)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:?a folder}
flags=(-std=c11 -D_POSIX_C_SOURCE=200809L -O2 -fno-math-errno -fno-trapping-math -ffp-contract=off)
avx512=(-O3 -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=fast)

# A copy of the sources with one line changed: copy NAME FILE FROM TO
copy() {
  mkdir -p "$folder/$1" && cp -r "$root/src/." "$folder/$1/"
  sed -i "s/$3/$4/" "$folder/$1/$2"
  grep -q "$4" "$folder/$1/$2"
}

compile() { # compile NAME SOURCE LEVEL FLAG...: FOLDER/NAME/SOURCE.o
  local name=$1 source=$2 level=$3
  shift 3
  printf '#define HVI_LEVEL_NAME "%s"\n#define HVI_LEVEL_TABLE(stem) stem##_%s\n#include "%s"\n' \
    "$level" "$level" "$source" >"$folder/$name/level.c"
  cc "${flags[@]}" "$@" -I"$folder/$name" -I"$root/include" -c "$folder/$name/level.c" \
    -o "$folder/$name/$level.o"
}

link() { # link OUT FILE...
  local out=$1
  shift
  cc -s -static "${flags[@]}" -I"$root/include" -I"$root/src" -I"$root/bench" -I"$folder" \
    -o "$folder/$out" "$@" "$root/build/src/libhvi.a" -llapacke -lopenblas -lgfortran -lquadmath \
    -lyaml -ljansson -lm -lpthread
}

build() {
  local tiles lanes objects=()
  mkdir -p "$folder"
  : >"$folder/variants.h"
  for tiles in 8,8 8,12 8,14 12,12 14,14 6,12; do
    local name=tile${tiles/,/_}
    copy "$name" net/simd_body.h 'TILE_ROWS = 8, TALL_ROWS = 12' \
      "TILE_ROWS = ${tiles%,*}, TALL_ROWS = ${tiles#*,}"
    compile "$name" net/kernels.c "$name" "${avx512[@]}"
    echo "VARIANT($name)" >>"$folder/variants.h"
    objects+=("$folder/$name/$name.o")
  done
  link products "$root/bench/processor/products.c" "$root/bench/peak.c" "${objects[@]}"
  for lanes in 32 64 96 128; do
    copy "lanes$lanes" ensemble/lanes.h 'HVI_LANES = 64' "HVI_LANES = $lanes"
    objects=()
    compile "lanes$lanes" ensemble/kernel.c avx512 "${avx512[@]}"
    compile "lanes$lanes" ensemble/kernel.c avx2 -O3 -march=x86-64-v3 -ffp-contract=fast
    compile "lanes$lanes" ensemble/kernel.c baseline -O3
    for source in plan ensemble; do compile "lanes$lanes" ensemble/$source.c $source; done
    link "in_$lanes" "$root/bench/processor/lanes.c" \
      "$folder/lanes$lanes"/{avx512,avx2,baseline,plan,ensemble}.o
  done
}

run() {
  grep -m1 'model name' /proc/cpuinfo
  getconf -a | grep -E '^LEVEL(1_D|2_|3_)CACHE_SIZE' | tr -s ' ' | tr '\n' ';'
  echo
  "$folder/products"
  for lanes in 32 64 96 128; do
    for level in avx512 avx2; do
      echo "$lanes lanes, $level, ns:$(HVI_CPU_LEVEL=$level "$folder/in_$lanes")"
    done
  done
}

"${1:?build or run}"
