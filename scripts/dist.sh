#!/usr/bin/env bash
# What a release consists of, in dist/: the tarball of the sources, Debian packages, the bundle, the wheel, SHA256SUMS.
# The sources are those of the last commit, and everything else is built from that tarball, unpacked in build-dist/.
# Usage: dist.sh [FOLDER]      The environment: JOBS
set -euo pipefail

fail() {
  echo "dist: $*" >&2
  exit 1
}

source=$(cd "$(dirname "$0")/.." && pwd)
cd "$source"
folder=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
[[ -z $(git status --porcelain) ]] || fail "commit first: the tarball is that of the last commit"
scripts/check-version.sh
version=$(sed -n 's/^version: *//p' CITATION.cff)
name=hvi-$version
export SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
scripts/install-dependencies.sh xz-utils dpkg-dev file python3-setuptools python3-wheel python3-venv
rm -rf "$folder"/* "build-dist/$name"
mkdir -p build-dist

# one thread: the bytes then do not depend on the machine
git archive --format=tar --prefix="$name/" HEAD | xz -6 -T1 >"$folder/$name.tar.xz"
tar -C build-dist -xf "$folder/$name.tar.xz"
cd "build-dist/$name"
make deb JOBS="${JOBS:-$(nproc)}"
cp build-deb/packages/*.deb "$folder/"
make bundle JOBS="${JOBS:-$(nproc)}"
cp build-bundle/*.tar.xz "$folder/"
cmake --build build-bundle -j "${JOBS:-$(nproc)}" --target hvi_static
scripts/wheel.sh build-bundle
cp python/dist/*.whl "$folder/"
cd "$folder"
sha256sum -- * >.sums
mv .sums SHA256SUMS
ls -l "$folder"
