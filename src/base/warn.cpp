#include "tandem/base/warn.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "tandem/base/op_scope.h"

namespace tandem {
namespace {

std::mutex mutex;
bool warns_always = false;  // guarded by mutex

std::function<void(const std::string&)>& handler() {
  static auto* h = new std::function<void(const std::string&)>(
      [](const std::string& message) { std::fprintf(stderr, "tandem: warning: %s\n", message.c_str()); });
  return *h;
}

/// Returns the message as it is reported: with the name of the running op, if there is one.
std::string in_full(const std::string& message) {
  const std::string op = running_op();
  return op.empty() ? message : op + ": " + message;
}

void report(const std::string& text) {
  std::function<void(const std::string&)> h;
  {
    std::lock_guard lock(mutex);
    h = handler();
  }
  if (h) h(text);
}

}  // namespace

void warn(const std::string& message) { report(in_full(message)); }

void warn_once(const std::string& message) {
  const std::string text = in_full(message);
  static auto* seen = new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!seen->insert(text).second && !warns_always) return;
  }
  report(text);
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
