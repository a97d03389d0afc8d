// Instructions of a whole warp on small matrices: ldmatrix and mma.
//
// A fragment's lane has a group of four (lane / 4) and a place in it (lane % 4): the group is a row of the left factor
// and of the result, and a column of the right factor; the place selects two neighbouring elements.
#include "ptx/block.h"
#include "ptx/formats.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

/// ldmatrix.x4: four 8x8 matrices of 16-bit elements. Lane 8 m + r has the address of row r of matrix m; lane l gets
/// the elements 2 (l % 4) and the next of row l / 4, or of that column (.trans), of each matrix.
template <bool kTransposed>
void load_matrices(Warp& w, const Instruction& i, Lanes lanes) {
  uint16_t elements[4][8][8];
  bool row_is_defined[4][8] = {};
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = w.block->address(w, i, lane, i.from[0]);
    row_is_defined[lane / 8][lane % 8] =
        w.block->load(w, i, lane, address, elements[lane / 8][lane % 8], 16) == all_bytes(16);
  });
  for (size_t m = 0; m < 4; ++m) {
    Lanes good = 0;
    for_lanes(lanes, [&](int lane) {
      const int group = lane / 4, first = 2 * (lane % 4);
      const auto at = [&](int n) { return kTransposed ? elements[m][n][group] : elements[m][group][n]; };
      const bool is_defined =
          kTransposed ? row_is_defined[m][first] && row_is_defined[m][first + 1] : row_is_defined[m][group];
      w.result(i.to[m])[static_cast<size_t>(lane)] = at(first) | static_cast<uint32_t>(at(first + 1)) << 16;
      good |= Lanes{is_defined} << lane;
    });
    w.define(i.to[m], lanes, good);
  }
}

/// A matrix whose fragments are in registers of a warp, with a mark at each element that is undefined.
template <int rows, int columns>
struct Matrix {
  double value[rows][columns];
  bool is_defined[rows][columns];
};

/// mma.m16n8k16: D (16 x 8) = A (16 x 16) B (16 x 8) + C. Products are exact and summed in f64; hardware's order and
/// width of sums are not documented.
void multiply(Warp& w, const Instruction& i, Lanes lanes) {
  const Format& format = i.source_type == Type::bf16 ? kBf16 : kF16;
  Matrix<16, 16> a;
  Matrix<16, 8> b, c;
  const auto pair = [&](size_t source, int lane, const auto& put) {
    const uint64_t bits = w.row(i.from[source])[static_cast<size_t>(lane)];
    const bool is_defined = w.defined_lanes(i.from[source]) >> lane & 1;
    for (int n = 0; n < 2; ++n) put(n, value_of(static_cast<uint16_t>(bits >> 16 * n), format), is_defined);
  };
  for_lanes(lanes, [&](int lane) {
    const int group = lane / 4, first = 2 * (lane % 4);
    for (int half = 0; half < 4; ++half) {  // of A: rows below in the odd ones, columns to the right in the upper ones
      const int row = group + 8 * (half % 2), column = first + 8 * (half / 2);
      pair(static_cast<size_t>(half), lane, [&](int n, double x, bool is_defined) {
        a.value[row][column + n] = x;
        a.is_defined[row][column + n] = is_defined;
      });
    }
    for (int half = 0; half < 2; ++half) {
      pair(4 + static_cast<size_t>(half), lane, [&](int n, double x, bool is_defined) {
        b.value[first + 8 * half + n][group] = x;
        b.is_defined[first + 8 * half + n][group] = is_defined;
      });
    }
    for (int n = 0; n < 4; ++n) {
      const Operand& o = i.from[6 + static_cast<size_t>(n)];
      c.value[group + 8 * (n / 2)][first + n % 2] = as<float>(w.row(o)[static_cast<size_t>(lane)]);
      c.is_defined[group + 8 * (n / 2)][first + n % 2] = w.defined_lanes(o) >> lane & 1;
    }
  });
  for (size_t n = 0; n < 4; ++n) {
    Lanes good = 0;
    for_lanes(lanes, [&](int lane) {
      const int row = lane / 4 + 8 * static_cast<int>(n / 2), column = 2 * (lane % 4) + static_cast<int>(n % 2);
      double sum = c.value[row][column];
      bool is_defined = c.is_defined[row][column];
      for (int k = 0; k < 16; ++k) {
        sum += a.value[row][k] * b.value[k][column];
        is_defined &= a.is_defined[row][k] && b.is_defined[k][column];
      }
      w.result(i.to[n])[static_cast<size_t>(lane)] = in_register(static_cast<float>(sum), 4);
      good |= Lanes{is_defined} << lane;
    });
    w.define(i.to[n], lanes, good);
  }
}

}  // namespace

bool decode_matrix(Opcode& op, Instruction& i) {
  i.control = Control::meets;
  if (op.mnemonic() == "ldmatrix") {
    for (const char* m : {"sync", "aligned", "m8n8", "x4", "b16"}) op.take(m);
    i.space = op.take_space();
    i.run = op.take("trans") ? load_matrices<true> : load_matrices<false>;
    return i.space == Space::shared && i.to.size() == 4;
  }
  if (op.mnemonic() == "mma") {
    for (const char* m : {"sync", "aligned", "m16n8k16", "row", "col"}) op.take(m);
    i.type = op.take_type();
    i.source_type = op.take_type();
    const bool is_known = i.type == Type::f32 && op.take_type() == i.source_type && op.take_type() == Type::f32;
    i.run = multiply;
    return is_known && i.to.size() == 4 && i.from.size() == 10;
  }
  i.control = Control::none;
  return false;
}

}  // namespace tandem::ptx
