# Toolchain file: cross-compiles for 64-bit ARM with Debian's compiler and runs programs in qemu.
#   cmake -S . -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Libraries are those of Debian's architecture arm64, which are installed beside this machine's.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# The threads of OpenBLAS hang in qemu.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -E OPENBLAS_NUM_THREADS=1 -L /usr/aarch64-linux-gnu)
