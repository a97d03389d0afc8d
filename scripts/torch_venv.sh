#!/usr/bin/env bash
# Creates .venv-torch, a Python environment with PyTorch for the CPU, and prints its path. Only tests/golden/generate.py
# (golden values) and the benchmarks' comparison with PyTorch need it; tandem itself does not.
#
# PyPI's torch wheel depends on several GB of CUDA packages, but the import needs only the few libraries that torch is
# linked against. So the script installs torch with --no-deps, then its pure Python dependencies, and then, one at a
# time, only the CUDA packages whose libraries the import reports as missing.
#
# Usage: scripts/torch_venv.sh          TORCH_VERSION=2.x.y selects a version, PYTHON=... an interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.venv-torch
python=${PYTHON:-python3}
torch_spec=torch${TORCH_VERSION:+==$TORCH_VERSION}

say() { echo "torch_venv: $*" >&2; }

works() { "$venv/bin/python" -c 'import numpy, torch; torch.ones(2) @ torch.ones(2)' >/dev/null 2>"$venv/import_error.txt"; }

if [[ -x $venv/bin/python ]] && works; then
  echo "$venv"
  exit 0
fi

if ! "$python" -m venv "$venv" >/dev/null 2>&1 && ! "$python" -m virtualenv "$venv" >/dev/null 2>&1; then
  say "cannot create a virtual environment; install python3-venv (apt-get install python3-venv)"
  exit 1
fi
pip=("$venv/bin/python" -m pip --disable-pip-version-check install --quiet)
"${pip[@]}" numpy safetensors filelock typing-extensions sympy networkx jinja2 fsspec mpmath markupsafe setuptools
"${pip[@]}" --no-deps "$torch_spec"

# The CUDA packages that this torch requires, such as nvidia-cudnn-cu13==9.26.0.51. Newer versions require most of them
# through the empty package cuda-toolkit, which is installed so that its requirements can be read.
nvidia_requirements() {
  "$venv/bin/python" - <<'PY'
import importlib.metadata as m, re
def pins(package):
    try:
        return [re.sub(r"[ ()]", "", r.split(";")[0]) for r in m.requires(package) or []]
    except m.PackageNotFoundError:
        return []
for pin in sorted(set(pins("torch") + pins("cuda-toolkit"))):
    if pin.startswith(("nvidia-", "cuda-toolkit")):
        print(re.sub(r"\[.*\]", "", pin))
PY
}
toolkit=$(nvidia_requirements | grep '^cuda-toolkit' || true)
[[ -z $toolkit ]] || "${pip[@]}" --no-deps "$toolkit"

# Prints the stem of the name of the package that contains a library.
package_of() {
  case $1 in
    libcudart*) echo cuda-runtime ;;
    libcublas*) echo cublas ;;
    libcudnn*) echo cudnn ;;
    libcufft*) echo cufft ;;
    libcufile*) echo cufile ;;
    libcurand*) echo curand ;;
    libcusolver*) echo cusolver ;;
    libcusparseLt*) echo cusparselt ;;
    libcusparse*) echo cusparse ;;
    libnccl*) echo nccl ;;
    libnvrtc*) echo cuda-nvrtc ;;
    libnvToolsExt*) echo nvtx ;;
    libnvJitLink*) echo nvjitlink ;;
    libnvshmem*) echo nvshmem ;;
    libcupti*) echo cuda-cupti ;;
    *) return 1 ;;
  esac
}

for _ in $(seq 20); do
  if works; then
    say "$("$venv/bin/python" -c 'import torch; print("torch", torch.__version__)')"
    echo "$venv"
    exit 0
  fi
  library=$(sed -nE 's/.*ImportError: (lib[A-Za-z_]+\.so[.0-9]*):? .*/\1/p' "$venv/import_error.txt" | head -1 || true)
  if [[ -z $library ]]; then # the system has an older copy of a library: derive its name from the missing symbol
    library=$(sed -nE 's/.*undefined symbol: (nccl|cudnn|cublas|cufft|cufile|curand|cusolver|cusparse|nvrtc|cupti).*/lib\1/p' \
      "$venv/import_error.txt" | head -1)
  fi
  stem=$(package_of "${library:-none}") || break
  requirement=$(nvidia_requirements | grep -E "^nvidia-$stem(-cu[0-9]+)?([<>=~!]|$)" | head -1 || true)
  [[ -n $requirement && $requirement != "${last:-}" ]] || break
  last=$requirement
  say "torch needs $library: installing $requirement"
  "${pip[@]}" --no-deps "$requirement"
done
say "import torch fails:"
cat "$venv/import_error.txt" >&2
exit 1
