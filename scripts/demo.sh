#!/usr/bin/env bash
# Installs what is missing, builds the demo (Release) and runs it: an MLP and a CNN trained on Fashion-MNIST
# in f32, in bf16 AMP and in f16 AMP; on the GPU where one is, with nvcc and cuDNN (scripts/preset.sh chooses, and
# TANDEM_PRESET=release overrides). Arguments go to the demo; --help lists them. Where Python has matplotlib it ends by
# drawing loss and loss scale into build/demo/history.png.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/setup.sh"
preset=$("$root/scripts/preset.sh")
(cd "$root" && cmake --build --preset "$preset" --target tandem_example_demo)
# GNU OpenMP's idle threads spin for milliseconds before they sleep. Where other programs want the processors too, that
# makes training many times slower; a thousand turns bridge the gaps between kernels.
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT-1000}"
logs="$root/build/demo"
rm -rf "$logs"
"$root/build/$preset/examples/demo" --log "$logs" "$@"
if compgen -G "$logs/*.jsonl" >/dev/null; then
  python3 "$root/scripts/plot_log.py" "$logs"/*.jsonl -o "$logs/history.png" || [[ $? == 77 ]] # no matplotlib
fi
