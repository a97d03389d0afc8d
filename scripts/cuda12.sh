#!/usr/bin/env bash
# Checks that the CUDA backend compiles with CUDA 12. CI does not run it, because it downloads 1.3 GB once.
#
# NVIDIA's Python packages have the headers and the assembler (ptxas) of CUDA 12.8, but no nvcc. So the kernels are
# compiled to PTX by the nvcc on PATH, with the headers of 12.8, and assembled by ptxas 12.8.
#
# Usage: scripts/cuda12.sh          checks host code and kernels with these headers and this assembler
#        scripts/cuda12.sh NVCC     then builds the library for compute capability 9.0 with this nvcc of CUDA 12
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kBuild=build/cuda12
readonly kPackages=$kBuild/packages/nvidia

[[ -d $kPackages/cudnn ]] ||
  python3 -m pip install --quiet --no-deps --target "$kBuild/packages" 'nvidia-cuda-runtime-cu12==12.8.*' \
    'nvidia-cuda-nvcc-cu12==12.8.*' 'nvidia-cublas-cu12==12.8.*' 'nvidia-cudnn-cu12==9.*'

headers=()
for package in cuda_runtime cuda_nvcc cublas cudnn; do headers+=(-isystem "$kPackages/$package/include"); done
for file in kernels/cuda/*.cpp; do
  "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DTANDEM_LEAST_ARCHITECTURE=75 -I. -Iinclude \
    "${headers[@]}" "$file"
done
echo "cuda12: the host code compiles with the headers of CUDA 12.8"

# The version in a PTX file is that of nvcc; ptxas 12.8 accepts 8.7, and refuses instructions that are newer.
assemble() { # assemble FILE.cu
  local ptx=$kBuild/$(basename "$1" .cu).ptx
  nvcc -ptx -x cu -std=c++20 -O3 -DNDEBUG -DTANDEM_LEAST_ARCHITECTURE=90 -arch=compute_90 -Werror=all-warnings \
    -I. -Iinclude "${headers[@]}" "$1" -o "$ptx"
  sed -i 's/^\.version .*/.version 8.7/' "$ptx"
  "$kPackages/cuda_nvcc/bin/ptxas" -arch=sm_90 "$ptx" -o /dev/null
}

if command -v nvcc >/dev/null; then
  chmod +x "$kPackages/cuda_nvcc/bin/ptxas"
  for file in kernels/cuda/*.cu; do assemble "$file"; done
  echo "cuda12: ptxas 12.8 assembles the kernels for compute capability 9.0, compiled with the headers of 12.8 by nvcc" \
    "$(nvcc --version | grep -oE 'V[0-9.]+')"
fi

(($#)) || exit 0
cmake -S . -B "$kBuild/library" -G Ninja -DTANDEM_CUDA=ON -DTANDEM_WERROR=ON -DTANDEM_BUILD_TESTS=OFF \
  -DTANDEM_BUILD_EXAMPLES=OFF -DTANDEM_BUILD_BENCHMARKS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_CUDA_COMPILER="$1" \
  -DCUDNN_ROOT="$PWD/$kPackages/cudnn"
cmake --build "$kBuild/library" --target tandem tandem_distributed tandem_io
echo "cuda12: the library compiles with $("$1" --version | grep -oE 'V[0-9.]+')"
