#pragma once
// The data of the Fashion-MNIST examples.
#include <string>

#include <tandem/tandem.h>

namespace mnist {

/// Batches of normalised images, [n, 1, 28, 28] f32, from the IDX files in `folder`.
inline auto open_data(const std::string& folder, tandem::data::datasets::MNIST::Mode mode) {
  using namespace tandem::data;
  return datasets::MNIST(folder, mode)
      .map(transforms::Normalize<>(0.2860, 0.3530))  // mean and deviation of Fashion-MNIST's pixels
      .map(transforms::Stack<>());
}

}  // namespace mnist
