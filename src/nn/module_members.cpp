// Members of modules that hold registered parameters and buffers.
#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

void Module::register_parameter(Tensor& member, std::string name, Tensor tensor, bool requires_grad) {
  member = register_parameter(name, std::move(tensor), requires_grad);
  add_member(member, name);
}

void Module::register_buffer(Tensor& member, std::string name, Tensor tensor) {
  member = register_buffer(name, std::move(tensor));
  add_member(member, name);
}

void Module::unregister_parameter(const std::string& name) {
  const OpScope op("unregister_parameter");
  TANDEM_CHECK(parameters_.contains(name), StateError,
               "there is no parameter '{}'; named_parameters() lists the existing ones", name);
  parameters_.erase(name);
  std::erase_if(members_, [&](const Member& m) { return m.name == name; });
}

void Module::unregister_buffer(const std::string& name) {
  const OpScope op("unregister_buffer");
  TANDEM_CHECK(buffers_.contains(name), StateError, "there is no buffer '{}'; named_buffers() lists the existing ones",
               name);
  buffers_.erase(name);
  std::erase_if(members_, [&](const Member& m) { return m.name == name; });
}

void Module::add_member(Tensor& member, const std::string& name) {
  std::erase_if(members_, [&](const Member& m) { return m.name == name; });  // of an earlier reset()
  members_.push_back({name, reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(this)});
}

Tensor& Module::tensor_of(const Member& member) const {
  return *reinterpret_cast<Tensor*>(reinterpret_cast<char*>(const_cast<Module*>(this)) + member.offset);
}

Tensor* Module::registered(const std::string& name) const {
  Tensor* const parameter = parameters_.find(name);
  return parameter ? parameter : buffers_.find(name);
}

/// Registers what was assigned to members. A result of an op stays unregistered: functions compute such weights from
/// parameters before each call.
void Module::follow_members() const {
  if (members_.empty() || typeid(*this) == typeid(Module)) return;  // a Module copied from a layer has no members
  static std::mutex mutex;                                          // several threads may list the parts of one module
  const std::lock_guard lock(mutex);
  for (const Member& m : members_) {
    const Tensor& now = tensor_of(m);
    Tensor* const kept = registered(m.name);
    if (kept && !kept->is_same(now) && (!now.defined() || now.is_leaf())) *kept = now;
  }
}

void Module::assign_members() const {
  for (const Member& m : members_) {
    if (const Tensor* const kept = registered(m.name)) tensor_of(m) = *kept;
  }
}

}  // namespace tandem::nn
