#!/usr/bin/env bash
# Checks the packages of build/packages (scripts/package.sh makes them) in an empty system: makes one with debootstrap in
# build/package_check, installs the .deb files and compilers there with apt, runs the command-line tool, and builds and
# runs tests/cmake/consumer with CMake and with pkg-config; then the same from the .tar.gz files. Needs root and
# debootstrap; exits with 77 if it cannot make an empty system.
#
# Usage: scripts/package_check.sh [--keep]   --keep starts from the empty system of an earlier run
#
# TANDEM_SUITE is the suite to install, by default that of this machine; TANDEM_MIRROR is where it comes from. CXX is the
# compiler to install there and to use, by default g++.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/empty_system.sh
suite=${TANDEM_SUITE-$(. /etc/os-release && echo "$VERSION_CODENAME")}
compiler=${CXX-g++}

fail() {
  echo "package_check: $*" >&2
  exit 1
}

ls build/packages/*.deb >/dev/null 2>&1 || fail "run scripts/package.sh first"
echo "==== making an empty $suite"
empty_system build/package_check "$suite" "${1-}"
mkdir "$root/project"
cp build/packages/* "$root/project"
cp -r tests/cmake/consumer "$root/project/consumer"
cp tests/io/torch/module.pt "$root/project"

# Debian's policy: a file or link counts its size in KiB, rounded up; everything else 1 KiB.
check_installed_size() {
  local package=$1 stated counted
  stated=$(dpkg-deb --field "$package" Installed-Size)
  counted=$(dpkg-deb --contents "$package" | awk '$6 == "./" { next }
    { bytes = /^l/ ? length($8) : $3; total += /^d/ ? 1 : int((bytes + 1023) / 1024) } END { print total }')
  ((stated == counted)) || fail "$package: Installed-Size is $stated, the files have $counted KiB"
}
for package in build/packages/*.deb; do
  check_installed_size "$package"
done

# use_tool COMMAND: the command-line tool starts, finds its libraries and reads a file
use_tool() {
  inside "$1" info
  inside "$1" inspect /project/module.pt | grep '^0.weight  *f32  *\[2, 3\]' >/dev/null || fail "$1 inspect fails"
}

echo "==== installing the command-line tool"
inside sh -c 'apt-get -qq -y --no-install-recommends install /project/libtandem0*.deb /project/tandem-tools*.deb >/dev/null'
use_tool tandem
[[ -e $root/usr/share/man/man1/tandem.1.gz ]] || fail "no manual page"

echo "==== installing the other packages"
apt_inside install "${compiler/clang++/clang}" cmake ninja-build pkg-config
inside sh -c 'apt-get -qq -y --no-install-recommends install /project/*.deb >/dev/null'
inside dpkg -l 'libtandem*' tandem-tools | tail -3

# by_cmake NAME CMake options...
by_cmake() {
  local build=/project/build_$1
  shift
  inside cmake -S /project/consumer -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" "$@"
  inside cmake --build "$build"
  inside "$build/consumer"
  inside "$build/components" JPEG MPI PNG PROTOBUF
}

# by_pkg_config NAME pkg-config path
by_pkg_config() {
  inside env PKG_CONFIG_PATH="$2" sh -ec "$compiler -std=c++20 /project/consumer/main.cpp -o /project/by_pkg_config_$1 \
    \$(pkg-config --cflags --libs tandem)"
  inside env LD_LIBRARY_PATH="${3-}" "/project/by_pkg_config_$1"
}

echo "==== .deb: find_package"
by_cmake deb
echo "==== .deb: pkg-config"
by_pkg_config deb ""

echo "==== .tar.gz: find_package and pkg-config"
apt_inside remove libtandem-dev tandem-tools 'libtandem[0-9]*'
inside sh -ec 'mkdir /opt/tandem; for archive in /project/*-linux-*.tar.gz; do tar -xf "$archive" -C /opt/tandem; done'
use_tool /opt/tandem/bin/tandem
by_cmake archive -DCMAKE_PREFIX_PATH=/opt/tandem
by_pkg_config archive /opt/tandem/lib/pkgconfig /opt/tandem/lib

echo "==== .tar.gz: without fmt, find_package says what is missing"
apt_inside remove libfmt-dev
if output=$(inside cmake -S /project/consumer -B /project/build_missing -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH=/opt/tandem 2>&1); then
  fail "find_package(tandem) found a tandem without fmt"
fi
grep -q 'libfmt-dev' <<<"$output" || fail "find_package(tandem) does not name libfmt-dev: $output"
echo "package_check: passed"
