#!/usr/bin/env bash
# Configures the preset that suits this machine, and prints its name: cuda, for the GPU's architecture, if there are a
# GPU, nvcc and cuDNN; otherwise release. Prints the reason for the choice to stderr.
#
# Usage: scripts/preset.sh [PRESET]      configures PRESET, or $TANDEM_PRESET, instead of choosing
#        scripts/preset.sh --choose      prints the name without configuring
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "$*" >&2; }

gpu() { # prints the GPU's name; fails if there is none
  local listed
  if listed=$(nvidia-smi -L 2>/dev/null) && [[ $listed == GPU* ]]; then
    listed=${listed%%$'\n'*}
    echo "${listed%% (UUID*}"
  elif [[ -e /dev/nvidia0 ]]; then
    echo "/dev/nvidia0"
  else
    return 1
  fi
}

cudnn() { # whether cmake/FindCUDNN.cmake finds cuDNN
  local work status=0
  work=$(mktemp -d)
  cat >"$work/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(probe CXX)
list(APPEND CMAKE_MODULE_PATH "$PWD/cmake")
find_package(CUDNN 9 REQUIRED)
CMAKE
  cmake -S "$work" -B "$work/build" >/dev/null 2>&1 || status=$?
  rm -rf "$work"
  return $status
}

choose() {
  local name
  if [[ -n ${TANDEM_PRESET-} ]]; then
    say "preset: $TANDEM_PRESET, from TANDEM_PRESET"
    echo "$TANDEM_PRESET"
  elif ! name=$(gpu); then
    say "preset: release, because there is no GPU"
    echo release
  elif ! command -v nvcc >/dev/null; then
    say "preset: release, because nvcc was not found ($name)"
    echo release
  elif ! cudnn; then
    say "preset: release, because cuDNN 9 was not found ($name)"
    echo release
  else
    say "preset: cuda, for $name (TANDEM_PRESET=release builds for the CPU only)"
    echo cuda
  fi
}

PATH=$PATH:/usr/local/cuda/bin
case ${1-} in
  --choose)
    choose
    exit
    ;;
  "") preset=$(choose) ;;
  *) preset=$1 ;;
esac
arguments=()
if [[ $preset == cuda ]] && gpu >/dev/null; then # its compilers may give new warnings
  arguments+=(-DCMAKE_CUDA_ARCHITECTURES=native -DTANDEM_WERROR=OFF)
fi
mkdir -p build
cmake --preset "$preset" "${arguments[@]}" >build/."$preset".configure.log 2>&1 || {
  cat build/."$preset".configure.log >&2
  exit 1
}
echo "$preset"
