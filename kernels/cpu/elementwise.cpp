// unary, binary, ternary, where. Contract: operands of any dtypes and strides are converted to the compute type
// (backend.h). Each element is computed there independently and rounded once to y's dtype. y may be one of the
// operands. Contiguous bf16 is converted in registers, other 16-bit operands in tiles.
#include "kernels/cpu/simd/elementwise.h"

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/tile.h"

namespace tandem::cpu {

using kernels::parameter;
using kernels::throw_undefined_formula;

namespace {

/// Whether all tensors are contiguous and have the types that the formula reads and writes.
template <class C, class Y, class... Tensors>
bool in_place(const Tensor& y, const Tensors&... x) {
  return y.impl().contiguous && y.dtype() == dtype_of<Y> && (... && (x.impl().contiguous && x.dtype() == dtype_of<C>));
}

/// Whether all tensors are contiguous bf16.
template <class... Tensors>
bool are_bf16(const Tensors&... x) {
  return (... && (x.dtype() == DType::BF16 && x.impl().contiguous));
}

/// Calls f(row of y, rows of x..., count) for parts of contiguous bf16 tensors, given as their bits. Returns false, as
/// f does, if there is no such formula.
template <class F, class... Tensors>
bool run_bf16(F f, const Tensor& y, const Tensors&... x) {
  uint16_t* const py = static_cast<uint16_t*>(y.raw_bytes());
  const auto bits = [](const Tensor& t) { return static_cast<const uint16_t*>(t.raw_bytes()); };
  if (!f(py, bits(x)..., int64_t{0})) return false;
  parallel_for(y.numel(), kParallelGrain,
               [&](int64_t begin, int64_t end) { f(py + begin, (bits(x) + begin)..., end - begin); });
  return true;
}

template <class C, class Y, class Formula>
void run_unary(const Tensor& y, const Tensor& x, Formula formula) {
  if (in_place<C, Y>(y, x)) {
    Y* py = y.raw<Y>();
    const C* px = x.raw<C>();
    return parallel_for(y.numel(), kParallelGrain,
                        [&](int64_t begin, int64_t end) { formula(py + begin, px + begin, end - begin); });
  }
  const Space space = make_space({&y, &x}, Order::memory);
  for_each_tile(space, [&] {
    return [&formula, out = TileWriter<Y>(space, 0, y), in = TileReader<C>(space, 1, x)](const Tile& tile) mutable {
      Y* target = out.target(tile);
      formula(target, in.read(tile), tile.size());
      out.commit(tile, target);
    };
  });
}

template <class C, class Y, class Formula>
void run_binary(const Tensor& y, const Tensor& a, const Tensor& b, Formula formula) {
  if (in_place<C, Y>(y, a, b)) {
    Y* py = y.raw<Y>();
    const C* pa = a.raw<C>();
    const C* pb = b.raw<C>();
    return parallel_for(y.numel(), kParallelGrain,
                        [&](int64_t begin, int64_t end) { formula(py + begin, pa + begin, pb + begin, end - begin); });
  }
  const Space space = make_space({&y, &a, &b}, Order::memory);
  for_each_tile(space, [&] {
    return [&formula, out = TileWriter<Y>(space, 0, y), in_a = TileReader<C>(space, 1, a),
            in_b = TileReader<C>(space, 2, b)](const Tile& tile) mutable {
      Y* target = out.target(tile);
      formula(target, in_a.read(tile), in_b.read(tile), tile.size());
      out.commit(tile, target);
    };
  });
}

}  // namespace

void unary(const Tensor& y, Unary op, const Tensor& x, double a, double b) {
  const bool predicate = is_predicate(op);
  if (!predicate && are_bf16(y, x)) {
    const auto formula = [op, a = parameter<float>(a), b = parameter<float>(b)](auto* py, auto* px, int64_t n) {
      return bf16_table().unary(op, py, px, n, a, b);
    };
    if (run_bf16(formula, y, x)) return;
  }
  const DType compute = compute_type(predicate ? x.dtype() : promote_types(x.dtype(), y.dtype()));
  visit_compute(compute, [&](auto zero) {
    using C = decltype(zero);
    const UnaryTable<C>& table = unary_tables().of<C>();
    const C ca = parameter<C>(a), cb = parameter<C>(b);
    if (predicate) {
      run_unary<C, bool>(y, x, [&](bool* py, const C* px, int64_t n) {
        if (!table.predicate(op, py, px, n, ca, cb)) throw_undefined_formula(op, compute);
      });
    } else {
      run_unary<C, C>(y, x, [&](C* py, const C* px, int64_t n) {
        if (!table.value(op, py, px, n, ca, cb)) throw_undefined_formula(op, compute);
      });
    }
  });
}

void binary(const Tensor& y, Binary op, const Tensor& a, const Tensor& b, double alpha) {
  const bool predicate = is_predicate(op);
  if (!predicate && are_bf16(y, a, b)) {
    const auto formula = [op, alpha = parameter<float>(alpha)](auto* py, auto* pa, auto* pb, int64_t n) {
      return bf16_table().binary(op, py, pa, pb, n, alpha);
    };
    if (run_bf16(formula, y, a, b)) return;
  }
  const DType operands = promote_types(a.dtype(), b.dtype());
  const DType compute = compute_type(predicate ? operands : promote_types(operands, y.dtype()));
  visit_compute(compute, [&](auto zero) {
    using C = decltype(zero);
    const BinaryTable<C>& table = binary_tables().of<C>();
    const C calpha = parameter<C>(alpha);
    if (predicate) {
      run_binary<C, bool>(y, a, b, [&](bool* py, const C* pa, const C* pb, int64_t n) {
        if (!table.predicate(op, py, pa, pb, n, calpha)) throw_undefined_formula(op, compute);
      });
    } else {
      run_binary<C, C>(y, a, b, [&](C* py, const C* pa, const C* pb, int64_t n) {
        if (!table.value(op, py, pa, pb, n, calpha)) throw_undefined_formula(op, compute);
      });
    }
  });
}

void ternary(const Tensor& y, Ternary op, const Tensor& a, const Tensor& b, const Tensor& c, double alpha) {
  const DType operands = promote_types(promote_types(a.dtype(), b.dtype()), c.dtype());
  const DType compute = compute_type(promote_types(operands, y.dtype()));
  const Space space = make_space({&y, &a, &b, &c}, Order::memory);
  visit_compute(compute, [&](auto zero) {
    using C = decltype(zero);
    const auto formula = binary_tables().of<C>().ternary;
    const C calpha = parameter<C>(alpha);
    for_each_tile(space, [&] {
      return [=, out = TileWriter<C>(space, 0, y), in_a = TileReader<C>(space, 1, a), in_b = TileReader<C>(space, 2, b),
              in_c = TileReader<C>(space, 3, c)](const Tile& tile) mutable {
        C* target = out.target(tile);
        if (!formula(op, target, in_a.read(tile), in_b.read(tile), in_c.read(tile), tile.size(), calpha)) {
          throw_undefined_formula(op, compute);
        }
        out.commit(tile, target);
      };
    });
  });
}

void where(const Tensor& y, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const DType compute = compute_type(promote_types(y.dtype(), promote_types(a.dtype(), b.dtype())));
  const Space space = make_space({&y, &condition, &a, &b}, Order::memory);
  visit_compute(compute, [&](auto zero) {
    using C = decltype(zero);
    const auto select = binary_tables().of<C>().where;
    for_each_tile(space, [&] {
      return [select, out = TileWriter<C>(space, 0, y), in_c = TileReader<bool>(space, 1, condition),
              in_a = TileReader<C>(space, 2, a), in_b = TileReader<C>(space, 3, b)](const Tile& tile) mutable {
        C* target = out.target(tile);
        select(target, in_c.read(tile), in_a.read(tile), in_b.read(tile), tile.size());
        out.commit(tile, target);
      };
    });
  });
}

}  // namespace tandem::cpu
