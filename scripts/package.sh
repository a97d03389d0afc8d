#!/usr/bin/env bash
# Makes the packages of this machine's distribution in build/packages: libtandem0.1, libtandem-dev and tandem-tools as
# .deb, and the same files as .tar.gz; from a clone, also the last commit's files as -source.tar.gz. Checks that those
# configure, and the .deb with lintian if it is installed, and fails on errors and warnings.
#
# Usage: scripts/package.sh [CMake options...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
build=build/package
packages=build/packages
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
rm -rf "$packages"

build() {
  local link="-Wl,--as-needed -Wl,-z,relro"
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DTANDEM_BUILD_TESTS=OFF \
    -DTANDEM_BUILD_EXAMPLES=OFF -DTANDEM_BUILD_BENCHMARKS=OFF -DTANDEM_BUILD_TOOLS=ON \
    -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_EXE_LINKER_FLAGS="$link" -DCMAKE_INSTALL_PREFIX=/usr "$@"
  cmake --build "$build"
}

build -DCMAKE_INSTALL_LIBDIR=lib "$@" # every distribution's CMake looks into lib
(cd "$build" && cpack -G TGZ)
if [[ -z $(ls "$packages"/*-tools.tar.gz 2>/dev/null) ]]; then
  echo "package: the command-line tool is missing; scripts/setup.sh installs CLI11, which it needs" >&2
  exit 1
fi
if command -v dpkg-architecture >/dev/null; then # of dpkg-dev
  build -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" "$@"
  (cd "$build" && cpack -G DEB)
  if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$packages"/*.deb
  else
    echo "package: lintian is not installed; the .deb files are not checked"
  fi
fi
rm -rf "$packages/_CPack_Packages"
if [[ -e .git ]]; then
  name=$(basename "$packages"/*-tools.tar.gz | sed 's/-linux-.*//')
  git archive --prefix="$name/" -o "$packages/$name-source.tar.gz" HEAD
  rm -rf "$build/source"
  mkdir "$build/source"
  tar -xf "$packages/$name-source.tar.gz" -C "$build/source"
  cmake -S "$build/source/$name" -B "$build/source/build" -G Ninja -DTANDEM_FETCH=OFF \
    -Ddnnl_DIR="$(sed -n 's/^dnnl_DIR:PATH=//p' "$build/CMakeCache.txt")" "$@" >/dev/null
fi
ls -l "$packages"
