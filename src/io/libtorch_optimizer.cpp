#include "src/io/libtorch_optimizer.h"

#include "src/io/source.h"
#include "tandem/base/check.h"

// An archive is an object with the attributes
//
//   state         {address of a parameter: its state}
//   param_groups  {"param_groups/size", "param_groups/0": {"params/size", "params/0": address, ..., options: {lr,
//   ...}}}
//
// where the addresses are those of the process that wrote it. Source: libtorch's optim/serialize.h.
namespace tandem::io {
namespace {

/// The attribute `name`, if it is an object.
const ivalue::Object* object_at(const ivalue::Object& object, const std::string& name) {
  const IValue* value = object.attributes().find(name);
  return value && value->isObject() ? &value->toObjectRef() : nullptr;
}

}  // namespace

std::optional<GenericDict> optimizer_dict(const ivalue::Object& object) {
  const ivalue::Object* states = object_at(object, "state");
  const ivalue::Object* groups = object_at(object, "param_groups");
  if (!states || !groups || !groups->hasattr("param_groups/size")) return std::nullopt;

  std::vector<IValue> group_list;
  for (size_t g = 0;; ++g) {
    const ivalue::Object* group = object_at(*groups, fmt::format("param_groups/{}", g));
    if (!group) break;
    GenericDict dict;
    if (const ivalue::Object* options = object_at(*group, "options")) {
      for (const auto& option : options->attributes()) dict.insert(option.key(), option.value());
    }
    std::vector<std::string> params;
    for (size_t p = 0;; ++p) {
      const IValue* address = group->attributes().find(fmt::format("params/{}", p));
      if (!address || !address->isString()) break;
      params.push_back(address->toStringRef());
    }
    dict.insert("params", params);
    group_list.emplace_back(std::move(dict));
  }

  GenericDict state;
  for (const auto& item : states->attributes()) {
    TANDEM_CHECK(item.value().isObject(), IoError, "malformed: the optimizer's state of {} is no object; save it again",
                 shown(item.key()));
    GenericDict own;
    for (const auto& field : item.value().toObjectRef().attributes()) own.insert(field.key(), field.value());
    state.insert(item.key(), std::move(own));
  }
  return GenericDict{{"state", std::move(state)}, {"param_groups", std::move(group_list)}};
}

}  // namespace tandem::io
