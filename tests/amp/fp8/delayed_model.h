#pragma once
// A plain model of delayed scaling, written from TransformerEngine's documentation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/amp/fp8/recipe.h"

namespace tandem::testing {

/// One row of a state of delayed scaling: the scale and history of one tensor.
struct DelayedModel {
  DelayedModel(const amp::DelayedScaling& r, DType t)
      : recipe(r), dtype(t), history(static_cast<size_t>(r.amax_history_len()), 0.0f) {}

  void note(float magnitude) {
    if (std::isnan(magnitude) || magnitude > history[0]) history[0] = magnitude;
  }
  /// The scale with which numbers up to `magnitude` are rounded. Not in TransformerEngine, where it is always `scale`.
  float scale_for(float magnitude) const {
    if (magnitude == 0 || !std::isfinite(magnitude)) return scale;
    const float largest = static_cast<float>(amp::fp8_max(dtype)), most = magnitude * scale;
    if (most >= largest / 256 && most <= largest + largest / 32) return scale;
    return std::min(largest / magnitude, std::numeric_limits<float>::max());
  }
  void update() {
    float amax = history[0];
    if (recipe.amax_compute_algo() == amp::Fp8AmaxAlgorithm::max) {
      for (const float h : history) amax = std::isnan(h) || h > amax ? h : amax;
    }
    if (amax > 0 && std::isfinite(amax)) {
      const float next =
          static_cast<float>(amp::fp8_max(dtype)) / amax / std::pow(2.0f, static_cast<float>(recipe.margin()));
      scale = std::isinf(next) ? std::numeric_limits<float>::max() : next;
    }
    if (!std::isfinite(history[0])) history[0] = 0;  // not in TransformerEngine, where it keeps the scale for long
    std::rotate(history.begin(), history.begin() + 1, history.end());
    history[0] = 0;
  }
  std::vector<float> state() const {
    std::vector<float> all{scale};
    all.insert(all.end(), history.begin(), history.end());
    return all;
  }

  amp::DelayedScaling recipe;
  DType dtype;
  float scale = 1;
  std::vector<float> history;
};

}  // namespace tandem::testing
