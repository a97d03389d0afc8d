#pragma once
// What is on the stack of the pickle reader: values, containers that are still being filled, and names and storages,
// which are not values.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/io/pickle_globals.h"
#include "src/io/pickle_limits.h"
#include "src/io/pickle_reader.h"
#include "tandem/io/ivalue.h"

namespace tandem::io {

/// A value that does not change any more.
struct FinishedItem {
  IValue value;
  TreeSize size;
};

/// A list, dictionary or object that is being filled. It is finished when it is put into another container. Python's
/// pickles fill a container completely before that, unless it contains itself; so the reader refuses later changes, and
/// no value can contain itself.
struct OpenItem {
  enum class Kind { list, set, dict, ordered_dict, object };
  Kind kind = Kind::list;
  std::vector<IValue> list;
  GenericDict dict;
  std::string class_name;
  OrderedDict<std::string, IValue> attributes;
  std::optional<std::vector<std::string>> state_names;  ///< of an object's class
  TreeSize size;
  std::optional<IValue> finished;

  const IValue& finish() {
    if (finished) return *finished;
    if (kind == Kind::object) {
      finished = IValue(ivalue::Object(std::move(class_name), std::move(attributes), std::move(state_names)));
    } else if (kind == Kind::dict || kind == Kind::ordered_dict) {
      finished = IValue(std::move(dict));
    } else {
      finished = IValue(std::move(list));
    }
    return *finished;
  }
};

/// All elements of a storage, as a tensor of rank 1.
struct StorageItem {
  Tensor elements;
};

/// What tandem has no counterpart of: an instance of a class, a complex tensor, an integer of 2^70, the device mps. A
/// tuple with such an item, and a call with such an argument, are left out as a whole.
struct LeftOutItem {
  std::string what;  ///< for messages: "'numpy.dtype'"
};

struct ArgumentsItem;

/// Where the reader is, for messages.
struct PickleFault {
  const PickleContext& context;
  size_t at = 0;  ///< of the opcode, in bytes

  /// Throws: the bytes are not what Python or PyTorch writes.
  [[noreturn]] void fail(const std::string& fault) const;
  /// Throws a LeftOutItem: `what` is well formed, but tandem has no counterpart of it. For functions below call().
  [[noreturn]] void leave_out(std::string what) const { throw LeftOutItem{std::move(what)}; }
  /// Throws: the file is well formed, but has something in a place where it cannot be left out.
  [[noreturn]] void refuse(const std::string& what) const;
  void check(bool ok, const char* fault) const {
    if (!ok) [[unlikely]]
      fail(fault);
  }
};

using PickleItem = std::variant<FinishedItem, std::shared_ptr<OpenItem>, std::shared_ptr<const PickleGlobal>,
                                StorageItem, std::shared_ptr<const ArgumentsItem>, LeftOutItem>;

/// A tuple that contains names or storages, and so is no value: the arguments of a call. Those of a call that makes
/// another one contain such a tuple, which contains none.
struct ArgumentsItem {
  std::vector<PickleItem> items;
  bool nests = false;
};

/// The value of an item; finishes an open container. Throws IoError for a name, a storage or what is left out.
FinishedItem finished_item(const PickleItem& item, const PickleFault& fault);
/// What a container leaves out in place of the item; empty for values.
std::string no_value(const PickleItem& item);
/// Whether a dictionary may have this key: a text, a number or None.
bool is_key(const IValue& v);
/// A tuple of items: a value if all of them are.
PickleItem tuple_item(const std::vector<PickleItem>& items, const PickleFault& fault);
/// The result of REDUCE: one of the calls that PyTorch's files contain, such as that which makes a tensor of a storage.
PickleItem call(const PickleItem& function, const PickleItem& arguments, const PickleFault& fault);

}  // namespace tandem::io
