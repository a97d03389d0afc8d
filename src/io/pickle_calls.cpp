// The calls that pickles of PyTorch's files contain.
#include "src/io/pickle_items.h"
#include "src/io/source.h"
#include "src/io/utf8.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

using Arguments = std::vector<PickleItem>;

/// A value among the arguments.
IValue value_of(const PickleItem& item, const PickleFault& fault) { return finished_item(item, fault).value; }

Dims dims_of(const PickleItem& item, const PickleFault& fault) {
  const IValue value = value_of(item, fault);
  fault.check(value.isTuple(), "the sizes or strides of a tensor are not a tuple");
  const std::vector<IValue>& elements = value.toTupleRef().elements();
  if (elements.size() > kMaxRank) fault.leave_out("a tensor of more than 12 dimensions");
  Dims dims;
  for (const IValue& e : elements) {
    fault.check(e.isInt() && e.toInt() >= 0, "a size or stride of a tensor is not an integer of 0 or more");
    dims.push_back(e.toInt());
  }
  return dims;
}

/// The view of a storage with this geometry, which must lie within it.
Tensor view_of(const Tensor& elements, int64_t offset, const Dims& sizes, const Dims& strides,
               const PickleFault& fault) {
  fault.check(sizes.size() == strides.size(), "a tensor has not as many strides as sizes");
  fault.check(offset >= 0, "a tensor begins before its storage");
  constexpr int64_t limit = int64_t{1} << 59;  // elements: then sizes in bytes do not overflow
  int64_t numel = 1;
  bool empty = false;
  for (const int64_t size : sizes) {
    empty |= size == 0;
    if (size == 0) continue;
    fault.check(numel <= limit / size, "a tensor is impossibly large");
    numel *= size;
  }
  if (empty) return make_view(elements, sizes, strides, 0);  // may begin after the storage's end
  const std::optional<int64_t> extent = extent_of(sizes, strides);
  if (!extent || offset > elements.numel() || *extent > elements.numel() - offset) {
    fault.fail(fmt::format("a tensor of {} with strides {} from element {} on is outside its storage of {} elements",
                           to_string(sizes), to_string(strides), offset, elements.numel()));
  }
  return make_view(elements, sizes, strides, offset);
}

/// Leaves the tensor out if it has the property that `item` describes.
void check_empty(const PickleItem& item, const char* otherwise, const PickleFault& fault) {
  const IValue value = value_of(item, fault);
  if (!value.isNone() && !(value.isGenericDict() && value.toGenericDict().empty())) fault.leave_out(otherwise);
}

void set_gradient_flag(const Tensor& t, const PickleItem& flag, const PickleFault& fault) {
  const IValue value = value_of(flag, fault);
  fault.check(value.isBool() && (!value.toBool() || is_differentiable(t.dtype())),
              "the gradient flag of a tensor does not fit it");
  t.requires_grad_(value.toBool());
}

/// The bytes of an untyped storage, as elements of a dtype for which PyTorch has no typed storages.
Tensor elements_of(const Tensor& bytes, const PickleItem& dtype, const PickleFault& fault) {
  const IValue value = value_of(dtype, fault);
  fault.check(value.isScalarType() && is_storage_only(value.toScalarType()) && bytes.dtype() == kByte,
              "a tensor over an untyped storage is of a dtype that has typed ones");
  const auto size = static_cast<int64_t>(element_size(value.toScalarType()));
  const Tensor elements = make_view(bytes, {bytes.numel() / size}, {1}, 0);
  elements.impl().dtype = value.toScalarType();
  return elements;
}

/// _rebuild_tensor(storage, offset, size, stride); from version 2 on also requires_grad and backward_hooks, in version
/// 3 dtype, and perhaps metadata.
IValue rebuild_tensor(const Arguments& a, int version, const PickleFault& fault) {
  const size_t fields = version == 1 ? 4 : version == 2 ? 6 : 7;
  fault.check(a.size() == fields || (version > 1 && a.size() == fields + 1), "a tensor has a wrong number of fields");
  const auto* storage = std::get_if<StorageItem>(&a[0]);
  fault.check(storage, "a tensor has no storage");
  const IValue offset = value_of(a[1], fault);
  fault.check(offset.isInt(), "the offset of a tensor is not an integer");
  const Dims sizes = dims_of(a[2], fault), strides = dims_of(a[3], fault);
  const Tensor elements = version == 3 ? elements_of(storage->elements, a[6], fault) : storage->elements;
  Tensor t = view_of(elements, offset.toInt(), sizes, strides, fault);
  if (version > 1) {
    set_gradient_flag(t, a[4], fault);
    check_empty(a[5], "a tensor with hooks", fault);
    if (a.size() > fields) check_empty(a[fields], "a tensor that is to be negated or conjugated", fault);
  }
  return t;
}

/// _rebuild_parameter(data, requires_grad, backward_hooks), and perhaps the attributes that a program has added.
IValue rebuild_parameter(const Arguments& a, size_t fields, const PickleFault& fault) {
  fault.check(a.size() == fields, "a parameter has a wrong number of fields");
  const IValue data = value_of(a[0], fault);
  fault.check(data.isTensor(), "a parameter has no tensor");
  set_gradient_flag(data.toTensor(), a[1], fault);
  check_empty(a[2], "a parameter with hooks", fault);
  return data;
}

/// OrderedDict() or OrderedDict([[key, value], ...]); Counter({key: value}).
PickleItem new_dict(const Arguments& a, const PickleFault& fault) {
  const auto open = std::make_shared<OpenItem>();
  open->kind = OpenItem::Kind::ordered_dict;
  if (a.empty()) return open;
  const FinishedItem given = finished_item(a[0], fault);
  fault.check(a.size() == 1 && (given.value.isList() || given.value.isGenericDict()),
              "a dictionary has wrong contents");
  fault.check(open->size.include(given.size), "it nests too deep or has too many values");
  if (given.value.isGenericDict()) {
    open->dict = given.value.toGenericDict();
    return open;
  }
  for (const IValue& pair : given.value.toListRef()) {
    fault.check(pair.isList() || pair.isTuple(), "an item of a dictionary is not a pair");
    const std::vector<IValue>& both = pair.isList() ? pair.toListRef() : pair.toTupleRef().elements();
    fault.check(both.size() == 2 && is_key(both[0]), "an item of a dictionary is not a pair of a key and a value");
    open->dict.insert_or_assign(both[0], both[1]);
  }
  return open;
}

/// _codecs.encode(text, 'latin1'): how protocol 2 writes bytes.
IValue encoded(const Arguments& a, const PickleFault& fault) {
  fault.check(a.size() == 2, "bytes have a wrong number of fields");
  const IValue text = value_of(a[0], fault), encoding = value_of(a[1], fault);
  fault.check(text.isString() && encoding.isString() && encoding.toStringRef() == "latin1",
              "bytes are not encoded as latin1");
  std::optional<std::string> bytes = latin1_of(text.toStringRef());
  fault.check(bytes.has_value(), "bytes contain a character above 255");
  return IValue::bytes(std::move(*bytes));
}

/// torch.device('cuda', 0)
IValue device_of(const Arguments& a, const PickleFault& fault) {
  fault.check(a.size() == 1 || a.size() == 2, "a device has a wrong number of fields");
  const IValue type = value_of(a[0], fault), index = a.size() == 2 ? value_of(a[1], fault) : IValue();
  fault.check(type.isString() && (index.isNone() || index.isInt()), "a device is not a name and an index");
  try {
    return Device(index.isInt() ? fmt::format("{}:{}", type.toStringRef(), index.toInt()) : type.toStringRef());
  } catch (const DeviceError&) {
    fault.leave_out(fmt::format("the device {}", shown(type.toStringRef())));
  }
}

/// The one argument of a call that returns it: a list, a tuple of sizes, a value with a type tag.
FinishedItem argument(const Arguments& a, size_t count, bool (IValue::*fits)() const, const PickleFault& fault) {
  fault.check(a.size() == count, "a call has a wrong number of arguments");
  FinishedItem item = finished_item(a[0], fault);
  fault.check(!fits || (item.value.*fits)(), "the argument of a call is of another type");
  return item;
}

Arguments arguments_of(const PickleItem& item, const PickleFault& fault) {
  if (const auto* arguments = std::get_if<std::shared_ptr<const ArgumentsItem>>(&item)) return (*arguments)->items;
  const FinishedItem tuple = finished_item(item, fault);
  fault.check(tuple.value.isTuple(), "the arguments of a call are not a tuple");
  Arguments items;
  for (const IValue& e : tuple.value.toTupleRef().elements()) items.push_back(FinishedItem{e, tuple.size});
  return items;
}

}  // namespace

void PickleFault::fail(const std::string& fault) const {
  TANDEM_THROW(IoError, "{}the pickle is malformed at byte {}: {}; fetch the file again, or save a state_dict()",
               context.where, at, fault);
}

void PickleFault::refuse(const std::string& what) const {
  TANDEM_THROW(IoError,
               "{}it contains {}, which tandem does not load: files may contain tensors and plain values, as for "
               "torch.load(weights_only=True); save those: torch.save(model.state_dict(), path)",
               context.where, what);
}

FinishedItem finished_item(const PickleItem& item, const PickleFault& fault) {
  if (const auto* value = std::get_if<FinishedItem>(&item)) return *value;
  if (const auto* open = std::get_if<std::shared_ptr<OpenItem>>(&item)) return {(*open)->finish(), (*open)->size};
  if (const auto* global = std::get_if<std::shared_ptr<const PickleGlobal>>(&item)) {
    fault.fail(fmt::format("it has {} in the place of a value", shown((*global)->name)));
  }
  if (const auto* left_out = std::get_if<LeftOutItem>(&item)) fault.refuse(left_out->what);
  fault.fail("it has a storage in the place of a value");
}

std::string no_value(const PickleItem& item) {
  if (const auto* left_out = std::get_if<LeftOutItem>(&item)) return left_out->what;
  if (const auto* global = std::get_if<std::shared_ptr<const PickleGlobal>>(&item)) return shown((*global)->name);
  if (std::holds_alternative<StorageItem>(item)) return "a storage";
  return std::holds_alternative<std::shared_ptr<const ArgumentsItem>>(item) ? "a tuple of a class or storage" : "";
}

PickleItem tuple_item(const std::vector<PickleItem>& items, const PickleFault& fault) {
  for (const PickleItem& item : items) {
    if (std::holds_alternative<LeftOutItem>(item)) return item;
  }
  bool plain = true;
  for (const PickleItem& item : items) {
    plain &= std::holds_alternative<FinishedItem>(item) || std::holds_alternative<std::shared_ptr<OpenItem>>(item);
  }
  std::vector<IValue> values;
  const auto arguments = std::make_shared<ArgumentsItem>();
  TreeSize size;
  for (const PickleItem& item : items) {
    const bool is_value =
        plain || std::holds_alternative<FinishedItem>(item) || std::holds_alternative<std::shared_ptr<OpenItem>>(item);
    if (!is_value) {
      const auto* inner = std::get_if<std::shared_ptr<const ArgumentsItem>>(&item);
      fault.check(!inner || !(*inner)->nests, "it nests arguments of calls too deep");
      arguments->nests |= inner != nullptr;
      arguments->items.push_back(item);
      continue;
    }
    FinishedItem value = finished_item(item, fault);
    fault.check(size.include(value.size), "it nests too deep or has too many values");
    if (plain) values.push_back(std::move(value.value));
    if (!plain) arguments->items.push_back(std::move(value));
  }
  if (!plain) return arguments;
  return FinishedItem{IValue(ivalue::Tuple(std::move(values))), size};
}

bool is_key(const IValue& v) { return v.isString() || v.isScalar() || v.isNone(); }

namespace {

bool is_global(const PickleItem& item, GlobalKind kind) {
  const auto* global = std::get_if<std::shared_ptr<const PickleGlobal>>(&item);
  return global && (*global)->kind == kind;
}

PickleItem result_of(const PickleItem& function, const PickleItem& arguments, const PickleFault& fault) {
  const auto* global = std::get_if<std::shared_ptr<const PickleGlobal>>(&function);
  // The argument is the type of missing values, which is left out.
  if (global && (*global)->kind == GlobalKind::default_dict) return new_dict({}, fault);
  for (const PickleItem* item : {&function, &arguments}) {
    if (std::holds_alternative<LeftOutItem>(*item)) return *item;
  }
  fault.check(global, "it calls something that is not a function");
  const Arguments a = arguments_of(arguments, fault);
  const auto value = [](IValue v) -> PickleItem { return FinishedItem{std::move(v), {}}; };
  switch ((*global)->kind) {
    case GlobalKind::ordered_dict:
    case GlobalKind::counter:
      return new_dict(a, fault);
    case GlobalKind::set:
    case GlobalKind::typed_list:
      return argument(a, 1, &IValue::isList, fault);
    case GlobalKind::bytearray:
      return a.empty() ? value(IValue::bytes("")) : argument(a, 1, &IValue::isBytes, fault);
    case GlobalKind::encode:
      return value(encoded(a, fault));
    case GlobalKind::size:
      return argument(a, 1, &IValue::isTuple, fault);
    case GlobalKind::device:
      return value(device_of(a, fault));
    case GlobalKind::rebuild_tensor:
      return value(rebuild_tensor(a, 1, fault));
    case GlobalKind::rebuild_tensor_v2:
      return value(rebuild_tensor(a, 2, fault));
    case GlobalKind::rebuild_tensor_v3:
      return value(rebuild_tensor(a, 3, fault));
    case GlobalKind::rebuild_parameter:
      return value(rebuild_parameter(a, 3, fault));
    case GlobalKind::rebuild_parameter_with_state:
      return value(rebuild_parameter(a, 4, fault));
    case GlobalKind::rebuild_from_type: {  // (function, type, its arguments, attributes that a program has added)
      fault.check(a.size() == 4 && is_global(a[1], GlobalKind::tensor_type), "a tensor has a wrong type");
      fault.check(!is_global(a[0], GlobalKind::rebuild_from_type), "it nests calls too deep");
      return result_of(a[0], a[2], fault);
    }
    case GlobalKind::type_tag:
      return argument(a, 2, nullptr, fault);
    default:
      fault.fail(fmt::format("it calls {}, which is not a function", shown((*global)->name)));
  }
}

}  // namespace

PickleItem call(const PickleItem& function, const PickleItem& arguments, const PickleFault& fault) {
  try {
    return result_of(function, arguments, fault);
  } catch (LeftOutItem& item) {
    return std::move(item);
  }
}

}  // namespace tandem::io
