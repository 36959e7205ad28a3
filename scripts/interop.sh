#!/usr/bin/env bash
# The Python package against the packages of PyPI that it exchanges files with, in .venv-interop/ (about 6.5 GB: PyPI's
# PyTorch for Linux brings CUDA along). What was found goes to docs/results/interop.txt too.
# Usage: interop.sh BUILD [pytest's words]     BUILD has the targets hvi and hvi_static
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
shift
venv=$source/.venv-interop
python=$venv/bin/python
[[ -x $python ]] || /usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --requirement "$source/python/interop/requirements.txt"
# D4RL and CleanRL ask for releases of ten other packages that no longer go together. D4RL's reader and CleanRL's
# classes need none of them.
"$venv/bin/pip" install --quiet --no-deps --ignore-requires-python d4rl==1.1 cleanrl==1.2.0
rm -rf "$source/python/build"
HVI_SOURCE_DIR=$source HVI_BUILD_DIR=$build "$venv/bin/pip" install --quiet --force-reinstall --no-deps "$source/python"
rm -rf "$source/python/build" "$source/python/hvi.egg-info"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$source/python/interop" "$source/python/tests" "$source/python/tour.ipynb" "$scratch/"
cd "$scratch"
unset PYTHONPATH HVI_PROGRAM HVI_MODULE_PATH
export HVI_SOURCE_DIR=$source PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
HVI_PROGRAM=$("$python" -c 'import hvi; print(hvi.program())')
export HVI_PROGRAM
result=0
"$python" -m pytest -p no:cacheprovider -rs -v interop tests "$@" >"$scratch/log" 2>&1 || result=$?
{
  echo "make interop, $(date -u +%F)"
  sed -n -E 's/^interop\/(test_[a-z]+\.py::[^ ]+) (PASSED|FAILED|ERROR|SKIPPED).*/\2 \1/p' "$scratch/log"
  sed -n -E '/^(SKIPPED|FAILED|ERROR) |^=.* (passed|failed|error)/{s/ in [0-9.]*s.*//; s/^=* //; p}' "$scratch/log"
  echo
  "$python" - <<'END'
import importlib.metadata as m, platform
print("Python", platform.python_version())
for name in ("hvi numpy cffi h5py minari gymnasium gym d4rl stable-baselines3 cleanrl d3rlpy torch jax safetensors "
             "tensorboard onnx onnxruntime matplotlib pandas nbclient").split():
    print(name, m.version(name))
END
} | tee "$scratch/found"
((result == 0)) || sed -n '/= FAILURES =/,$p; /= ERRORS =/,$p' "$scratch/log" >&2
[[ $# -gt 0 ]] || cp "$scratch/found" "$source/docs/results/interop.txt"
exit $result
