// Matrix products by oneDNN's matmul, or by its inner product if that is faster.
//
// The choice follows a fixed rule, not timing, so that a program computes the same numbers in every run. Measured with
// 3.2 on 512 x 4096 x 4096: on AVX-512 matmul is faster forward and backward. On AMX matmul is faster forward, but the
// backward passes of the inner product take about half of matmul's time.
#include "kernels/cpu/onednn/primitives.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu::products {
namespace {

using dnnl::inner_product_backward_data;
using dnnl::inner_product_backward_weights;
using dnnl::inner_product_forward;
using Desc = dnnl::memory::desc;

bool row_major(const Array& x) { return x.rank == 2 && x.strides[1] == 1 && x.strides[0] == x.sizes[1]; }
bool column_major(const Array& x) { return x.rank == 2 && x.strides[0] == 1 && x.strides[1] == x.sizes[0]; }

inner_product_forward::primitive_desc forward_hint(const Desc& x, const Desc& weight, const Desc& y) {
  return {engine(), dnnl::prop_kind::forward_training, x, weight, y, {}, true};
}

// d = a b as the gradient of an inner product's input: d is gx, a is gy, b the weight.
Call make_backward_data(const Array& d, const Array& a, const Array& b) {
  const Desc gx = desc_of(d), gy = desc_of(a), weight = desc_of(b);
  const auto hint = forward_hint(gx, weight, gy);
  if (!hint) return {};
  const inner_product_backward_data::primitive_desc pd(engine(), gx, weight, gy, hint, {}, true);
  if (!is_fast(pd)) return {};
  return {inner_product_backward_data(pd),
          {{DNNL_ARG_DIFF_SRC, gx}, {DNNL_ARG_DIFF_DST, gy}, {DNNL_ARG_WEIGHTS, weight}}};
}

Call make_backward_weights(const Array& gweight, const Array& gbias, const Array& gy, const Array& x) {
  const Desc dw = desc_of(gweight), dy = desc_of(gy), src = desc_of(x);
  // In the forward pass the weights have x's dtype: a hint with gweight's dtype would be refused.
  const auto hint = forward_hint(src, Desc(dw.get_dims(), src.get_data_type(), dw.get_strides()), dy);
  if (!hint) return {};
  const Desc db = gbias ? desc_of(gbias) : Desc();
  const auto pd = gbias ? inner_product_backward_weights::primitive_desc(engine(), src, dw, db, dy, hint, {}, true)
                        : inner_product_backward_weights::primitive_desc(engine(), src, dw, dy, hint, {}, true);
  if (!is_fast(pd)) return {};
  const inner_product_backward_weights primitive(pd);
  if (!gbias) return {primitive, {{DNNL_ARG_DIFF_WEIGHTS, dw}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SRC, src}}};
  return {primitive,
          {{DNNL_ARG_DIFF_WEIGHTS, dw}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SRC, src}, {DNNL_ARG_DIFF_BIAS, db}}};
}

bool prefers_inner_product(const Array& x) { return x.dtype != kFloat && has_isa(dnnl::cpu_isa::avx512_core_amx); }

Array transposed(Array x) {
  std::swap(x.sizes[0], x.sizes[1]);
  std::swap(x.strides[0], x.strides[1]);
  return x;
}

/// A bias [n] as a row [1, n] or [1, 1, n].
Desc row_of_bias(const Array& bias, int rank) {
  Array row = bias;
  row.rank = rank;
  row.sizes = {1, 1, 1, 1};
  row.strides.fill(bias.sizes[0]);
  row.sizes[static_cast<size_t>(rank - 1)] = bias.sizes[0];
  row.strides[static_cast<size_t>(rank - 1)] = 1;
  return desc_of(row);
}

Plan make_matmul_packed(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate) {
  const Desc dst = desc_of(d), src = desc_of(a), plain = desc_of(b);
  const Desc any(plain.get_dims(), plain.get_data_type(), dnnl::memory::format_tag::any);
  dnnl::post_ops post;
  if (accumulate) post.append_sum();
  dnnl::primitive_attr attr;
  attr.set_post_ops(post);
  const Desc offset = bias ? row_of_bias(bias, d.rank) : Desc();
  const auto pd = bias ? dnnl::matmul::primitive_desc(engine(), src, any, offset, dst, attr, true)
                       : dnnl::matmul::primitive_desc(engine(), src, any, dst, attr, true);
  if (!is_fast(pd)) return {};
  Plan plan;
  const Desc packed = pd.weights_desc();
  const dnnl::matmul primitive(pd);
  if (bias) {
    plan.main = {primitive,
                 {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_BIAS, offset}}};
  } else {
    plan.main = {primitive, {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, packed}}};
  }
  plan.pack(plain, packed);
  plan.packed = std::make_shared<const Desc>(packed);
  return plan;
}

Call make_matmul(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate) {
  const bool plain = !bias && !accumulate;
  if (plain && prefers_inner_product(a) && row_major(d) && row_major(b)) {
    Call call;
    if (row_major(a) && d.dtype == a.dtype) call = make_backward_data(d, a, b);
    if (column_major(a)) call = make_backward_weights(d, {}, transposed(a), b);
    if (call) return call;
  }
  const Desc dst = desc_of(d), src = desc_of(a), weights = desc_of(b);
  dnnl::post_ops post;
  if (accumulate) post.append_sum();
  dnnl::primitive_attr attr;
  attr.set_post_ops(post);
  if (!bias) {
    const dnnl::matmul::primitive_desc pd(engine(), src, weights, dst, attr, true);
    if (!is_fast(pd)) return {};
    return {dnnl::matmul(pd), {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}}};
  }
  const Desc offset = row_of_bias(bias, d.rank);
  const dnnl::matmul::primitive_desc pd(engine(), src, weights, offset, dst, attr, true);
  if (!is_fast(pd)) return {};
  return {dnnl::matmul(pd),
          {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, offset}}};
}

}  // namespace

bool matmul(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate) {
  const Running running;
  if (!running) return false;
  Key key(Key::Op::matmul);
  key.add(static_cast<int64_t>(accumulate));
  key.add(d);
  key.add(a);
  key.add(b);
  key.add(bias);
  const Plan& plan = find_plan(key, [&] { return Plan(make_matmul(d, a, b, bias, accumulate)); });
  if (!plan.main) return false;
  plan.main.run({d.data, a.data, b.data, bias.data});
  return true;
}

bool prefers_other_stride(DType dtype, int64_t distance, int64_t k, int64_t n) {
  // Without AVX-512, oneDNN 3.2 reads `a` in place if b is narrow. Numbers whose distance is a multiple of 4 KiB share
  // one set of the first cache, and the product takes up to twice as long. Measured with 1024 to 4096 rows of a.
  constexpr int64_t kPage = 4096 / sizeof(float);
  return dtype == kFloat && distance % kPage == 0 && k >= 64 && n >= 64 && n < 512 &&
         !has_isa(dnnl::cpu_isa::avx512_core);
}

bool matmul_packed(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate,
                   PackedMatrix& packed) {
  const Running running;
  if (!running) return false;
  Key key(Key::Op::matmul_packed);
  key.add(static_cast<int64_t>(accumulate));
  for (const Array* array : {&d, &a, &b, &bias}) key.add(*array);
  const Plan& plan = find_plan(key, [&] { return make_matmul_packed(d, a, b, bias, accumulate); });
  if (!plan.main) return false;
  if (!plan.repacks()) {
    plan.main.run({d.data, a.data, b.data, bias.data});
    return true;
  }
  if (packed.layout != plan.packed &&
      !(packed.layout && *static_cast<const Desc*>(packed.layout.get()) == *plan.packed)) {
    packed.bytes = empty({static_cast<int64_t>(plan.packed_bytes)}, TensorOptions(kByte).device(kCPU));
    packed.layout = plan.packed;
    plan.repack(packed.bytes.raw_bytes(), b.data);
  }
  plan.main.run({d.data, a.data, packed.bytes.raw_bytes(), bias.data});
  return true;
}

bool linear_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x) {
  if (!prefers_inner_product(gy) || !row_major(gweight) || !row_major(gy) || !row_major(x)) return false;
  const Running running;
  if (!running) return false;
  Key key(Key::Op::linear_backward_weight);
  key.add(gweight);
  key.add(gbias);
  key.add(gy);
  key.add(x);
  const Plan& plan = find_plan(key, [&] { return Plan(make_backward_weights(gweight, gbias, gy, x)); });
  if (!plan.main) return false;
  plan.main.run({gweight.data, gy.data, x.data, gbias.data});
  return true;
}

}  // namespace tandem::cpu::products
