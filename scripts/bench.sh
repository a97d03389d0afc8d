#!/usr/bin/env bash
# Builds the benchmarks (Release) and compares training steps with libtorch's and torch.compile's
# (build/release/benchmarks/train_bench), or single functions with libtorch's (compare_bench). The peers are built if
# scripts/torch_venv.sh has installed PyTorch; otherwise tandem is measured alone.
#
# Usage: scripts/bench.sh [train_bench arguments...]     --json FILE, --quick, --only recipe/bf16,... ; --help lists them
#        scripts/bench.sh --functions [compare_bench arguments...]     --only attention,lstm, --memory, --json FILE, ...
#        scripts/bench.sh --build                        only builds
# On a busy machine, run `chrt -f 1 scripts/bench.sh` (as root), so that other processes do not slow the measurement.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
binaries=$root/build/release/benchmarks

build_peer() { # build_peer NAME: from benchmarks/torch/NAME.cpp
  local venv=$root/.venv-torch python torch peer=$binaries/$1
  python=$venv/bin/python
  if ! torch=$("$python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))' 2>/dev/null); then
    rm -f "$peer"
    echo "bench: no PyTorch in .venv-torch (scripts/torch_venv.sh creates it); measuring tandem only" >&2
    return
  fi
  local sources=("$root/benchmarks/torch/$1.cpp" "$root/benchmarks/command_line.cpp" "$root/common/processor.cpp")
  if [[ -x $peer && -z $(find "$root/benchmarks" "$root/common" "$root/examples/models" "$root/tests/support/counter.h" "$torch/version.py" -newer "$peer" -type f -print -quit) ]]; then
    return
  fi
  echo "bench: building the libtorch program $1" >&2
  # Link libtorch_cpu only: libtorch itself would load the CUDA libraries.
  "${CXX:-g++}" -std=c++20 -O3 -DNDEBUG -I"$root/benchmarks" -I"$root/examples" -I"$root" -isystem "$torch/include" \
    -isystem "$torch/include/torch/csrc/api/include" "${sources[@]}" -o "$peer.part" -L"$torch/lib" \
    -Wl,-rpath,"$torch/lib" -ltorch_cpu -lc10
  mv "$peer.part" "$peer"
}

(
  cd "$root"
  scripts/setup.sh >&2
  mkdir -p build
  cmake --preset release >build/.release.configure.log 2>&1 || {
    cat build/.release.configure.log
    exit 1
  }
  cmake --build --preset release --target tandem_benchmarks >&2
)
build_peer train_torch
build_peer compare_torch
compiled=$binaries/train_compile
rm -f "$compiled"
if [[ -x $binaries/train_torch ]]; then
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$root/.venv-torch/bin/python" "$root/benchmarks/torch/train_compile.py" >"$compiled"
  chmod +x "$compiled"
fi
case ${1:-} in
  --build) exit 0 ;;
  --functions) exec "$binaries/compare_bench" "${@:2}" ;;
  *) exec "$binaries/train_bench" "$@" ;;
esac
