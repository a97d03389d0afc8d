#pragma once
// The emulated device's streams: queues of work, each with its own order, and events between them. A GPU may run them
// in many orders. Two worst cases are emulated: all work as late as possible, or the default stream late and the others
// early. So a missing wait, or memory that is freed and reused without ordering the streams, gives wrong values in
// every run.
#include <functional>
#include <memory>

namespace tandem::cuda::emulated {

enum class Order {
  late,         ///< work runs only when something waits for it
  sides_first,  ///< the default stream likewise; other streams run as soon as the work they wait for has run
};
/// Sets the order and returns the previous one. The initial order is named by TANDEM_EMULATED_ORDER; by default `late`.
Order set_order(Order order);

/// Appends work to a stream.
void enqueue(const void* stream, std::function<void()> work);

/// A point in a stream's order.
struct Mark;
using MarkPtr = std::shared_ptr<Mark>;
MarkPtr mark(const void* stream);
/// Makes all later work of the stream run after `point`.
void wait_for(const void* stream, const MarkPtr& point);

/// Run the work up to `point`, of a whole stream, or of all streams. Return false if a kernel has trapped, now or
/// earlier; then no more work runs.
[[nodiscard]] bool run_until(const MarkPtr& point);
[[nodiscard]] bool run_stream(const void* stream);
[[nodiscard]] bool run_everything();

/// Clears the error state after a trap; queued work is dropped.
void revive();

}  // namespace tandem::cuda::emulated
