// The transforms of Winograd's convolution. Contract: f32 throughout; each transform of two dimensions does the rows
// first.
#include "kernels/cpu/simd/winograd.h"

#include "kernels/cpu/simd/convert16.h"
#include "kernels/cpu/simd/vector.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

// Unrolled loops keep their values in registers. With a sanitizer's checks in each copy, clang would take minutes.
#ifdef __SANITIZE_ADDRESS__
#define TANDEM_UNROLL _Pragma("GCC unroll 1")
#else
#define TANDEM_UNROLL _Pragma("GCC unroll 6")
#endif

using V = Vector<float>;
constexpr int kWidth = kLanes<float>, kSide = kWinogradSide;

// ---- one dimension; a and b are the points

constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

/// v = B^T d
TANDEM_MATH void transform_data(const V (&d)[kSide], V (&v)[kSide]) {
  const V a_even = d[4] - kB2 * d[2], a_odd = kA * (d[3] - kB2 * d[1]);
  const V b_even = d[4] - kA2 * d[2], b_odd = kB * (d[3] - kA2 * d[1]);
  v[0] = d[4] - (kA2 + kB2) * d[2] + kA2 * kB2 * d[0];
  v[1] = a_even + a_odd;
  v[2] = a_even - a_odd;
  v[3] = b_even + b_odd;
  v[4] = b_even - b_odd;
  v[5] = d[5] - (kA2 + kB2) * d[3] + kA2 * kB2 * d[1];
}

/// g_First + g_(First + 2) p^2 + g_(First + 4) p^4 + ...
template <int First, int R>
TANDEM_MATH V every_second(const V (&g)[R], float p2) {
  constexpr int kLast = R - 1 - (R - 1 - First) % 2;
  V sum = g[kLast];
  TANDEM_UNROLL
  for (int i = kLast - 2; i >= First; i -= 2) sum = g[i] + p2 * sum;
  return sum;
}

/// u = G g
template <int R>
TANDEM_MATH void transform_kernel(const V (&g)[R], V (&u)[kSide]) {
  // 1 / N'(point), for N(x) = x (x^2 - a^2) (x^2 - b^2)
  constexpr float kAt0 = 1 / (kA2 * kB2), kAtA = 1 / (2 * kA2 * (kA2 - kB2)), kAtB = 1 / (2 * kB2 * (kB2 - kA2));
  const V a_even = kAtA * every_second<0>(g, kA2), a_odd = kAtA * kA * every_second<1>(g, kA2);
  const V b_even = kAtB * every_second<0>(g, kB2), b_odd = kAtB * kB * every_second<1>(g, kB2);
  u[0] = kAt0 * g[0];
  u[1] = a_even + a_odd;
  u[2] = a_even - a_odd;
  u[3] = b_even + b_odd;
  u[4] = b_even - b_odd;
  u[5] = g[R - 1];
}

/// y = A^T m
template <int M>
TANDEM_MATH void transform_result(const V (&m)[kSide], V (&y)[M]) {
  V a_even = m[1] + m[2], a_odd = kA * (m[1] - m[2]);
  V b_even = m[3] + m[4], b_odd = kB * (m[3] - m[4]);
  TANDEM_UNROLL
  for (int i = 0; i < M; i += 2) {
    y[i] = a_even + b_even;
    a_even *= kA2;
    b_even *= kB2;
    if (i + 1 == M) break;
    y[i + 1] = a_odd + b_odd;
    a_odd *= kA2;
    b_odd *= kB2;
  }
  y[0] += m[0];
  y[M - 1] += m[5];
}

/// d = B D m, for the gradient of the inputs
TANDEM_MATH void transform_to_data(const V (&m)[kSide], V (&d)[kSide]) {
  constexpr float kAtA = 2 * kA2 * (kA2 - kB2), kAtB = 2 * kB2 * (kB2 - kA2);  // D: N'(point)
  const V a_even = kAtA * (m[1] + m[2]), a_odd = kAtA * kA * (m[1] - m[2]);
  const V b_even = kAtB * (m[3] + m[4]), b_odd = kAtB * kB * (m[3] - m[4]);
  const V zero = kA2 * kB2 * m[0];
  d[0] = kA2 * kB2 * zero;
  d[1] = kA2 * kB2 * m[5] - kB2 * a_odd - kA2 * b_odd;
  d[2] = -(kA2 + kB2) * zero - kB2 * a_even - kA2 * b_even;
  d[3] = a_odd + b_odd - (kA2 + kB2) * m[5];
  d[4] = zero + a_even + b_even;
  d[5] = m[5];
}

// ---- two dimensions

/// write(i, j, y_ij) for y = T x T^T, x_ij = read(i, j) and the transform T of From to To values.
template <int From, int To, class Read, class Transform, class Write>
TANDEM_MATH void transform_both(Read read, Transform transform, Write write) {
  V rows[From][To];
  TANDEM_UNROLL
  for (int i = 0; i < From; ++i) {
    V row[From];
    TANDEM_UNROLL
    for (int j = 0; j < From; ++j) row[j] = read(i, j);
    transform(row, rows[i]);
  }
  TANDEM_UNROLL
  for (int j = 0; j < To; ++j) {
    V column[From], result[To];
    TANDEM_UNROLL
    for (int i = 0; i < From; ++i) column[i] = rows[i][j];
    transform(column, result);
    TANDEM_UNROLL
    for (int i = 0; i < To; ++i) write(i, j, result[i]);
  }
}

struct F32 {
  using Pixel = float;
  TANDEM_MATH static V read(const float* p) { return load(p); }
  TANDEM_MATH static void write(float* p, V v) { store(p, v); }
};

template <class Format>
struct Half {
  using Pixel = uint16_t;
  TANDEM_MATH static V read(const uint16_t* p) {
    float wide[kWidth];
    widen_row<Format>(p, wide, kWidth);
    return load(wide);
  }
  TANDEM_MATH static void write(uint16_t* p, V v) {
    float wide[kWidth];
    store(wide, v);
    narrow_row<Format>(wide, p, kWidth);
  }
};

/// Reads or writes the channels from c to `channels` - 1, fewer than kWidth. Not inlined, because its callers are
/// unrolled and rarely need it; zeros replace the missing channels.
template <class Type>
[[gnu::noinline]] V read_last_channels(const typename Type::Pixel* pixel, int64_t c, int64_t channels) {
  typename Type::Pixel some[kWidth] = {};
  for (int64_t i = 0; c + i < channels; ++i) some[i] = pixel[c + i];
  return Type::read(some);
}
template <class Type>
[[gnu::noinline]] void write_last_channels(typename Type::Pixel* pixel, V v, int64_t c, int64_t channels) {
  typename Type::Pixel some[kWidth];
  Type::write(some, v);
  for (int64_t i = 0; c + i < channels; ++i) pixel[c + i] = some[i];
}

/// Channels c to c + kWidth - 1, unless kAll only those below `channels`; zeros replace the others.
template <class Type, bool kAll>
TANDEM_MATH V read_channels(const typename Type::Pixel* pixel, int64_t c, int64_t channels) {
  if constexpr (kAll) return Type::read(pixel + c);
  return read_last_channels<Type>(pixel, c, channels);
}

template <class Type, bool kAll>
TANDEM_MATH void write_channels(typename Type::Pixel* pixel, V v, int64_t c, int64_t channels) {
  if constexpr (kAll) return Type::write(pixel + c, v);
  write_last_channels<Type>(pixel, v, c, channels);
}

TANDEM_MATH float* channels_at(const WinogradPlace& place, int64_t c) {
  return place.data + c / 16 * place.block + c % 16;
}

#define TANDEM_TRANSFORM(FROM, TO, NAME) \
  [](const V(&x)[FROM], V(&y)[TO]) __attribute__((always_inline)) { NAME(x, y); }

template <class Type, int From, bool kAll, class Transform>
TANDEM_MATH void channels_to_points(const WinogradPlace& to, const typename Type::Pixel* const* pixels, int64_t c,
                                    int64_t channels, Transform transform) {
  float* const at = channels_at(to, c);
  transform_both<From, kSide>(
      [&](int i, int j)
          __attribute__((always_inline)) { return read_channels<Type, kAll>(pixels[i * From + j], c, channels); },
      transform, [&](int i, int j, V y) __attribute__((always_inline)) { store(at + (i * kSide + j) * to.point, y); });
}

template <class Type, int From, class Transform>
TANDEM_MATH void to_points(const WinogradPlace& to, const typename Type::Pixel* const* pixels, int64_t channels,
                           Transform transform) {
  int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) {
    channels_to_points<Type, From, true>(to, pixels, c, channels, transform);
  }
  for (; c < channels || c % 16 != 0; c += kWidth) {
    channels_to_points<Type, From, false>(to, pixels, c, channels, transform);
  }
}

template <class Type>
void data(const WinogradPlace& to, const typename Type::Pixel* const* d, int64_t channels) {
  to_points<Type, kSide>(to, d, channels, TANDEM_TRANSFORM(kSide, kSide, transform_data));
}

template <class Type, int R>
void kernel(const WinogradPlace& to, const typename Type::Pixel* const* g, int64_t channels) {
  to_points<Type, R>(to, g, channels, TANDEM_TRANSFORM(R, kSide, transform_kernel));
}

template <class Type, int M, bool kAll>
TANDEM_MATH void points_to_channels(typename Type::Pixel* const* pixels, const WinogradPlace& m, const float* bias,
                                    int64_t c, int64_t channels) {
  const float* const at = channels_at(m, c);
  const V offset = bias ? read_channels<F32, kAll>(bias, c, channels) : V{};
  transform_both<kSide, M>(
      [&](int i, int j) __attribute__((always_inline)) { return load(at + (i * kSide + j) * m.point); },
      TANDEM_TRANSFORM(kSide, M, transform_result),
      [&](int i, int j, V y)
          __attribute__((always_inline)) { write_channels<Type, kAll>(pixels[i * M + j], y + offset, c, channels); });
}

template <class Type, int M>
void result(typename Type::Pixel* const* y, const WinogradPlace& m, const float* bias, int64_t channels) {
  int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) points_to_channels<Type, M, true>(y, m, bias, c, channels);
  for (; c < channels; c += kWidth) points_to_channels<Type, M, false>(y, m, bias, c, channels);
}

template <bool kAll>
TANDEM_MATH void add_points_to_channels(float* const* pixels, const WinogradPlace& m, int64_t c, int64_t channels) {
  const float* const at = channels_at(m, c);
  transform_both<kSide, kSide>(
      [&](int i, int j) __attribute__((always_inline)) { return load(at + (i * kSide + j) * m.point); },
      TANDEM_TRANSFORM(kSide, kSide, transform_to_data),
      [&](int i, int j, V d) __attribute__((always_inline)) {
        float* const pixel = pixels[i * kSide + j];
        write_channels<F32, kAll>(pixel, read_channels<F32, kAll>(pixel, c, channels) + d, c, channels);
      });
}

void add_data(float* const* pixels, const WinogradPlace& m, int64_t channels) {
  int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) add_points_to_channels<true>(pixels, m, c, channels);
  for (; c < channels; c += kWidth) add_points_to_channels<false>(pixels, m, c, channels);
}

template <class Type>
constexpr WinogradTable<typename Type::Pixel> kTable = {
    data<Type>,
    {kernel<Type, 2>, kernel<Type, 3>, kernel<Type, 4>, kernel<Type, 5>},
    {result<Type, 2>, result<Type, 3>, result<Type, 4>, result<Type, 5>}};

}  // namespace

const WinogradTables winograd_tables = {kTable<F32>, kTable<Half<F16>>, kTable<Half<BF16>>, add_data};

}  // namespace tandem::cpu::TANDEM_SIMD
