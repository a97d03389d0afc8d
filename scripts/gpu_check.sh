#!/usr/bin/env bash
# Proves the CUDA backend on a machine with a GPU, without a network: all tests on the GPU, compute-sanitizer over fewer
# of them, then training steps beside the machine's PyTorch. Stages that are done are not repeated.
#
# Usage: scripts/gpu_check.sh [--package DIR] [--out DIR] [--stage tests|sanitizer|benchmarks]... [--arch 90]
#   --package DIR   only builds: puts stripped binaries and what they need into DIR, for another machine
#   with DIR/bin at hand (default: build/gpu_package, or $TANDEM_GPU_PACKAGE) the stages run from there.
# Results: OUT/summary.json and OUT/summary.txt (default: build/gpu_results), one log for each step beside them.
set -euo pipefail
cd "$(dirname "$0")/.."

package=${TANDEM_GPU_PACKAGE:-build/gpu_package}
out=build/gpu_results
arch=90
stages=()
build_only=0
while (($#)); do
  case $1 in
    --package) package=$2 build_only=1 && shift ;;
    --out) out=$2 && shift ;;
    --stage) stages+=("$2") && shift ;;
    --arch) arch=$2 && shift ;;
    *)
      sed -n '2,9s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done
((${#stages[@]})) || stages=(tests sanitizer benchmarks)

build_package() {
  local build=build/gpu
  PATH=$PATH:/usr/local/cuda/bin cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$arch" -DBUILD_SHARED_LIBS=ON -DTANDEM_TESTS_DIR=tests
  PATH=$PATH:/usr/local/cuda/bin cmake --build "$build"
  rm -rf "$package"
  mkdir -p "$package/bin" "$package/lib"
  cp "$build"/tests/*_test "$build"/benchmarks/train_bench "$build"/examples/{recipe,mlp,mnist_cnn} "$package/bin/"
  cp -L "$build"/libtandem.so.* "$package/lib/"
  # What else they need, but for the system's core, and CUDA's libraries, which the other machine has itself.
  ldd "$package"/bin/* "$package"/lib/* | awk '/=> \//{print $3}' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcuda|libcudart|libcublas[^/]*|libcudnn[^/]*|libnccl|libtandem)\.so' |
    xargs -I{} cp -L {} "$package/lib/"
  strip --strip-unneeded "$package"/bin/* "$package"/lib/*
  du -sh "$package"
}

# Folders with cuBLAS and cuDNN: a toolkit's, or those of Python's nvidia packages.
cuda_folders() {
  local folder
  for folder in /usr/local/cuda/lib64 /usr/local/nvidia/lib64; do [[ -d $folder ]] && echo "$folder"; done
  python3 - <<'PY' 2>/dev/null || true
import glob, site, sysconfig
for root in {sysconfig.get_paths()["purelib"], *site.getsitepackages()}:
    for folder in glob.glob(root + "/nvidia/*/lib"):
        print(folder)
PY
}

# step NAME SECONDS COMMAND...: runs it once, with its log and exit status in $out.
step() {
  local name=$1 limit=$2 status=0
  shift 2
  if [[ -f $out/$name.status && $(<"$out/$name.status") == 0 ]]; then
    echo "gpu_check: $name: done before"
    return
  fi
  local start=$SECONDS
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || status=$?
  echo "$status" >"$out/$name.status"
  echo $((SECONDS - start)) >"$out/$name.seconds"
  echo "gpu_check: $name: $([[ $status == 0 ]] && echo ok || echo "FAILED ($status)"), $((SECONDS - start)) s"
}

tests() {
  local binary
  for binary in "$package"/bin/*_test; do
    step "test_$(basename "$binary")" 300 "$binary" --gtest_brief=1 --gtest_output="json:$out/$(basename "$binary").json"
  done
}

sanitizer() {
  local tool sanitizer
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck initcheck synccheck; do
    step "sanitizer_$tool" 110 "$sanitizer" --tool "$tool" --error-exitcode 9 "$package/bin/ops_test" \
      --gtest_brief=1 --gtest_filter='Ops/CudaTest.F32/*:Ops/CudaTest.F16/*'
  done
}

benchmarks() {
  local workload precision variant batch
  for workload in recipe simple_cnn big_cnn tiny_mlp; do
    for precision in f32 f16 bf16; do
      for variant in "" --graph; do
        step "tandem_${workload}_$precision${variant/--/_}" 60 "$package/bin/train_bench" --device cuda \
          --workload "$workload" --precision "$precision" --warmup 30 --iterations 15 $variant
      done
      for variant in eager tf32 channels_last fused graph; do
        [[ $variant == tf32 && $precision != f32 ]] && continue
        [[ $variant == channels_last && $workload != *cnn ]] && continue
        step "torch_${workload}_${precision}_$variant" 90 python3 benchmarks/torch/train_gpu.py \
          --workload "$workload" --precision "$precision" --variant "$variant"
      done
    done
  done
}

if ((build_only)); then
  build_package
  exit
fi
if [[ ! -d $package/bin ]]; then
  command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || {
    echo "gpu_check: no binaries in $package and no nvcc here; make them elsewhere with --package" >&2
    exit 2
  }
  build_package
fi
mkdir -p "$out"
LD_LIBRARY_PATH=$package/lib:$(cuda_folders | paste -sd:):${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" 2>&1 ||
  echo "no GPU: nvidia-smi failed" >"$out/gpu.txt"
cat "$out/gpu.txt"
for stage in "${stages[@]}"; do "$stage"; done
python3 scripts/gpu_summary.py "$out"
