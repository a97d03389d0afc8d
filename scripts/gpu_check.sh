#!/usr/bin/env bash
# Checks the CUDA backend on a machine with a GPU, without a network: runs all tests on the GPU and some of them under
# compute-sanitizer, compares training steps with the machine's PyTorch, and measures single kernels. Steps that have
# run are not repeated, so the same command continues after an interruption.
#
# Usage: scripts/gpu_check.sh [--package DIR] [--out DIR] [--arch N] [--retry] [--dry-run] [--stage NAME]...
#   --package DIR   only builds: writes DIR/package.tar.xz, stripped binaries and their libraries for another machine
#   --arch N        compute capability to build for, such as 90; default: all for a package, otherwise that of this GPU
#   --stage NAME    tests, steps, sanitizer, benchmarks, memory or kernels; by default all of them, one after another.
#                   Takes at most 8 minutes. Exit status 75: steps are left, run the command again
#   --retry         repeats steps that failed
#   --dry-run       the smallest sizes, for an emulated device
#   If there is a package ($TANDEM_GPU_PACKAGE, by default build/gpu_package), the stages run from it. A package that was
#   built here is updated first. Results of other binaries are deleted.
# Results: OUT/summary.json, OUT/summary.txt and one log for each step (default: build/gpu_results).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kSlice=460 # time limit in seconds of a stage that is called by name
readonly kUnfinished=75
readonly kBuild=build/gpu
package=${TANDEM_GPU_PACKAGE:-build/gpu_package}
out=build/gpu_results
arch=
stages=()
slice=0
build_only=0
retry=0
dry=0
while (($#)); do
  case $1 in
    --package) package=$2 build_only=1 && shift ;;
    --out) out=$2 && shift ;;
    --stage) stages+=("$2") slice=$kSlice && shift ;;
    --arch) arch=$2 && shift ;;
    --retry) retry=1 ;;
    --dry-run) dry=1 ;;
    *)
      sed -n '2,17s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done
((${#stages[@]})) || stages=(tests steps sanitizer benchmarks memory kernels)
for stage in "${stages[@]}"; do
  [[ $stage =~ ^(tests|steps|sanitizer|benchmarks|memory|kernels)$ ]] || {
    echo "gpu_check: unknown stage '$stage'; the stages are tests, steps, sanitizer, benchmarks, memory and kernels" >&2
    exit 2
  }
done

# ---- the package

# Libraries that are not packed: those that the other machine must have (the C and C++ libraries, the driver, CUDA's
# libraries), and libtandem, which is copied separately.
readonly kTheirs='/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libstdc\+\+|libgcc_s|libcuda|libcudart|libcublas[^/]*|libcudnn[^/]*|libnccl|libnv[^/]*|libtandem)\.so'

# Fails if a packed file needs a newer C or C++ library than that of Ubuntu 22.04.
check_needs() {
  local newest limit
  for limit in GLIBC_2.35 GLIBCXX_3.4.30; do
    newest=$(objdump -T "$@" | grep -oE "\b${limit%%_*}_[0-9.]+" | sort -Vu | tail -1)
    [[ $(printf '%s\n' "$newest" "$limit" | sort -V | tail -1) == "$limit" ]] && continue
    echo "gpu_check: the package needs $newest, newer than Ubuntu 22.04's $limit" >&2
    return 1
  done
}

build_package() {
  local build=$kBuild staging
  PATH=$PATH:/usr/local/cuda/bin cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$arch" -DBUILD_SHARED_LIBS=ON -DTANDEM_TESTS_DIR=tests \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib"
  PATH=$PATH:/usr/local/cuda/bin cmake --build "$build"
  [[ -f $package/package.tar.xz && -z $(find "$build" -type f -executable -newer "$package/package.tar.xz" -print -quit) ]] &&
    return
  staging=$(mktemp -d)
  trap "rm -rf '$staging'" EXIT
  mkdir -p "$staging/bin" "$staging/lib" "$package"
  cp "$build"/tests/{*_test,tandem_unchanged_program} "$build"/benchmarks/{train_bench,device_bench} "$staging/bin/"
  find "$build/examples" -maxdepth 1 -type f -executable -exec cp {} "$staging/bin/" \;
  cp -L "$build"/libtandem.so.?.? "$staging/lib/"
  LD_LIBRARY_PATH=$staging/lib:$PWD/.deps/onednn/lib ldd "$staging"/bin/* "$staging"/lib/* | awk '/=> \//{print $3}' |
    sort -u | grep -Ev "$kTheirs" | xargs -I{} cp -L {} "$staging/lib/"
  check_needs "$staging"/bin/* "$staging"/lib/*
  strip --strip-unneeded "$staging"/bin/* "$staging"/lib/*
  {
    sed -n 's/^set(CMAKE_CUDA_COMPILER_VERSION "\([0-9.]*\)")/cuda=\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake
    echo "architectures=$(grep -ohE '\bsm_[0-9]+' "$build/build.ninja" | sort -Vu | cut -c4- | paste -sd,)"
  } >"$staging/build.txt"
  rm -rf "$package/bin" "$package/lib"
  XZ_OPT=-6 tar -C "$staging" -cJf "$package/package.tar.xz" bin lib build.txt
  du -sh "$package" "$staging"
}

unpack_package() {
  [[ ! -f $package/package.tar.xz || $package/bin/.unpacked -nt $package/package.tar.xz ]] && return
  rm -rf "$package"/{bin,lib,build.txt,.part}
  # Python's tarfile, because xz may not be installed.
  python3 -m tarfile -e "$package/package.tar.xz" "$package/.part"
  mv "$package/.part"/* "$package/"
  rmdir "$package/.part"
  touch "$package/bin/.unpacked"
}

# Prints the folders with cuBLAS and cuDNN: those of a toolkit, of conda or of Python's nvidia packages.
cuda_folders() {
  local folder
  for folder in "${CUDA_PATH:-/usr/local/cuda}/lib64" /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu \
    ${CONDA_PREFIX:+"$CONDA_PREFIX/lib" "$CONDA_PREFIX/targets/x86_64-linux/lib"}; do
    if compgen -G "$folder/libcublasLt.so*" >/dev/null || compgen -G "$folder/libcudnn.so*" >/dev/null; then
      echo "$folder"
    fi
  done
  python3 - <<'PY' 2>/dev/null || true
import glob, site, sys, sysconfig
roots = [sysconfig.get_paths()["purelib"], site.getusersitepackages(), *site.getsitepackages(), *sys.path]
for root in dict.fromkeys(filter(None, roots)):
    for folder in sorted(glob.glob(glob.escape(root) + "/nvidia/*/lib")):
        print(folder)
PY
}

# ---- steps

# step NAME SECONDS COMMAND...: runs the command once, with its log and exit status in $out. In a stage with a time
# limit, steps that no longer fit are left for the next call. Exit status 77 means that the machine lacks something that
# the step needs.
step() {
  local name=$1 limit=$2 status=0
  shift 2
  [[ -f $out/$name.status ]] && ((!retry || $(<"$out/$name.status") == 0)) && return
  if ((slice && steps_run && SECONDS - stage_start + limit > slice)); then
    left=$((left + 1))
    return
  fi
  steps_run=$((steps_run + 1))
  local start=$SECONDS verdict
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || status=$?
  case $status in
    0) verdict=ok ;;
    77) verdict="skipped: $(tail -1 "$out/$name.log")" ;;
    124) verdict="FAILED: timed out after $limit s" ;;
    *) verdict="FAILED ($status)" ;;
  esac
  echo "$status" >"$out/$name.status"
  echo $((SECONDS - start)) >"$out/$name.seconds"
  echo "gpu_check: $name: $verdict, $((SECONDS - start)) s"
}

# test_step BINARY SHARDS DEVICE: one step for each shard, to keep steps short. DEVICE is the tests' default device.
# Death tests run in new processes, because a child of fork() cannot use CUDA.
test_step() {
  local name=$1 shards=$2 device=$3 shard
  for ((shard = 0; shard < shards; shard++)); do
    step "test_$name.$shard" 220 "${cuda_libraries[@]}" TANDEM_TEST_DEVICE="$device" GTEST_TOTAL_SHARDS="$shards" \
      GTEST_SHARD_INDEX="$shard" GTEST_DEATH_TEST_STYLE=threadsafe "$package/bin/$name" --gtest_brief=1 \
      --gtest_output="json:$out/$name.$shard.json"
  done
}

tests() {
  local binary name
  for binary in "$package"/bin/*_test; do
    name=$(basename "$binary")
    case $name in
      # no tensors, fakes, or tests that name the device themselves
      base_test | cuda_device_test | cuda_fake_test | cuda_test | cudnn_engines_test | math_test) test_step "$name" 1 cpu ;;
      ops_test) test_step "$name" 6 cuda ;;
      amp_test | autograd_test | io_test | kernels_test) test_step "$name" 2 cuda ;;
      *) test_step "$name" 1 cuda ;;
    esac
  done
  for name in booster cuda_graph custom_function environment_switch gradient_accumulation gradient_clipping \
    gradient_penalty multiple_losses opt_levels save_resume troubleshooting underflow; do
    [[ -x $package/bin/$name ]] || continue
    step "example_$name" 60 "${cuda_libraries[@]}" "$package/bin/$name" --quick --device cuda
  done
}

# formats_of WORKLOAD: prints the memory formats to run it in; suffix_of FORMAT: prints the end of the steps' names.
formats_of() { if [[ $1 == *cnn ]]; then echo contiguous channels_last; else echo contiguous; fi; }
suffix_of() { if [[ $1 != contiguous ]]; then echo "_$1"; fi; }

# Losses, gradients and parameters of the first steps, compared with those of the CPU.
steps() {
  local workload precision format
  for workload in "${workloads[@]}"; do
    for precision in f32 f16 bf16; do
      for format in $(formats_of "$workload"); do
        step "steps_${workload}_$precision$(suffix_of "$format")" 120 "${cuda_libraries[@]}" \
          python3 scripts/gpu_compare_steps.py "$package/bin/train_bench" "$workload" "$precision" \
          --memory-format "$format" "${small[@]}"
      done
    done
  done
}

# with_sanitizer TOOL PROGRAM ARGUMENTS...
with_sanitizer() {
  local sanitizer
  sanitizer=$(command -v compute-sanitizer || ls "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null) || {
    echo "no compute-sanitizer on this machine (it is part of the CUDA toolkit)"
    return 77
  }
  local only # our kernels, not those of cuBLAS and cuDNN; the option's name depends on the version
  only=$("$sanitizer" --help | grep -oE -m1 -- '--kernel-(regex|name)\b') || true
  TANDEM_NO_CACHE=1 "$sanitizer" --tool "$1" ${only:+"$only" kns=tandem} --error-exitcode 9 "$package/bin/$2" "${@:3}"
}

# Runs each kernel of the backend once, in f32 and f16, to find accesses out of bounds, races in shared memory, reads of
# uninitialized memory, and barriers that not all threads reach.
sanitizer() {
  local tool dtype shard
  export package
  export -f with_sanitizer
  for tool in memcheck racecheck initcheck synccheck; do
    for dtype in F32 F16; do
      for shard in 0 1; do
        step "sanitizer_${tool}_ops_$dtype.$shard" 220 "${cuda_libraries[@]}" GTEST_TOTAL_SHARDS=2 \
          GTEST_SHARD_INDEX=$shard bash -c 'with_sanitizer "$@"' - "$tool" ops_test --gtest_brief=1 \
          --gtest_filter="Ops/CudaTest.$dtype/*"
      done
    done
    for dtype in f32 f16; do # optimizers, the scaler, convolutions, losses
      step "sanitizer_${tool}_training_$dtype" 220 "${cuda_libraries[@]}" bash -c 'with_sanitizer "$@"' - "$tool" \
        train_bench --device cuda --workload simple_cnn --precision "$dtype" --batch 8 --warmup 2 --iterations 1
    done
  done
}

train_bench() { # train_bench NAME SECONDS arguments...
  local name=$1 limit=$2
  shift 2
  step "tandem_$name" "$limit" "${cuda_libraries[@]}" "$package/bin/train_bench" --device cuda "$@"
}
train_torch() { # train_torch NAME SECONDS arguments...
  local name=$1 limit=$2
  shift 2
  step "torch_$name" "$limit" python3 benchmarks/torch/train_gpu.py "$@"
}

benchmarks() {
  local workload precision format variant
  for workload in "${workloads[@]}"; do
    for precision in f32 f16 bf16; do
      for format in $(formats_of "$workload"); do
        for variant in "" --graph; do
          train_bench "${workload}_$precision${variant/--/_}$(suffix_of "$format")" 60 --workload "$workload" \
            --precision "$precision" --memory-format "$format" "${length[@]}" "${small[@]}" $variant
        done
        for variant in eager tf32 fused graph; do
          [[ $variant == tf32 && $precision != f32 ]] && continue
          train_torch "${workload}_${precision}_$variant$(suffix_of "$format")" 90 --workload "$workload" \
            --precision "$precision" --memory-format "$format" --variant "$variant"
        done
      done
    done
  done
}

# The CNN of 420 and 1000 channels: its step and peak memory with batch 590 in f32 and 1000 in AMP, and the largest
# batch that fits.
memory() {
  local run precision batch format
  ((dry)) && return # a whole GPU's memory
  for run in f32:590 f16:1000; do
    precision=${run%:*} batch=${run#*:}
    for format in $(formats_of big_cnn); do
      train_bench "big_cnn_${precision}$(suffix_of "$format")_batch$batch" 120 --workload big_cnn \
        --precision "$precision" --batch "$batch" --memory-format "$format" --warmup 5 --iterations 5
      train_torch "big_cnn_${precision}_eager$(suffix_of "$format")_batch$batch" 120 --workload big_cnn \
        --precision "$precision" --batch "$batch" --memory-format "$format" --samples 5
      train_torch "big_cnn_${precision}$(suffix_of "$format")_largest" 220 --workload big_cnn --precision "$precision" \
        --memory-format "$format" --largest-batch
    done
    train_bench "big_cnn_${precision}_largest" 220 --workload big_cnn --precision "$precision" --largest-batch
  done
}

# Single kernels: matrix products, passes over memory compared with a copy, convolutions.
kernels() {
  local group
  for group in products passes convolutions launches; do
    step "kernels_$group" 150 "${cuda_libraries[@]}" "$package/bin/device_bench" --device cuda --only "$group" $quick
  done
  step kernels_torch 60 python3 benchmarks/torch/train_gpu.py --copy-rate
}

if ((build_only)); then
  build_package
  exit
fi
if [[ (-z ${TANDEM_GPU_PACKAGE-} && -d $kBuild) || (! -f $package/package.tar.xz && ! -d $package/bin) ]]; then
  command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || {
    echo "gpu_check: no binaries in $package and no nvcc here; build them on another machine with --package" >&2
    exit 2
  }
  arch=${arch:-native}
  build_package
fi
unpack_package
mkdir -p "$out"
binaries=$(find "$package" -mindepth 2 -type f -print0 | sort -z | xargs -0 cat | sha256sum)
if [[ $(cat "$out/binaries.sha256" 2>/dev/null) != "$binaries" ]]; then
  rm -f "$out"/*.{status,seconds,log,json}
  echo "$binaries" >"$out/binaries.sha256"
fi
# For tandem's programs only: PyTorch brings its own CUDA libraries. The programs find the package's libraries through their rpath.
cuda_libraries=(env "LD_LIBRARY_PATH=$(cuda_folders | paste -sd:):${LD_LIBRARY_PATH-}")
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" 2>&1 ||
  echo "no GPU: nvidia-smi failed" >"$out/gpu.txt"
cat "$out/gpu.txt"
"${cuda_libraries[@]}" python3 scripts/gpu_preflight.py "$package" || exit 2
workloads=(recipe simple_cnn big_cnn tiny_mlp) length=(--warmup 30 --iterations 15) small=() quick=
((dry)) && workloads=(simple_cnn tiny_mlp) length=(--warmup 3 --iterations 1) small=(--batch 4) quick=--quick
left=0
for stage in "${stages[@]}"; do
  stage_start=$SECONDS steps_run=0
  "$stage"
done
status=0
python3 scripts/gpu_summary.py "$out" || status=$?
if ((left)); then
  echo "gpu_check: $left steps are left; run the same command again to continue"
  exit $kUnfinished
fi
exit $status
