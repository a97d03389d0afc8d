#!/usr/bin/env bash
# Installs missing dependencies, builds the demo (Release) and runs it: an MLP and a CNN, trained on Fashion-MNIST in
# f32, bf16 AMP and f16 AMP. It uses the GPU on machines that have one, nvcc and cuDNN (scripts/preset.sh chooses;
# TANDEM_PRESET=release overrides). Arguments go to the demo; --help lists them. The script ends by drawing loss,
# accuracy, speed and loss scale of all runs into build/demo/history.html.
#
# With `--ranks N` as the first argument, it trains the CNN on N processes instead (examples/ddp_mnist, docs/scaling.md).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/setup.sh"
if [[ ${1-} == --ranks ]]; then
  ranks=${2:?--ranks needs the number of processes}
  shift 2
  (cd "$root" && cmake --preset release && cmake --build --preset release --target tandem_example_ddp_mnist)
  threads=$(($(nproc) / ranks))
  export OMP_NUM_THREADS=$((threads > 0 ? threads : 1))
  # Open MPI: more processes than processors, no binding, and root is allowed (containers). Other MPIs ignore these.
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  exec mpirun -np "$ranks" "$root/build/release/examples/ddp_mnist" "$@"
fi
preset=$("$root/scripts/preset.sh")
(cd "$root" && cmake --build --preset "$preset" --target tandem_example_demo)
logs="$root/build/demo"
rm -rf "$logs"
"$root/build/$preset/examples/demo" --log "$logs" "$@"
if compgen -G "$logs/*.jsonl" >/dev/null; then
  python3 "$root/scripts/plot_log.py" "$logs"/*.jsonl -o "$logs/history.html"
fi
