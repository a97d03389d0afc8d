# Toolchain file: cross-compiles for 64-bit ARM with Debian's compiler and runs programs in qemu.
#   cmake -S . -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Libraries are those of Debian's architecture arm64, which are installed beside this machine's.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# No -L: the loader and the C library must come from one package, or programs that start threads hang.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
