#pragma once
// Everything that the choice of a convolution engine depends on. Plain numbers, for PlanCache.
#include <cstdint>
#include <string>

#include "kernels/cuda/conv_plan.h"

namespace tandem::cuda {

struct ConvKey {
  int64_t x_sizes[5] = {}, w_sizes[5] = {}, y_sizes[5] = {};
  int64_t padding[3] = {}, stride[3] = {}, dilation[3] = {};
  int32_t device = 0;
  uint16_t align_x = 0, align_w = 0, align_y = 0, align_bias = 0;  ///< bytes
  ConvDirection direction = ConvDirection::forward;
  DType x = kFloat, w = kFloat, y = kFloat, bias = kFloat;
  bool has_bias = false;
  bool channels_last = false;
  bool fallback = false;
  bool tf32 = false, deterministic = false;
  uint8_t dims = 2;    ///< 2 or 3, the number of entries of padding, stride and dilation; sizes have two more
  uint8_t unused = 0;  ///< fills what would be a padding byte

  friend bool operator==(const ConvKey&, const ConvKey&) = default;
};

/// For messages.
std::string to_string(const ConvKey& key);

}  // namespace tandem::cuda
