// Functions that make tensors.
#include "tandem/tensor/factories.h"

#include "bridge.h"

namespace tandem::python {
namespace {

TensorOptions options_from(std::optional<DType> dtype, const std::optional<DeviceArg>& device, bool requires_grad) {
  TensorOptions options = TensorOptions().dtype(dtype).requires_grad(requires_grad);
  return device ? options.device(device->get()) : options;
}

/// Random numbers in place. The result is the same object.
void bind_random(nb::module_& m) {
  auto t = nb::borrow<nb::class_<Tensor>>(m.attr("Tensor"));
  t.def(
      "uniform_", [](Tensor& x, double from, double to) -> Tensor& { return x.uniform_(from, to), x; }, "from_"_a = 0,
      "to"_a = 1, nb::rv_policy::none, Unlocked());
  t.def(
      "normal_", [](Tensor& x, double mean, double std) -> Tensor& { return x.normal_(mean, std), x; }, "mean"_a = 0,
      "std"_a = 1, nb::rv_policy::none, Unlocked());
  t.def(
      "bernoulli_", [](Tensor& x, double p) -> Tensor& { return x.bernoulli_(p), x; }, "p"_a = 0.5, nb::rv_policy::none,
      Unlocked());
}

}  // namespace

void bind_factories(nb::module_& m) {
  using DTypeArg = std::optional<DType>;
  using OptionalDevice = std::optional<DeviceArg>;
  bind_random(m);
#define TANDEM_OPTIONS nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false
#define TANDEM_FACTORY(NAME)                                                                       \
  m.def(                                                                                           \
      #NAME,                                                                                       \
      [](const nb::args& size, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) { \
        return NAME(sizes_from(size), options_from(dtype, device, requires_grad));                 \
      },                                                                                           \
      "size"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false);       \
  m.def(                                                                                           \
      #NAME "_like",                                                                               \
      [](const Tensor& x, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {      \
        return NAME##_like(x, options_from(dtype, device, requires_grad));                         \
      },                                                                                           \
      "input"_a, TANDEM_OPTIONS);
  TANDEM_FACTORY(empty)
  TANDEM_FACTORY(zeros)
  TANDEM_FACTORY(ones)
  TANDEM_FACTORY(rand)
  TANDEM_FACTORY(randn)
#undef TANDEM_FACTORY
  m.def(
      "full",
      [](const Dims& size, Scalar value, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return full(size, value, options_from(dtype, device, requires_grad));
      },
      "size"_a, "fill_value"_a, TANDEM_OPTIONS);
  m.def(
      "full_like",
      [](const Tensor& x, Scalar value, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return full_like(x, value, options_from(dtype, device, requires_grad));
      },
      "input"_a, "fill_value"_a, TANDEM_OPTIONS);
  m.def(
      "arange",
      [](Scalar end, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return arange(end, options_from(dtype, device, requires_grad));
      },
      "end"_a, TANDEM_OPTIONS);
  m.def(
      "arange",
      [](Scalar start, Scalar end, Scalar step, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return arange(start, end, step, options_from(dtype, device, requires_grad));
      },
      "start"_a, "end"_a, "step"_a = 1, TANDEM_OPTIONS);
  m.def(
      "linspace",
      [](Scalar start, Scalar end, int64_t steps, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return linspace(start, end, steps, options_from(dtype, device, requires_grad));
      },
      "start"_a, "end"_a, "steps"_a, TANDEM_OPTIONS);
  m.def(
      "eye",
      [](int64_t n, std::optional<int64_t> columns, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return eye(n, columns.value_or(n), options_from(dtype, device, requires_grad));
      },
      "n"_a, "m"_a = nb::none(), TANDEM_OPTIONS);
  m.def(
      "randint",
      [](int64_t low, int64_t high, const Dims& size, DTypeArg dtype, const OptionalDevice& device,
         bool requires_grad) { return randint(low, high, size, options_from(dtype, device, requires_grad)); },
      "low"_a, "high"_a, "size"_a, TANDEM_OPTIONS);
  m.def(
      "randint",
      [](int64_t high, const Dims& size, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return randint(0, high, size, options_from(dtype, device, requires_grad));
      },
      "high"_a, "size"_a, TANDEM_OPTIONS);
  m.def(
      "randperm",
      [](int64_t n, DTypeArg dtype, const OptionalDevice& device, bool requires_grad) {
        return randperm(n, options_from(dtype, device, requires_grad));
      },
      "n"_a, TANDEM_OPTIONS);
#undef TANDEM_OPTIONS
}

}  // namespace tandem::python
