#pragma once
// What optimizers of programs use to save and load themselves: serialize() of options and of states, and libtorch's
// macros in them.
#include <memory>
#include <string>

#include "tandem/io/archive.h"
#include "tandem/io/ivalue.h"
#include "tandem/optim/optimizer.h"

namespace torch::optim {

/// Writes the options of all groups and the states of all parameters, by their numbers.
template <class State, class Options>
void serialize(tandem::serialize::OutputArchive& archive, const tandem::optim::Optimizer& optimizer) {
  tandem::serialize::OutputArchive groups, states;
  size_t group_number = 0, number = 0;
  for (const auto& group : optimizer.param_groups()) {
    tandem::serialize::OutputArchive options;
    static_cast<const Options&>(group.options()).serialize(options);
    groups.write(std::to_string(group_number++), options);
    for (const tandem::Tensor& p : group.params()) {
      const auto found = optimizer.state().find(p.unsafeGetTensorImpl());
      if (found != optimizer.state().end()) {
        tandem::serialize::OutputArchive state;
        static_cast<const State&>(*found->second).serialize(state);
        states.write(std::to_string(number), state);
      }
      ++number;
    }
  }
  archive.write("param_groups", groups);
  archive.write("state", states);
}
/// Reads what the function above writes.
template <class State, class Options>
void serialize(tandem::serialize::InputArchive& archive, tandem::optim::Optimizer& optimizer) {
  tandem::serialize::InputArchive groups, states;
  archive.read("param_groups", groups);
  const bool has_states = archive.try_read("state", states);
  size_t group_number = 0, number = 0;
  for (auto& group : optimizer.param_groups()) {
    tandem::serialize::InputArchive options;
    groups.read(std::to_string(group_number++), options);
    static_cast<Options&>(group.options()).serialize(options);
    for (const tandem::Tensor& p : group.params()) {
      tandem::serialize::InputArchive values;
      if (has_states && states.try_read(std::to_string(number), values)) {
        auto state = std::make_unique<State>();
        state->serialize(values);
        optimizer.state()[p.unsafeGetTensorImpl()] = std::move(state);
      }
      ++number;
    }
  }
}

}  // namespace torch::optim

#define _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(Name) \
  torch::optim::serialize<Name##ParamState, Name##Options>(archive, self)
#define _TORCH_OPTIM_SERIALIZE_TORCH_ARG(name)                                                   \
  {                                                                                              \
    const tandem::IValue tandem_value(name());                                                   \
    const bool tandem_undefined = tandem_value.isTensor() && !tandem_value.toTensor().defined(); \
    if (!tandem_undefined) archive.write(#name, tandem_value);                                   \
  }
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(T, name)                          \
  {                                                                          \
    tandem::IValue tandem_value;                                             \
    if (std::is_same_v<T, tandem::Tensor>) {                                 \
      if (archive.try_read(#name, tandem_value)) name(tandem_value.to<T>()); \
    } else {                                                                 \
      archive.read(#name, tandem_value);                                     \
      name(tandem_value.to<T>());                                            \
    }                                                                        \
  }
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_OPTIONAL(T, name)                       \
  {                                                                                \
    tandem::IValue tandem_value;                                                   \
    if (archive.try_read(#name, tandem_value)) name(tandem_value.toOptional<T>()); \
  }
