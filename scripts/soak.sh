#!/usr/bin/env bash
# Runs the defect finders of tests/soak for a long time: in release, under the sanitizers, on an emulated CUDA device
# and, if .venv-torch exists (scripts/torch_venv.sh creates it), against PyTorch. Exits 1 if any of them finds a defect.
# Each failure prints the command that reproduces it.
#
# Usage: scripts/soak.sh [MINUTES [SEED [PTX]]]      default: 10 minutes and a seed from the clock
#
# With PTX, a folder that scripts/ptx_extract.py made, the emulated device also runs the kernels from there.
set -uo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-10}
seed=${2:-$(date +%s)}
presets=(release asan)
finders=("RandomPrograms.*" "RandomScalerPrograms.*" "AbsurdCalls.*" "HostileFiles.*" "OutOfMemory.Failing*"
  "OutOfMemory.Limited*")
python=.venv-torch/bin/python
kernels=("") # those that g++ compiled
[[ -z ${3:-} ]] || kernels+=("$(realpath "$3")")
turns=$((${#presets[@]} * ${#finders[@]} + ${#kernels[@]}))
[[ ! -x $python ]] || turns=$((turns + 2 + ${#kernels[@]})) # PyTorch gets two shares of the time on the CPU
seconds=$((minutes * 60 / turns))
((seconds > 0)) || seconds=1
failed=()

scripts/setup.sh --ci || exit 1
for preset in "${presets[@]}"; do
  scripts/preset.sh "$preset" >/dev/null && cmake --build --preset "$preset" --target tandem_soak_test || exit 1
done
cmake --build --preset release --target tandem_on_cuda_soak_test || exit 1

export OMP_WAIT_POLICY=passive # many processes run in parallel
# The options of the asan test preset.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:check_initialization_order=1:strict_init_order=1
export LSAN_OPTIONS=suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export KMP_HOT_TEAMS_MAX_LEVEL=0

for preset in "${presets[@]}"; do
  for finder in "${finders[@]}"; do
    echo "==== $preset: $finder for $seconds s from seed $seed"
    (cd "build/$preset" && TANDEM_SOAK_SEED=$seed TANDEM_SOAK_SECONDS=$seconds tests/soak_test --gtest_brief=1 \
      --gtest_filter="$finder") || failed+=("$preset: $finder")
  done
  echo "==== $preset: the recorded calls"
  "build/$preset/tests/soak_test" --gtest_brief=1 --gtest_filter='*RandomOps*' || failed+=("$preset: recorded calls")
done
for ptx in "${kernels[@]}"; do
  device=(TANDEM_TEST_DEVICE=cuda ${ptx:+TANDEM_PTX="$ptx"})
  echo "==== ${device[*]}: the recorded calls"
  (cd build/release && env "${device[@]}" tests/on_cuda_soak_test --gtest_brief=1 --gtest_filter='RandomOps*') ||
    failed+=("${device[*]}: recorded calls")
  echo "==== ${device[*]}: RandomKernelsOnDevice for $seconds s from seed $seed"
  (cd build/release && env "${device[@]}" TANDEM_SOAK_SEED="$seed" TANDEM_SOAK_SECONDS="$seconds" \
    tests/on_cuda_soak_test --gtest_brief=1 --gtest_filter='RandomKernelsOnDevice.*') ||
    failed+=("${device[*]}: RandomKernelsOnDevice")
  [[ -x $python ]] || continue
  echo "==== ${device[*]} compared with the CPU and with PyTorch for $seconds s from seed $seed"
  env "${device[@]}" "$python" tests/soak/differential.py --test build/release/tests/on_cuda_soak_test --seed "$seed" \
    --seconds "$seconds" || failed+=("${device[*]}: comparison with PyTorch")
done
if [[ -x $python ]]; then
  echo "==== release compared with PyTorch for $((2 * seconds)) s from seed $seed"
  "$python" tests/soak/differential.py --seed "$seed" --seconds $((2 * seconds)) || failed+=("comparison with PyTorch")
else
  echo "==== no comparison with PyTorch: no .venv-torch (scripts/torch_venv.sh creates it)"
fi

if ((${#failed[@]})); then
  printf 'soak: FAILED: %s\n' "${failed[@]}"
  echo "soak: to reproduce a failure, run the command printed with it in the build folder of its preset"
  exit 1
fi
echo "soak: no defects found from seed $seed"
