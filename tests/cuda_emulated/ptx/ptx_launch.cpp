#include "cuda_emulated/ptx/ptx_launch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cuda_emulated/device/arena.h"
#include "cuda_emulated/device/device.h"
#include "cuda_emulated/ptx/launch_listeners.h"
#include "cuda_emulated/ptx/program_symbols.h"
#include "cuda_emulated/ptx/ptx_folder.h"
#include "ptx/machine.h"
#include "support/running_test.h"

namespace tandem::cuda::emulated {
namespace {

const char* folder() {
  static const char* const path = [] {
    const char* asked_for = std::getenv("TANDEM_PTX");
    // Segments of exact sizes, so that an access one byte behind a tensor is found.
    if (asked_for) setenv("TANDEM_NO_CACHE", "1", 1);
    return asked_for;
  }();
  return path;
}
[[maybe_unused]] const bool known_at_start = folder() != nullptr;

/// The segments of the devices that are working.
struct DeviceMemory final : ptx::GlobalMemory {
  std::optional<ptx::Range> range(uint64_t address) override {
    const std::span<const std::byte> segment = open_segment(reinterpret_cast<const void*>(address));
    if (segment.empty()) return std::nullopt;
    const auto begin = reinterpret_cast<uint64_t>(segment.data());
    return ptx::Range{begin, begin + segment.size(), "device memory"};
  }
};

void run(const ptx::Kernel& kernel, ptx::Launch launch, const std::vector<std::byte>& parameters) {
  static auto& machine = *new ptx::Machine(*new DeviceMemory);  // never destroyed: static tensors may still launch
  static unsigned launches = 0;
  launch.reverse = ++launches % 2 == 0;
  launch.parameters = parameters;
  std::vector<ptx::Report> reports;
  std::vector<ptx::Count> counts;
  const auto start = std::chrono::steady_clock::now();
  try {
    machine.launch(kernel, launch, reports, launch_listeners().empty() ? nullptr : &counts);
  } catch (const ptx::Stopped&) {  // the report says why
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const LaunchListener& listener : launch_listeners()) listener(kernel, counts, seconds);
  for (const ptx::Report& report : reports) {
    if (report.fault == ptx::Fault::trap) throw Trap("trap");
    testing::running_test.fail(text(report));
  }
}

}  // namespace

std::vector<LaunchListener>& launch_listeners() {
  static auto& all = *new std::vector<LaunchListener>;  // never destroyed, like the machine
  return all;
}

bool runs_ptx() { return folder() != nullptr; }

std::function<void()> ptx_work(const void* kernel, dim3 grid, dim3 block, PackedParameters packed) {
  static std::mutex mutex;  // ranks may be threads
  const std::scoped_lock lock(mutex);
  static auto& all = *new PtxFolder(folder(), compute_capability());  // never destroyed, like the machine
  const ptx::Kernel& code = all.kernel(kernel_name(kernel));
  const auto is_same = [](const ptx::Parameter& p, const PackedParameters::Place& q) {
    return p.offset == q.offset && p.bytes == q.bytes;
  };
  if (!std::ranges::equal(code.parameters, packed.places, is_same)) {
    throw Misuse("a launch has other parameters than the PTX of " + code.name);
  }
  const ptx::Launch launch{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {}, false};
  return [&code, launch, memory = std::move(packed.memory)] { run(code, launch, memory); };
}

}  // namespace tandem::cuda::emulated
