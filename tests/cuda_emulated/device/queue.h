#pragma once
// The emulated devices' streams: queues of work, each with its own order, and events between them. A GPU may run them
// in many orders. Two worst cases are emulated: all work as late as possible, or the default streams late and the
// others early. So a missing wait, or memory that is freed and reused without ordering the streams, gives wrong values
// in every run.
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "cuda_emulated/device/arena.h"

namespace tandem::cuda::emulated {

enum class Order {
  late,         ///< work runs only when something waits for it
  sides_first,  ///< the default streams likewise; other streams run as soon as the work they wait for has run
};
/// Sets the order and returns the previous one. The initial order is named by TANDEM_EMULATED_ORDER; by default `late`.
/// If it is sides_first, multiply-adds are not fused either.
Order set_order(Order order);

/// Work, and the devices whose memory it may access.
struct Work {
  DeviceSet devices = 0;
  std::function<void()> run;

  void operator()() const {
    open_only(devices);
    run();
  }
};

class Queue;
/// A point in a stream's order.
struct Mark;
using MarkPtr = std::shared_ptr<Mark>;

/// Work that several streams do together, such as a collective. It runs once, when all of them have reached it.
struct Meeting {
  size_t missing = 0;           ///< streams that have not joined it; other threads may let them join later
  std::vector<MarkPtr> before;  ///< the points that the streams must have reached
  std::set<const Queue*> gone;  ///< streams that go on without it
  DeviceSet devices = 0;        ///< whose memory the work may access
  std::function<bool()> run;    ///< returns false if the streams can never do it together
  bool ended = false, stuck = false;
};
using MeetingPtr = std::shared_ptr<Meeting>;

/// Thrown where a stream has reached a meeting that cannot run yet; then it stays in its place.
struct NotMet {};

/// A stream. Never destroyed.
class Queue {
 public:
  Queue(int device, bool is_default);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const int device;
  const bool is_default;

  void append(Work work);
  MarkPtr mark();
  /// Makes all later work of this stream run after `point`.
  void wait_for(const MarkPtr& point);
  void join(const MeetingPtr& meeting);

  /// One of: work, a mark to be passed, a mark of another stream to wait for, or a meeting.
  struct Entry {
    Work work = {};
    MarkPtr pass = {}, wait = {};
    MeetingPtr meeting = {};
  };
  std::deque<Entry> entries;
};

/// Run the work up to `point`, of a whole stream, or of all of a device's streams. Return false if a kernel has
/// trapped, now or earlier; then no more work runs. Throw NotMet.
[[nodiscard]] bool run_until(const MarkPtr& point);
[[nodiscard]] bool run_stream(Queue& stream);
[[nodiscard]] bool run_everything(int device);

/// Clears the error state after a trap; queued work is dropped.
void revive();

}  // namespace tandem::cuda::emulated
