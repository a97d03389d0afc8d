// Profiler against OpStats and against the program it observes. No test judges a time, only how times relate.
#include "tandem/amp/tools/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/thread_context.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::device_type;
using ::testing::HasSubstr;
using ::testing::Not;

amp::ProfiledOp find(const amp::Profiler& profiler, const std::string& op, bool backward = false) {
  for (const amp::ProfiledOp& p : profiler.ops()) {
    if (p.op == op && p.backward == backward) return p;
  }
  return {};
}

struct ProfilerTest : ::testing::Test {
  Tensor x = full({16, 8}, 0.5), w = full({4, 8}, 0.25).requires_grad_();

  void step() const {
    Tensor loss;
    {
      const amp::AutocastGuard autocast(device_type(), kHalf);
      loss = relu(linear(x, w)).sum();
    }
    loss.backward();
  }
};

TEST_F(ProfilerTest, CountsWhatOpStatsCounts) {
  const amp::Profiler profiler;
  const amp::OpStats stats;
  step();
  step();
  int64_t calls = 0, casts = 0, cast_bytes = 0;
  for (const amp::OpCount& c : stats.counts()) {
    int64_t found = 0;
    for (const amp::ProfiledOp& p : profiler.ops()) {
      if (p.op == c.op && p.dtype == c.dtype) found = std::max(found, p.calls);
    }
    EXPECT_GE(found, c.calls - c.backward_calls) << c.op;
    calls += c.calls - c.backward_calls;
    casts += c.casts;
    cast_bytes += c.cast_bytes;
  }
  for (const amp::ProfiledOp& p : profiler.ops()) {
    if (!p.backward) calls -= p.calls;
    casts -= p.casts;
    cast_bytes -= p.cast_bytes;
  }
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(casts, 0);
  EXPECT_EQ(cast_bytes, 0);
}

TEST_F(ProfilerTest, BytesAreThoseOfInputsAndResults) {
  const amp::Profiler profiler;
  step();
  EXPECT_EQ(find(profiler, "linear").dtype, kHalf);
  EXPECT_EQ(find(profiler, "linear").bytes, 2 * (16 * 8 + 4 * 8 + 16 * 4));
  EXPECT_EQ(find(profiler, "linear").casts, 2);
  EXPECT_EQ(find(profiler, "relu").bytes, 2 * (16 * 4 + 16 * 4));
  EXPECT_EQ(find(profiler, "linear", true).calls, 1);
}

TEST_F(ProfilerTest, TimesAddUp) {
  const amp::Profiler profiler;
  step();
  double sum = 0;
  for (const amp::ProfiledOp& p : profiler.ops()) {
    EXPECT_GE(p.ms, 0) << p.op;
    EXPECT_GE(p.cast_ms, 0) << p.op;
    sum += p.ms + p.cast_ms;
  }
  EXPECT_GT(sum, 0);
  if (device_type() == kCPU) {
    EXPECT_LE(sum, profiler.total_ms());
  }
}

TEST_F(ProfilerTest, ScopesExcludeTheOpsInside) {
  amp::Profiler profiler;
  {
    const auto scope = profiler.scope("pause");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    relu(x);
  }
  const amp::ProfiledOp pause = find(profiler, "pause"), op = find(profiler, "relu");
  EXPECT_EQ(pause.calls, 1);
  EXPECT_EQ(op.calls, 1);
  EXPECT_GE(pause.ms, 2);
  EXPECT_LE(pause.ms + op.ms, profiler.total_ms() + (device_type() == kCPU ? 0 : op.ms));
}

TEST_F(ProfilerTest, AnOpThatThrowsLeavesTheOthers) {
  amp::Profiler profiler;
  {
    const auto scope = profiler.scope("outer");
    EXPECT_THROW(linear(x, ones({3, 3})), Error);
    relu(x);
  }
  EXPECT_EQ(find(profiler, "linear").calls, 0);
  EXPECT_EQ(find(profiler, "relu").calls, 1);
  EXPECT_EQ(find(profiler, "outer").calls, 1);
}

TEST_F(ProfilerTest, ResetForgetsCallsAlsoInsideAScope) {
  amp::Profiler profiler;
  {
    const auto scope = profiler.scope("outer");
    step();
    profiler.reset();
    relu(x);
  }
  EXPECT_EQ(profiler.ops().size(), 1u);
  EXPECT_EQ(find(profiler, "relu").calls, 1);
}

TEST_F(ProfilerTest, ObservesThreadsWithItsModes) {
  const amp::Profiler profiler;
  const ThreadContext context = ThreadContext::capture();
  std::thread([&] {
    const ThreadContextGuard modes(context);
    relu(x);
  }).join();
  EXPECT_EQ(find(profiler, "relu").calls, 1);
}

TEST_F(ProfilerTest, TableNamesOpsAndTheRest) {
  std::ostringstream printed;
  {
    const amp::Profiler profiler(&printed);
    step();
  }
  EXPECT_THAT(printed.str(), HasSubstr("linear"));
  EXPECT_THAT(printed.str(), HasSubstr("backward"));
  EXPECT_THAT(printed.str(), HasSubstr("outside ops"));
}

TEST_F(ProfilerTest, ChromeTraceHoldsEveryCall) {
  amp::Profiler profiler;
  {
    const auto scope = profiler.scope("a \"step\"");
    step();
  }
  const std::string file = ::testing::TempDir() + "profiler_trace.json";
  profiler.write_chrome_trace(file);
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  int64_t calls = 0, casts = 0;
  for (const amp::ProfiledOp& p : profiler.ops()) {
    calls += p.calls;
    casts += p.casts;
  }
  int64_t events = 0, cast_tensors = 0;
  for (const auto& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("dur").get<double>(), 0);
    const std::string name = event.at("name");
    if (name.starts_with("casts for ")) {
      cast_tensors += event.at("args").at("tensors").get<int64_t>();
    } else {
      ++events;
    }
  }
  EXPECT_EQ(events, calls);
  EXPECT_EQ(cast_tensors, casts);
  EXPECT_THROWS(profiler.write_chrome_trace("/no/such/folder/trace.json"), IoError, "write_chrome_trace: /no/such",
                "check its folder");
  EXPECT_THROWS(profiler.write_chrome_trace(file + std::string(1, '\0')), IoError, "NUL byte");
}

}  // namespace
}  // namespace tandem
