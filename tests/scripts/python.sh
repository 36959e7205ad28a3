#!/usr/bin/env bash
# The Python package, built against this tree's library and tested against its program. Debian's python3-cffi,
# -numpy and -pytest are all it takes; where one is missing there is nothing to do.
set -euo pipefail
[[ -z ${HVI_SANITIZE-} ]] || exit 77 # an interpreter without sanitizers cannot load the library
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import cffi, numpy, pytest, sysconfig, os, sys
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; then
    found=$python
    break
  fi
done
if [[ -z ${found-} ]]; then
  echo "python: python3-dev, python3-cffi, python3-numpy or python3-pytest is missing; skipped"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
built=$HVI_BUILD_DIR/python
"$found" "$HVI_SOURCE_DIR/python/hvi_build.py" "$built" >"$scratch/log" 2>&1 || {
  cat "$scratch/log" >&2
  exit 1
}
cp -r "$HVI_SOURCE_DIR/python/hvi" "$HVI_SOURCE_DIR/python/tests" "$HVI_SOURCE_DIR/python/tour.ipynb" "$scratch/"
rm -f "$scratch"/hvi/_hvi*
cp "$built"/hvi/_hvi*.so "$scratch/hvi/"
cd "$scratch"
export HVI_PROGRAM=$HVI PYTHONPATH=$scratch PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
"$found" -m pytest -q -p no:cacheprovider tests
