// mma and ldmatrix, against products of matrices that are laid out here from the documentation's pictures.
#include <random>

#include "ptx/formats.h"
#include "ptx/program.h"

namespace tandem::ptx {
namespace {

/// A (16 x 16), row after row, at the array's word 0; B (16 x 8), column after column, at word 128; C and D (16 x 8) of
/// f32, row after row, at words 192 and 320.
std::string product(const std::string& type) {
  const std::string words = "and.b32 %r2, %r0, 3; shr.u32 %r3, %r0, 2;";  // place and group of a lane
  return words + R"(
    mad.lo.u32 %r4, %r3, 8, %r2; mad.wide.u32 %rd2, %r4, 4, %rd0;
    ld.global.u32 %r5, [%rd2]; ld.global.u32 %r6, [%rd2+256]; ld.global.u32 %r7, [%rd2+16];
    ld.global.u32 %r8, [%rd2+272];
    ld.global.u32 %r9, [%rd2+512]; ld.global.u32 %r10, [%rd2+528];
    mul.lo.u32 %r11, %r2, 2; mad.lo.u32 %r11, %r3, 8, %r11; mad.wide.u32 %rd3, %r11, 4, %rd0;
    ld.global.v2.f32 {%f1, %f2}, [%rd3+768]; ld.global.v2.f32 {%f3, %f4}, [%rd3+1024];
    mma.sync.aligned.m16n8k16.row.col.f32.)" +
         type + "." + type + R"(.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%f1, %f2, %f3, %f4};
    st.global.v2.f32 [%rd3+1280], {%f1, %f2}; st.global.v2.f32 [%rd3+1536], {%f3, %f4};)";
}

TEST(PtxMatrix, ProductsOfBothFormats) {
  for (const bool bf16 : {false, true}) {
    const Format& format = bf16 ? kBf16 : kF16;
    Program p;
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    const auto number = [&](size_t n) {  // the n-th of 16 bits
      return value_of(static_cast<uint16_t>(p.array[n / 2] >> 16 * (n % 2)), format);
    };
    const auto result = [&](size_t word) { return static_cast<double>(std::bit_cast<float>(p.array[word])); };
    for (size_t n = 0; n < 192; ++n) {
      const auto code = [&] { return code_of(rounded(normal(random), format, Rounding::nearest), format); };
      p.array[n] = code() | static_cast<uint32_t>(code()) << 16;
    }
    for (size_t n = 192; n < 320; ++n) p.array[n] = std::bit_cast<uint32_t>(static_cast<float>(normal(random)));
    p.run(kernel_text(product(bf16 ? "bf16" : "f16")));
    expect_clean(p);
    for (size_t row = 0; row < 16; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        double sum = result(192 + 8 * row + column);
        for (size_t k = 0; k < 16; ++k) sum += number(16 * row + k) * number(256 + 16 * column + k);
        EXPECT_EQ(result(320 + 8 * row + column), static_cast<double>(static_cast<float>(sum)));
      }
    }
  }
}

TEST(PtxMatrix, AnUndefinedElementSpoilsItsRow) {
  Program p;
  std::string text = product("f16");
  const std::string whole = "ld.global.u32 %r5, [%rd2];";
  text.replace(text.find(whole), whole.size(), "setp.ne.u32 %p1, %r3, 3; @%p1 ld.global.u32 %r5, [%rd2];");
  Program whole_result;
  whole_result.run(kernel_text(text));
  EXPECT_EQ(whole_result.faults(), std::vector{Fault::uninitialized});  // row 3; row 11 does not depend on it
  const std::string store = "st.global.v2.f32 [%rd3+1280]";
  text.replace(text.find(store), 2, "@%p1 st");
  p.run(kernel_text(text));
  expect_clean(p);
}

TEST(PtxMatrix, LoadsOfFourMatrices) {
  for (const bool transposed : {false, true}) {
    Program p;
    p.run(kernel_text(R"(
      .shared .align 16 .b8 rows[512];
      mov.u32 %r1, rows; mad.lo.u32 %r2, %r0, 16, %r1; mad.wide.u32 %rd2, %r0, 16, %rd0;
      ld.global.v2.u64 {%rd3, %rd4}, [%rd2]; st.shared.v2.u64 [%r2], {%rd3, %rd4};
      bar.sync 0;
      ldmatrix.sync.aligned.m8n8.x4)" +
                      std::string(transposed ? ".trans" : "") + R"(.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];
      st.global.v4.u32 [%rd2+512], {%r3, %r4, %r5, %r6};)"));
    expect_clean(p);
    const auto number = [&](size_t n) { return p.array[n / 2] >> 16 * (n % 2) & 0xffff; };
    for (size_t lane = 0; lane < 32; ++lane) {
      for (size_t m = 0; m < 4; ++m) {
        for (size_t n = 0; n < 2; ++n) {
          const size_t group = lane / 4, at = 2 * (lane % 4) + n;
          const size_t row = transposed ? at : group, column = transposed ? group : at;
          EXPECT_EQ(number(256 + 8 * lane + 2 * m + n), number(64 * m + 8 * row + column));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem::ptx
