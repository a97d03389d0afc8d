#pragma once
// Warnings: things that are probably not meant, but not wrong enough to stop.
#include <functional>
#include <string>

namespace tandem {

/// Passes `message` to the handler; by default it goes to stderr as "tandem: warning: ...".
void warn(const std::string& message);
/// Passes each distinct message on only once in the process.
void warn_once(const std::string& message);
/// Makes warn_once() pass every message on; returns what was set before. Named as in torch.
bool set_warn_always(bool always);
/// Replaces the handler and returns the old one; an empty function is silence.
std::function<void(const std::string&)> set_warning_handler(std::function<void(const std::string&)> handler);

}  // namespace tandem
