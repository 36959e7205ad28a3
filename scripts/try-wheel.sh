#!/usr/bin/env bash
# Installs the wheel in a clean virtual environment and uses it as a new user would: the tests, and a notebook's cells.
# Usage: try-wheel.sh FOLDER [PYTHON]     NumPy and cffi come from PyPI; where that cannot be reached, from the system.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(ls -t "$(cd "$1" && pwd)"/hvi-*.whl | head -n 1)
python=${2:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/venv"
if ! "$scratch/venv/bin/pip" install --quiet "$wheel" pytest matplotlib pandas nbclient ipykernel 2>"$scratch/log"; then
  tail -n 1 "$scratch/log" >&2
  "$python" -m venv --clear --system-site-packages "$scratch/venv"
  "$scratch/venv/bin/pip" install --quiet --no-deps --no-index "$wheel"
fi
cp -r "$source/python/tests" "$source/python/tour.ipynb" "$scratch/"
cd "$scratch"
unset PYTHONPATH HVI_PROGRAM HVI_MODULE_PATH
program=$(venv/bin/python -c 'import hvi; print(hvi.program())')
venv/bin/python - <<'END'
import cffi, numpy, platform, hvi
print("Python", platform.python_version(), "NumPy", numpy.__version__, "cffi", cffi.__version__, "hvi", hvi.__version__)
print(hvi.solve("pennies", method="gd", inner=10))
END
venv/bin/hvi --version
venv/bin/hvi solve pennies --quiet | grep -q '^status *converged'
# nothing but glibc and what the package carries
ldd "$(dirname "$program")/../../"_hvi*.so "$program" | awk '$2 == "=>" && $3 !~ /site-packages/ { print $1 }' | sort -u
HVI_PROGRAM=$program HVI_SOURCE_DIR=$source MPLBACKEND=Agg venv/bin/python -m pytest -q -rs -p no:cacheprovider tests
echo "${wheel##*/}: $(stat -c %s "$wheel") bytes, installed and tried"
