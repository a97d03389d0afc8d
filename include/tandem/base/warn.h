#pragma once
// Warnings about probable mistakes that are not errors.
#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace tandem {

/// Passes `message`, after the name of the running op (see OpScope), to the warning handler. The default handler prints
/// it to stderr as "tandem: warning: ...".
void warn(const std::string& message);
/// Like warn(), but each distinct message is reported only once per process.
void warn_once(const std::string& message);
/// If `always`, makes warn_once() report every message. Returns the previous setting. Named as in torch.
bool set_warn_always(bool always);
/// Replaces the warning handler and returns the old one. An empty function silences warnings.
std::function<void(const std::string&)> set_warning_handler(std::function<void(const std::string&)> handler);

}  // namespace tandem
#pragma GCC visibility pop
