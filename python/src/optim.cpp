// Optimizers and schedules of the learning rate.
#include "bridge.h"
#include "tandem/base/error.h"
#include "tandem/optim/adagrad.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/adamw.h"
#include "tandem/optim/lr_scheduler.h"
#include "tandem/optim/optimizer.h"
#include "tandem/optim/rmsprop.h"
#include "tandem/optim/sgd.h"

namespace tandem::python {
namespace {

using optim::Optimizer;
using optim::OptimizerOptions;
using optim::OptimizerParamGroup;
using Betas = std::pair<double, double>;

// ---- options by name, through the visitor that saves and loads them

/// Visits the numbers of a group's options, and refuses tensors, which options do not have.
class NumberVisitor : public StateVisitor {
 public:
  void tensor(const std::string& name, Tensor&) override { refuse(name); }
  void optional_tensor(const std::string& name, Tensor&, const Tensor&) override { refuse(name); }
  void scaled_tensor(const std::string& name, Tensor&, Tensor&) override { refuse(name); }

 private:
  [[noreturn]] static void refuse(const std::string& name) {
    throw StateError("param_groups", "the option '" + name + "' is not a number");
  }
};

/// Collects all options.
class OptionReader : public NumberVisitor {
 public:
  void number(const std::string& name, double& value) override { add(name, value); }
  void number(const std::string& name, int64_t& value) override { add(name, value); }
  void number(const std::string& name, bool& value) override { add(name, value); }
  void number(const std::string& name, std::optional<double>& value) override { add(name, value); }
  nb::dict values;

 private:
  template <class T>
  void add(const std::string& name, const T& value) {
    values[name.c_str()] = value;
  }
};

/// Sets one option.
class OptionWriter : public NumberVisitor {
 public:
  OptionWriter(std::string name, nb::handle value) : name_(std::move(name)), value_(value) {}
  void number(const std::string& name, double& value) override { set(name, value); }
  void number(const std::string& name, int64_t& value) override { set(name, value); }
  void number(const std::string& name, bool& value) override { set(name, value); }
  void number(const std::string& name, std::optional<double>& value) override { set(name, value); }
  bool found = false;

 private:
  template <class T>
  void set(const std::string& name, T& value) {
    if (name != name_) return;
    value = nb::cast<T>(value_);
    found = true;
  }
  std::string name_;
  nb::handle value_;
};

nb::dict options_to(OptimizerOptions& options) {
  OptionReader reader;
  options.visit_fields(reader);
  nb::dict values = reader.values;
  if (values.contains("beta1") && values.contains("beta2")) {  // PyTorch has a pair
    values["betas"] = nb::make_tuple(values["beta1"], values["beta2"]);
    nb::del(values["beta1"]);
    nb::del(values["beta2"]);
  }
  return values;
}

void set_option(OptimizerOptions& options, const std::string& name, nb::handle value) {
  if (name == "betas") {
    const auto [beta1, beta2] = nb::cast<Betas>(value);
    set_option(options, "beta1", nb::cast(beta1));
    set_option(options, "beta2", nb::cast(beta2));
    return;
  }
  OptionWriter writer(name, value);
  options.visit_fields(writer);
  if (!writer.found) throw nb::key_error(("this optimizer has no option '" + name + "'").c_str());
}

/// Groups from an iterable of tensors, or of dicts with "params" and options of the group.
std::vector<OptimizerParamGroup> groups_from(nb::handle params, const OptimizerOptions& defaults) {
  if (nb::isinstance<Tensor>(params)) throw nb::type_error("params must be an iterable of tensors, not a tensor");
  const nb::list entries(nb::borrow(params));
  std::vector<OptimizerParamGroup> groups;
  if (entries.size() == 0) {
    throw StateError("Optimizer",
                     "there are no parameters; a generator such as net.parameters() can be used once only");
  }
  if (!nb::isinstance<nb::dict>(entries[0])) {
    groups.emplace_back(tensors_from(entries));
    return groups;
  }
  for (nb::handle entry : entries) {
    const auto group = nb::cast<nb::dict>(entry);
    if (!group.contains("params")) throw nb::key_error("a parameter group needs the key 'params'");
    const nb::object given = nb::borrow(group["params"]);
    std::vector<Tensor> tensors =
        nb::isinstance<Tensor>(given) ? std::vector<Tensor>{nb::cast<Tensor>(given)} : tensors_from(given);
    std::unique_ptr<OptimizerOptions> options = defaults.clone();
    for (auto [key, value] : group) {
      const auto name = nb::cast<std::string>(key);
      if (name != "params") set_option(*options, name, value);
    }
    groups.emplace_back(std::move(tensors), std::move(options));
  }
  return groups;
}

/// One entry of `optimizer.param_groups`, which reads and writes the group's options like a dict.
struct GroupView {
  nb::object optimizer;
  size_t number;
  OptimizerParamGroup& group() const { return nb::cast<Optimizer&>(optimizer).param_groups().at(number); }
};

nb::object group_get(const GroupView& view, const std::string& name) {
  if (name == "params") return nb::cast(view.group().params());
  const nb::dict options = options_to(view.group().options());
  if (!options.contains(name.c_str())) throw nb::key_error(("this optimizer has no option '" + name + "'").c_str());
  return nb::borrow(options[name.c_str()]);
}

nb::list group_keys(const GroupView& view) {
  nb::list keys;
  keys.append("params");
  for (auto [key, value] : options_to(view.group().options())) keys.append(key);
  return keys;
}

Tensor step(Optimizer& optimizer, nb::handle closure) {
  if (closure.is_none()) {
    const nb::gil_scoped_release unlocked;
    return optimizer.step();
  }
  const Callback callback(closure);
  const nb::gil_scoped_release unlocked;
  return optimizer.step([callback] {
    const nb::gil_scoped_acquire gil;
    const nb::object loss = callback.get()();
    return nb::cast<Tensor>(loss);
  });
}

template <class Kind, class Options>
void construct(Kind* self, nb::handle params, const Options& options) {
  new (self) Kind(groups_from(params, options), options);
}

void bind_optimizers(nb::module_& m) {
  nb::class_<optim::SGD, Optimizer>(m, "SGD").def(
      "__init__",
      [](optim::SGD* self, nb::handle params, double lr, double momentum, double dampening, double weight_decay,
         bool nesterov, bool maximize) {
        construct(self, params,
                  optim::SGDOptions(lr)
                      .momentum(momentum)
                      .dampening(dampening)
                      .weight_decay(weight_decay)
                      .nesterov(nesterov)
                      .maximize(maximize));
      },
      "params"_a, "lr"_a = 1e-3, "momentum"_a = 0.0, "dampening"_a = 0.0, "weight_decay"_a = 0.0, "nesterov"_a = false,
      nb::kw_only(), "maximize"_a = false);
#define TANDEM_ADAM(NAME, WEIGHT_DECAY)                                                                               \
  nb::class_<optim::NAME, Optimizer>(m, #NAME).def(                                                                   \
      "__init__",                                                                                                     \
      [](optim::NAME* self, nb::handle params, double lr, Betas betas, double eps, double weight_decay, bool amsgrad, \
         bool maximize) {                                                                                             \
        construct(self, params,                                                                                       \
                  optim::NAME##Options(lr)                                                                            \
                      .betas(betas)                                                                                   \
                      .eps(eps)                                                                                       \
                      .weight_decay(weight_decay)                                                                     \
                      .amsgrad(amsgrad)                                                                               \
                      .maximize(maximize));                                                                           \
      },                                                                                                              \
      "params"_a, "lr"_a = 1e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = WEIGHT_DECAY,      \
      "amsgrad"_a = false, nb::kw_only(), "maximize"_a = false);
  TANDEM_ADAM(Adam, 0.0)
  TANDEM_ADAM(AdamW, 1e-2)
#undef TANDEM_ADAM
  nb::class_<optim::RMSprop, Optimizer>(m, "RMSprop")
      .def(
          "__init__",
          [](optim::RMSprop* self, nb::handle params, double lr, double alpha, double eps, double weight_decay,
             double momentum, bool centered, bool maximize) {
            construct(self, params,
                      optim::RMSpropOptions(lr)
                          .alpha(alpha)
                          .eps(eps)
                          .weight_decay(weight_decay)
                          .momentum(momentum)
                          .centered(centered)
                          .maximize(maximize));
          },
          "params"_a, "lr"_a = 1e-2, "alpha"_a = 0.99, "eps"_a = 1e-8, "weight_decay"_a = 0.0, "momentum"_a = 0.0,
          "centered"_a = false, nb::kw_only(), "maximize"_a = false);
  nb::class_<optim::Adagrad, Optimizer>(m, "Adagrad")
      .def(
          "__init__",
          [](optim::Adagrad* self, nb::handle params, double lr, double lr_decay, double weight_decay,
             double initial_accumulator_value, double eps, bool maximize) {
            construct(self, params,
                      optim::AdagradOptions(lr)
                          .lr_decay(lr_decay)
                          .weight_decay(weight_decay)
                          .initial_accumulator_value(initial_accumulator_value)
                          .eps(eps)
                          .maximize(maximize));
          },
          "params"_a, "lr"_a = 1e-2, "lr_decay"_a = 0.0, "weight_decay"_a = 0.0, "initial_accumulator_value"_a = 0.0,
          "eps"_a = 1e-10, nb::kw_only(), "maximize"_a = false);
}

void bind_schedules(nb::module_& m) {
  using optim::LRScheduler;
  const nb::keep_alive<1, 2> with_optimizer;
  nb::class_<LRScheduler>(m, "LRScheduler")
      .def("step", [](LRScheduler& s) { s.step(); })
      .def("get_last_lr", &LRScheduler::get_last_lr)
      .def_prop_ro("last_epoch", &LRScheduler::last_epoch)
      .def("state_dict", [](const LRScheduler& s) { return state_to(s.state_dict()); })
      .def(
          "load_state_dict", [](LRScheduler& s, const nb::dict& state) { s.load_state_dict(state_from(state)); },
          "state_dict"_a);
  nb::class_<optim::StepLR, LRScheduler>(m, "StepLR")
      .def(nb::init<Optimizer&, int64_t, double>(), "optimizer"_a, "step_size"_a, "gamma"_a = 0.1, with_optimizer);
  nb::class_<optim::MultiStepLR, LRScheduler>(m, "MultiStepLR")
      .def(nb::init<Optimizer&, std::vector<int64_t>, double>(), "optimizer"_a, "milestones"_a, "gamma"_a = 0.1,
           with_optimizer);
  nb::class_<optim::ExponentialLR, LRScheduler>(m, "ExponentialLR")
      .def(nb::init<Optimizer&, double>(), "optimizer"_a, "gamma"_a, with_optimizer);
  nb::class_<optim::LinearLR, LRScheduler>(m, "LinearLR")
      .def(nb::init<Optimizer&, double, double, int64_t>(), "optimizer"_a, "start_factor"_a = 1.0 / 3,
           "end_factor"_a = 1.0, "total_iters"_a = 5, with_optimizer);
  nb::class_<optim::CosineAnnealingLR, LRScheduler>(m, "CosineAnnealingLR")
      .def(nb::init<Optimizer&, int64_t, double>(), "optimizer"_a, "T_max"_a, "eta_min"_a = 0.0, with_optimizer);
}

}  // namespace

void bind_optim(nb::module_& m) {
  nb::class_<GroupView>(m, "ParamGroup")
      .def("__getitem__", &group_get, "name"_a, nb::sig("def __getitem__(self, name: str) -> typing.Any"))
      .def("__setitem__", [](GroupView& view, const std::string& name,
                             nb::handle value) { set_option(view.group().options(), name, value); })
      .def("keys", &group_keys)
      .def("__iter__", [](const GroupView& view) { return nb::iter(group_keys(view)); });
  nb::class_<Optimizer>(m, "Optimizer")
      .def(
          "step", [](Optimizer& o, nb::handle closure) { return defined_or_none(step(o, closure)); },
          "closure"_a = nb::none())
      .def("zero_grad", &Optimizer::zero_grad, "set_to_none"_a = true, Unlocked())
      .def_prop_ro("param_groups",
                   [](nb::handle self) {
                     nb::list views;
                     const size_t count = nb::cast<Optimizer&>(self).param_groups().size();
                     for (size_t i = 0; i < count; ++i) views.append(nb::cast(GroupView{nb::borrow(self), i}));
                     return views;
                   })
      .def(
          "add_param_group",
          [](Optimizer& o, const nb::dict& group) {
            nb::list groups;
            groups.append(group);
            for (const OptimizerParamGroup& g : groups_from(groups, o.defaults())) o.add_param_group(g);
          },
          "param_group"_a)
      .def(
          "state_dict", [](const Optimizer& o) { return state_to(o.state_dict()); },
          "Options and state as one flat dict of tensors, such as 'state.0.exp_avg'. They share memory.")
      .def(
          "load_state_dict", [](Optimizer& o, const nb::dict& state) { o.load_state_dict(state_from(state)); },
          "state_dict"_a);
  bind_optimizers(m);
  bind_schedules(m);
}

}  // namespace tandem::python
