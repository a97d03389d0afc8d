#include "src/io/events.h"

#include <chrono>

#include "src/io/utf8.h"
#include "tandem/base/check.h"

namespace tandem::io {

void check_tag(const std::string& tag) {
  TANDEM_CHECK(!tag.empty(), StateError, "a tag is empty; give each value a tag, such as \"train/loss\"");
  TANDEM_CHECK(is_utf8(tag), StateError, "a tag is not UTF-8; TensorBoard could not read the file, so convert it");
}

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const EventFormat* event_format = nullptr;

const EventFormat& events() {
  TANDEM_CHECK(event_format, NotImplementedError,
               "event files need Protocol Buffers, which the program does not have; link tandem::io, and build tandem "
               "where libprotobuf-dev and protobuf-compiler are installed");
  return *event_format;
}

}  // namespace tandem::io
