#include "src/amp/tools/train_log_events.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "src/amp/tools/text.h"
#include "tandem/base/check.h"

namespace tandem::amp {
namespace {

std::string tag_of(const std::string& field) {
  if (field.find('/') != field.npos) return field;
  return (field == "scale" || field == "skipped" ? "amp/" : "train/") + field;
}

/// Creates the folder of the file. Returns the path.
const std::string& with_folder(const std::string& path) {
  io::events();  // throws before a folder is created
  const std::string folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) io::create_folder(folder);
  return path;
}

}  // namespace

bool is_event_log(std::string_view path) { return path.ends_with(".tfevents"); }

EventLog::EventLog(const std::string& path, bool append)
    : file_(with_folder(path), (append ? O_RDWR : O_WRONLY) | O_APPEND | O_CREAT) {
  if (append) {
    file_.for_each([&](const std::string& event) {
      const std::optional<double> seconds = io::events().scalar_of(event, tag_of("seconds"));
      if (seconds && std::isfinite(*seconds)) last_seconds_ = *seconds;
    });
  } else {
    file_.truncate(0);
  }
  if (file_.empty()) file_.append(io::events().version(io::wall_time_now()));
}

void EventLog::check(const std::vector<std::string>& fields) {
  std::set<std::string> tags;
  for (const std::string& field : fields) {
    const std::string tag = tag_of(field);
    io::check_tag(tag);
    TANDEM_CHECK(tags.insert(tag).second, StateError,
                 "two fields of a step have the tag '{}' in an event file, one of them {}; use another name", tag,
                 text::json(field));
  }
}

void EventLog::write(double wall_time, int64_t step, io::TaggedNumbers fields) {
  for (auto& [name, value] : fields) name = tag_of(name);
  file_.append(io::events().scalars(wall_time, step, fields));
}

}  // namespace tandem::amp
