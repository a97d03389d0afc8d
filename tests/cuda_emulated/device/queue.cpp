#include "cuda_emulated/device/queue.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda_emulated/emulator.h"

namespace tandem::cuda::emulated {

struct Mark {
  Queue* stream;
  bool passed = false;
};

namespace {

/// All streams, the oldest first.
std::vector<Queue*>& streams() {
  static auto& all = *new std::vector<Queue*>;
  return all;
}

/// The two ways of each choice vary together, so that tests need to run only twice.
Order initial_order() {
  const char* name = std::getenv("TANDEM_EMULATED_ORDER");
  const bool sides_first = name && std::string_view(name) == "sides_first";
  fuse_multiply_adds(!sides_first);
  return sides_first ? Order::sides_first : Order::late;
}

bool trapped = false;
Order order_now = initial_order();

void run(Queue& stream, const Mark* end);

void reach(const MarkPtr& point) {
  if (!point->passed) run(*point->stream, point.get());
}

bool has_passed(const MarkPtr& point) { return point->passed; }

void meet(Meeting& meeting, const Queue& stream) {
  if (meeting.ended || meeting.gone.contains(&stream)) return;
  if (meeting.missing > 0 || meeting.stuck) throw NotMet();
  for (const MarkPtr& point : meeting.before) reach(point);
  if (meeting.ended) return;
  open_only(meeting.devices);
  meeting.stuck = !meeting.run();
  if (meeting.stuck) throw NotMet();
  meeting.ended = true;
}

/// Leaves the entry in its place until it has run, because it may be impossible now.
void run_first(Queue& stream) {
  const Queue::Entry entry = stream.entries.front();
  if (entry.wait) reach(entry.wait);
  if (entry.meeting) meet(*entry.meeting, stream);
  if (entry.work.run) entry.work();
  if (entry.pass) entry.pass->passed = true;
  stream.entries.pop_front();
}

/// Runs the stream's entries up to the mark `end`, or all if it is null.
void run(Queue& stream, const Mark* end) {
  while (!stream.entries.empty() && !(end && end->passed)) run_first(stream);
}

/// True if the stream's first entry waits for no other stream.
bool can_run(const Queue& stream) {
  if (stream.entries.empty()) return false;
  const Queue::Entry& first = stream.entries.front();
  if (first.wait) return first.wait->passed;
  if (!first.meeting) return true;
  const Meeting& m = *first.meeting;
  return m.ended || m.gone.contains(&stream) ||
         (m.missing == 0 && !m.stuck && std::all_of(m.before.begin(), m.before.end(), has_passed));
}

/// Runs all work of the other streams that does not wait for a default stream.
void run_sides() {
  for (bool some_ran = order_now == Order::sides_first; some_ran;) {
    some_ran = false;
    for (Queue* stream : streams()) {
      for (; !stream->is_default && can_run(*stream); some_ran = true) run_first(*stream);
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

Queue::Queue(int device, bool is_default) : device(device), is_default(is_default) { streams().push_back(this); }

void Queue::append(Work work) {
  entries.push_back({.work = std::move(work)});
  if (!is_default && order_now == Order::sides_first) static_cast<void>(unless_trapped([] {}));
}

MarkPtr Queue::mark() {
  auto point = std::make_shared<Mark>(Mark{this});
  point->passed = entries.empty();
  if (!point->passed) entries.push_back({.pass = point});
  return point;
}

void Queue::wait_for(const MarkPtr& point) {
  if (!point->passed) entries.push_back({.wait = point});
}

void Queue::join(const MeetingPtr& meeting) {
  meeting->before.push_back(mark());
  --meeting->missing;
  entries.push_back({.meeting = meeting});
}

bool run_until(const MarkPtr& point) {
  return unless_trapped([&] { reach(point); });
}

bool run_stream(Queue& stream) {
  return unless_trapped([&] { run(stream, nullptr); });
}

bool run_everything(int device) {
  return unless_trapped([&] {
    for (Queue* stream : streams()) {
      if (stream->device == device) run(*stream, nullptr);
    }
  });
}

void revive() {
  for (Queue* stream : streams()) stream->entries.clear();
  trapped = false;
}

}  // namespace tandem::cuda::emulated
