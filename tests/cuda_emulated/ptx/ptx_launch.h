#pragma once
// Launches of the emulated device that run nvcc's PTX (tests/ptx) in place of the kernel that g++ compiled. Chosen by
// TANDEM_PTX, the folder of the PTX files.
#include <cstddef>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#include "cuda_emulated/emulator.h"

namespace tandem::cuda::emulated {

/// A kernel's parameters as its parameter memory holds them, and where each of them is.
struct PackedParameters {
  struct Place {
    size_t offset, bytes;
  };
  std::vector<std::byte> memory;
  std::vector<Place> places;
};

/// Each parameter begins at a multiple of its alignment.
template <class... P>
PackedParameters pack(const std::tuple<P...>& values) {
  PackedParameters packed;
  const auto add = [&packed](const auto& value) {
    const size_t alignment = alignof(decltype(value));
    const size_t offset = (packed.memory.size() + alignment - 1) / alignment * alignment;
    packed.memory.resize(offset + sizeof(value));
    std::memcpy(packed.memory.data() + offset, &value, sizeof(value));
    packed.places.push_back({offset, sizeof(value)});
  };
  std::apply([&](const auto&... value) { (add(value), ...); }, values);
  return packed;
}

/// Whether kernels run from PTX.
bool runs_ptx();

/// Returns work that runs the kernel at address `kernel` from PTX. Throws Misuse, which names the kernel, if it has no
/// PTX, or if its parameters there are not those of the launch.
std::function<void()> ptx_work(const void* kernel, dim3 grid, dim3 block, PackedParameters packed);

}  // namespace tandem::cuda::emulated
