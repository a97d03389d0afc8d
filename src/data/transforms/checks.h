#pragma once
// Checks of the arguments of image transforms. They throw StateError in the name of the running op.
#include <array>

#include "tandem/base/shape.h"

namespace tandem::data::transforms {

void check_probability(double p);
/// Checks 0 < low <= high, or 0 <= low with `zero_is_valid`.
void check_range(const char* which, const std::array<double, 2>& range, bool zero_is_valid = false);
/// Returns {height, width}; one number stands for both.
std::array<int64_t, 2> height_and_width(IntArrayRef size);

/// A rectangle of an image.
struct Box {
  int64_t top, left, height, width;
};
/// Draws the position of a rectangle that may be moved by up to `room` elements.
int64_t random_place(int64_t room);

}  // namespace tandem::data::transforms
