#!/usr/bin/env python3
"""Says what a machine lacks to run a package of scripts/gpu_check.sh: driver, GPU, memory, libraries. One sentence each.

Usage: gpu_preflight.py PACKAGE_FOLDER     with the LD_LIBRARY_PATH that the programs get. Exit status 1: cannot run
"""
import pathlib
import re
import subprocess
import sys

LEAST_DRIVER = {12: 525, 13: 580}  # by major version of CUDA
LEAST_FREE_MIB = 2048
PIP_PACKAGES = {  # by major version of CUDA
    12: {"libcublas": "nvidia-cublas-cu12", "libcudnn": "nvidia-cudnn-cu12", "libnccl": "nvidia-nccl-cu12"},
    13: {"libcublas": "nvidia-cublas", "libcudnn": "nvidia-cudnn-cu13", "libnccl": "nvidia-nccl-cu13"}}


def query_gpu():
    """Name, driver version, compute capability and free MiB of the first GPU, or a sentence that says why there is none."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap,memory.free", "--format=csv,noheader,nounits"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return "There is no NVIDIA driver (no nvidia-smi); install one, on Ubuntu with `ubuntu-drivers install`."
    except subprocess.TimeoutExpired:
        return "The NVIDIA driver does not answer (nvidia-smi hangs); restart the machine."
    if result.returncode != 0:
        return f"nvidia-smi failed: {(result.stdout + result.stderr).strip()}; reinstall the NVIDIA driver."
    return [value.strip() for value in result.stdout.splitlines()[0].split(",")]


def cuda_of(build):
    return int(build.get("cuda", "0").split(".")[0])


def check_gpu(gpu, build):
    """Sentences about the GPU of query_gpu(). `build` has the CUDA version and the architectures of the package."""
    name, driver, capability, free = gpu
    cuda = cuda_of(build)
    least = LEAST_DRIVER.get(cuda, 0)
    if int(driver.split(".")[0]) < least:
        yield f"The NVIDIA driver {driver} is too old for CUDA {cuda}; install {least} or newer."
    architectures = [int(a) for a in re.findall(r"\d+", build.get("architectures", ""))]
    number = int(capability.replace(".", ""))
    # Native code runs on the same major version, and the PTX of the newest architecture on all later ones.
    if architectures and number < max(architectures) and not any(
            a // 10 == number // 10 and a <= number for a in architectures):
        yield (f"{name} has compute capability {capability}, but the package has code for "
               f"{', '.join(str(a / 10) for a in architectures)}; build it with --arch {number}.")
    if int(free) < LEAST_FREE_MIB:
        yield f"Only {free} MiB of the GPU's memory are free; stop the programs that nvidia-smi lists."


def check_libraries(package, build):
    """Sentences about the libraries that the package's programs do not find here."""
    packages = PIP_PACKAGES.get(cuda_of(build), PIP_PACKAGES[13])
    missing, old = set(), set()
    for program in sorted((package / "bin").iterdir()):
        output = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
        text = output.stdout + output.stderr
        missing.update(re.findall(r"^\s*(\S+) => not found", text, re.M))
        old.update(re.findall(r"version `((?:GLIBC|GLIBCXX)_[\d.]+)' not found", text))
    for library in sorted(missing):
        cure = next((f"pip install {p}" for prefix, p in packages.items() if library.startswith(prefix)), None)
        yield f"{library} is not found; " + (f"{cure}, or install it with the CUDA toolkit." if cure else "install it.")
    if old:
        yield f"The C or C++ library is too old (no {', '.join(sorted(old))}); Ubuntu 22.04 or newer is needed."


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    package = pathlib.Path(sys.argv[1])
    note = package / "build.txt"
    build = dict(line.split("=", 1) for line in note.read_text().splitlines()) if note.exists() else {}
    gpu = query_gpu()
    sentences = [gpu] if isinstance(gpu, str) else list(check_gpu(gpu, build))
    sentences += check_libraries(package, build)
    for sentence in sentences:
        print(f"gpu_check: {sentence}")
    sys.exit(1 if sentences else 0)


if __name__ == "__main__":
    main()
