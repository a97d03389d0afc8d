// Kernels with one mistake each, beside the same kernels without it.
#include <algorithm>

#include "ptx/program.h"

namespace tandem::ptx {
namespace {

struct Case {
  const char* what;
  Fault fault;
  std::string wrong, right;
  unsigned blocks = 1, threads = 64;
};

constexpr const char* kShared = ".shared .align 16 .b8 s[1024]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;";
constexpr const char* kCopy =
    "mad.lo.u32 %r3, %r0, 12, %r2; mad.wide.u32 %rd2, %r0, 16, %rd0; cp.async.cg.shared.global [%r3], [%rd2], 16, 16;"
    "cp.async.commit_group;";

std::vector<Case> cases() {
  const std::string shared = kShared, copy = shared + kCopy;
  return {
      {"a write and a read of another thread, in one warp", Fault::shared_race,
       shared + "st.shared.u32 [%r2], %r0; xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3];",
       shared + "st.shared.u32 [%r2], %r0; bar.sync 0; xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3];", 1, 32},
      {"a read, then a write of another warp", Fault::shared_race,
       shared + "st.shared.u32 [%r2], 1; bar.sync 0; xor.b32 %r3, %r2, 128; ld.shared.u32 %r4, [%r3];"
                "st.shared.u32 [%r2], 2;",
       shared + "st.shared.u32 [%r2], 1; bar.sync 0; xor.b32 %r3, %r2, 128; ld.shared.u32 %r4, [%r3]; bar.sync 0;"
                "st.shared.u32 [%r2], 2;"},
      {"two writes", Fault::shared_race, shared + "st.shared.u32 [%r1], %r0;",
       shared + "setp.eq.u32 %p1, %r0, 5; @%p1 st.shared.u32 [%r1], %r0;"},
      {"two blocks write", Fault::global_race, "st.global.u32 [%rd1], 1;",
       "mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 256, %rd1; st.global.u32 [%rd2], 1;", 2},
      {"one block writes what another one reads", Fault::global_race,
       "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 ld.global.u32 %r2, [%rd1];"
       "@!%p1 st.global.u32 [%rd1], 1;",
       "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 ld.global.u32 %r2, [%rd1];"
       "@!%p1 st.global.u32 [%rd1+512], 1;",
       2},
      {"an atomic operation and a write", Fault::global_race,
       "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 atom.global.add.u32 %r2, [%rd1], 1;"
       "@!%p1 st.global.u32 [%rd1], 1;",
       "atom.global.add.u32 %r2, [%rd1], 1;", 2},
      {"8 bytes at a multiple of 4", Fault::misaligned, "ld.global.u64 %rd2, [%rd0+4];",
       "ld.global.u64 %rd2, [%rd0+8];"},
      {"a vector of 16 bytes at a multiple of 8", Fault::misaligned, shared + "st.shared.v2.u64 [%r1+8], {%rd0, %rd0};",
       shared + "st.shared.v2.u64 [%r1+16], {%rd0, %rd0};", 1, 1},
      {"behind the array", Fault::out_of_bounds, "ld.global.u32 %r1, [%rd1+4000];", "ld.global.u32 %r1, [%rd1+3840];"},
      {"before the array", Fault::out_of_bounds, "ld.global.u32 %r1, [%rd1+-4];", "ld.global.u32 %r1, [%rd1+4];"},
      {"behind shared memory", Fault::out_of_bounds, shared + "st.shared.u32 [%r2+772], 1;",
       shared + "st.shared.u32 [%r2+768], 1;"},
      {"behind local memory", Fault::out_of_bounds,
       ".local .align 4 .b8 d[8]; mov.u64 %rd2, d; st.local.u32 [%rd2+8], 1;",
       ".local .align 4 .b8 d[8]; mov.u64 %rd2, d; st.local.u32 [%rd2+4], 1;"},
      {"a shared address as a global one", Fault::out_of_bounds, shared + "cvt.u64.u32 %rd2, %r2; ld.u32 %r3, [%rd2];",
       shared + "cvt.u64.u32 %rd2, %r2; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2], 3;"},
      {"a mask that names a lane that does not come", Fault::missing_lane,
       "setp.lt.u32 %p1, %r0, 16; @%p1 bra $e; shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, -1; bra $f; $e: bar.sync 0; $f:",
       "setp.lt.u32 %p1, %r0, 16; @%p1 bra $e; shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 0xffff0000; $e:", 1, 32},
      {"a lane that its mask does not name", Fault::missing_lane, "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 0x7fffffff;",
       "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 0xffffffff;"},
      {"two barriers", Fault::divergent_barrier,
       "setp.lt.u32 %p1, %r0, 32; @%p1 bra $e; bar.sync 0; bra $f; $e: bar.sync 0; $f:",
       "setp.lt.u32 %p1, %r0, 32; @%p1 bra $e; mov.u32 %r1, 1; $e: bar.sync 0;"},
      {"an uninitialised register is stored", Fault::uninitialized, "add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r2;",
       "add.u32 %r2, %r1, 1; mov.u32 %r2, 0; st.global.u32 [%rd1], %r2;"},
      {"uninitialised shared memory is stored", Fault::uninitialized,
       shared + "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;",
       shared + "st.shared.u32 [%r2], 1; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;"},
      {"a struct whose padding has no value", Fault::uninitialized,
       shared + "st.shared.u32 [%r2], 1; ld.shared.v2.u32 {%r3, %r4}, [%r1]; st.global.u32 [%rd1], %r4;",
       shared + "st.shared.u32 [%r2], 1; ld.shared.v2.u32 {%r3, %r4}, [%r1]; st.global.u32 [%rd1], %r3;", 1, 1},
      {"an uninitialised branch", Fault::uninitialized,
       "setp.lt.u32 %p1, %r1, 16; @%p1 bra $e; $e:", "setp.lt.u32 %p1, %r0, 16; @%p1 bra $e; $e:"},
      {"an uninitialised address", Fault::uninitialized,
       "and.b32 %r2, %r1, 0; mad.wide.u32 %rd2, %r1, 0, %rd1; st.global.u32 [%rd2], 1;",
       "mad.wide.u32 %rd2, %r0, 0, %rd1; st.global.u32 [%rd2], 1;"},
      {"a value of a lane that takes no part", Fault::uninitialized,
       "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, -1; st.global.u32 [%rd1], %r1;",
       "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 0, -1; st.global.u32 [%rd1], %r1;", 1, 33},
      {"a copy that is read before the wait", Fault::async_copy, copy + "ld.shared.u32 %r4, [%r3];",
       copy + "cp.async.wait_group 0; ld.shared.u32 %r4, [%r3];"},
      {"a wait that leaves a group", Fault::async_copy, copy + "cp.async.wait_group 1; ld.shared.u32 %r4, [%r3];",
       copy + "cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r4, [%r3];"},
      {"another thread's copy, waited for by its thread only", Fault::shared_race,
       copy + "cp.async.wait_group 0; xor.b32 %r4, %r3, 16; ld.shared.u32 %r5, [%r4];",
       copy + "cp.async.wait_group 0; bar.sync 0; xor.b32 %r4, %r3, 16; ld.shared.u32 %r5, [%r4];"},
      {"a trap", Fault::trap, "setp.eq.u32 %p1, %r0, 3; @%p1 trap;", "setp.eq.u32 %p1, %r0, 99; @%p1 trap;"},
  };
}

TEST(PtxFaults, EachIsFoundAndItsCureIsClean) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    for (const bool reverse : {false, true}) {
      Program wrong, right;
      for (Program* p : {&wrong, &right}) {
        p->blocks = c.blocks;
        p->threads = c.threads;
        p->reverse = reverse;
      }
      right.run(kernel_text(c.right));
      expect_clean(right);
      wrong.run(kernel_text(c.wrong));
      EXPECT_EQ(wrong.faults(), std::vector(std::max<size_t>(wrong.reports.size(), 1), c.fault));
    }
  }
}

TEST(PtxFaults, AReportSaysWhere) {
  Program p;
  p.blocks = 2;
  p.threads = 40;
  p.run(
      kernel_text("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1;\nsetp.eq.and.u32 %p2, %r0, 37, %p1;\n"
                  "@%p2 ld.global.u16 %rs1, [%rd1+1];"));
  ASSERT_EQ(p.reports.size(), 1u);
  EXPECT_TRUE(p.stopped);
  EXPECT_EQ(text(p.reports[0]),
            fmt::format("misaligned at test.ptx:14: @%p2 ld.global.u16 %rs1, [%rd1+1]; kernel k, block 1 0 0, thread "
                        "37 0 0, address {:#x}: not a multiple of 2 bytes",
                        reinterpret_cast<uint64_t>(p.array.data()) + 4 * 37 + 1));
}

TEST(PtxFaults, AnInstructionIsReportedOnce) {
  Program p;
  p.blocks = 4;
  p.run(kernel_text("st.global.u32 [%rd1], %r1; st.global.u32 [%rd1], %r1;"));
  EXPECT_EQ(p.faults(),
            (std::vector{Fault::uninitialized, Fault::uninitialized, Fault::global_race, Fault::global_race}));
}

}  // namespace
}  // namespace tandem::ptx
