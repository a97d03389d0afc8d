// The hooks of a module.
#include "tandem/nn/forward_hooks.h"

#include <algorithm>
#include <atomic>

#include "tandem/base/check.h"
#include "tandem/nn/module.h"

namespace tandem::nn {
namespace {

using Hooks = std::shared_ptr<const ForwardHooks>;
using Entries = std::vector<ForwardHooks::Entry>;

Entries entries_of(const Hooks& hooks) { return hooks ? hooks->entries() : Entries(); }

Hooks with(const Hooks& hooks, std::string name, ForwardPreHook before, ForwardHook after) {
  static std::atomic<unsigned> next_handle{0};
  Entries entries = entries_of(hooks);
  for (const ForwardHooks::Entry& entry : entries) {
    TANDEM_CHECK(name.empty() || entry.name != name, StateError,
                 "there is a hook named '{}' already; give another name, or remove it with remove_forward_hook()",
                 name);
  }
  entries.push_back({next_handle++, std::move(name), std::move(before), std::move(after)});
  return std::make_shared<const ForwardHooks>(std::move(entries));
}

/// Without the entry for which `is_it` holds; the same hooks if there is none.
template <class Predicate>
Hooks without(const Hooks& hooks, const Predicate& is_it) {
  Entries entries = entries_of(hooks);
  const auto found = std::ranges::find_if(entries, is_it);
  if (found == entries.end()) return hooks;
  entries.erase(found);
  return entries.empty() ? nullptr : std::make_shared<const ForwardHooks>(std::move(entries));
}

}  // namespace

unsigned Module::register_forward_pre_hook(ForwardPreHook hook, std::string name) {
  const OpScope op("register_forward_pre_hook");
  TANDEM_CHECK(hook, StateError, "the hook is empty; pass a function of the module and its inputs");
  forward_hooks_ = with(forward_hooks_, std::move(name), std::move(hook), {});
  return forward_hooks_->entries().back().handle;
}

unsigned Module::register_forward_hook(ForwardHook hook, std::string name) {
  const OpScope op("register_forward_hook");
  TANDEM_CHECK(hook, StateError, "the hook is empty; pass a function of the module, its inputs and its outputs");
  forward_hooks_ = with(forward_hooks_, std::move(name), {}, std::move(hook));
  return forward_hooks_->entries().back().handle;
}

void Module::remove_forward_hook(unsigned handle) {
  const OpScope op("remove_forward_hook");
  const Hooks rest = without(forward_hooks_, [&](const ForwardHooks::Entry& e) { return e.handle == handle; });
  TANDEM_CHECK(rest != forward_hooks_, StateError, "{} has no hook {}; pass what register_forward_hook() returned",
               name(), handle);
  forward_hooks_ = rest;
}

void Module::remove_forward_hook(const std::string& hook) {
  const OpScope op("remove_forward_hook");
  TANDEM_CHECK(!hook.empty(), StateError, "the name is empty; pass the handle of a hook without a name");
  const Hooks rest = without(forward_hooks_, [&](const ForwardHooks::Entry& e) { return e.name == hook; });
  TANDEM_CHECK(rest != forward_hooks_, StateError,
               "{} has no hook named '{}'; pass the name that register_forward_hook() was given", name(), hook);
  forward_hooks_ = rest;
}

}  // namespace tandem::nn
