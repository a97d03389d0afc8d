#pragma once
// Runs a kernel that a test writes in PTX. Its one parameter is the address of an array.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx/machine.h"
#include "ptx/parser.h"

namespace tandem::ptx {

/// The registers that every program has: %p, %r, %rd, %f, %rs with numbers; %rd0 is the array's address, %r0 the
/// thread's number in the block, and %rd1 the address of its element of 4 bytes.
inline std::string kernel_text(const std::string& body, const std::string& before = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + before + R"(
.visible .entry k(.param .u64 array)
.maxntid 1024, 1, 1
{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
ld.param.u64 %rd0, [array];
mov.u32 %r0, %tid.x;
mad.wide.u32 %rd1, %r0, 4, %rd0;
)" + body +
         "\nret;\n}\n";
}

struct Program : GlobalMemory {
  std::vector<uint32_t> array = std::vector<uint32_t>(1024);
  std::vector<Report> reports;
  std::vector<Count> counts;
  unsigned blocks = 1, threads = 32;
  bool reverse = false, stopped = false;

  Program() {
    for (size_t n = 0; n < array.size(); ++n) array[n] = static_cast<uint32_t>(n);
  }
  std::optional<Range> range(uint64_t address) override {
    const auto begin = reinterpret_cast<uint64_t>(array.data());
    if (address < begin || address >= begin + 4 * array.size()) return {};
    return Range{begin, begin + 4 * array.size(), "the array"};
  }
  void run(const std::string& text) {
    Module module(text, "test.ptx");
    const auto address = reinterpret_cast<uint64_t>(array.data());
    const Launch launch{{blocks, 1, 1}, {threads, 1, 1}, std::as_bytes(std::span(&address, 1)), reverse};
    try {
      Machine(*this).launch(module.kernel("k"), launch, reports, &counts);
    } catch (const Stopped&) {
      stopped = true;
    }
  }
  std::vector<Fault> faults() const {
    std::vector<Fault> all;
    for (const Report& r : reports) all.push_back(r.fault);
    return all;
  }
};

inline void expect_clean(const Program& program) {
  for (const Report& r : program.reports) ADD_FAILURE() << text(r);
}

}  // namespace tandem::ptx
