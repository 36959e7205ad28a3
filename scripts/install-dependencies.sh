#!/usr/bin/env bash
# Installs the Debian packages that are missing, and touches nothing when none is.
# Usage: install-dependencies.sh [further package ...]
set -euo pipefail

packages=(build-essential cmake pkg-config libopenblas-pthread-dev liblapacke-dev libyaml-dev
  libjansson-dev libzip-dev libmujoco-dev libcmocka-dev gnuplot-nox clang-format
  python3-dev python3-cffi python3-numpy python3-pytest "$@")

# Elsewhere the names of packages differ, so look for what they bring.
check_tools() {
  local missing=()
  for tool in cc c++ cmake pkg-config gnuplot clang-format; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if command -v pkg-config >/dev/null; then
    for module in openblas lapacke yaml-0.1 jansson libzip cmocka; do
      pkg-config --exists "$module" || missing+=("$module.pc")
    done
  fi
  for tool in "$@"; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if ((${#missing[@]})); then
    echo "not a Debian system: please install what brings ${missing[*]}" >&2
    exit 1
  fi
}

if ! command -v dpkg-query >/dev/null; then
  check_tools "$@"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null; then
    echo "missing packages; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n "${as_root[@]}")
fi
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
