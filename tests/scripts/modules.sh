#!/usr/bin/env bash
# The module on MuJoCo: found, missing, damaged, of another version, and short of memory.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
build_json
input=3 system=5
module=$HVI_BUILD_DIR/libhvi_mujoco.so
unset HVI_MODULE_PATH

# neither the program nor the library needs what the module needs; a sanitizer needs C++ itself
[[ -z $HVI_SANITIZE ]] && strange='mujoco|stdc\+\+' || strange=mujoco
for file in "$HVI" "$HVI_BUILD_DIR/src/libhvi.so"; do
  ! ldd "$file" | grep -Ei "$strange" || fail "$file needs the above"
done

# a program by itself says what is missing, and does all else
mkdir bin far near
cp "$HVI" bin/hvi
built=$HVI HVI=$scratch/bin/hvi
expect 0 env list
said out '^  ant +- +- +MuJoCo +no '
said out "needs MuJoCo \(Debian: hvi-mujoco, or libmujoco-dev and a new build\): no libhvi_mujoco.so in $scratch/bin, "
said out 'HVI_MODULE_PATH can name more folders'
expect 0 env list --json
[[ $(member environments 3 available) == false ]] || fail "ant without a module"
[[ $(member environments 3 missing) == *libmujoco-dev* ]] || fail "list --json does not say what is missing"
expect 0 info
said out '^mujoco +no libhvi_mujoco.so in '
expect 0 info --json
[[ $(member modules 0 available) == false ]] || fail "info --json"
refused $input "'ant' needs MuJoCo.*libmujoco-dev" env info ant
HVI_MODULE_PATH=$scratch/far refused $input "$scratch/far" env info ant
expect 0 solve pennies -q
expect 0 env info pendulum
[[ -e $module ]] || exit 0

# in a folder of HVI_MODULE_PATH; beside the program, which comes first
cp "$module" far
HVI_MODULE_PATH=/nowhere:$scratch/far expect 0 env info ant
HVI_MODULE_PATH=/nowhere:$scratch/far expect 0 info --json
[[ $(member modules 0 path) == "$scratch/far/libhvi_mujoco.so" ]] || fail "not the module of the path"
[[ $(member modules 0 needs) == MuJoCo && $(member modules 0 needs_version) == ?*.* ]] || fail "info"
cp "$module" bin
echo nonsense >near/libhvi_mujoco.so
HVI_MODULE_PATH=$scratch/near expect 0 env info ant
expect 0 info
said out "^mujoco +MuJoCo .*\($scratch/bin/libhvi_mujoco.so\)"
rm bin/libhvi_mujoco.so

# damaged, and something else
export HVI_MODULE_PATH=$scratch/near
refused $input "near/libhvi_mujoco.so' is damaged or no shared library" env info ant
head -c 20000 "$module" >near/libhvi_mujoco.so
refused $input 'is damaged or no shared library' env info ant
expect 0 env list
said out 'is damaged or no shared library'
echo 'int nothing;' >nothing.c
"${CC:-cc}" -shared -fPIC -o near/libhvi_mujoco.so nothing.c
refused $input 'is not a module of hvi' env info ant
abi=$(sed -n 's/.*HVI_MODULE_ABI = \([0-9]*\).*/\1/p' "$HVI_SOURCE_DIR/src/base/module.h")
cat >other.c <<C
static const char *version(void) { return "9.9.9"; }
const struct { unsigned abi; const char *name; const char *(*version)(void); } hvi_module_table = {$abi, "mujoco", version};
C
"${CC:-cc}" -shared -fPIC -o near/libhvi_mujoco.so other.c
refused $input 'belongs to hvi 9\.9\.9, and this is hvi ' env info ant
unset HVI_MODULE_PATH
HVI=$built

# MuJoCo's C++ throws when memory runs out: every such end is an error and not an abort
[[ -z $HVI_SANITIZE ]] || exit 0
"${CC:-cc}" -shared -fPIC -o starve.so "$HVI_SOURCE_DIR/tests/cli/starve.c"
allocations() {
  STARVE_COUNT=$scratch/count LD_PRELOAD=$scratch/starve.so "$HVI" "$@" >out
  cat count
}
first=$(allocations env info pendulum) last=$(allocations env info ant)
((last > first + 200)) || fail "$last allocations for ant, $first for pendulum"
# what comes first is the loader of the system, which ends the program by itself at places
tried=0
for ((at = first + 60; at < last - 45; at += 11)); do
  STARVE_AT=$at LD_PRELOAD=$scratch/starve.so expect $system env info ant
  said err '^hvi: .*memory'
  tried=$((tried + 1))
done
echo "modules: $tried allocations failed, $tried errors said so"
