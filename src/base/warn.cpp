#include "tandem/base/warn.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace tandem {
namespace {

std::mutex mutex;
bool warns_always = false;  // guarded by mutex

std::function<void(const std::string&)>& handler() {
  static auto* h = new std::function<void(const std::string&)>(
      [](const std::string& message) { std::fprintf(stderr, "tandem: warning: %s\n", message.c_str()); });
  return *h;
}

}  // namespace

void warn(const std::string& message) {
  std::function<void(const std::string&)> h;
  {
    std::lock_guard lock(mutex);
    h = handler();
  }
  if (h) h(message);
}

void warn_once(const std::string& message) {
  static auto* seen = new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!seen->insert(message).second && !warns_always) return;
  }
  warn(message);
}

bool set_warn_always(bool always) {
  std::lock_guard lock(mutex);
  return std::exchange(warns_always, always);
}

std::function<void(const std::string&)> set_warning_handler(std::function<void(const std::string&)> h) {
  std::lock_guard lock(mutex);
  return std::exchange(handler(), std::move(h));
}

}  // namespace tandem
