// Convolutions with N, H, W, C or N, D, H, W, C activations. Weights have a plain layout: each call packs them into
// oneDNN's layout and unpacks their gradients, which takes a few per cent of its time.
#include <algorithm>
#include <string_view>

#include "kernels/cpu/onednn/primitives.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu::products {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using Desc = dnnl::memory::desc;
using DnnlDims = dnnl::memory::dims;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

struct Geometry {
  DnnlDims stride, dilation, padding;
  Geometry(const ConvParams& p, const Array& x) {
    for (size_t d = 0; d + 2 < static_cast<size_t>(x.rank); ++d) {
      stride.push_back(p.stride[d]);
      dilation.push_back(p.dilation[d] - 1);
      padding.push_back(p.padding[d]);
    }
  }
};

// [O, C / groups, KH, KW], or [groups, O / groups, C / groups, KH, KW]; likewise with KD.
Desc plain_weight(const Array& w, int64_t groups) {
  if (groups == 1) return desc_of(w);
  const int64_t out = w.sizes[0] / groups;
  DnnlDims sizes{groups, out}, strides{out * w.strides[0], w.strides[0]};
  for (size_t d = 1; d < static_cast<size_t>(w.rank); ++d) {
    sizes.push_back(w.sizes[d]);
    strides.push_back(w.strides[d]);
  }
  return {sizes, type_of(w.dtype), strides};
}

Desc in_any_order(const Desc& desc) { return {desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any}; }

// Forward descriptors also serve as the hints that backward ones require.
convolution_forward::primitive_desc describe_forward(const Desc& y, const Desc& x, const Desc& weight, const Desc& bias,
                                                     const Geometry& g) {
  const dnnl::primitive_attr attr;
  constexpr auto kind = dnnl::prop_kind::forward_training;
  if (bias) {
    return {engine(), kind, kDirect, x, weight, bias, y, g.stride, g.dilation, g.padding, g.padding, attr, true};
  }
  return {engine(), kind, kDirect, x, weight, y, g.stride, g.dilation, g.padding, g.padding, attr, true};
}

Plan make_forward(const Array& y, const Array& x, const Array& weight, const Array& bias, const ConvParams& p) {
  const Desc dst = desc_of(y), src = desc_of(x), plain = plain_weight(weight, p.groups);
  const Desc offset = bias ? desc_of(bias) : Desc();
  const auto pd = describe_forward(dst, src, in_any_order(plain), offset, Geometry(p, x));
  if (!is_fast(pd)) return {};
  const Desc packed = pd.weights_desc();
  const convolution_forward primitive(pd);
  Plan plan;
  if (bias) {
    plan.main = {primitive,
                 {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_BIAS, offset}}};
  } else {
    plan.main = {primitive, {{DNNL_ARG_DST, dst}, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, packed}}};
  }
  plan.pack(plain, packed);
  return plan;
}

Plan make_backward_data(const Array& gx, const Array& gy, const Array& weight, const ConvParams& p) {
  const Desc dx = desc_of(gx), dy = desc_of(gy), plain = plain_weight(weight, p.groups), any = in_any_order(plain);
  const Geometry g(p, gx);
  const auto hint = describe_forward(dy, dx, any, {}, g);
  if (!hint) return {};
  const convolution_backward_data::primitive_desc pd(engine(), kDirect, dx, any, dy, g.stride, g.dilation, g.padding,
                                                     g.padding, hint, {}, true);
  if (!is_fast(pd)) return {};
  const Desc packed = pd.weights_desc();
  Plan plan;
  plan.main = {convolution_backward_data(pd),
               {{DNNL_ARG_DIFF_SRC, dx}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, packed}}};
  plan.pack(plain, packed);
  return plan;
}

Plan make_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x,
                          const ConvParams& p) {
  // oneDNN 3.2 (jit_avx512_core_bf16) copies each row of a 16-bit x into separate pieces, one per column of the stride.
  // If a row is narrower than the stride, some pieces stay uninitialized but are still multiplied by 0, which gives NaN
  // if they contain inf or NaN. In three dimensions it also leaves weights unwritten or wrong where x is smaller than
  // the kernel.
  if (is_reduced_floating_point(x.dtype)) {
    const auto columns = static_cast<size_t>(x.rank) - 1;
    if (x.sizes[columns] < p.stride[columns - 2]) return {};
    for (size_t d = 2; d < columns; ++d) {
      if (x.rank == 5 && x.sizes[d] < gweight.sizes[d]) return {};
    }
  }
  const Desc dy = desc_of(gy), src = desc_of(x), plain = plain_weight(gweight, p.groups), any = in_any_order(plain);
  const Desc db = gbias ? desc_of(gbias) : Desc();
  const Geometry g(p, x);
  // In the forward pass the weights have x's dtype: a hint with gweight's dtype would be refused.
  const Desc weight(plain.get_dims(), src.get_data_type(), dnnl::memory::format_tag::any);
  const auto hint = describe_forward(dy, src, weight, db, g);
  if (!hint) return {};
  using PrimitiveDesc = convolution_backward_weights::primitive_desc;
  auto pd = gbias ? PrimitiveDesc(engine(), kDirect, src, any, db, dy, g.stride, g.dilation, g.padding, g.padding, hint,
                                  {}, true)
                  : PrimitiveDesc(engine(), kDirect, src, any, dy, g.stride, g.dilation, g.padding, g.padding, hint, {},
                                  true);
  // oneDNN 3.2's 1x1 kernels for AVX2 write beyond their scratchpad if the stride is not 1 and a vector of 8 channels
  // is not full (found with valgrind). The next implementation is correct.
  if (x.sizes[1] / p.groups % 8 != 0 && std::any_of(g.stride.begin(), g.stride.end(), [](auto s) { return s != 1; })) {
    while (pd && std::string_view(pd.impl_info_str()) == "jit_1x1:avx2") {
      if (!pd.next_impl()) return {};
    }
  }
  if (!is_fast(pd)) return {};
  const Desc packed = pd.diff_weights_desc();
  const convolution_backward_weights primitive(pd);
  Plan plan;
  if (gbias) {
    plan.main = {
        primitive,
        {{DNNL_ARG_DIFF_WEIGHTS, packed}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SRC, src}, {DNNL_ARG_DIFF_BIAS, db}}};
  } else {
    plan.main = {primitive, {{DNNL_ARG_DIFF_WEIGHTS, packed}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SRC, src}}};
  }
  plan.pack(packed, plain);
  return plan;
}

Tensor buffer(size_t bytes) { return empty({static_cast<int64_t>(bytes)}, TensorOptions(kByte).device(kCPU)); }

// The weights at `data` in the layout of the plan's primitive; `holder` owns the copy.
void* packed_weight(const Plan& plan, void* data, Tensor& holder) {
  if (!plan.repacks()) return data;
  holder = buffer(plan.packed_bytes);
  plan.repack(holder.raw_bytes(), data);
  return holder.raw_bytes();
}

}  // namespace

bool convolution(const Array& y, const Array& x, const Array& weight, const Array& bias, const ConvParams& p) {
  const Running running;
  if (!running) return false;
  Key key(Key::Op::convolution);
  key.add(p);
  for (const Array* array : {&y, &x, &weight, &bias}) key.add(*array);
  const Plan& plan = find_plan(key, [&] { return make_forward(y, x, weight, bias, p); });
  if (!plan.main) return false;
  Tensor holder;
  plan.main.run({y.data, x.data, packed_weight(plan, weight.data, holder), bias.data});
  return true;
}

bool convolution_backward_data(const Array& gx, const Array& gy, const Array& weight, const ConvParams& p) {
  const Running running;
  if (!running) return false;
  Key key(Key::Op::backward_data);
  key.add(p);
  for (const Array* array : {&gx, &gy, &weight}) key.add(*array);
  const Plan& plan = find_plan(key, [&] { return make_backward_data(gx, gy, weight, p); });
  if (!plan.main) return false;
  Tensor holder;
  plan.main.run({gx.data, gy.data, packed_weight(plan, weight.data, holder)});
  return true;
}

bool convolution_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x,
                                 const ConvParams& p) {
  const Running running;
  if (!running) return false;
  Key key(Key::Op::backward_weight);
  key.add(p);
  for (const Array* array : {&gweight, &gbias, &gy, &x}) key.add(*array);
  const Plan& plan = find_plan(key, [&] { return make_backward_weight(gweight, gbias, gy, x, p); });
  if (!plan.main) return false;
  if (!plan.repacks()) {
    plan.main.run({gweight.data, gy.data, x.data, gbias.data});
    return true;
  }
  const Tensor packed = buffer(plan.packed_bytes);
  plan.main.run({packed.raw_bytes(), gy.data, x.data, gbias.data});
  plan.repack(gweight.data, packed.raw_bytes());
  return true;
}

}  // namespace tandem::cpu::products
