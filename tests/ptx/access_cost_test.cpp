// The cost of accesses, against sets of the sectors, bytes and words that the lanes of known patterns touch.
#include <map>
#include <set>

#include "ptx/program.h"

namespace tandem::ptx {
namespace {

/// Lane l accesses `bytes` at stride * l + offset.
struct Pattern {
  unsigned bytes, stride, offset = 0, lanes = 32;
};
constexpr Pattern kPatterns[] = {{4, 4},   {4, 8},       {4, 4, 4},      {4, 0},    {4, 128},       {4, 132},
                                 {1, 1},   {2, 2},       {2, 2, 6},      {2, 64},   {8, 8},         {8, 16},
                                 {8, 0},   {8, 128},     {16, 16},       {16, 32},  {16, 0},        {16, 16, 16},
                                 {16, 96}, {4, 4, 0, 5}, {16, 16, 0, 3}, {1, 7, 3}, {8, 136, 0, 17}};
/// More than any pattern touches.
constexpr unsigned kBytes = 8192;

const char* type(unsigned bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : bytes == 8 ? "u64" : "v2.u64";
}
const char* registers(unsigned bytes) {
  return bytes < 4 ? "%rs1" : bytes == 4 ? "%r6" : bytes == 8 ? "%rd5" : "{%rd5, %rd6}";
}

/// The costs of one access: those of the instruction whose text begins so.
Count cost_of(const std::string& access, const std::string& before, unsigned lanes = 32) {
  Program p;
  p.array.resize(kBytes / 2);
  const std::string code = kernel_text(fmt::format(R"(
    .shared .align 128 .b8 shared[{0}];
    .local .align 16 .b8 mine[16];
    mov.u32 %r1, shared; mov.u64 %rd2, shared;
    add.u64 %rd3, %rd0, 127; and.b64 %rd3, %rd3, -128;
    setp.lt.u32 %p1, %r0, {1};
    {2}
    @%p1 {3};)",
                                                   kBytes, lanes, before, access));
  Module module(code, "test.ptx");
  const Kernel& kernel = module.kernel("k");
  const auto address = reinterpret_cast<uint64_t>(p.array.data());
  Machine(p).launch(kernel, {{1, 1, 1}, {32, 1, 1}, std::as_bytes(std::span(&address, 1)), false}, p.reports,
                    &p.counts);
  expect_clean(p);
  for (size_t n = 0; n < kernel.code.size(); ++n) {
    if (kernel.code[n].text.find(access) != std::string_view::npos) return p.counts[n];
  }
  ADD_FAILURE() << "no " << access;
  return {};
}

TEST(PtxAccessCost, SectorsOfGlobalMemory) {
  for (const Pattern& p : kPatterns) {
    std::set<unsigned> sectors, bytes;
    for (unsigned lane = 0; lane < p.lanes; ++lane) {
      for (unsigned n = 0; n < p.bytes; ++n) {
        bytes.insert(p.stride * lane + p.offset + n);
        sectors.insert((p.stride * lane + p.offset + n) / 32);
      }
    }
    const std::string place = fmt::format("mad.wide.u32 %rd4, %r0, {}, %rd3;", p.stride);
    for (const bool loads : {true, false}) {
      const std::string memory = fmt::format("[%rd4+{}]", p.offset);
      const Count count =
          cost_of(loads ? fmt::format("ld.global.{} {}, {}", type(p.bytes), registers(p.bytes), memory)
                        : fmt::format("st.global.{} {}, {}", type(p.bytes), memory, registers(p.bytes)),
                  place + "mov.u32 %r6, 0; mov.u64 %rd5, 0; mov.u64 %rd6, 0; mov.u16 %rs1, 0;", p.lanes);
      EXPECT_EQ(count.sectors, sectors.size()) << p.bytes << ' ' << p.stride << ' ' << p.offset;
      EXPECT_EQ(count.least_sectors, (bytes.size() + 31) / 32) << p.bytes << ' ' << p.stride << ' ' << p.offset;
      EXPECT_EQ(count.wavefronts + count.least_wavefronts, 0u);
    }
  }
}

TEST(PtxAccessCost, PassesOverTheBanksOfSharedMemory) {
  for (const Pattern& p : kPatterns) {
    uint64_t passes = 0, least = 0;
    const unsigned at_once = p.bytes < 4 ? 32 : 128 / p.bytes;
    for (unsigned first = 0; first < p.lanes; first += at_once) {
      std::map<unsigned, std::set<unsigned>> words;  // by bank
      for (unsigned lane = first; lane < std::min(first + at_once, p.lanes); ++lane) {
        for (unsigned n = 0; n < p.bytes; ++n) {
          const unsigned word = (p.stride * lane + p.offset + n) / 4;
          words[word % 32].insert(word);
        }
      }
      size_t most = 0;
      for (const auto& [bank, distinct] : words) most = std::max(most, distinct.size());
      passes += most;
      ++least;
    }
    const Count count = cost_of(fmt::format("ld.shared.{} {}, [%r2+{}]", type(p.bytes), registers(p.bytes), p.offset),
                                fmt::format("mad.lo.u32 %r2, %r0, {}, %r1;", p.stride), p.lanes);
    EXPECT_EQ(count.wavefronts, passes) << p.bytes << ' ' << p.stride << ' ' << p.offset;
    EXPECT_EQ(count.least_wavefronts, least);
    EXPECT_EQ(count.sectors + count.least_sectors, 0u);
  }
}

TEST(PtxAccessCost, ColumnsWithAndWithoutPadding) {
  const auto passes = [](int words) {
    return cost_of("ld.shared.u32 %r6, [%r2]", fmt::format("mad.lo.u32 %r2, %r0, {}, %r1;", 4 * words)).wavefronts;
  };
  EXPECT_EQ(passes(32), 32u);
  EXPECT_EQ(passes(33), 1u);
  EXPECT_EQ(passes(0), 1u);  // a broadcast
}

TEST(PtxAccessCost, Atomics) {
  const std::string atomic = "atom.global.add.u32 %r6, [%rd4], 1";
  EXPECT_EQ(cost_of(atomic, "mad.wide.u32 %rd4, %r0, 4, %rd3;").sectors, 4u);
  EXPECT_EQ(cost_of(atomic, "mad.wide.u32 %rd4, %r0, 0, %rd3;").sectors, 1u);
}

TEST(PtxAccessCost, MatricesWhoseRowsAreApart) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r2]";
  const auto passes = [&](int bytes) {
    const Count count = cost_of(load, fmt::format("mad.lo.u32 %r2, %r0, {}, %r1;", bytes));
    EXPECT_EQ(count.least_wavefronts, 4u);
    return count.wavefronts;
  };
  EXPECT_EQ(passes(16), 4u);
  EXPECT_EQ(passes(128), 4u * 8);  // the 8 rows of a matrix begin in the same bank
  EXPECT_EQ(passes(144), 4u);
}

TEST(PtxAccessCost, AsynchronousCopies) {
  const Count count = cost_of("cp.async.cg.shared.global [%r2], [%rd4], 16",
                              "mad.lo.u32 %r2, %r0, 32, %r1; mad.wide.u32 %rd4, %r0, 64, %rd3;");
  EXPECT_EQ(count.sectors, 32u);
  EXPECT_EQ(count.least_sectors, 16u);
  EXPECT_EQ(count.wavefronts, 4u * 2);
  EXPECT_EQ(count.least_wavefronts, 4u);
}

TEST(PtxAccessCost, GenericAddressesAndLocalMemory) {
  const std::string load = "ld.u32 %r6, [%rd4]";
  const Count global = cost_of(load, "mad.wide.u32 %rd4, %r0, 8, %rd3;");
  EXPECT_EQ(global.sectors, 8u);
  EXPECT_EQ(global.least_sectors, 4u);
  const Count shared = cost_of(load, "cvta.shared.u64 %rd5, %rd2; mad.wide.u32 %rd4, %r0, 8, %rd5;");
  EXPECT_EQ(shared.wavefronts, 2u);
  EXPECT_EQ(shared.sectors, 0u);
  const Count local = cost_of("ld.local.u32 %r6, [mine]", "");
  EXPECT_EQ(local.sectors + local.wavefronts, 0u);
}

TEST(PtxAccessCost, SumsOverWarpsAndExecutions) {
  Program p;
  p.blocks = 3;
  p.threads = 64;
  p.run(kernel_text(R"(
    .shared .align 4 .b8 words[4];
    mov.u32 %r1, 0;
    $loop:
    ld.shared.u32 %r2, [words];
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 bra $loop;)"));
  expect_clean(p);
  uint64_t passes = 0;
  for (const Count& count : p.counts) passes += count.wavefronts;
  EXPECT_EQ(passes, 3u * 2 * 5);
}

}  // namespace
}  // namespace tandem::ptx
