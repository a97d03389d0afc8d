#!/usr/bin/env bash
# Installs what is missing, builds and runs the tests. The last line of the output is 'N passed, N failed'.
#
# Usage: scripts/test.sh [PRESET [ctest arguments...]]    PRESET is release (the default), dev, asan, tsan or cuda.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
results=build/$preset/test_results

scripts/setup.sh
mkdir -p build
cmake --preset "$preset" >build/."$preset".configure.log 2>&1 || {
  cat build/."$preset".configure.log
  exit 1
}
cmake --build --preset "$preset"
rm -rf "$results"
mkdir -p "$results"
status=0
ctest --preset "$preset" --parallel "$(nproc)" --output-junit "$PWD/$results/ctest.xml" "$@" || status=$?
python3 scripts/test_totals.py "build/$preset" || status=1
exit $status
