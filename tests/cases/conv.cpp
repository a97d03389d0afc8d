// 2-d convolution.
#include "tandem/ops/conv.h"

#include "cases/cases.h"

namespace tandem::testing {
namespace {

struct Options {
  std::vector<int64_t> stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
};

std::string tuple(const std::vector<int64_t>& v) {
  std::string text = std::to_string(v[0]);
  if (v.size() == 2) text.append(", ").append(std::to_string(v[1]));
  return v.size() == 2 ? std::string("(").append(text).append(")") : text;
}

/// x: [N, C, H, W] or [C, H, W], weight: [O, C / groups, KH, KW], bias unless `with_bias` is false. `sum`: the length
/// of the longest sum in forward and backward. `op`: conv2d or conv2d_relu.
void convolution(Cases& c, const std::string& name, Input x, Input weight, const Options& o, int64_t sum,
                 bool with_bias = true, const std::string& op = "conv2d") {
  const std::string options = "stride=" + tuple(o.stride) + ", padding=" + tuple(o.padding) +
                              ", dilation=" + tuple(o.dilation) + ", groups=" + std::to_string(o.groups);
  const int64_t outputs = weight.sizes[0];
  std::vector<Input> inputs{std::move(x), std::move(weight)};
  if (with_bias) inputs.push_back(normal({outputs}));
  const bool relu = op == "conv2d_relu";
  const std::string torch = std::string("F.conv2d(a, b, ") + (with_bias ? "c" : "None") + ", " + options + ")";
  c.push_back({.op = op,
               .name = name,
               .torch = relu ? "F.relu(" + torch + ")" : torch,
               .inputs = std::move(inputs),
               .run = [o, run = relu ? conv2d_relu : conv2d](In x) -> Out {
                 return {run(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), o.stride, o.padding, o.dilation, o.groups)};
               },
               .sum = sum});
}

}  // namespace

Cases conv_cases() {
  Cases c;
  convolution(c, "plain", normal({2, 3, 5, 6}), normal({4, 3, 3, 3}), {}, 28);
  convolution(c, "no_bias", normal({2, 3, 5, 5}), normal({4, 3, 3, 3}), {}, 27, false);
  convolution(c, "one_by_one", normal({2, 5, 3, 3}), normal({4, 5, 1, 1}), {}, 18);
  convolution(c, "stride", normal({2, 3, 7, 6}), normal({4, 3, 3, 3}), {.stride = {2}}, 28);
  convolution(c, "padding", normal({2, 3, 4, 4}), normal({4, 3, 3, 3}), {.padding = {1}}, 36);
  convolution(c, "stride_and_padding", normal({2, 2, 7, 7}), normal({3, 2, 3, 3}), {.stride = {2}, .padding = {1}}, 32);
  convolution(c, "uneven", normal({1, 2, 8, 6}), normal({3, 2, 3, 2}),
              {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}, 24);
  convolution(c, "dilation", normal({2, 2, 7, 7}), normal({3, 2, 3, 3}), {.dilation = {2}}, 24);
  convolution(c, "stride_leaves_rows", normal({1, 2, 6, 6}), normal({2, 2, 3, 3}), {.stride = {2}}, 20);
  convolution(c, "groups", normal({2, 4, 5, 5}), normal({6, 2, 3, 3}), {.padding = {1}, .groups = 2}, 50);
  convolution(c, "depthwise", normal({2, 4, 5, 5}), normal({4, 1, 3, 3}), {.padding = {1}, .groups = 4}, 50);
  convolution(c, "channels_last", normal({2, 3, 5, 5}).laid_out(Layout::channels_last),
              normal({4, 3, 3, 3}).laid_out(Layout::channels_last), {.padding = {1}}, 50);
  convolution(c, "channels_last_input", normal({2, 3, 5, 5}).laid_out(Layout::channels_last), normal({4, 3, 3, 3}),
              {.stride = {2}}, 28);
  convolution(c, "transposed_input", normal({2, 3, 5, 6}).laid_out(Layout::transposed), normal({4, 3, 3, 3}), {}, 28);
  convolution(c, "unbatched", normal({3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);
  convolution(c, "no_images", normal({0, 3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);
  convolution(c, "kernel_of_input_size", normal({3, 2, 4, 4}), normal({5, 2, 4, 4}), {}, 33);

  const auto with_relu = [&](const std::string& name, Input x, Input weight, const Options& o, int64_t sum,
                             bool with_bias = true) {
    convolution(c, name, std::move(x), std::move(weight), o, sum, with_bias, "conv2d_relu");
  };
  with_relu("plain", normal({2, 3, 5, 6}), normal({4, 3, 3, 3}), {}, 28);
  with_relu("no_bias", normal({2, 3, 5, 5}), normal({4, 3, 3, 3}), {}, 27, false);
  with_relu("uneven", normal({1, 2, 8, 6}), normal({3, 2, 3, 2}),
            {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}, 24);
  with_relu("groups", normal({2, 4, 5, 5}), normal({6, 2, 3, 3}), {.padding = {1}, .groups = 2}, 50);
  with_relu("channels_last", normal({2, 3, 5, 5}).laid_out(Layout::channels_last),
            normal({4, 3, 3, 3}).laid_out(Layout::channels_last), {.padding = {1}}, 50);
  with_relu("unbatched", normal({3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);
  with_relu("no_images", normal({0, 3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);
  return c;
}

}  // namespace tandem::testing
