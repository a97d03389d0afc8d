#pragma once
// The emulated device's streams: queues of work, each in its own order, and events between them. Of the orders that a
// GPU may run them in, two that are worst: all as late as possible, or the default stream late and the others early. So
// what is read without a wait, or freed and reused without an order between streams, shows as wrong values in every
// run.
#include <functional>
#include <memory>

namespace tandem::cuda::emulated {

enum class Order {
  late,         ///< work runs when somebody waits for it, and then only what they wait for
  sides_first,  ///< likewise on the default stream; on others as soon as what they wait for has run
};
/// Returns the order before. At first it is what TANDEM_EMULATED_ORDER names, else late.
Order set_order(Order order);

/// Gives a stream work to do after all that it has.
void enqueue(const void* stream, std::function<void()> work);

/// A point in a stream's order.
struct Mark;
using MarkPtr = std::shared_ptr<Mark>;
MarkPtr mark(const void* stream);
/// What the stream is given from now on runs after `point`.
void wait_for(const void* stream, const MarkPtr& point);

/// Runs what is needed until `point`, all of a stream, or everything. Returns false when a kernel has trapped, now or
/// before: then nothing runs any more.
[[nodiscard]] bool run_until(const MarkPtr& point);
[[nodiscard]] bool run_stream(const void* stream);
[[nodiscard]] bool run_everything();

/// Ends the state in which a trap leaves the device; what was queued is dropped.
void revive();

}  // namespace tandem::cuda::emulated
