#pragma once
// Products of bf16 on the tiles of AMX, for simd/attention.cpp. The functions need AMX_TILE and AMX_BF16 beyond the
// level avx512; callers ask simd_has_tiles() first.
#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/transpose16.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

#if defined(TANDEM_SIMD_avx512)

#define TANDEM_TILES __attribute__((target("amx-tile,amx-bf16")))

constexpr int64_t kTile = 16;         ///< rows of a tile, and words (or sums) in a row
constexpr int64_t kTileWords = 256;   ///< words of a tile
constexpr int64_t kChunkWords = 128;  ///< of the left operand that are packed at a time

/// The operand of LDTILECFG: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Tiles of an operand, [tiles][16 rows][16 words] with `row` words between rows and `tile` words between tiles.
struct Tiles {
  const uint32_t* data;
  int64_t row, tile;
};

/// Adds the products of Rows x 16 rows and Panels x 16 columns to the sums at c. `left` and `right` are the tiles of
/// the blocks of rows and of the panels.
template <int Rows, int Panels>
TANDEM_TILES inline void multiply_tile_block(float* c, int64_t c_row, const Tiles (&left)[2], const Tiles (&right)[2],
                                             int64_t tiles, bool accumulate) {
  const int64_t c_bytes = c_row * 4;
  if (accumulate) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (Panels > 1) _tile_loadd(1, c + kTile, c_bytes);
    if constexpr (Rows > 1) _tile_loadd(2, c + kTile * c_row, c_bytes);
    if constexpr (Rows > 1 && Panels > 1) _tile_loadd(3, c + kTile * c_row + kTile, c_bytes);
  } else {
    _tile_zero(0);
    if constexpr (Panels > 1) _tile_zero(1);
    if constexpr (Rows > 1) _tile_zero(2);
    if constexpr (Rows > 1 && Panels > 1) _tile_zero(3);
  }
  for (int64_t t = 0; t < tiles; ++t) {
    _tile_loadd(4, left[0].data + t * left[0].tile, left[0].row * 4);
    _tile_loadd(6, right[0].data + t * right[0].tile, right[0].row * 4);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Panels > 1) {
      _tile_loadd(7, right[1].data + t * right[1].tile, right[1].row * 4);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Rows > 1) {
      _tile_loadd(5, left[1].data + t * left[1].tile, left[1].row * 4);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (Rows > 1 && Panels > 1) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (Panels > 1) _tile_stored(1, c + kTile, c_bytes);
  if constexpr (Rows > 1) _tile_stored(2, c + kTile * c_row, c_bytes);
  if constexpr (Rows > 1 && Panels > 1) _tile_stored(3, c + kTile * c_row + kTile, c_bytes);
}

/// Copies rows of words to tiles, with zeros as padding.
inline void pack_tiles(uint32_t* tiles, const uint32_t* a, int64_t a_row, int64_t a_column, int64_t rows,
                       int64_t words) {
  for (int64_t p = 0; p < words; p += kTile, tiles += kTileWords) {
    const int64_t count = words - p < kTile ? words - p : kTile;
    if (a_row == 1) {  // the transpose of rows of words
      transpose_rows16(tiles, a + p * a_column, a_column * 4, count, rows);
    } else {
      const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
      for (int64_t i = 0; i < rows; ++i) {
        _mm512_storeu_si512(tiles + i * kTile, _mm512_maskz_loadu_epi32(mask, a + i * a_row + p * a_column));
      }
    }
    for (int64_t i = rows; i < kTile; ++i) _mm512_storeu_si512(tiles + i * kTile, _mm512_setzero_si512());
  }
}

/// One call of AttentionBf16Table::multiply on at most kChunkWords words.
class TileProduct {
 public:
  TileProduct(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column, const uint32_t* b,
              int64_t panel, int64_t m, int64_t n, int64_t words, bool accumulate)
      : c_(c),
        c_row_(c_row),
        a_(a),
        a_row_(a_row),
        a_column_(a_column),
        b_(b),
        panel_(panel),
        m_(m),
        n_(n),
        words_(words),
        accumulate_(accumulate) {}

  void run() {
    for (int64_t i = 0; i < m_; i += 2 * kTile) {
      if (m_ - i > kTile) {
        const Tiles left[2] = {left_tiles(i, 0), left_tiles(i + kTile, 1)};
        multiply_rows<2>(i, left);
      } else {
        const Tiles left[2] = {left_tiles(i, 0), {}};
        multiply_rows<1>(i, left);
      }
    }
  }

 private:
  int64_t whole_tiles() const { return words_ / kTile; }
  int64_t rest() const { return words_ % kTile; }

  /// The tiles of 16 rows: in place, or packed if they are not whole.
  Tiles left_tiles(int64_t i, int block) {
    const uint32_t* const from = a_ + i * a_row_;
    const int64_t rows = m_ - i < kTile ? m_ - i : kTile;
    if (a_column_ == 1 && rows == kTile && rest() == 0) return {from, a_row_, kTile};
    pack_tiles(packed_[block], from, a_row_, a_column_, rows, words_);
    return {packed_[block], kTile, kTileWords};
  }

  template <int Rows>
  void multiply_rows(int64_t i, const Tiles (&left)[2]) {
    int64_t j = 0;
    for (; j + 2 * kTile <= n_; j += 2 * kTile) multiply_block<Rows, 2>(i, j, left);
    if (j < n_) multiply_block<Rows, 1>(i, j, left);
  }

  template <int Rows, int Panels>
  void multiply_block(int64_t i, int64_t j, const Tiles (&left)[2]) {
    const int64_t rows = m_ - i;
    float* const to = c_ + i * c_row_ + j;
    if (rows >= Rows * kTile) return add_tiles<Rows, Panels>(to, c_row_, j, left, accumulate_);
    // The last tile has fewer rows than registers: through a buffer.
    float block[2 * kTile * 2 * kTile];
    constexpr int64_t kWidth = Panels * kTile;
    for (int64_t r = 0; accumulate_ && r < rows; ++r) copy<Panels>(block + r * kWidth, to + r * c_row_);
    add_tiles<Rows, Panels>(block, kWidth, j, left, accumulate_);
    for (int64_t r = 0; r < rows; ++r) copy<Panels>(to + r * c_row_, block + r * kWidth);
  }

  template <int Panels>
  static void copy(float* to, const float* from) {
    for (int p = 0; p < Panels; ++p) _mm512_storeu_ps(to + p * kTile, _mm512_loadu_ps(from + p * kTile));
  }

  template <int Rows, int Panels>
  void add_tiles(float* c, int64_t c_row, int64_t j, const Tiles (&left)[2], bool accumulate) {
    const uint32_t* const first = b_ + j * panel_;
    const Tiles right[2] = {{first, kTile, kTileWords}, {first + panel_ * kTile, kTile, kTileWords}};
    if (whole_tiles() > 0) multiply_tile_block<Rows, Panels>(c, c_row, left, right, whole_tiles(), accumulate);
    if (rest() == 0) return;
    // A panel ends within its last tile: what follows may be NaN, so it is replaced by zeros.
    uint32_t padded[2][kTileWords];
    Tiles last_left[2], last_right[2];
    for (int p = 0; p < Panels; ++p) {
      const uint32_t* const from = right[p].data + whole_tiles() * kTileWords;
      for (int64_t w = 0; w < kTile; ++w) {
        _mm512_storeu_si512(padded[p] + w * kTile,
                            w < rest() ? _mm512_loadu_si512(from + w * kTile) : _mm512_setzero_si512());
      }
      last_right[p] = {padded[p], kTile, kTileWords};
    }
    for (int r = 0; r < Rows; ++r) {
      last_left[r] = {left[r].data + whole_tiles() * left[r].tile, left[r].row, left[r].tile};
    }
    multiply_tile_block<Rows, Panels>(c, c_row, last_left, last_right, 1, accumulate || whole_tiles() > 0);
  }

  float* c_;
  int64_t c_row_;
  const uint32_t* a_;
  int64_t a_row_, a_column_;
  const uint32_t* b_;
  int64_t panel_;  ///< rows of a panel
  int64_t m_, n_, words_;
  bool accumulate_;
  uint32_t packed_[2][kChunkWords * kTile];
};

TANDEM_TILES void multiply_tiles(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column,
                                 const uint32_t* b, int64_t m, int64_t n, int64_t words, float factor,
                                 bool accumulate) {
  const TileConfig config;
  _tile_loadconfig(&config);
  for (int64_t p = 0; p < words; p += kChunkWords) {
    const int64_t count = words - p < kChunkWords ? words - p : kChunkWords;
    TileProduct(c, c_row, a + p * a_column, a_row, a_column, b + p * kTile, words, m, n, count, accumulate || p > 0)
        .run();
  }
  _tile_release();
  if (accumulate || factor == 1) return;
  const __m512 scale = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; j += kTile) {
      float* const at = c + i * c_row + j;
      _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), scale));
    }
  }
}

#undef TANDEM_TILES

#endif

}  // namespace
}  // namespace tandem::cpu::TANDEM_SIMD
