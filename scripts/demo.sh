#!/usr/bin/env bash
# Installs what is missing, builds the examples (Release) and runs the demo: an MLP and a CNN trained on Fashion-MNIST
# in f32, in bf16 AMP and in f16 AMP. Arguments go to the demo; --help lists them.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

(
  cd "$root"
  scripts/setup.sh
  mkdir -p build
  cmake --preset release >build/.release.configure.log 2>&1 || {
    cat build/.release.configure.log
    exit 1
  }
  cmake --build --preset release --target tandem_examples
)
exec "$root/build/release/examples/demo" "$@"
