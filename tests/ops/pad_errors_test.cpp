// Padding rejects lists that do not fit, and values of other modes.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using Pad = Tensor (*)(const Tensor&, IntArrayRef);
struct PadOp {
  const char* name;
  Pad run;
  int64_t dims;
};
constexpr PadOp reflections[] = {{"reflection_pad1d", reflection_pad1d, 1},
                                 {"reflection_pad2d", reflection_pad2d, 2},
                                 {"reflection_pad3d", reflection_pad3d, 3}};
constexpr PadOp replications[] = {{"replication_pad1d", replication_pad1d, 1},
                                  {"replication_pad2d", replication_pad2d, 2},
                                  {"replication_pad3d", replication_pad3d, 3}};

/// What both kinds refuse.
void add_rows(BadInputs& rows, const PadOp& op) {
  const Tensor none, flat = ones({3}), x = ones(std::vector<int64_t>(static_cast<size_t>(op.dims) + 1, 3));
  const Tensor empty_image = zeros(std::vector<int64_t>(static_cast<size_t>(op.dims) + 1, 0));
  const std::vector<int64_t> one(static_cast<size_t>(2 * op.dims), 1), cut(static_cast<size_t>(2 * op.dims), -2);
  rows.push_back(UNDEFINED(op.name, op.run(none, one)));
  rows.push_back(BAD_INPUT(op.name, op.run(x, {1}), ShapeError, "pad is [1]", "two for each dimension"));
  rows.push_back(BAD_INPUT(op.name, op.run(flat, one), ShapeError, "x is [3] f32", "rank"));
  rows.push_back(BAD_INPUT(op.name, op.run(empty_image, one), ShapeError, "only the batch may be empty"));
  rows.push_back(BAD_INPUT(op.name, op.run(x, cut), ShapeError, "-2 and -2", "size -1", "remove fewer"));
}

}  // namespace

BadInputs pad_bad_input() {
  const Tensor none, x = ones({2, 3}), cube = ones({1, 2, 3});
  BadInputs rows = {
      UNDEFINED("constant_pad_nd", constant_pad_nd(none, {1, 1})),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {1}), ShapeError, "pad is [1]", "[2, 3] f32", "two numbers"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {1, 1, 1, 1, 1, 1}), ShapeError, "pad is", "[2, 3] f32"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {-2, -2}), ShapeError, "-2 and -2", "dimension 1", "[2, 3]"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {INT64_MAX, 1}), ShapeError, "over 2^63"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {-4, 5}), ShapeError, "-4 and 5", "dimension 1", "[2, 3]"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {INT64_MAX, INT64_MIN}), ShapeError, "remove more"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(x, {int64_t{1} << 40, 0, int64_t{1} << 40, 0}), ShapeError,
                "[1099511627778, 1099511627779]", "more elements"),
      BAD_INPUT("constant_pad_nd", constant_pad_nd(ones({2}, kByte), {1, 1}, 256), StateError, "256", "u8"),
      UNDEFINED("pad", pad(none, {1, 1})),
      BAD_INPUT("pad", pad(x, {1}), ShapeError, "pad is [1]", "[2, 3] f32"),
      BAD_INPUT("pad", pad(x, {1, 1}, "mirror"), StateError, "\"mirror\"", "\"reflect\"", "\"circular\""),
      BAD_INPUT("pad", pad(x, {1, 1}, "reflect", 2), StateError, "value = 2", "\"constant\""),
      BAD_INPUT("pad", pad(x, {1, 1, 1}, PadMode::Replicate), ShapeError, "[1, 1, 1]", "2, 4 or 6"),
      BAD_INPUT("pad", pad(cube, {3, 0}, "reflect"), ShapeError, "pad 3", "dimension 2", "[1, 2, 3]", "at most 2"),
      UNDEFINED("pad_circular", pad_circular(none, {1, 1})),
      BAD_INPUT("pad_circular", pad_circular(x, {1}), ShapeError, "pad is [1]", "2, 4 or 6"),
      BAD_INPUT("pad_circular", pad_circular(x, {4, 0}), ShapeError, "pad 4", "dimension 1", "[2, 3]", "at most 3"),
      BAD_INPUT("pad_circular", pad_circular(x, {3, -1}), ShapeError, "pad 3", "dimension 1", "[2, 2]", "at most 2"),
      BAD_INPUT("pad_circular", pad_circular(ones({3}), {1, 1}), ShapeError, "x is [3] f32", "rank 2 or 3"),
      BAD_INPUT("pad_circular", pad_circular(x, {-2, -2}), ShapeError, "-2 and -2", "size -1"),
  };
  for (const PadOp& op : reflections) {
    add_rows(rows, op);
    const Tensor small = ones(std::vector<int64_t>(static_cast<size_t>(op.dims) + 1, 3));
    const std::vector<int64_t> wide(static_cast<size_t>(2 * op.dims), 3);
    rows.push_back(BAD_INPUT(op.name, op.run(small, wide), ShapeError, "pad 3", "too large", "at most 2"));
  }
  for (const PadOp& op : replications) add_rows(rows, op);
  return rows;
}

TEST(PadErrors, BadInputIsRefused) { expect_refused(pad_bad_input()); }

}  // namespace tandem::testing
