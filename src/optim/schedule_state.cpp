// States of schedules: their own entry, and those of PyTorch's.
#include "src/optim/schedule_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "tandem/base/check.h"
#include "tandem/optim/lr_scheduler.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

constexpr int64_t kMostRepeats = 1000;  // of a milestone

TensorOptions host(DType dtype) { return TensorOptions(dtype).device(kCPU); }

}  // namespace

void replace_entry(StateDict& entries, const std::string& name, int64_t value) {
  if (Tensor* entry = entries.find(name)) *entry = scalar_tensor(value, host(kLong));
}

void replace_entry(StateDict& entries, const std::string& name, const std::vector<double>& values) {
  if (Tensor* entry = entries.find(name)) *entry = tensor(values, host(kDouble));
}

bool is_other_text(const StateDict& state, const std::string& name, std::string_view text) {
  const Tensor* pickle = state.find(name + "._pickle");
  if (!pickle || !pickle->defined() || pickle->dtype() != kByte) return false;
  const Tensor bytes = pickle->to(Device(kCPU)).contiguous();
  const auto size = static_cast<uint32_t>(text.size());
  const std::string wanted = std::string(reinterpret_cast<const char*>(&size), sizeof size) + std::string(text);
  return std::string_view(static_cast<const char*>(bytes.raw_bytes()), bytes.nbytes()).find(wanted) ==
         std::string_view::npos;
}

StateDict take_entries(StateReader& reader, const StateDict& state) {
  StateDict entries;
  reader.set_prefix("");
  for (const auto& item : state) {
    if (item.value().defined()) entries.insert(item.key(), reader.find(item.key())->detach().clone());
  }
  return entries;
}

// ---- arguments

template <class T>
void ScheduleArguments::replace(T& argument, T value) {
  swaps_.push_back([&argument, value = std::move(value)]() mutable { std::swap(argument, value); });
}

void ScheduleArguments::swap() {
  for (const auto& swap : swaps_) swap();
}

void ScheduleArguments::number(const std::string& name, double& argument) {
  if (!reader_.contains(name)) return;
  double value = argument;
  reader_.number(name, value);
  replace(argument, value);
}

void ScheduleArguments::number(const std::string& name, int64_t& argument) {
  if (!reader_.contains(name)) return;
  auto value = static_cast<double>(argument);  // Python programs also pass 1e4
  reader_.number(name, value);
  if (value == std::floor(value) && std::abs(value) <= 0x1p53) {
    replace(argument, static_cast<int64_t>(value));
  } else {
    reader_.add_fault(fmt::format("'{}{}' is {}; it must be an integer", prefix_, name, value));
  }
}

template <class T>
void ScheduleArguments::read_list(const std::string& name, std::vector<T>& argument) {
  const Tensor* given = find(name);
  if (!given) return;
  if (!given->defined() || given->dim() != 1) {
    return reader_.add_fault(fmt::format("'{}{}' is not a list of numbers", prefix_, name));
  }
  std::vector<T> values;
  for (int64_t i = 0; i < given->numel(); ++i) values.push_back((*given)[i].item<T>());
  replace(argument, std::move(values));
}

template void ScheduleArguments::read_list(const std::string&, std::vector<double>&);
template void ScheduleArguments::read_list(const std::string&, std::vector<int64_t>&);

void ScheduleArguments::counts(const std::string& name, std::vector<int64_t>& argument) {
  const std::string start = prefix_ + name + ".";
  std::vector<int64_t> values;
  for (const auto& item : state_) {
    const std::string& key = item.key();
    if (!key.starts_with(start)) continue;
    int64_t value = 0, count = 0;
    const auto [end, error] = std::from_chars(key.data() + start.size(), key.data() + key.size(), value);
    reader_.number(key.substr(prefix_.size()), count);
    if (error != std::errc() || end != key.data() + key.size() || count < 0 || count > kMostRepeats) {
      return reader_.add_fault(fmt::format("'{}' is not the count of a milestone", key));
    }
    values.insert(values.end(), static_cast<size_t>(count), value);
  }
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  replace(argument, std::move(values));
}

void ScheduleArguments::expect(const std::string& name, double argument) {
  if (!reader_.contains(name)) return;
  double value = argument;
  reader_.number(name, value);
  if (value == argument) return;
  reader_.add_fault(fmt::format("'{}{}' is {}, but {} here; construct the schedule as the saved one", prefix_, name,
                                value, argument));
}

// ---- schedules

void LRScheduler::visit_arguments(ScheduleArguments&) {}

void LRScheduler::check_arguments() const {}

void LRScheduler::update_entries(StateDict& entries, int64_t epoch) const {
  const auto is_count = [](const Tensor* t) { return t && t->numel() == 1 && is_integral(t->dtype(), false); };
  const Tensor *before = entries.find("last_epoch"), *steps = entries.find("_step_count");
  if (is_count(before) && is_count(steps)) {
    replace_entry(entries, "_step_count", steps->item<int64_t>() + epoch - before->item<int64_t>());
  }
  replace_entry(entries, "last_epoch", epoch);
}

void LRScheduler::visit_part(ScheduleArguments& arguments, const std::string& name, LRScheduler& part) {
  const std::string outer = arguments.prefix_;
  arguments.reader_.set_prefix(arguments.prefix_ = outer + name + ".");
  part.visit_arguments(arguments);
  arguments.reader_.set_prefix(arguments.prefix_ = outer);
}

void LRScheduler::update_part(StateDict& entries, const std::string& name, const LRScheduler& part, int64_t epoch) {
  StateDict own = state_below(entries, name);
  part.update_entries(own, epoch);
  for (const auto& item : own) entries[name + "." + item.key()] = item.value();
}

StateDict LRScheduler::state_dict() const {
  StateDict state = entries_;
  int64_t epoch = last_epoch_;
  if (!state.contains("last_epoch")) StateWriter(state).number("last_epoch", epoch);
  update_entries(state, epoch);
  replace_entry(state, "_last_lr", get_last_lr());
  return state;
}

StateCommit LRScheduler::prepare_load_state_dict(const StateDict& state) {
  const UserCodeScope op("load_state_dict");  // lr_at()
  const auto arguments = std::make_shared<ScheduleArguments>(state);
  StateReader& reader = arguments->reader_;
  int64_t epoch = 0;
  // PyTorch's ChainedScheduler has no epoch of its own.
  constexpr const char* of_first = "_schedulers.0.last_epoch";
  reader.number(!state.contains("last_epoch") && state.contains(of_first) ? of_first : "last_epoch", epoch);
  if (epoch < 0) reader.add_fault(fmt::format("'last_epoch' is {}", epoch));
  visit_arguments(*arguments);
  const StateDict entries = take_entries(reader, state);
  reader.finish();
  // Of groups whose rates the constructor changed: where the rate of this epoch is set, it came with the optimizer's
  // state.
  std::map<size_t, double> rates;
  arguments->swap();
  try {
    check_arguments();
    for (size_t g = 0; g < std::min(first_.size(), optimizer_.param_groups().size()); ++g) {
      if (first_[g].before != first_[g].after) {
        rates[g] = group_lr_at(g, *optimizer_.param_groups()[g].initial_lr(), epoch);
      }
    }
  } catch (...) {
    arguments->swap();
    throw;
  }
  arguments->swap();
  return [this, epoch, rates = std::move(rates), arguments, entries] {
    for (const auto& [g, rate] : rates) {
      if (optimizer_.param_groups()[g].options().get_lr() != rate) take_back_start(g);
    }
    arguments->swap();
    last_epoch_ = epoch;
    entries_ = entries;
  };
}

}  // namespace tandem::optim
