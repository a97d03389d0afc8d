// The extension module tandem._tandem: dtypes, devices, and the conversions that all subjects share.
#include <unordered_set>

#include "bridge.h"
#include "tandem/tensor/default_dtype.h"
#include "tandem/tensor/random.h"
#include "tandem/tensor/threads.h"
#include "tandem/version.h"

namespace tandem::python {

namespace {

/// All objects that callbacks hold. Guarded by the GIL, and never destroyed.
std::unordered_set<nb::handle*>& held_objects() {
  static auto& held = *new std::unordered_set<nb::handle*>;
  return held;
}

}  // namespace

Callback::Callback(nb::handle object) {
  const auto release = [](nb::handle* held) {
    with_gil([&] {
      held_objects().erase(held);
      held->dec_ref();
      delete held;
    });
  };
  object_ = std::shared_ptr<nb::handle>(new nb::handle(object.inc_ref()), release);
  held_objects().insert(object_.get());
}

void Callback::release_all() {
  const std::vector<nb::handle*> all(held_objects().begin(), held_objects().end());
  std::vector<nb::object> released;  // destroyed last: that may destroy callbacks
  for (nb::handle* held : all) released.push_back(nb::steal(std::exchange(*held, nb::handle())));
}

Dims sizes_from(const nb::args& args) {
  Dims sizes;
  const nb::handle given =
      args.size() == 1 && nb::isinstance<nb::sequence>(args[0]) ? nb::handle(args[0]) : nb::handle(args);
  if (!nb::try_cast(given, sizes)) {
    throw nb::type_error("sizes must be at most 12 ints, given as arguments or as one tuple or list");
  }
  return sizes;
}

StateDict state_from(const nb::dict& state) {
  StateDict result;
  for (auto [key, value] : state) result.insert(nb::cast<std::string>(key), nb::cast<Tensor>(value));
  return result;
}

nb::dict state_to(const StateDict& state) {
  nb::dict result;
  for (const auto& item : state) result[item.key().c_str()] = item.value();
  return result;
}

nb::object number_from(const Scalar& value) { return nb::cast(value); }

Tensor tensor_from(nb::handle data) { return nb::cast<Tensor>(nb::module_::import_("tandem").attr("tensor")(data)); }

std::vector<Tensor> tensors_from(nb::handle iterable) {
  std::vector<Tensor> tensors;
  for (nb::handle entry : nb::iter(iterable)) {
    if (!nb::isinstance<Tensor>(entry)) throw nb::type_error("expected an iterable of tensors");
    tensors.push_back(nb::cast<Tensor>(entry));
  }
  return tensors;
}

void bind_types(nb::module_& m) {
  nb::enum_<DType>(m, "dtype", "The type of a tensor's elements.")
      .value("uint8", kUInt8)
      .value("int8", kInt8)
      .value("int16", kInt16)
      .value("int32", kInt32)
      .value("int64", kInt64)
      .value("uint16", kUInt16)
      .value("uint32", kUInt32)
      .value("uint64", kUInt64)
      .value("float16", kFloat16)
      .value("bfloat16", kBFloat16)
      .value("float32", kFloat32)
      .value("float64", kFloat64)
      .value("bool", kBool)
      .value("float8_e4m3fn", kFloat8_e4m3fn)
      .value("float8_e5m2", kFloat8_e5m2)
      .value("float8_e8m0fnu", kFloat8_e8m0fnu);
  m.def("_itemsize", [](DType t) { return element_size(t); });
  m.def("_is_floating_point", [](DType t) { return is_floating_point(t); });

  nb::class_<Device>(m, "device", "A device: device('cpu'), device('cuda'), device('cuda:1').")
      .def(nb::init<const std::string&>(), "name"_a)
      .def(
          "__init__",
          [](Device* self, const std::string& type, int index) { new (self) Device(Device(type).type(), index); },
          "type"_a, "index"_a)
      .def_prop_ro("type", [](const Device& d) { return name(d.type()); })
      .def_prop_ro("index",
                   [](const Device& d) { return d.index() < 0 ? std::nullopt : std::optional<int>(d.index()); })
      .def("__str__", &Device::str)
      .def("__repr__", [](const Device& d) { return "device('" + d.str() + "')"; })
      .def(
          "__eq__", [](const Device& a, const Device& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Device& d) { return d.is_cpu() ? -2 : 100 + d.index(); });

  m.def("get_default_dtype", [] { return get_default_dtype(); });
  m.def(
      "set_default_dtype", [](DType t) { set_default_dtype(t); }, "dtype"_a);
  m.def(
      "manual_seed", [](uint64_t seed) { manual_seed(seed); }, "seed"_a,
      "Seeds the default generator. The numbers are the same as in C++, not PyTorch's.");
  m.def("get_num_threads", [] { return get_num_threads(); });
  m.def(
      "set_num_threads", [](int count) { set_num_threads(count); }, "count"_a);
  m.attr("__version__") = version_string();
}

}  // namespace tandem::python

NB_MODULE(_tandem, m) {
  using namespace tandem::python;
  m.doc() = "Mixed-precision training: the C++ library tandem.";
  bind_errors(m);
  bind_types(m);
  auto tensor = bind_tensor(m);
  bind_operators(tensor);
  bind_indexing(tensor);
  bind_exchange(m, tensor);
  bind_ops(m, tensor);
  bind_factories(m);
  bind_autograd(m, tensor);
  bind_function(m);
  nb::module_ nn = m.def_submodule("_nn");
  nb::module_ amp = m.def_submodule("_amp");
  nb::module_ optim = m.def_submodule("_optim");
  bind_nn(nn);
  bind_optim(optim);
  bind_amp(amp);
  bind_io(m);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Callback::release_all));
}
