#!/usr/bin/env bash
# Installs the missing dependencies of tandem's build. Does nothing if none is missing.
#
# Usage: scripts/setup.sh [--ci] [--python]
#   --ci      also what .ci/run and the preset asan need: clang, lld, libomp, Doxygen, debootstrap, dpkg-dev and lintian
#   --python  also the headers of Python, which scripts/python_wheel.sh needs
#
# On Debian and Ubuntu it installs packages by name with apt-get, as root or through sudo. Without permission, it prints
# what to install and exits 1. oneDNN 3 comes from the distribution if available, otherwise from Intel's build on PyPI,
# which is unpacked into .deps/onednn.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  bible-kjv
  ca-certificates
  ccache
  clang-format
  cmake
  dataset-fashion-mnist
  g++
  git
  libbenchmark-dev
  libcli11-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libjpeg-dev
  libopenmpi-dev
  libpng-dev
  libprotobuf-dev
  make
  ninja-build
  nlohmann-json3-dev
  openmpi-bin
  pkg-config
  protobuf-compiler
  python3
  python3-pip
  python3-venv
  zlib1g-dev
)

[[ " $* " == *" --ci "* ]] && packages+=(clang debootstrap doxygen dpkg-dev libomp-dev lintian lld)
[[ " $* " == *" --python "* ]] && packages+=(python3-dev)

say() { echo "setup: $*"; }

fail() {
  echo "setup: $*" >&2
  exit 1
}

# A package that is installed for two architectures gives the word twice.
installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed* ]]; }

apt() {
  local as_root=()
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      return 1
    fi
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

install_packages() {
  local missing=() p
  for p in "$@"; do
    installed "$p" || missing+=("$p")
  done
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  # The package lists may be missing (a fresh container) or stale: update them once if the first try fails.
  if ! apt install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
    if ! { apt update && apt install -y --no-install-recommends "${missing[@]}" >/dev/null; }; then
      fail "cannot install packages here; as root, run: apt-get update && apt-get install -y ${missing[*]}"
    fi
  fi
}

# Whether CMake finds oneDNN 3 outside .deps.
system_has_onednn() {
  local dir status
  dir=$(mktemp -d)
  cat >"$dir/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(probe CXX)
find_package(dnnl 3 CONFIG REQUIRED)
CMAKE
  cmake -G Ninja -S "$dir" -B "$dir/build" >/dev/null 2>&1 && status=0 || status=1
  rm -rf "$dir"
  return $status
}

distribution_has_onednn() {
  local version
  version=$(apt-cache policy libdnnl-dev 2>/dev/null | sed -n 's/^ *Candidate: //p')
  [[ $version =~ ^([0-9]+:)?([0-9]+)\. ]] && ((BASH_REMATCH[2] >= 3))
}

unpack_onednn() {
  [[ $(uname -sm) == "Linux x86_64" ]] ||
    fail "oneDNN 3 is not packaged for this system; build it from https://github.com/oneapi-src/oneDNN and install it"
  local work python
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  for python in python3 /usr/bin/python3; do
    "$python" -m pip --version >/dev/null 2>&1 && break
  done
  say "fetching oneDNN 3.2 from PyPI"
  "$python" -m pip --disable-pip-version-check --quiet download --no-deps --only-binary :all: --dest "$work" \
    onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0 ||
    fail "cannot fetch onednn-devel-cpu-gomp 2023.2.0 from PyPI; install oneDNN 3 (find_package(dnnl 3)) another way"
  (cd "$work" && sha256sum --quiet -c -) <<'SUMS' || fail "a oneDNN package has the wrong checksum"
2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb  onednn_cpu_gomp-2023.2.0-py2.py3-none-manylinux1_x86_64.whl
9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284  onednn_devel_cpu_gomp-2023.2.0-py2.py3-none-manylinux1_x86_64.whl
SUMS
  # A wheel is a zip file; the files for the prefix are in NAME.data/data.
  "$python" - "$work" <<'PY'
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    zipfile.ZipFile(wheel).extractall(sys.argv[1] + "/unpacked")
PY
  mkdir -p "$work/onednn" .deps
  cp -r "$work"/unpacked/*.data/data/. "$work/onednn/"
  ln -sf libdnnl.so.3.2 "$work/onednn/lib/libdnnl.so.3" # wheels contain copies instead of links
  ln -sf libdnnl.so.3 "$work/onednn/lib/libdnnl.so"
  rm -rf .deps/onednn
  cp -r --preserve=links,mode "$work/onednn" .deps/onednn.part
  mv .deps/onednn.part .deps/onednn
  say "unpacked oneDNN 3.2 into .deps/onednn"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages "${packages[@]}"
else
  missing=()
  for tool in ccache clang-format cmake g++ git ninja python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  ((${#missing[@]} == 0)) || fail "this system has no apt-get; install: ${missing[*]}"
  say "this system has no apt-get; tandem also needs fmt, GoogleTest, Google Benchmark, zlib, libpng, libjpeg, CLI11," \
    "Protocol Buffers, nlohmann-json, and the Fashion-MNIST files"
fi

if [[ ! -e .deps/onednn/lib/cmake/dnnl/dnnl-config.cmake ]] && ! system_has_onednn; then
  if distribution_has_onednn; then
    install_packages libdnnl-dev
  fi
  system_has_onednn || unpack_onednn
fi
scripts/example_data.sh ||
  say "some data is missing; the examples bert, gpt, in_memory, lstm and tabular need it, and so do their tests"
say "all dependencies are installed"
