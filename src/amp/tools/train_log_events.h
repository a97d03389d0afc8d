#pragma once
// The event files of TrainLog. Internal.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/events.h"
#include "src/io/record_file.h"

namespace tandem::amp {

/// Returns whether a file name is that of an event file.
bool is_event_log(std::string_view path);

/// An event file with the fields of each step as scalars. train_log.h documents the tags.
class EventLog {
 public:
  /// Creates missing folders. Replaces an existing file unless `append`.
  EventLog(const std::string& path, bool append);

  /// The last value of "seconds" in the file that was appended to, or 0.
  double last_seconds() const { return last_seconds_; }
  /// Throws StateError for a field whose tag is not valid or is that of another field.
  static void check(const std::vector<std::string>& fields);
  void write(double wall_time, int64_t step, io::TaggedNumbers fields);

 private:
  io::RecordFile file_;
  double last_seconds_ = 0;
};

}  // namespace tandem::amp
