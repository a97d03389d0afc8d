// copy, copy_list, fill and arange: conversions between all dtypes, layouts, rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/simd/convert.h"
#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class CopyKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(CopyKernels);

constexpr DType kAllTypes[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};
constexpr MemoryLayout kLayouts[] = {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced,
                                     MemoryLayout::spread, MemoryLayout::channels_last};

/// Returns `value` converted to `dtype` by the scalar conversions of base/.
double converted(double value, DType dtype) {
  if (dtype == kBool) return value != 0;
  if (!is_floating_point(dtype)) return std::trunc(value);
  TANDEM_TEST_ON_HOST();
  return read(tensor_of({value}, dtype))[0];
}

TEST_P(CopyKernels, EveryPairOfDtypes) {
  for (DType from : kAllTypes) {
    for (DType to : kAllTypes) {
      for (int64_t n : {0, 1, 17, 33, 1023, 1025, 5000}) {
        const Tensor src = tensor_of(random_values(n, 1, 0, 100), from), dst = unwritten({n}, to);
        Values want = read(src);
        for (double& v : want) v = converted(v, to);
        under_test().copy(dst, src);
        ASSERT_EQ(read(dst), want) << name(from) << " to " << name(to) << ", n = " << n;
      }
    }
  }
}

TEST_P(CopyKernels, NegativeNumbers) {
  const Values values = {-1, -2.75, -100, 2.75, 0};
  for (DType from : {kHalf, kBFloat16, kFloat, kDouble}) {
    for (DType to : {kChar, kShort, kInt, kLong, kBool}) {
      const Tensor dst = unwritten({5}, to);
      under_test().copy(dst, tensor_of(values, from));
      EXPECT_EQ(read(dst), to == kBool ? (Values{1, 1, 1, 1, 0}) : (Values{-1, -2, -100, 2, 0})) << name(from);
    }
    const Tensor bytes = unwritten({1}, kByte);  // wraps around, as in PyTorch
    under_test().copy(bytes, tensor_of({-1}, from));
    EXPECT_EQ(read(bytes)[0], 255);
  }
}

TEST_P(CopyKernels, EveryLayout) {
  const Dims sizes[] = {{5, 7}, {100, 70}, {2, 3, 33, 17}, {3, 1100}, {1100, 3}, {2, 65, 3, 6}};
  for (const Dims& size : sizes) {
    for (MemoryLayout ls : kLayouts) {
      for (MemoryLayout ld : kLayouts) {
        for (DType to : {kFloat, kHalf, kDouble, kByte}) {
          for (DType from : {kHalf, to}) {
            const Tensor src = unwritten(size, from, ls), dst = unwritten(size, to, ld);
            write(src, random_values(src.numel(), 1, 0, 100));
            Values want = read(src);
            for (double& v : want) v = converted(v, to);
            under_test().copy(dst, src);
            ASSERT_EQ(read(dst), want) << name(from) << " " << name(ls) << " to " << name(to) << " " << name(ld) << " "
                                       << to_string(size);
          }
        }
      }
    }
  }
}

/// Sizes around the length of a tile, in views that start one element into their memory.
TEST_P(CopyKernels, MemoryOrdersOfEveryPairOfDtypes) {
  const Dims sizes[] = {{33, 65}, {2, 31, 4, 9}, {16, 3, 32}};
  const auto view = [](const Dims& size, DType dtype, MemoryLayout layout) {
    const Tensor memory = unwritten({numel_of(size) + 1}, dtype);
    return make_view(memory, size, strides_for(size, layout), 1);
  };
  for (const Dims& size : sizes) {
    for (MemoryLayout order : {MemoryLayout::transposed, MemoryLayout::channels_last}) {
      for (bool to_rows : {false, true}) {
        for (DType from : kAllTypes) {
          for (DType to : kAllTypes) {
            const Tensor src = view(size, from, to_rows ? order : MemoryLayout::contiguous);
            const Tensor dst = view(size, to, to_rows ? MemoryLayout::contiguous : order);
            write(src, random_values(src.numel(), 1, 0, 100));
            Values want = read(src);
            for (double& v : want) v = converted(v, to);
            under_test().copy(dst, src);
            ASSERT_EQ(read(dst), want) << name(from) << " to " << name(to) << " " << name(order) << to_rows << " "
                                       << to_string(size);
          }
        }
      }
    }
  }
}

TEST_P(CopyKernels, GapsStayUntouched) {
  const Tensor memory = tensor_of(Values(40, 7), kHalf);
  under_test().copy(make_view(memory, {4, 5}, {10, 2}, 1), noise({4, 5}, kFloat, 1));
  const Values after = read(memory);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i] == 7, i % 2 == 0) << i;
  }
}

TEST_P(CopyKernels, ExpandedSource) {
  const Tensor row = noise({2000}, kFloat, 1);
  for (DType to : {kFloat, kBFloat16}) {
    const Tensor src = make_view(row, {3, 2000}, {0, 1}, 0), dst = unwritten({3, 2000}, to);
    Values want = read(src);
    for (double& v : want) v = converted(v, to);
    under_test().copy(dst, src);
    EXPECT_EQ(read(dst), want);
  }
}

TEST_P(CopyKernels, ConversionsOf16BitTypesMatchBase) {
  // Every f16 and bf16 to f32 and back; NaN may only become quiet.
  TANDEM_TEST_ON_HOST();
  const Tensor bits = empty({65536}, kShort);
  for (int i = 0; i < 65536; ++i) bits.raw<int16_t>()[i] = static_cast<int16_t>(i);
  const Tensor wide = empty({65536}, kFloat);
  for (DType dtype : {kHalf, kBFloat16}) {
    cpu::convert_tables().f32.load[static_cast<int>(dtype)](wide.raw<float>(), bits.raw_bytes(), 65536);
    for (int i = 0; i < 65536; ++i) {
      const auto h = static_cast<uint16_t>(i);
      const float want =
          dtype == kHalf ? static_cast<float>(Half::from_bits(h)) : static_cast<float>(BFloat16::from_bits(h));
      const float got = wide.raw<float>()[i];
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got) && std::signbit(got) == std::signbit(want)
                                   : std::memcmp(&got, &want, 4) == 0)
          << name(dtype) << " bits " << i << ": " << got << ", expected " << want;
    }
  }
}

TEST_P(CopyKernels, RoundsToNearestEven) {
  // Numbers on and on both sides of the boundaries between 16-bit numbers, and a sweep over all of f32.
  std::vector<float> values;
  const auto add = [&](uint32_t b) { values.push_back(std::bit_cast<float>(b)); };
  for (uint64_t b = 0; b < (uint64_t{1} << 32); b += 65521) add(static_cast<uint32_t>(b));
  for (uint32_t h = 0; h < 65536; h += 7) {
    for (uint32_t mid :
         {h << 16 | 0x8000u,
          std::bit_cast<uint32_t>(static_cast<float>(Half::from_bits(static_cast<uint16_t>(h)))) + 0x1000u}) {
      for (uint32_t d : {0u, 1u, ~0u}) add(mid + d);
    }
  }
  const int64_t n = static_cast<int64_t>(values.size());
  const Tensor src = tensor(values), half = empty({n}, kHalf), bfloat = empty({n}, kBFloat16);
  under_test().copy(half, src);
  under_test().copy(bfloat, src);
  const auto halves = elements_of<Half>(half);
  const auto bfloats = elements_of<BFloat16>(bfloat);
  for (size_t i = 0; i < values.size(); ++i) {
    const float v = values[i];
    if (std::isnan(v)) {  // a CUDA device has one NaN, without v's sign
      ASSERT_TRUE(std::isnan(static_cast<float>(halves[i])) && std::isnan(static_cast<float>(bfloats[i]))) << v;
    } else {
      ASSERT_EQ(halves[i].bits, Half(v).bits) << v;
      ASSERT_EQ(bfloats[i].bits, BFloat16(v).bits) << v;
    }
  }
}

TEST_P(CopyKernels, DoublesAreRoundedOnce) {
  // Slightly above the midpoint of two f16 numbers: rounding to f32 first would lose the excess and then round to even.
  const Values values = {1 + 0x1p-11 + 0x1p-40,
                         1 + 0x1p-11,
                         1 + 0x1p-11 - 0x1p-40,
                         -(1 + 0x1p-11 + 0x1p-40),
                         1e300,
                         -1e300,
                         0x1p-25 + 0x1p-60,
                         0x1p-25,
                         65519.9999999,
                         65520,
                         INFINITY};
  const Values want = {1 + 0x1p-10, 1, 1, -(1 + 0x1p-10), INFINITY, -INFINITY, 0x1p-24, 0, 65504, INFINITY, INFINITY};
  const Tensor half = empty({static_cast<int64_t>(values.size())}, kHalf);
  under_test().copy(half, tensor_of(values, kDouble));
  EXPECT_EQ(read(half), want);
  const Tensor bfloat = empty({2}, kBFloat16);
  under_test().copy(bfloat, tensor_of({1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8}, kDouble));
  EXPECT_EQ(read(bfloat), (Values{1 + 0x1p-7, 1}));
}

TEST_P(CopyKernels, Lists) {
  std::vector<Tensor> dst, src;
  for (int64_t n : {0, 1, 100, 40000, 33, 70000}) {
    src.push_back(noise({n}, kFloat, static_cast<uint32_t>(n)));
    dst.push_back(unwritten({n}, kBFloat16));
  }
  under_test().copy_list(dst, src);
  for (size_t i = 0; i < dst.size(); ++i) {
    const Tensor alone = empty_like(dst[i]);
    under_test().copy(alone, src[i]);
    EXPECT_EQ(bytes_of(dst[i]), bytes_of(alone));
  }
}

TEST_P(CopyKernels, Fill) {
  for (DType dtype : kAllTypes) {
    for (MemoryLayout layout : kLayouts) {
      const Tensor y = unwritten({3, 5, 50}, dtype, layout);
      under_test().fill(y, 3);
      EXPECT_EQ(read(y), Values(750, dtype == kBool ? 1 : 3)) << name(dtype) << " " << name(layout);
      under_test().fill(y, 2.5);
      EXPECT_EQ(read(y), Values(750, converted(2.5, dtype))) << name(dtype) << " " << name(layout);
    }
  }
  const Tensor big = empty({1}, kLong);
  under_test().fill(big, (int64_t{1} << 62) + 1);
  EXPECT_EQ(elements_of<int64_t>(big)[0], (int64_t{1} << 62) + 1);
}

TEST_P(CopyKernels, Arange) {
  for (DType dtype : {kFloat, kDouble, kLong, kInt, kHalf}) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      const Tensor y = unwritten({30, 50}, dtype, layout);
      under_test().arange(y, -3, 1);
      Values want;
      for (int i = 0; i < 1500; ++i) want.push_back(i - 3);
      EXPECT_EQ(read(y), want) << name(dtype) << " " << name(layout);
    }
  }
  const Tensor y = empty({3}, kFloat);
  under_test().arange(y, 0.5, 0.25);
  EXPECT_EQ(read(y), (Values{0.5, 0.75, 1}));
}

}  // namespace
}  // namespace tandem
