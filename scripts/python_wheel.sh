#!/usr/bin/env bash
# Builds the Python package into build/wheel/*.whl, installs it into a fresh virtual environment, build/wheel/venv, and
# runs its tests there. Installs missing dependencies (scripts/setup.sh --python). Needs a package index for pip.
#
# Usage: scripts/python_wheel.sh                 compiles the library and the extension
#        scripts/python_wheel.sh --prefix DIR    compiles the extension only, for the tandem installed in DIR
#        scripts/python_wheel.sh --no-tests      ends when the wheel is built
# PYTHON=... selects an interpreter, JOBS=... the number of compilers that run at a time.
# If .venv-torch exists (scripts/torch_venv.sh), the tests run there too and compare with PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
tests=yes
while (($#)); do
  case $1 in
    --prefix)
      prefix=$(cd "${2:?python_wheel: --prefix needs a folder}" && pwd)
      export SKBUILD_CMAKE_SOURCE_DIR=. SKBUILD_CMAKE_DEFINE="CMAKE_PREFIX_PATH=$prefix"
      shift
      ;;
    --no-tests) tests=no ;;
    -h | --help)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
      exit 0
      ;;
    *)
      echo "python_wheel: unknown argument $1; see --help" >&2
      exit 2
      ;;
  esac
  shift
done

scripts/setup.sh --python
out=$PWD/build/wheel
# Variables, because pip has had -C only since 23.1. The folder is as deep as the other build folders, and the compiler
# has the name that CMake finds by itself, so that ccache takes objects from other builds.
export SKBUILD_BUILD_DIR=$PWD/build/python CXX=${CXX-c++}
mkdir -p "$out"
rm -rf "$out"/*.whl "$out/venv"
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
"$python" -m venv "$out/venv"
pip=("$out/venv/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" wheel --quiet --no-deps --wheel-dir "$out" ./python
wheel=$(ls "$out"/*.whl)
echo "python_wheel: $wheel ($(du -h "$wheel" | cut -f1))"
[[ $tests == yes ]] || exit 0

"${pip[@]}" install --quiet "${wheel}[test]"
cd "$out" # not the repository: the tests must import the installed package
"$out/venv/bin/python" -m pytest -q -p no:cacheprovider ../../python/tests
torch=../../.venv-torch/bin/python
if [[ -x $torch ]]; then
  "$torch" -m pip --disable-pip-version-check install --quiet --target "$out/with_torch" --upgrade --no-deps "$wheel"
  "$torch" -m pip --disable-pip-version-check install --quiet pytest
  PYTHONPATH=$out/with_torch "$torch" -m pytest -q -p no:cacheprovider ../../python/tests/test_torch.py
fi
