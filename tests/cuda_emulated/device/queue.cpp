#include "cuda_emulated/device/queue.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "cuda_emulated/device/arena.h"
#include "cuda_emulated/emulator.h"

namespace tandem::cuda::emulated {

struct Mark {
  const void* stream;
  bool passed = false;
};

namespace {

/// One of: work, a mark to be passed, or a mark of another stream to wait for.
struct Entry {
  std::function<void()> work;
  MarkPtr pass, wait;
};

std::map<const void*, std::deque<Entry>>& streams() {
  static auto& all = *new std::map<const void*, std::deque<Entry>>;
  return all;
}

Order order_asked_for() {
  const char* name = std::getenv("TANDEM_EMULATED_ORDER");
  return name && std::string_view(name) == "sides_first" ? Order::sides_first : Order::late;
}

bool trapped = false;
Order order_now = order_asked_for();

void run(const void* stream, const Mark* end);

void run_first(std::deque<Entry>& queue) {
  const Entry entry = std::move(queue.front());
  queue.pop_front();
  if (entry.wait && !entry.wait->passed) run(entry.wait->stream, entry.wait.get());
  if (entry.work) entry.work();
  if (entry.pass) entry.pass->passed = true;
}

/// Runs the stream's entries up to the mark `end`, or all if it is null.
void run(const void* stream, const Mark* end) {
  std::deque<Entry>& queue = streams()[stream];
  while (!queue.empty() && !(end && end->passed)) run_first(queue);
}

bool can_run(const std::deque<Entry>& queue) {
  return !queue.empty() && (!queue.front().wait || queue.front().wait->passed);
}

/// Runs all work of the other streams that does not wait for the default stream.
void run_sides() {
  for (bool some_ran = order_now == Order::sides_first; some_ran;) {
    some_ran = false;
    for (auto& [stream, queue] : streams()) {
      for (; stream && can_run(queue); some_ran = true) run_first(queue);
    }
  }
}

template <class Run>
bool unless_trapped(const Run& all) {
  if (trapped) return false;
  const OpenMemory open;
  try {
    all();
    run_sides();
  } catch (const Trap&) {
    trapped = true;
  }
  return !trapped;
}

}  // namespace

Order set_order(Order order) { return std::exchange(order_now, order); }

void enqueue(const void* stream, std::function<void()> work) {
  streams()[stream].push_back({std::move(work), {}, {}});
  if (stream && order_now == Order::sides_first) static_cast<void>(unless_trapped([] {}));
}

MarkPtr mark(const void* stream) {
  auto point = std::make_shared<Mark>(Mark{stream});
  std::deque<Entry>& queue = streams()[stream];
  point->passed = queue.empty();
  if (!point->passed) queue.push_back({{}, point, {}});
  return point;
}

void wait_for(const void* stream, const MarkPtr& point) {
  if (!point->passed) streams()[stream].push_back({{}, {}, point});
}

bool run_until(const MarkPtr& point) {
  return unless_trapped([&] {
    if (!point->passed) run(point->stream, point.get());
  });
}

bool run_stream(const void* stream) {
  return unless_trapped([&] { run(stream, nullptr); });
}

bool run_everything() {
  return unless_trapped([] {
    for (const auto& [stream, queue] : streams()) run(stream, nullptr);
  });
}

void revive() {
  streams().clear();
  trapped = false;
}

}  // namespace tandem::cuda::emulated
