#include "tandem/base/ordered_dict.h"

#include "tandem/base/check.h"

namespace tandem::detail {

void throw_no_key(const std::string& what, const std::string& key) {
  const OpScope op("OrderedDict");
  TANDEM_THROW(IndexError, "{} '{}' is not defined; check with contains()", what, key);
}
void throw_key_defined(const std::string& what, const std::string& key) {
  const OpScope op("OrderedDict");
  TANDEM_THROW(StateError, "{} '{}' is already defined; keys are unique", what, key);
}
void throw_no_entry(const std::string& what, size_t index, size_t size) {
  const OpScope op("OrderedDict");
  TANDEM_THROW(IndexError, "there is no {} number {}; the size is {}, numbers start at 0, and insert() adds an item",
               what, index, size);
}

}  // namespace tandem::detail
