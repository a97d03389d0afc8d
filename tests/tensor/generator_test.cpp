// Drawing from an explicit generator.
#include <functional>
#include <numeric>
#include <vector>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/base/error.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using Draw = std::function<Tensor(std::optional<Generator>)>;
const std::vector<std::pair<const char*, Draw>> draws = {
    {"uniform_",
     [](auto g) {
       return empty({5, 3}).uniform_(-1, 2, g);
     }},
    {"normal_",
     [](auto g) {
       return empty({5, 3}, kDouble).normal_(1, 3, g);
     }},
    {"bernoulli_", [](auto g) { return empty({50}).bernoulli_(0.3, g); }},
    {"random_", [](auto g) { return empty({50}, kLong).random_(-5, 100, g); }},
    {"rand", [](auto g) { return rand({7}, g); }},
    {"rand of f64", [](auto g) { return rand({7}, g, kDouble); }},
    {"randn", [](auto g) { return randn({7}, g); }},
    {"randint", [](auto g) { return randint(3, 90, {20}, g); }},
    {"randint from 0", [](auto g) { return randint(90, {20}, g, kInt); }},
    {"randperm", [](auto g) { return randperm(30, g); }},
};

TEST(OwnGenerator, RepeatsTheNumbersOfItsSeed) {
  for (const auto& [name, draw] : draws) {
    manual_seed(11);
    const Tensor expected = draw(std::nullopt);
    const uint64_t moved = default_generator().get_state().offset;

    manual_seed(99);
    Generator own(11);
    const Tensor first = draw(own), second = draw(own);
    EXPECT_TRUE(same_bits(first, expected)) << name;
    EXPECT_EQ(own.get_state().offset, 2 * moved) << name << ": own generator advances";
    EXPECT_NE(values_of(first), values_of(second)) << name;
    EXPECT_EQ(default_generator().get_state().offset, 0U) << name << ": default generator does not advance";

    own.set_current_seed(11);
    EXPECT_TRUE(same_bits(draw(own), expected)) << name;
  }
}

TEST(OwnGenerator, CopiesAndMovesShareTheState) {
  Generator a(3);
  Generator b = std::move(a);
  const Tensor x = rand({4}, a), y = rand({4}, b);
  EXPECT_EQ(a.get_state().offset, 2U);
  EXPECT_EQ(b.get_state().offset, 2U);
  EXPECT_NE(values_of(x), values_of(y));
}

TEST(OwnGenerator, RefusedInputDrawsNothing) {
  Generator g(1);
  EXPECT_THROWS(empty({2}).uniform_(2, 1, g), StateError, "uniform_: ", "from = 2", "to = 1", "swap");
  EXPECT_THROWS(empty({2}).normal_(0, -1, g), StateError, "normal_: ", "std = -1", "at least 0");
  EXPECT_THROWS(empty({2}).bernoulli_(2, g), StateError, "bernoulli_: ", "p = 2", "[0, 1]");
  EXPECT_THROWS(empty({2}, kLong).random_(4, 4, g), StateError, "random_: ", "low = 4", "high = 4");
  EXPECT_THROWS(rand({2}, g, kLong), DTypeError, "rand: ", "i64", ".to(kFloat)");
  EXPECT_THROWS(randn({-2}, g), ShapeError, "randn: ", "[-2]", "at least 0");
  EXPECT_THROWS(randint(0, {2}, g), StateError, "randint: ", "low = 0", "high = 0");
  EXPECT_THROWS(randperm(-1, g), StateError, "randperm: ", "n = -1", "at least 0");
  EXPECT_EQ(g.get_state().offset, 0U);
}

}  // namespace
}  // namespace tandem::testing
