// Kernels written in PTX: the order of execution, memories, calls and exchanges between lanes.
#include "ptx/program.h"

namespace tandem::ptx {
namespace {

void run_clean(Program& program, const std::string& body, const std::string& before = "") {
  program.run(kernel_text(body, before));
  expect_clean(program);
}

TEST(PtxMachine, GuardsAndBlocks) {
  Program p;
  p.blocks = 3;
  p.threads = 50;
  run_clean(p, R"(
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r1, %r2, %r0;
    mad.wide.u32 %rd2, %r4, 4, %rd0;
    ld.global.u32 %r5, [%rd2];
    setp.ge.u32 %p1, %r4, 140;
    @%p1 bra $end;
    mad.lo.u32 %r5, %r5, %r3, 7;
    @!%p1 st.global.u32 [%rd2], %r5;
    $end:)");
  for (uint32_t n = 0; n < 200; ++n) EXPECT_EQ(p.array[n], n < 140 ? 3 * n + 7 : n);
}

/// Lanes leave a loop one by one, and meet behind it.
constexpr const char* kCollatz = R"(
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    mov.u32 %r2, 0;
    $loop:
    setp.le.u32 %p1, %r1, 1;
    @%p1 bra $done;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra $even;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra.uni $next;
    $even:
    shr.u32 %r1, %r1, 1;
    $next:
    add.u32 %r2, %r2, 1;
    bra $loop;
    $done:
    mov.u32 %r10, -1; mov.u32 %r11, 31;
    mov.u32 %r12, 1;
    shfl.sync.bfly.b32 %r4|%p3, %r2, %r12, %r11, %r10;
    st.global.u32 [%rd1], %r4;)";

TEST(PtxMachine, LanesThatPartMeetAgain) {
  Program p;
  run_clean(p, kCollatz);
  for (uint32_t n = 0; n < 32; ++n) {
    uint32_t x = (n ^ 1) + 1, steps = 0;
    for (; x > 1; ++steps) x = x % 2 ? 3 * x + 1 : x / 2;
    EXPECT_EQ(p.array[n], steps);
  }
  EXPECT_EQ(p.counts.back().warps, 1u);  // ret
  EXPECT_EQ(p.counts.back().threads, 32u);
}

TEST(PtxMachine, ShuffleStaysInItsSegment) {
  Program p;
  // Segments of 8 lanes, the distance 4, clamped to lane 5 of the segment.
  run_clean(p, R"(
    ld.global.u32 %r1, [%rd1];
    shfl.sync.bfly.b32 %r2|%p1, %r1, 4, 6149, -1;
    selp.u32 %r3, 1000, 0, %p1;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;)");
  for (uint32_t n = 0; n < 32; ++n) {
    const uint32_t source = n ^ 4, last = (n & 24) | 5;
    EXPECT_EQ(p.array[n], source <= last ? source + 1000 : n) << n;
  }
}

TEST(PtxMachine, GuardedShuffleOfItsMask) {
  Program p;
  run_clean(p, R"(
    mov.u32 %r1, 7;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 65535;
    st.global.u32 [%rd1], %r1;)");
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(p.array[n], n < 16 ? n ^ 1 : 7);
}

TEST(PtxMachine, AnInstructionThatWaitsCountsOnce) {
  Program p;
  run_clean(p, R"(
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra $away;
    $meet:
    shfl.sync.bfly.b32 %r1|%p2, %r0, 16, 31, -1;
    bra $end;
    $away:
    bra $meet;
    $end:)");
  uint64_t threads = 0;
  for (const Count& count : p.counts) threads += count.threads;
  EXPECT_EQ(threads, 32u * 7 + 2 * 16);  // two branches are taken by a half
}

TEST(PtxMachine, VotesOfWarpsAndBlocks) {
  Program p;
  p.threads = 96;
  run_clean(p, R"(
    setp.eq.u32 %p1, %r0, 40;
    vote.sync.any.pred %p2, %p1, -1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r1, 1, 0, %p2;
    selp.u32 %r2, 2, 0, %p3;
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd1], %r1;)");
  for (uint32_t n = 0; n < 96; ++n) EXPECT_EQ(p.array[n], n / 32 == 1 ? 3u : 2u);
}

TEST(PtxMachine, SharedMemoryBehindABarrier) {
  for (const bool reverse : {false, true}) {
    Program p;
    p.threads = 128;
    p.reverse = reverse;
    run_clean(p, R"(
    .shared .align 16 .b8 values[512];
    mov.u32 %r1, values;
    mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2], %r0;
    bar.sync 0;
    sub.u32 %r3, 127, %r0;
    mul.wide.u32 %rd2, %r3, 4;
    cvt.u64.u32 %rd3, %r1;
    cvta.shared.u64 %rd3, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.u32 %r4, [%rd2];
    st.global.u32 [%rd1], %r4;)");
    for (uint32_t n = 0; n < 128; ++n) EXPECT_EQ(p.array[n], 127 - n);
  }
}

TEST(PtxMachine, CallsKeepTheirRegistersApart) {
  const std::string function = R"(
.global .align 4 .b8 table[4] = {100, 0, 0, 0};
.func (.param .b32 result) plus(.param .b32 a, .param .b32 b);
.func (.param .b32 result) plus(.param .b32 a, .param .b32 b)
{
.reg .b32 %r<4>; .reg .pred %p<2>; .reg .b64 %rd<2>;
ld.param.u32 %r1, [a];
ld.param.u32 %r2, [b+0];
setp.lt.u32 %p1, %r1, 16;
@%p1 bra $small;
mov.u64 %rd1, table;
ld.global.u32 %r3, [%rd1];
st.param.b32 [result+0], %r3;
ret;
$small:
add.u32 %r2, %r1, %r2;
st.param.b32 [result+0], %r2;
ret;
}
)";
  const auto call = [](const std::string& a, const std::string& b, const std::string& to) {
    return "{ // callseq\n.param .b32 p0; st.param.b32 [p0+0], " + a + ";\n.param .b32 p1; st.param.b32 [p1+0], " + b +
           ";\n.param .b32 retval0;\ncall.uni (retval0),\nplus,\n(\np0,\np1\n);\nld.param.b32 " + to +
           ", [retval0+0];\n} // callseq\n";
  };
  Program p;
  run_clean(p,
            "mov.u32 %r1, 5;\n" + call("%r0", "%r1", "%r2") + call("%r1", "%r2", "%r3") + "st.global.u32 [%rd1], %r3;",
            function);
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(p.array[n], n < 16 ? 5 + n + 5 : 105);
}

TEST(PtxMachine, VectorsPartsAndSigns) {
  Program p;
  p.array[0] = 0x80ff01fe;
  run_clean(p, R"(
    ld.global.v4.u8 {%rs0, _, %rs2, %rs3}, [%rd0];
    ld.global.s8 %r1, [%rd0+3];
    mov.b32 %r2, {%rs0, %rs3};
    { .reg .b16 %temp; mov.b32 {%temp, %rs4}, %r2; }
    cvt.u32.u16 %r3, %rs4;
    cvt.u32.u16 %r5, %rs2;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.global.v4.u32 [%rd0+16], {%r1, %r2, %r3, %r5};)");
  EXPECT_EQ(p.array[4], 0xffffff80u);
  EXPECT_EQ(p.array[5], 0x008000feu);
  EXPECT_EQ(p.array[6], 0x80u);
  EXPECT_EQ(p.array[7], 0xffu);
}

TEST(PtxMachine, LocalMemoryIsAThreadsOwn) {
  Program p;
  run_clean(p, R"(
    .local .align 8 .b8 depot[16];
    mov.u64 %rd2, depot;
    st.local.u32 [%rd2+4], %r0;
    cvta.local.u64 %rd3, %rd2;
    ld.u32 %r1, [%rd3+4];
    mul.lo.u32 %r1, %r1, 2;
    st.global.u32 [%rd1], %r1;)");
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(p.array[n], 2 * n);
}

TEST(PtxMachine, AtomicOperationsOfBlocks) {
  Program p;
  p.blocks = 5;
  p.threads = 64;
  p.array[0] = p.array[2] = p.array[3] = 0;
  run_clean(p, R"(
    atom.global.add.u32 %r1, [%rd0], %r0;
    atom.global.max.u32 %r2, [%rd0+4], %r0;
    atom.global.add.u64 %rd2, [%rd0+8], 1;
    mov.f32 %f1, 0f3f000000;
    add.u64 %rd3, %rd0, 16;
    atom.global.add.f32 %f2, [%rd3], %f1;)");
  EXPECT_EQ(p.array[0], 5u * 63 * 64 / 2);
  EXPECT_EQ(p.array[1], 63u);
  EXPECT_EQ(p.array[2], 320u);
  EXPECT_EQ(std::bit_cast<float>(p.array[4]), 160.0F);  // from the subnormal number of the bits 4, which counts as 0
}

TEST(PtxMachine, UnknownTextIsAnError) {
  const auto message = [](const std::string& body) -> std::string {
    try {
      Program().run(kernel_text(body));
    } catch (const SyntaxError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message("brev.b32 %r1, %r2;"), "test.ptx:12: the instruction brev.b32 is not known");
  EXPECT_EQ(message("\nadd.cool.u32 %r1, %r2, 1;"), "test.ptx:13: the instruction add.cool.u32 is not known");
  EXPECT_EQ(message("add.u32 %r1, %r77, 1;"), "test.ptx:12: register 77 of 40");
  EXPECT_EQ(message("bra $nowhere;"), "test.ptx:14: there is no label $nowhere");
  EXPECT_EQ(message("add.u32 %r1, %x, 1;"), "test.ptx:12: unknown operand %x");
}

}  // namespace
}  // namespace tandem::ptx
