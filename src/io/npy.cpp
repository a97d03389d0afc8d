#include "src/io/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "src/io/file_kind.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte orders below");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMostTextBytes = 1 << 16;  // version 1 allows no more, and arrays without records need less than 500

/// NumPy's code of a dtype, without the byte order; empty for bf16 and float8.
constexpr std::string_view numpy_code(DType t) {
  constexpr std::string_view codes[kNumDTypes] = {"u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8",
                                                  "b1", "",   "",   "",   "",   "u2", "u4", "u8"};
  return codes[static_cast<int>(t)];
}

/// Parses the text, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr_) {
        descr_ = true;
        parse_descr();
      } else if (key == "fortran_order" && !order_) {
        order_ = true;
        header_.fortran_order = boolean();
      } else if (key == "shape" && !shape_) {
        shape_ = true;
        parse_shape();
      } else {
        fail(fmt::format("the key {} is not expected", shown(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty() || !descr_ || !order_ || !shape_)
      fail("it must have descr, fortran_order and shape, and no more");
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& fault) const {
    TANDEM_THROW(IoError, "{}the header of the array is malformed: {}; write it with numpy.save", where_, fault);
  }
  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool accept(char c) {
    skip_space();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is missing", c));
  }
  std::string_view quoted() {
    skip_space();
    if (!text_.starts_with('\'') && !text_.starts_with('"')) fail("a text is missing");
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) fail("a text does not end");
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool boolean() {
    skip_space();
    const bool value = text_.starts_with("True");
    const std::string_view word = value ? "True" : "False";
    if (!text_.starts_with(word)) fail("fortran_order is neither True nor False");
    text_.remove_prefix(word.size());
    return value;
  }

  void parse_descr() {
    skip_space();
    TANDEM_CHECK(!text_.starts_with('['), io::ArrayDtypeError,
                 "{}the array is one of records, which tandem does not read; save each field as an array", where_);
    const std::string_view descr = quoted();
    const std::string_view code = descr.substr(std::min<size_t>(1, descr.size()));
    for (int i = 0; i < kNumDTypes && !code.empty(); ++i) {
      if (numpy_code(static_cast<DType>(i)) != code || std::string_view("<>|=").find(descr[0]) == std::string::npos)
        continue;
      header_.dtype = static_cast<DType>(i);
      header_.big_endian = descr[0] == '>';
      return;
    }
    TANDEM_THROW(io::ArrayDtypeError,
                 "{}the array has dtype {}, which tandem does not have; convert it with astype, to float32 for "
                 "example",
                 where_, shown(descr));
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("a size is not an integer of 0 or more");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2's long integers
      if (header_.sizes.size() == kMaxRank) fail("it has more than 12 dimensions");
      header_.sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& where_;
  NpyHeader header_;
  bool descr_ = false, order_ = false, shape_ = false;
};

/// The size of the data in bytes; nothing if it is impossibly large.
std::optional<uint64_t> data_bytes(const NpyHeader& header) {
  constexpr uint64_t limit = uint64_t{1} << 62;
  uint64_t bytes = element_size(header.dtype);
  bool empty = false;
  for (const int64_t size : header.sizes) {
    empty |= size == 0;
    if (size == 0) continue;
    if (bytes > limit / static_cast<uint64_t>(size)) return std::nullopt;
    bytes *= static_cast<uint64_t>(size);
  }
  return empty ? 0 : bytes;
}

/// Column-major strides.
Dims fortran_strides(const Dims& sizes) {
  Dims strides;
  int64_t stride = 1;
  for (const int64_t size : sizes) {
    strides.push_back(stride);
    stride *= std::max<int64_t>(size, 1);
  }
  return strides;
}

}  // namespace

NpyHeader read_npy_header(const Source& source) {
  constexpr uint64_t fixed = 8;  // magic and version
  std::string start(std::min<uint64_t>(source.size, fixed + 4), '\0');
  if (!start.empty()) source.read(0, start.data(), start.size());
  check_kind(source, FileKind::npy, "an array of NumPy");
  TANDEM_CHECK(start.starts_with(kMagic) && start.size() == fixed + 4, IoError,
               "{}not an array of NumPy: its {} bytes do not begin with NumPy's mark; write it with numpy.save",
               source.where, source.size);
  const int version = static_cast<unsigned char>(start[6]);
  TANDEM_CHECK(version >= 1 && version <= 3, IoError, "{}the format's version is {}; tandem reads 1 to 3", source.where,
               version);
  const uint64_t size_bytes = version == 1 ? 2 : 4, begin = fixed + size_bytes;
  uint32_t size = 0;
  std::memcpy(&size, start.data() + fixed, size_bytes);  // little-endian
  TANDEM_CHECK(size <= source.size - begin && size <= kMostTextBytes, IoError,
               "{}cut off, or malformed: the header has {} bytes, but {} follow (at most {} are allowed)", source.where,
               size, source.size - begin, kMostTextBytes);
  std::string text(size, '\0');
  if (size > 0) source.read(begin, text.data(), text.size());
  NpyHeader header = HeaderText(text, source.where).parse();
  header.size = begin + size;
  return header;
}

Tensor read_npy(const Source& source) {
  const NpyHeader header = read_npy_header(source);
  const std::optional<uint64_t> bytes = data_bytes(header);
  TANDEM_CHECK(
      bytes && *bytes == source.size - header.size, IoError,
      "{}cut off, or malformed: an array of {} {} needs {} bytes, but {} follow the header; fetch the file again",
      source.where, to_string(header.sizes), name(header.dtype), bytes ? std::to_string(*bytes) : "too many",
      source.size - header.size);
  const Tensor t = empty(header.sizes, TensorOptions(header.dtype).device(kCPU));
  if (*bytes > 0) source.read(header.size, t.raw_bytes(), *bytes);
  if (header.big_endian) swap_bytes(t.raw_bytes(), static_cast<size_t>(t.numel()), t.element_size());
  TANDEM_CHECK(header.dtype != kBool || is_valid_bool(t), IoError,
               "{}the data are corrupt: the array is of dtype bool and has a byte other than 0 and 1", source.where);
  return header.fortran_order ? make_view(t, header.sizes, fortran_strides(header.sizes), 0) : t;
}

std::string npy_header(DType dtype, IntArrayRef sizes) {
  TANDEM_CHECK(!numpy_code(dtype).empty(), DTypeError, "NumPy has no {}; save x.to(kFloat)", name(dtype));
  const char order = element_size(dtype) == 1 ? '|' : '<';
  const std::string shape =
      sizes.size() == 1 ? fmt::format("{},", sizes[0]) : fmt::format("{}", fmt::join(sizes.begin(), sizes.end(), ", "));
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, numpy_code(dtype), shape);
  constexpr size_t prefix = 10, alignment = 64;
  text.resize((prefix + text.size() + 1 + alignment - 1) / alignment * alignment - prefix, ' ');
  text.back() = '\n';
  const auto size = static_cast<uint16_t>(text.size());
  std::string header = std::string(kMagic) + std::string("\1\0", 2);
  header.append(reinterpret_cast<const char*>(&size), sizeof size);
  return header + text;
}

}  // namespace tandem::io
