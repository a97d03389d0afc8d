// Convolutions, transposed ones, and their columns.
#include "tandem/ops/conv.h"

#include "cases/cases.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/ops/fold.h"

namespace tandem::testing {
namespace {

struct Options {
  std::vector<int64_t> stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
};

std::string tuple(const std::vector<int64_t>& v) {
  std::string text = std::to_string(v[0]);
  for (size_t i = 1; i < v.size(); ++i) text.append(", ").append(std::to_string(v[i]));
  return v.size() > 1 ? std::string("(").append(text).append(")") : text;
}

/// x: [N, C, H, W] or [C, H, W], weight: [O, C / groups, KH, KW], bias unless `with_bias` is false. `sum`: the length
/// of the longest sum in forward and backward. `op`: conv1d, conv2d, conv3d or conv2d_relu.
void convolution(Cases& c, const std::string& name, Input x, Input weight, const Options& o, int64_t sum,
                 bool with_bias = true, const std::string& op = "conv2d") {
  const std::string options = "stride=" + tuple(o.stride) + ", padding=" + tuple(o.padding) +
                              ", dilation=" + tuple(o.dilation) + ", groups=" + std::to_string(o.groups);
  const int64_t outputs = weight.sizes[0];
  std::vector<Input> inputs{std::move(x), std::move(weight)};
  if (with_bias) inputs.push_back(normal({outputs}));
  const bool relu = op == "conv2d_relu";
  decltype(&conv2d_relu) run = relu ? conv2d_relu : static_cast<decltype(&conv2d_relu)>(conv2d);
  if (op == "conv1d") run = conv1d;
  if (op == "conv3d") run = conv3d;
  const std::string torch =
      "F." + (relu ? "conv2d" : op) + "(a, b, " + (with_bias ? "c" : "None") + ", " + options + ")";
  c.push_back({.op = op,
               .name = name,
               .torch = relu ? "F.relu(" + torch + ")" : torch,
               .inputs = std::move(inputs),
               .run = [o, run](In x) -> Out {
                 return {run(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), o.stride, o.padding, o.dilation, o.groups)};
               },
               .sum = sum});
}

/// x: [N, C, ...] or [C, ...], weight: [C, O / groups, K...]. `op`: conv_transpose1d, 2d or 3d.
void transposed(Cases& c, const std::string& op, const std::string& name, Input x, Input weight, const Options& o,
                std::vector<int64_t> output_padding, int64_t sum, bool with_bias = true) {
  const std::string options = "stride=" + tuple(o.stride) + ", padding=" + tuple(o.padding) +
                              ", output_padding=" + tuple(output_padding) + ", groups=" + std::to_string(o.groups) +
                              ", dilation=" + tuple(o.dilation);
  const auto run = op == "conv_transpose1d"   ? conv_transpose1d
                   : op == "conv_transpose2d" ? conv_transpose2d
                                              : conv_transpose3d;
  const int64_t outputs = weight.sizes[1] * o.groups;
  std::vector<Input> inputs{std::move(x), std::move(weight)};
  if (with_bias) inputs.push_back(normal({outputs}));
  c.push_back({.op = op,
               .name = name,
               .torch = "F." + op + "(a, b, " + (with_bias ? "c" : "None") + ", " + options + ")",
               .inputs = std::move(inputs),
               .run = [o, run, output_padding](In x) -> Out {
                 return {run(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), o.stride, o.padding, output_padding, o.groups,
                             o.dilation)};
               },
               .sum = sum,
               .roundings = 2});
}

void one_and_three_dimensions(Cases& c) {
  const auto add = [&](const std::string& op, const std::string& name, Input x, Input weight, const Options& o,
                       int64_t sum, bool with_bias = true) {
    convolution(c, name, std::move(x), std::move(weight), o, sum, with_bias, op);
  };
  add("conv1d", "plain", normal({2, 3, 8}), normal({4, 3, 3}), {}, 16);
  add("conv1d", "all_options", normal({2, 4, 9}), normal({6, 2, 3}),
      {.stride = {2}, .padding = {3}, .dilation = {2}, .groups = 2}, 20);
  add("conv1d", "transposed_input", normal({2, 3, 6}).laid_out(MemoryLayout::transposed), normal({2, 3, 2}), {}, 12,
      false);
  add("conv1d", "unbatched", normal({3, 6}), normal({2, 3, 3}), {.padding = {1}}, 12);
  add("conv1d", "no_images", normal({0, 3, 6}), normal({2, 3, 3}), {}, 9);

  add("conv3d", "plain", normal({2, 2, 3, 4, 5}), normal({3, 2, 2, 2, 3}), {}, 40);
  add("conv3d", "all_options", normal({1, 4, 5, 3, 4}), normal({2, 2, 2, 2, 2}),
      {.stride = {2, 1, 3}, .padding = {1, 0, 2}, .dilation = {2, 1, 1}, .groups = 2}, 30);
  add("conv3d", "depthwise", normal({2, 2, 3, 3, 3}), normal({2, 1, 2, 2, 2}), {.padding = {1}, .groups = 2}, 130,
      false);
  add("conv3d", "one_by_one", normal({2, 3, 2, 2, 2}), normal({2, 3, 1, 1, 1}), {}, 16);
  add("conv3d", "unbatched", normal({2, 3, 3, 3}), normal({2, 2, 2, 2, 2}), {}, 16);
  add("conv3d", "no_images", normal({0, 2, 3, 3, 3}), normal({2, 2, 2, 2, 2}), {}, 16);
}

void transposed_convolutions(Cases& c) {
  const std::string one = "conv_transpose1d", two = "conv_transpose2d", three = "conv_transpose3d";
  transposed(c, one, "plain", normal({2, 3, 5}), normal({3, 4, 3}), {}, {0}, 14);
  transposed(c, one, "all_options", normal({2, 4, 4}), normal({4, 3, 3}),
             {.stride = {2}, .padding = {1}, .dilation = {2}, .groups = 2}, {1}, 24);
  transposed(c, one, "unbatched", normal({3, 4}), normal({3, 2, 2}), {.stride = {3}}, {0}, 12);
  transposed(c, one, "padded_beyond_the_stride", normal({2, 2, 3}), normal({2, 2, 3}), {.stride = {2}, .dilation = {4}},
             {3}, 32);

  transposed(c, two, "plain", normal({2, 3, 3, 4}), normal({3, 2, 3, 2}), {}, {0}, 60);
  transposed(c, two, "all_options", normal({1, 4, 3, 4}), normal({4, 1, 3, 2}),
             {.stride = {2, 3}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}, {1, 2}, 80);
  transposed(c, two, "no_bias", normal({2, 2, 3, 3}), normal({2, 3, 2, 2}), {.stride = {2}, .padding = {1}}, {1}, 18,
             false);
  transposed(c, two, "padded_beyond_the_stride", normal({1, 2, 2, 3}), normal({2, 2, 2, 2}), {.dilation = {3, 2}},
             {2, 1}, 60);
  transposed(c, two, "channels_last", normal({2, 3, 3, 4}).laid_out(MemoryLayout::channels_last),
             normal({3, 2, 2, 2}).laid_out(MemoryLayout::channels_last), {}, {0}, 40);
  transposed(c, two, "unbatched", normal({2, 3, 3}), normal({2, 2, 2, 2}), {}, {0}, 16);
  transposed(c, two, "no_images", normal({0, 2, 3, 3}), normal({2, 2, 2, 2}), {}, {0}, 16);

  transposed(c, three, "plain", normal({2, 2, 2, 3, 2}), normal({2, 3, 2, 2, 3}), {}, {0}, 80);
  transposed(c, three, "all_options", normal({1, 4, 2, 2, 3}), normal({4, 1, 2, 2, 2}),
             {.stride = {2, 1, 3}, .padding = {1, 0, 1}, .dilation = {1, 2, 1}, .groups = 2}, {1, 1, 0}, 100);
  transposed(c, three, "unbatched", normal({2, 2, 2, 2}), normal({2, 1, 2, 2, 2}), {}, {0}, 30);
}

void other_convolutions(Cases& c) {
  c.push_back(
      {.op = "convolution",
       .name = "by_rank",
       .torch = "(torch.convolution(a, b, c, [2], [1], [1], False, [0], 1), "
                "torch.convolution(d, e, None, [1, 2], [0], [1], True, [0, 1], 1))",
       .inputs = {normal({2, 2, 5}), normal({3, 2, 3}), normal({3}), normal({1, 2, 2, 3}), normal({2, 2, 2, 2})},
       .run = [](In x) -> Out {
         return {convolution(x[0], x[1], x[2], {2}, {1}, {1}, false, {0}, 1),
                 convolution(x[3], x[4], {}, {1, 2}, {0}, {1}, true, {0, 1}, 1)};
       },
       .sum = 36});
  c.push_back(
      {.op = "conv2d",
       .name = "padding_modes",
       .torch = "tuple(torch.func.functional_call(torch.nn.Conv2d(2, 3, (3, 2), padding=p, dilation=(1, 2), "
                "padding_mode=m), {'weight': b, 'bias': c}, (a,)) for p, m in (((1, 2), 'reflect'), "
                "('same', 'replicate'), ((0, 3), 'circular')))",
       .inputs = {normal({2, 2, 4, 5}), normal({3, 2, 3, 2}), normal({3})},
       .run = [](In x) -> Out {
         const auto conv = [&](const nn::ConvPadding<2>& padding, PadMode mode) {
           const auto options = nn::Conv2dOptions(2, 3, {3, 2}).padding(padding).dilation({1, 2}).padding_mode(mode);
           nn::Conv2d layer(options);
           layer->weight = x[1];
           layer->bias = x[2];
           return layer->forward(x[0]);
         };
         return {conv({1, 2}, kReflect), conv(kSame, kReplicate), conv({0, 3}, kCircular)};
       },
       .sum = 132});
  for (const int64_t pad : {0, 2}) {
    c.push_back({.op = "conv_tbc",
                 .name = "pad_" + std::to_string(pad),
                 .torch = "torch.conv_tbc(a, b, c, " + std::to_string(pad) + ")",
                 .inputs = {normal({5, 2, 3}), normal({3, 3, 4}), normal({4})},
                 .run = [pad](In x) -> Out { return {conv_tbc(x[0], x[1], x[2], pad)}; },
                 .sum = 18});
  }
  c.push_back(
      {.op = "conv_tbc",
       .name = "one_of_each",
       .torch = "(torch.conv_tbc(a, b, c), torch.conv_tbc(d, e, f))",
       .inputs = {normal({3, 1, 1}), normal({2, 1, 1}), normal({1}), normal({3, 0, 2}), normal({2, 2, 2}), normal({2})},
       .run = [](In x) -> Out {
         return {conv_tbc(x[0], x[1], x[2]), conv_tbc(x[3], x[4], x[5])};
       },
       .sum = 4});
}

void columns(Cases& c) {
  const auto add = [&](const std::string& name, Input image, Input blocks, std::vector<int64_t> output,
                       std::vector<int64_t> kernel, const Options& o, int64_t sum) {
    const std::string options = "kernel_size=" + tuple(kernel) + ", dilation=" + tuple(o.dilation) +
                                ", padding=" + tuple(o.padding) + ", stride=" + tuple(o.stride) + ")";
    c.push_back({.op = "im2col",
                 .name = name,
                 .torch = "F.unfold(a, " + options,
                 .inputs = {std::move(image)},
                 .run = [o, kernel](In x) -> Out { return {im2col(x[0], kernel, o.dilation, o.padding, o.stride)}; },
                 .sum = sum});
    c.push_back({.op = "col2im",
                 .name = name,
                 .torch = "F.fold(a, " + tuple(output) + ", " + options,
                 .inputs = {std::move(blocks)},
                 .run = [o, kernel, output](In x) -> Out {
                   return {col2im(x[0], output, kernel, o.dilation, o.padding, o.stride)};
                 },
                 .sum = sum});
  };
  add("plain", normal({2, 3, 4, 5}), normal({2, 18, 6}), {4, 4}, {2, 3}, {}, 6);
  add("all_options", normal({1, 2, 5, 6}), normal({1, 12, 16}), {5, 6}, {3, 2},
      {.stride = {2, 1}, .padding = {2, 0}, .dilation = {1, 2}}, 6);
  add("one_entry", normal({2, 1, 5, 5}), normal({2, 4, 9}), {5, 5}, {2}, {.stride = {2}, .padding = {1}}, 4);
  add("unbatched", normal({2, 3, 3}), normal({8, 4}), {3, 3}, {2}, {}, 4);
  add("channels_last", normal({2, 3, 3, 3}).laid_out(MemoryLayout::channels_last),
      normal({2, 8, 4}).laid_out(MemoryLayout::transposed), {3, 3}, {2}, {}, 4);
  add("no_images", normal({0, 2, 3, 3}), normal({0, 8, 4}), {3, 3}, {2}, {}, 4);
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
  convolution(c, "channels_last", normal({2, 3, 5, 5}).laid_out(MemoryLayout::channels_last),
              normal({4, 3, 3, 3}).laid_out(MemoryLayout::channels_last), {.padding = {1}}, 50);
  convolution(c, "channels_last_input", normal({2, 3, 5, 5}).laid_out(MemoryLayout::channels_last),
              normal({4, 3, 3, 3}), {.stride = {2}}, 28);
  convolution(c, "transposed_input", normal({2, 3, 5, 6}).laid_out(MemoryLayout::transposed), normal({4, 3, 3, 3}), {},
              28);
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
  with_relu("channels_last", normal({2, 3, 5, 5}).laid_out(MemoryLayout::channels_last),
            normal({4, 3, 3, 3}).laid_out(MemoryLayout::channels_last), {.padding = {1}}, 50);
  with_relu("unbatched", normal({3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);
  with_relu("no_images", normal({0, 3, 5, 5}), normal({4, 3, 3, 3}), {}, 28);

  one_and_three_dimensions(c);
  transposed_convolutions(c);
  other_convolutions(c);
  columns(c);
  return c;
}

}  // namespace tandem::testing
