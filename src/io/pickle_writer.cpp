#include "src/io/pickle_writer.h"

#include <bit>

#include "src/io/pickle_globals.h"
#include "src/io/pickle_limits.h"
#include "src/io/source.h"
#include "src/io/utf8.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

class PickleWriter {
 public:
  explicit PickleWriter(PickleStorages& storages) : storages_(storages) {}

  std::string write(const IValue& value) {
    text_ = "\x80\x02";
    add(value, 1);
    code('.');
    check_bytes(0);
    return std::move(text_);
  }

 private:
  void code(char c) { text_ += c; }
  template <class T>
  void number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void global(std::string_view module, std::string_view name) { text_ += fmt::format("c{}\n{}\n", module, name); }

  void add_int(int64_t value) {
    if (value >= 0 && value <= 0xff) {
      code('K');
      number(static_cast<uint8_t>(value));
    } else if (value == static_cast<int32_t>(value)) {
      code('J');
      number(static_cast<int32_t>(value));
    } else {  // libtorch reads only those of 8 bytes
      text_ += "\x8a\x08";
      number(value);
    }
  }
  void add_bool(bool value) { code(value ? '\x88' : '\x89'); }
  void add_double(double value) {
    code('G');
    number(__builtin_bswap64(std::bit_cast<uint64_t>(value)));  // big-endian
  }
  void check_bytes(size_t more) const {
    TANDEM_CHECK(text_.size() + more <= kMostPickleBytes, StateError,
                 "the value needs more than {} bytes without the data of its tensors; save it in parts",
                 kMostPickleBytes);
  }
  void add_text(const std::string& text) {
    check_bytes(text.size());
    TANDEM_CHECK(is_utf8(text), StateError, "the text {} is not UTF-8; save it as IValue::bytes", shown(text));
    code('X');
    number(static_cast<uint32_t>(text.size()));
    text_ += text;
  }
  void add_bytes(const std::string& bytes) {
    global("_codecs", "encode");
    code('(');
    add_text(utf8_of_latin1(bytes));
    add_text("latin1");
    text_ += "tR";
  }
  void add_sizes(IntArrayRef sizes) {
    code('(');
    for (const int64_t size : sizes) add_int(size);
    code('t');
  }

  void add_tensor(const Tensor& t) {
    TANDEM_CHECK(t.defined(), StateError, "a tensor is undefined; omit it, or save None");
    const bool typed = !storage_name(t.dtype()).empty();
    const size_t number = storages_.add(t);
    global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    text_ += "((";
    add_text("storage");
    global(typed ? "torch" : "torch.storage", typed ? storage_name(t.dtype()) : "UntypedStorage");
    add_text(std::to_string(number));
    add_text("cpu");  // so that machines without the device can load it
    add_int(typed ? storages_.elements(number).numel() : static_cast<int64_t>(storages_.elements(number).nbytes()));
    text_ += "tQ";
    add_int(t.storage_offset());
    add_sizes(t.sizes());
    add_sizes(t.strides());
    add_bool(t.requires_grad());
    global("collections", "OrderedDict");
    text_ += ")R";
    if (!typed) global("torch", torch_name(t.dtype()));
    text_ += "tR";
  }

  /// Adds items to the container on the stack, 1000 at a time, as Python does: the reader's stack stays small.
  template <class AddItem>
  void in_steps(size_t count, char opcode, const AddItem& add_item) {
    constexpr size_t step = 1000;
    const size_t height = ++height_;  // with the container
    for (size_t i = 0; i < count; ++i) {
      if (i % step == 0) code('(');
      add_item(i);
      if (i % step != step - 1 && i + 1 != count) continue;
      code(opcode);
      height_ = height;
    }
  }

  /// Adds a value that lies `depth` deep, and returns its size.
  TreeSize add(const IValue& value, uint32_t depth) {
    constexpr size_t kMostArguments = kMaxRank + 4;  // on the reader's stack while it makes a tensor
    TANDEM_CHECK(depth <= TreeSize::kMostDepth, StateError, "the value nests more than {} deep; flatten it",
                 TreeSize::kMostDepth);
    TANDEM_CHECK(height_ + kMostArguments <= kMostStackItems, StateError,
                 "the value has a tuple of more than {} elements; save a list", kMostStackItems - kMostArguments + 1);
    check_bytes(0);
    const size_t height = height_;
    TreeSize size;
    const auto add_child = [&](const IValue& child) {
      TANDEM_CHECK(size.include(add(child, depth + 1)), StateError,
                   "the value consists of more than {} values; save numbers as tensors, or save it in parts",
                   TreeSize::kMostValues);
    };
    if (value.isNone()) {
      code('N');
    } else if (value.isBool()) {
      add_bool(value.toBool());
    } else if (value.isInt()) {
      add_int(value.toInt());
    } else if (value.isDouble()) {
      add_double(value.toDouble());
    } else if (value.isString()) {
      add_text(value.toStringRef());
    } else if (value.isBytes()) {
      add_bytes(value.toBytes());
    } else if (value.isScalarType()) {
      global("torch", torch_name(value.toScalarType()));
    } else if (value.isDevice()) {
      global("torch", "device");
      code('(');
      add_text(name(value.toDevice().type()));
      if (value.toDevice().index() >= 0) add_int(value.toDevice().index());
      text_ += "tR";
    } else if (value.isTensor()) {
      add_tensor(value.toTensor());
    } else if (value.isList()) {
      code(']');
      in_steps(value.toListRef().size(), 'e', [&](size_t i) { add_child(value.toListRef()[i]); });
    } else if (value.isTuple()) {
      code('(');
      for (const IValue& item : value.toTupleRef().elements()) add_child(item);
      code('t');
    } else if (value.isGenericDict()) {
      code('}');
      auto entry = value.toGenericDict().begin();
      in_steps(value.toGenericDict().size(), 'u', [&](size_t) {
        add_child(entry->key());
        add_child(entry->value());
        ++entry;
      });
    } else {
      TANDEM_THROW(StateError, "an object of class {} cannot be saved; save its attributes as a dictionary",
                   shown(value.toObjectRef().name()));
    }
    height_ = height + 1;
    return size;
  }

  PickleStorages& storages_;
  std::string text_;
  size_t height_ = 0;  ///< of the reader's stack
};

}  // namespace

size_t PickleStorages::add(const Tensor& t) {
  const auto count = static_cast<int64_t>(t.storage().nbytes() / t.element_size());
  Tensor all = make_view(t, {count}, {1}, 0);
  const void* data = all.impl().storage->data_unresolved();
  const std::tuple key(data, t.storage().nbytes(), t.device().type(), t.device().index());
  const auto known = numbers_.find(key);
  if (known != numbers_.end() && data != nullptr && count > 0) {
    TANDEM_CHECK(elements_[known->second].dtype() == t.dtype(), StateError,
                 "two tensors of dtypes {} and {} share memory, which a file cannot express; clone() one of them",
                 name(elements_[known->second].dtype()), name(t.dtype()));
    return known->second;
  }
  numbers_[key] = elements_.size();
  elements_.push_back(std::move(all));
  return elements_.size() - 1;
}

std::string write_pickle(const IValue& value, PickleStorages& storages) { return PickleWriter(storages).write(value); }

}  // namespace tandem::io
