// Autocast regions and GradScaler.
#include "bridge.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/amp/grad_scaler.h"

namespace tandem::python {
namespace {

using amp::AutocastGuard;
using amp::GradScaler;

/// The scope of a `with` statement: holds the C++ guard from __enter__ to __exit__, on one thread.
struct AutocastScope {
  std::unique_ptr<AutocastGuard> guard;
};

DeviceType device_type(const std::string& name) { return Device(name).type(); }

nb::dict state_dict(const GradScaler& scaler) {
  nb::dict result;
  for (const auto& [key, value] : scaler.state_dict()) result[key.c_str()] = value;
  return result;
}

void load_state_dict(GradScaler& scaler, const nb::dict& state) {
  amp::ScalerState result;
  for (auto [key, value] : state) result[nb::cast<std::string>(key)] = nb::cast<Scalar>(value);
  scaler.load_state_dict(result);
}

}  // namespace

void bind_amp(nb::module_& m) {
  nb::class_<AutocastScope>(m, "_AutocastScope")
      .def(
          "__init__",
          [](AutocastScope* self, const std::string& type, std::optional<DType> dtype, bool enabled,
             std::optional<bool> cache_enabled) {
            auto guard = std::make_unique<AutocastGuard>(device_type(type), dtype, enabled, cache_enabled);
            new (self) AutocastScope{std::move(guard)};
          },
          "device_type"_a, "dtype"_a.none(), "enabled"_a, "cache_enabled"_a.none())
      .def(
          "exit", [](AutocastScope& self) { self.guard.reset(); }, Unlocked());
  m.def(
      "is_autocast_enabled", [](const std::string& type) { return amp::is_autocast_enabled(device_type(type)); },
      "device_type"_a = "cpu");
  m.def(
      "get_autocast_dtype", [](const std::string& type) { return amp::get_autocast_dtype(device_type(type)); },
      "device_type"_a);
  m.def(
      "set_autocast_dtype",
      [](const std::string& type, DType dtype) { amp::set_autocast_dtype(device_type(type), dtype); }, "device_type"_a,
      "dtype"_a);
  m.def(
      "is_autocast_available", [](const std::string& type) { return amp::is_autocast_available(device_type(type)); },
      "device_type"_a);
  m.def(
      "clear_autocast_cache", [] { amp::clear_autocast_cache(); }, Unlocked());

  nb::class_<amp::StepResult>(m, "StepResult")
      .def("skipped", &amp::StepResult::skipped, Unlocked(),
           "Whether the gradients had inf or NaN, so that the step was skipped. Waits for the device.");
  nb::class_<GradScaler>(m, "GradScaler", "Dynamic loss scaling, like torch.amp.GradScaler.")
      .def(
          "__init__",
          [](GradScaler* self, const std::string&, double init_scale, double growth_factor, double backoff_factor,
             int64_t growth_interval, bool enabled) {
            new (self) GradScaler(amp::GradScalerOptions()
                                      .init_scale(init_scale)
                                      .growth_factor(growth_factor)
                                      .backoff_factor(backoff_factor)
                                      .growth_interval(growth_interval)
                                      .enabled(enabled));
          },
          "device"_a = "cuda", "init_scale"_a = 65536.0, "growth_factor"_a = 2.0, "backoff_factor"_a = 0.5,
          "growth_interval"_a = 2000, "enabled"_a = true,
          "`device` is PyTorch's argument and has no effect: the scale is on the device of the first loss.")
      .def(
          "scale", [](GradScaler& s, const Tensor& loss) { return s.scale(loss); }, "outputs"_a, Unlocked())
      .def(
          "scale", [](GradScaler& s, nb::handle losses) { return s.scale(tensors_from(losses)); }, "outputs"_a,
          nb::sig("def scale(self, outputs: collections.abc.Iterable[tandem._tandem.Tensor]) -> "
                  "list[tandem._tandem.Tensor]"))
      .def(
          "unscale_", [](GradScaler& s, optim::Optimizer& optimizer) { s.unscale_(optimizer); }, "optimizer"_a,
          Unlocked())
      .def(
          "step", [](GradScaler& s, optim::Optimizer& optimizer) { return s.step(optimizer); }, "optimizer"_a,
          Unlocked())
      .def(
          "update", [](GradScaler& s) { s.update(); }, Unlocked())
      .def(
          "update", [](GradScaler& s, double new_scale) { s.update(new_scale); }, "new_scale"_a, Unlocked())
      .def("get_scale", &GradScaler::get_scale, Unlocked())
      .def("get_growth_factor", &GradScaler::get_growth_factor)
      .def("get_backoff_factor", &GradScaler::get_backoff_factor)
      .def("get_growth_interval", &GradScaler::get_growth_interval)
      .def("set_growth_factor", &GradScaler::set_growth_factor, "new_factor"_a)
      .def("set_backoff_factor", &GradScaler::set_backoff_factor, "new_factor"_a)
      .def("set_growth_interval", &GradScaler::set_growth_interval, "new_interval"_a)
      .def("is_enabled", &GradScaler::is_enabled)
      .def("state_dict", &state_dict)
      .def("load_state_dict", &load_state_dict, "state_dict"_a);
}

}  // namespace tandem::python
