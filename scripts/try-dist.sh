#!/usr/bin/env bash
# Tries what `make dist` made, one by one, each on a bare root: a minimal Debian 12, and for the bundle one with nothing
# but glibc. Prints what was tried and ends with the first thing that does not hold.
# Usage: try-dist.sh FOLDER [tarball|deb|bundle|wheel ...]      as root; logs are in build-dist/
# The environment: JOBS. build-dist/root.tar keeps the bare Debian; packages come from the mirrors that apt uses here.
set -euo pipefail
suite=bookworm

fail() {
  echo "try-dist: $*" >&2
  exit 1
}

# mounts and processes of its own: all of them end with the script
if [[ -z ${HVI_TRY_DIST-} ]]; then
  ((EUID == 0)) || fail "a root of its own needs root's rights"
  HVI_TRY_DIST=1 exec unshare --mount --propagation private --pid --fork --kill-child bash "$0" "$@"
fi
(($# >= 1)) || fail "usage: try-dist.sh FOLDER [tarball|deb|bundle|wheel ...]"
dist=$(cd "$1" && pwd)
shift
parts=("$@")
((${#parts[@]})) || parts=(tarball deb bundle wheel)
source=$(cd "$(dirname "$0")/.." && pwd)
"$source/scripts/install-dependencies.sh" debootstrap
mkdir -p "$source/build-dist"
cd "$source/build-dist"
scratch=$(mktemp -d "$PWD/try.XXXXXX")
rows=()

finish() {
  local status=$?
  umount "$scratch"/*/proc 2>/dev/null || true
  rm -rf --one-file-system "$scratch"
  printf '\n%-8s  %-58s  %-6s  %s\n' what tried held seconds
  ((${#rows[@]} == 0)) || printf '%s\n' "${rows[@]}"
  exit $status
}
trap finish EXIT

(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "files are not those of SHA256SUMS"
version=$(basename "$(ls "$dist"/hvi-*.whl)" | cut -d- -f2)

# The Debian mirrors of this machine, as lines of sources.list; none where it is another system.
mirrors() {
  apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' "ORIGIN: Debian" 2>/dev/null | grep " $suite" | sort -u || true
}
if [[ ! -s root.tar ]]; then
  echo "a bare Debian, once"
  mirror=$(mirrors | awk -v suite=$suite '$3 == suite { print $2; exit }')
  debootstrap --variant=minbase $suite "$scratch/root" $mirror >debootstrap.log 2>&1 || fail "$(tail -n 3 debootstrap.log)"
  rm -rf "$scratch"/root/var/{cache/apt,lib/apt/lists}/*
  tar -C "$scratch/root" --numeric-owner -cf root.tar.part .
  mv root.tar.part root.tar
  rm -rf --one-file-system "$scratch/root"
fi

# bare: $root is a fresh one, with this machine's way to the network
bare() {
  root=$scratch/$1
  mkdir "$root"
  tar -C "$root" --numeric-owner -xf root.tar
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf $(grep -ls '^Acquire' /etc/apt/apt.conf.d/*); do
    [[ ! -e $file ]] || { mkdir -p "$root${file%/*}" && cp -L "$file" "$root$file"; }
  done
  # where no package writes: those of this machine may have been added to
  cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/authorities.crt"
  mirrors >"$scratch/mirrors"
  [[ ! -s $scratch/mirrors ]] || cp "$scratch/mirrors" "$root/etc/apt/sources.list"
  mount -t proc proc "$root/proc"
  mkdir "$root/dist"
}
# gone: as if it had never been
gone() {
  umount "$root/proc"
  rm -rf --one-file-system "$root"
}
# try WHAT TEXT COMMAND...: a row of the table; the first that does not hold is the end
try() {
  local what=$1 text=$2 began=$SECONDS
  shift 2
  printf '%s: %s\n' "$what" "$text"
  printf '\n== %s\n' "$text" >>"try-$what.log"
  if ! "$@" >>"try-$what.log" 2>&1 </dev/null; then
    rows+=("$(printf '%-8s  %-58s  %-6s  %d' "$what" "$text" NO $((SECONDS - began)))")
    tail -n 20 "try-$what.log" >&2
    fail "$what: '$text' does not hold; build-dist/try-$what.log has all of it"
  fi
  rows+=("$(printf '%-8s  %-58s  %-6s  %d' "$what" "$text" yes $((SECONDS - began)))")
}
# inside COMMANDS: of a shell in the root, with nothing of this one's environment but the proxies
inside=(timeout 3000 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive VERSION="$version"
  PIP_CERT=/etc/authorities.crt JOBS="${JOBS:-$(nproc)}" ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"})
install='apt-get install -y -qq --no-install-recommends'
inside() { "${inside[@]}" chroot "$root" bash -euo pipefail -c "$1"; }
solves='solve pennies --quiet | tee /dev/stderr | grep -q "^status *converged"'

try_tarball() {
  bare tarball
  cp "$dist/hvi-$version.tar.xz" "$root/dist/"
  try tarball "unpacked; make packages, on a root with apt and make" \
    inside "apt-get update -qq; $install make xz-utils; cd /root; tar -xf /dist/hvi-*.tar.xz; cd hvi-$version; make packages"
  try tarball "the program and the shared library build" \
    inside "cd /root/hvi-$version; cmake -S . -B build -DHVI_WERROR=ON; cmake --build build -j \$JOBS --target hvi hvi_shared man"
  try tarball "hvi --version and hvi solve pennies" \
    inside "cd /root/hvi-$version/build; ./hvi --version | grep -x 'hvi $version'; ./hvi info; ./hvi $solves"
  try tarball "10 tests: units, version, abi, prose, includes" \
    inside "cd /root/hvi-$version; tests='test_plugin test_sets test_rng test_judge test_alpha_descent test_golden_pennies'
      cmake --build build -j \$JOBS --target \$tests
      ctest --test-dir build --output-on-failure --no-tests=error \
        -R \"^(\${tests// /|}|version|abi|prose|includes)\\\$\""
  gone
}

try_deb() {
  bare deb
  cp "$dist"/*.deb "$root/dist/"
  try deb "apt-get install ./*.deb" inside "apt-get update -qq; $install /dist/*.deb"
  try deb "hvi solve pennies; MuJoCo is found; a manual page is there" \
    inside "hvi --version | grep -x 'hvi $version'; hvi $solves; hvi info | grep 'MuJoCo .*libhvi_mujoco.so'; ls /usr/share/man/man1/hvi-solve.1.gz"
  try deb "examples build with pkg-config, and run" \
    inside "$install gcc g++ libc6-dev make pkg-config; cp -r /usr/share/doc/hvi/examples /root/; cd /root/examples; make
      pkg-config --modversion hvi | grep -x '$version'; ./own; ./optimizer; ./game; hvi solve ./own.so --quiet; hvi solve own.c --quiet"
  try deb "the library's package has the name of its SONAME" \
    inside "soname=\$(objdump -p /usr/lib/*/libhvi.so | sed -n 's/^ *SONAME *//p'); dpkg -S /usr/lib/*/\$soname | grep \"^\${soname/.so./}:\""
  try deb "apt-get purge leaves nothing" \
    inside "apt-get purge -y -qq \$(dpkg-query -W -f '\${Package}\n' 'hvi*' 'libhvi*'); ! find /usr /etc -name '*hvi*' -not -path '/usr/share/doc*' | grep ."
  gone
}

try_bundle() {
  bare debian
  local debian=$root file
  root=$scratch/bundle
  mkdir -p "$root"/{proc,tmp,opt}
  while read -r file; do
    [[ $file != *.so* || -d $debian$file ]] || { mkdir -p "$root${file%/*}" && cp -a "$debian$file" "$root$file"; }
  done < <(chroot "$debian" dpkg -L libc6)
  umount "$debian/proc"
  rm -rf --one-file-system "$debian"
  [[ -e $root/lib64/ld-linux-x86-64.so.2 ]] || { mkdir -p "$root/lib64" && ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$root/lib64/"; }
  mount -t proc proc "$root/proc"
  tar -C "$root/opt" -xf "$dist/hvi-$version-x86_64.tar.xz"
  there() { env -i "$(command -v chroot)" "$root" "/opt/hvi-$version-x86_64/bin/hvi" "$@"; }
  export -f there
  export root version
  try bundle "hvi --version and info in a root of glibc alone" \
    bash -euo pipefail -c "there --version | grep -x 'hvi $version'; there info | tee /dev/stderr | grep '^mujoco *MuJoCo'"
  try bundle "hvi solve pennies; hvi reproduce pennies" \
    bash -euo pipefail -c "there $solves; there reproduce pennies --out /tmp/out --quiet; test -s '$root/tmp/out/index.html'"
  gone
}

try_wheel() {
  bare wheel
  cp "$dist"/*.whl "$root/dist/"
  try wheel "pip install in a virtual environment" \
    inside "apt-get update -qq; $install python3-venv; python3 -m venv /opt/venv; /opt/venv/bin/pip install --quiet /dist/*.whl"
  try wheel "hvi.solve(\"pennies\"), and the program that it carries" \
    inside "cd /tmp; /opt/venv/bin/python -c 'import hvi; r = hvi.solve(\"pennies\"); print(r); assert hvi.__version__ == \"$version\" and r.converged'
      \$(/opt/venv/bin/python -c 'import hvi; print(hvi.program())') $solves; /opt/venv/bin/hvi $solves"
  gone
}

for part in "${parts[@]}"; do
  [[ $part =~ ^(tarball|deb|bundle|wheel)$ ]] || fail "'$part' is none of tarball, deb, bundle, wheel"
done
for part in "${parts[@]}"; do
  : >"try-$part.log"
  "try_$part"
done
