#!/usr/bin/env bash
# Installs missing dependencies, builds and runs the tests. The last line of the output is 'N passed, N failed'.
#
# Usage: scripts/test.sh [PRESET [ctest arguments...]]    PRESET is release, dev, asan, tsan or cuda. The default is
# cuda if there are a GPU, nvcc and cuDNN, otherwise release (scripts/preset.sh; TANDEM_PRESET overrides).
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1-} == asan ]]; then scripts/setup.sh --ci; else scripts/setup.sh; fi
preset=$(scripts/preset.sh ${1+"$1"})
shift || true
results=build/$preset/test_results

cmake --build --preset "$preset"
rm -rf "$results"
mkdir -p "$results"
status=0
ctest --preset "$preset" --parallel "$(nproc)" --output-junit "$PWD/$results/ctest.xml" "$@" || status=$?
python3 scripts/test_totals.py "build/$preset" || status=1
exit $status
