#!/usr/bin/env bash
# Cross-compiles tandem for 64-bit ARM and runs tests in qemu. For Debian and Ubuntu on x86-64.
#
# Usage: scripts/cross_aarch64.sh [--onednn[=DIR]] [FOLDER...]
#   FOLDER     a folder of tests/, such as "autograd"; "all": every folder that needs no GPU; by default a selection
#   --onednn   multiplies and convolves by oneDNN, which is built from the sources in DIR or downloaded, instead of by
#              OpenBLAS, which Debian 12 has; docs/performance.md says why it is the default
#
# The libraries are those of the architecture arm64, which are installed beside this machine's.
set -euo pipefail

build=build/aarch64
products=(-DTANDEM_ONEDNN=OFF)
if [[ ${1-} == --onednn || ${1-} == --onednn=* ]]; then
  build=build/aarch64_onednn
  sources=${1#--onednn}
  sources=${sources#=}
  [[ -z $sources ]] || sources=$(realpath "$sources")
  products=(-DCMAKE_DISABLE_FIND_PACKAGE_dnnl=ON "-DFETCHCONTENT_SOURCE_DIR_ONEDNN=$sources")
  shift
fi
cd "$(dirname "$0")/.."

folders=("$@")
((${#folders[@]})) || folders=(base math tensor kernels autograd optim)
[[ ${folders[*]} != all ]] || folders=(amp amp_modes autograd base data distributed io kernels math nn ops optim soak tensor)

packages=(g++-aarch64-linux-gnu qemu-user libfmt-dev:arm64 libgmock-dev:arm64 libgomp1:arm64 libgtest-dev:arm64
  libopenblas-dev:arm64 libstdc++6:arm64 zlib1g-dev:arm64 nlohmann-json3-dev ninja-build cmake)
missing=()
for p in "${packages[@]}"; do
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
done
if ((${#missing[@]})); then
  if ((EUID != 0)); then
    echo "cross_aarch64: as root, run: dpkg --add-architecture arm64 && apt-get update && apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  dpkg --add-architecture arm64
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

cmake -S . -B $build -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release \
  -DTANDEM_WERROR=ON "${products[@]}" -DTANDEM_MPI=OFF -DTANDEM_PNG=OFF -DTANDEM_JPEG=OFF \
  -DTANDEM_BUILD_EXAMPLES=OFF -DTANDEM_BUILD_BENCHMARKS=OFF
targets=()
for folder in "${folders[@]}"; do targets+=("tandem_${folder}_test"); done
cmake --build $build --target "${targets[@]}"
ctest --test-dir $build --parallel "$(nproc)" --no-tests=error --output-on-failure -R "^($(IFS='|'; echo "${folders[*]}"))(\.[0-9]+)?\$"
