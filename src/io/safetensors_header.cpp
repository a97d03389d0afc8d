#include "src/io/safetensors_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "src/io/source.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

constexpr const char* kMetadataKey = "__metadata__";

/// The name of a dtype in the format.
constexpr std::string_view format_name(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"U8",   "I8",   "I16",     "I32",     "I64",     "F16", "F32", "F64",
                                                  "BOOL", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "U16", "U32", "U64"};
  return names[static_cast<int>(t)];
}

std::optional<DType> dtype_named(std::string_view text) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (format_name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// The bits of an element of those dtypes of the format that tandem does not have; 0 for other texts.
uint64_t bits_of_other(std::string_view text) {
  constexpr std::pair<std::string_view, uint64_t> others[] = {
      {"C64", 64}, {"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
  };
  for (const auto& [name, bits] : others) {
    if (name == text) return bits;
  }
  return 0;
}

/// Handles the parser's events. The grammar has three levels and no optional parts, so the place determines which
/// events are valid; all others fail, whatever their depth or size. Only the entries themselves are stored.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  Header header;
  std::string fault;

  bool start_object(std::size_t) override {
    if (place_ == Place::Outside) return go(Place::File);
    if (place_ == Place::File && key_ == kMetadataKey) return go(Place::Metadata);
    if (place_ != Place::File) return unexpected("an object");
    header.entries.emplace_back().name = key_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return go(Place::Tensor);
  }

  bool end_object() override {
    if (place_ == Place::Tensor && !(has_dtype_ && has_shape_ && has_offsets_)) {
      return fail(shown(key_) + " lacks one of dtype, shape and data_offsets");
    }
    return go(place_ == Place::File ? Place::Outside : Place::File);
  }

  bool key(std::string& name) override {
    if (place_ == Place::File) {
      key_ = name;
      if (!names_.insert(name).second) return fail(shown(name) + " appears twice");
    } else if (place_ == Place::Metadata) {
      field_ = name;
      if (header.metadata.contains(name)) return fail("metadata " + shown(name) + " appears twice");
    } else {
      field_ = name;
      bool* seen = field_ == "dtype" ? &has_dtype_ : field_ == "shape" ? &has_shape_ : &has_offsets_;
      if (seen == &has_offsets_ && field_ != "data_offsets") return fail(shown(key_) + " has a field " + shown(name));
      if (*seen) return fail(shown(key_) + " has " + field_ + " twice");
      *seen = true;
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::Metadata) {
      header.metadata.emplace(field_, std::move(text));
      return true;
    }
    if (place_ != Place::Tensor || field_ != "dtype") return unexpected("a string");
    if (const std::optional<DType> dtype = dtype_named(text)) {
      entry().dtype = *dtype;
    } else if (bits_of_other(text) == 0) {
      return fail(shown(key_) + " has dtype " + shown(text) + ", which the format does not have");
    } else {
      entry().left_out = std::move(text);
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::Tensor || field_ == "dtype") return unexpected("an array");
    count_ = 0;
    return go(field_ == "shape" ? Place::Shape : Place::Offsets);
  }

  bool end_array() override {
    if (place_ == Place::Offsets && count_ != 2) return fail(shown(key_) + " does not have two data_offsets");
    return go(Place::Tensor);
  }

  bool number_unsigned(uint64_t number) override {
    if (place_ == Place::Shape) {
      if (count_ == kMaxRank) return fail(shown(key_) + " has more than 12 dimensions");
      if (number > std::numeric_limits<int64_t>::max()) return unexpected("a number above 2^63");
      entry().sizes.push_back(static_cast<int64_t>(number));
    } else if (place_ == Place::Offsets) {
      (count_ == 0 ? entry().begin : entry().end) = number;
    } else {
      return unexpected("a number");
    }
    ++count_;
    return true;
  }

  bool number_integer(int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { return unexpected("a fraction or a number above 2^64"); }
  bool boolean(bool) override { return unexpected("a bool"); }
  bool null() override { return unexpected("null"); }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("bytes"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail("byte " + std::to_string(position) + " is not valid JSON");
  }

 private:
  enum class Place { Outside, File, Metadata, Tensor, Shape, Offsets };

  HeaderEntry& entry() { return header.entries.back(); }
  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool fail(std::string text) {
    fault = std::move(text);
    return false;
  }
  bool unexpected(const std::string& what) {
    return fail(key_.empty() ? what + " in place of an object" : shown(key_) + " has " + what + " out of place");
  }

  Place place_ = Place::Outside;
  std::string key_, field_;
  std::unordered_set<std::string> names_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int count_ = 0;
};

/// The size of a tensor in bytes. Empty if the product of its nonzero sizes exceeds the limit of tandem::empty: strides
/// are such products.
std::optional<uint64_t> bytes_of(const HeaderEntry& e) {
  constexpr uint64_t limit = uint64_t{1} << 62;
  const bool in_bits = !e.left_out.empty();
  uint64_t product = in_bits ? bits_of_other(e.left_out) : element_size(e.dtype);
  bool empty = false;
  for (const int64_t size : e.sizes) {
    empty |= size == 0;
    if (size == 0) continue;
    if (product > limit / static_cast<uint64_t>(size)) return std::nullopt;
    product *= static_cast<uint64_t>(size);
  }
  return empty ? 0 : in_bits ? (product + 7) / 8 : product;
}

void check_layout(const std::string& where, const Header& header, uint64_t data_bytes) {
  std::vector<const HeaderEntry*> order;
  for (const HeaderEntry& e : header.entries) {
    const std::optional<uint64_t> bytes = bytes_of(e);
    TANDEM_CHECK(bytes, IoError, "{}the header is malformed: {} of {} is impossibly large", where, shown(e.name),
                 to_string(e.sizes));
    TANDEM_CHECK(e.begin <= e.end && e.end - e.begin == *bytes, IoError,
                 "{}the header is malformed: {} of {} {} needs {} bytes, but its data_offsets are [{}, {}]", where,
                 shown(e.name), to_string(e.sizes), e.left_out.empty() ? name(e.dtype) : e.left_out, *bytes, e.begin,
                 e.end);
    TANDEM_CHECK(e.end <= data_bytes, IoError,
                 "{}cut off, or malformed: {} ends at byte {} of the data, but there are only {}; fetch the file again",
                 where, shown(e.name), e.end, data_bytes);
    order.push_back(&e);
  }
  std::sort(order.begin(), order.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  uint64_t covered = 0;
  for (const HeaderEntry* e : order) {
    TANDEM_CHECK(e->begin == covered, IoError, "{}the header is malformed: {} begins at byte {} of the data, but {} {}",
                 where, shown(e->name), e->begin, covered, e->begin < covered ? "are taken" : "would be next");
    covered = e->end;
  }
  TANDEM_CHECK(covered == data_bytes, IoError, "{}malformed: the tensors need {} bytes of data, but there are {}",
               where, covered, data_bytes);
}

}  // namespace

Header parse_header(const std::string& where, std::string_view text, uint64_t data_bytes) {
  HeaderEvents events;
  // The parser itself would accept a leading byte order mark or white space.
  const bool ok = text.starts_with('{') && nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  TANDEM_CHECK(ok, IoError, "{}the header is malformed: {}; is it a safetensors file?", where,
               events.fault.empty() ? "it does not begin with {" : events.fault);
  check_layout(where, events.header, data_bytes);
  return std::move(events.header);
}

namespace {

/// `text` as a JSON string.
std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    TANDEM_THROW(StateError, "{}, a tensor name or a metadata text, is not UTF-8; rename it",
                 nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
}

}  // namespace

std::string header_text(const Header& header) {
  std::string text = fmt::format("{{\"{}\":{{", kMetadataKey);
  const char* comma = "";
  for (const auto& [key, value] : std::map(header.metadata.begin(), header.metadata.end())) {  // sorted
    text += fmt::format("{}{}:{}", comma, json_string(key), json_string(value));
    comma = ",";
  }
  text += "}";
  for (const HeaderEntry& e : header.entries) {
    TANDEM_CHECK(e.name != kMetadataKey, StateError, "a tensor's name is {}, which is reserved; rename it",
                 shown(e.name));
    text += fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_string(e.name),
                        format_name(e.dtype), fmt::join(e.sizes, ","), e.begin, e.end);
  }
  return text + "}";
}

}  // namespace tandem::io
