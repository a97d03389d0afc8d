#!/usr/bin/env bash
# Installs missing dependencies, builds the demo (Release) and runs it: an MLP and a CNN, trained on Fashion-MNIST in
# f32, bf16 AMP and f16 AMP. It uses the GPU on machines that have one, nvcc and cuDNN (scripts/preset.sh chooses;
# TANDEM_PRESET=release overrides). Arguments go to the demo; --help lists them. If Python has matplotlib, the script
# ends by plotting loss and loss scale to build/demo/history.png.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/setup.sh"
preset=$("$root/scripts/preset.sh")
(cd "$root" && cmake --build --preset "$preset" --target tandem_example_demo)
logs="$root/build/demo"
rm -rf "$logs"
"$root/build/$preset/examples/demo" --log "$logs" "$@"
if compgen -G "$logs/*.jsonl" >/dev/null; then
  python3 "$root/scripts/plot_log.py" "$logs"/*.jsonl -o "$logs/history.png" || [[ $? == 77 ]] # no matplotlib
fi
