// The tools that inspect autocast throw for bad input.
#include <limits>

#include "support/bad_input.h"
#include "tandem/amp/tools/check_numerics.h"
#include "tandem/amp/tools/compare_accuracy.h"
#include "tandem/amp/tools/explain.h"
#include "tandem/amp/tools/overflow_finder.h"
#include "tandem/amp/tools/train_log.h"
#include "tandem/nn/nn.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(SeeingErrors, CheckNumericsAndExplain) {
  const Tensor undefined, whole = zeros({2}, kInt);
  const std::function<void()> nothing;
  expect_refused({
      UNDEFINED("check_numerics", amp::check_numerics(undefined)),
      BAD_INPUT("check_numerics", amp::check_numerics(whole), DTypeError, "[2] i32", "floating"),
      BAD_INPUT("explain", amp::explain("nope", kFloat), StateError, "'nope'", "policy.h"),
      BAD_INPUT("explain", amp::explain(nothing), StateError, "empty", "pass the code"),
  });
  if (!cuda::is_available()) {
    EXPECT_THROW(amp::explain("linear", std::vector<DType>{kFloat}, Device(kCUDA)), DeviceError);
  }
}

TEST(SeeingErrors, OverflowFinderAndCompareAccuracy) {
  const std::function<void()> nothing, something = [] {};
  const nn::Linear a(2, 3), b(2, 4);
  const double inf = std::numeric_limits<double>::infinity();
  expect_refused({
      BAD_INPUT("allow", amp::OverflowFinder().allow(""), StateError, "empty", "\"where\""),
      BAD_INPUT("compare_accuracy", amp::compare_accuracy(nothing, something), StateError, "run_a", "empty"),
      BAD_INPUT("compare_accuracy", amp::compare_accuracy(something, nothing), StateError, "run_b", "empty"),
      BAD_INPUT("compare_accuracy", amp::compare_accuracy(something, something, {.loss_scale = 0}), StateError,
                "loss_scale = 0", "positive"),
      BAD_INPUT("compare_accuracy", amp::compare_accuracy(*a, *a, {.loss_scale = inf}), StateError, "loss_scale = inf",
                "positive"),
      BAD_INPUT("compare_accuracy", amp::compare_accuracy(*a, *b), ShapeError, "weight", "[3, 2] f32", "[4, 2] f32",
                "the same architecture"),
  });
}

TEST(SeeingErrors, CodeOfTheUserNamesItsErrors) {
  const std::function<void()> something = [] {}, wrong = [] { ones({3}).mm(ones({3})); };
  EXPECT_THROWS(amp::compare_accuracy(something, wrong), ShapeError, "mm: ");
}

TEST(SeeingErrors, TrainLog) {
  using amp::TrainLog;
  const std::string file = ::testing::TempDir() + "seeing_errors.csv";
  const auto log = [=](amp::TrainStep step) { TrainLog(file).step(step); };
  const Tensor loss = ones({}), two = ones({2}), whole = ones({}, kLong);
  const std::vector<std::string> none;
  expect_refused({
      BAD_INPUT("TrainLog", TrainLog("run.txt"), StateError, "'run.txt'", ".jsonl", ".csv"),
      BAD_INPUT("TrainLog", TrainLog("/nowhere/at/all/run.csv"), IoError, "/nowhere/at/all/run.csv", "folder"),
      BAD_INPUT("TrainLog", TrainLog(none), StateError, "no file", "give at least one"),
      BAD_INPUT("TrainLog", TrainLog(file, {.first_step = -1}), StateError, "first_step = -1", "at least 0"),
      BAD_INPUT("TrainLog", log({.loss = two}), ShapeError, "the loss is [2] f32", "mean()"),
      BAD_INPUT("TrainLog", log({.loss = whole}), DTypeError, "the loss", "i64"),
      BAD_INPUT("TrainLog", log({.loss = loss, .grad_norm = two}), ShapeError, "grad_norm is [2] f32"),
      BAD_INPUT("TrainLog", log({.loss = loss, .samples = -1}), StateError, "samples = -1", "at least 0"),
  });
}

}  // namespace
}  // namespace tandem::testing
