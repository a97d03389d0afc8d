// Streams and events: the checks that all accelerators share.
#include "tandem/tensor/stream.h"

#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/current_capture.h"

namespace tandem {
namespace {

void check_may_wait() {
  check_not_capturing("waiting for the device is impossible", "do it before the capture or after a replay");
}

void check_may_query() {
  check_not_capturing("querying the device's progress is impossible", "do it before the capture or after a replay");
}

}  // namespace

// ---- streams

Stream::Stream(Device device) : Stream(accelerator().default_stream(device)) {}

void Stream::synchronize() const {
  const OpScope op("Stream::synchronize");
  check_may_wait();
  accelerator().synchronize_stream(*this);
}

bool Stream::query() const {
  const OpScope op("Stream::query");
  check_may_query();
  return accelerator().query_stream(*this);
}

void Stream::wait_event(const Event& event) const {
  if (event.handle()) accelerator().wait_event(*this, event.handle());
}

void Stream::wait_stream(const Stream& other) const {
  Event event;
  event.record(other);
  wait_event(event);
}

Stream current_stream(Device device) { return accelerator().current_stream(device); }
void set_current_stream(const Stream& stream) { accelerator().exchange_stream(stream); }
Stream stream_from_pool(Device device, bool high_priority) {
  return accelerator().stream_from_pool(device, high_priority);
}

StreamGuard::StreamGuard(const Stream& stream)
    : previous_device_(accelerator().exchange_device(stream.device().index())),
      previous_(accelerator().exchange_stream(stream)) {}

StreamGuard::~StreamGuard() {
  accelerator().exchange_stream(previous_);
  accelerator().restore_device(previous_device_);
}

// ---- events

Event::~Event() {
  if (handle_) accelerator().destroy_event(handle_);
}

void Event::record(const Stream& stream) {
  if (!handle_) handle_ = accelerator().create_event(stream.device(), timing_);
  accelerator().record_event(handle_, stream);
}

bool Event::query() const {
  const OpScope op("Event::query");
  if (!handle_) return true;
  check_may_query();
  return accelerator().query_event(handle_);
}

void Event::synchronize() const {
  const OpScope op("Event::synchronize");
  check_may_wait();
  if (handle_) accelerator().synchronize_event(handle_);
}

float Event::elapsed_time(const Event& end) const {
  const OpScope op("elapsed_time");
  TANDEM_CHECK(timing_ && end.timing_ && handle_ && end.handle_, StateError,
               "both events must be created with enable_timing = true and recorded");
  return accelerator().elapsed_time(handle_, end.handle_);
}

}  // namespace tandem
