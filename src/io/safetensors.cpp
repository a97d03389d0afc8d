#include "tandem/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/io/file_kind.h"
#include "src/io/safetensors_header.h"
#include "src/io/source.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::io {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::string_view kOwnKeys = "tandem.", kCrcKey = "tandem.crc32";
/// The text before the digits in the header, and the placeholder for the digits while the header's checksum is
/// computed. Quotes inside a JSON string are escaped, so this text can only be a key with its value.
constexpr std::string_view kCrcText = "\"tandem.crc32\":\"", kNoCrc = "00000000-00000000";

uint32_t header_crc(uint64_t length, std::string_view text) {
  return crc_of(crc_of(0, &length, sizeof length), text.data(), text.size());
}

// ---- writing

void write_all(const StateDict& tensors, const Metadata& metadata, const Write& write) {
  NoGradGuard no_grad;
  std::vector<Tensor> values;
  Header header{metadata, {}};
  for (const auto& item : tensors) {
    TANDEM_CHECK(item.value().defined(), StateError, "{} is an undefined tensor; omit it", shown(item.key()));
    values.push_back(item.value().detach().to(Device(kCPU)).contiguous());
    header.entries.push_back({item.key(), values.back().dtype(), Dims(values.back().sizes()), 0, 0, {}});
  }
  for (const auto& [key, text] : metadata) {
    TANDEM_CHECK(!key.starts_with(kOwnKeys), StateError,
                 "metadata {}: keys that begin with '{}' are reserved; rename it", shown(key), kOwnKeys);
  }
  header.metadata.emplace(kCrcKey, kNoCrc);

  // Larger elements first, so that every tensor is aligned to its element size.
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a].element_size() > values[b].element_size(); });
  uint64_t offset = 0;
  uint32_t data_crc = 0;
  for (const size_t i : order) {
    header.entries[i].begin = offset;
    header.entries[i].end = offset += values[i].nbytes();
    data_crc = crc_of(data_crc, values[i].raw_bytes(), values[i].nbytes());
  }

  std::string text = header_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  TANDEM_CHECK(length <= kMaxHeaderBytes, StateError,
               "{} tensors need a header of {} bytes, but the limit is {}; use fewer tensors or shorter names",
               tensors.size(), length, kMaxHeaderBytes);
  const std::string crc = fmt::format("{:08x}-{:08x}", header_crc(length, text), data_crc);
  text.replace(text.find(kCrcText) + kCrcText.size(), crc.size(), crc);

  write(&length, sizeof length);
  write(text.data(), text.size());
  for (const size_t i : order) {
    if (values[i].nbytes() > 0) write(values[i].raw_bytes(), values[i].nbytes());
  }
}

// ---- reading

/// Returns the checksums in `text` and replaces them by zeros; empty if there are none.
std::string take_checksums(std::string& text) {
  const size_t at = text.find(kCrcText);
  if (at == std::string::npos) return {};
  const std::string crc = text.substr(at + kCrcText.size(), kNoCrc.size());
  if (crc.size() == kNoCrc.size()) text.replace(at + kCrcText.size(), crc.size(), kNoCrc);
  return crc;
}

TensorFile read_all(const Source& source) {
  const std::string& where = source.where;
  check_kind(source, FileKind::safetensors, "a safetensors file");
  uint64_t length = 0;
  TANDEM_CHECK(source.size >= sizeof length, IoError, "{}has {} bytes, too few for a safetensors file", where,
               source.size);
  source.read(0, &length, sizeof length);
  TANDEM_CHECK(length <= source.size - sizeof length && length <= kMaxHeaderBytes, IoError,
               "{}cut off, or not a safetensors file: it declares a header of {} bytes, but {} bytes follow (at most "
               "{} are allowed)",
               where, length, source.size - sizeof length, kMaxHeaderBytes);
  std::string text(length, '\0');
  source.read(sizeof length, text.data(), text.size());

  const std::string sums = take_checksums(text);
  if (!sums.empty()) {
    const std::string found = fmt::format("{:08x}", header_crc(length, text));
    TANDEM_CHECK(sums.substr(0, 8) == found, IoError,
                 "{}the header is corrupt: its CRC-32 is {}, but the file says {}; use another copy", where, found,
                 shown(sums.substr(0, 8)));
  }
  Header header = parse_header(where, text, source.size - sizeof length - length);
  const auto own = header.metadata.find(std::string(kCrcKey));
  TANDEM_CHECK((own != header.metadata.end()) == !sums.empty(), IoError,
               "{}the header is malformed: its checksum is not where tandem puts it", where);
  if (own != header.metadata.end()) header.metadata.erase(own);

  std::vector<const HeaderEntry*> order;
  std::vector<Tensor> values(header.entries.size());
  for (const HeaderEntry& e : header.entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  uint32_t data_crc = 0;
  for (const HeaderEntry* e : order) {
    const bool left_out = !e->left_out.empty();
    if (left_out && sums.empty()) continue;
    Tensor t = left_out ? empty({static_cast<int64_t>(e->end - e->begin)}, TensorOptions(kByte).device(kCPU))
                        : empty(e->sizes, TensorOptions(e->dtype).device(kCPU));
    if (t.nbytes() > 0) source.read(sizeof length + length + e->begin, t.raw_bytes(), t.nbytes());
    data_crc = crc_of(data_crc, t.raw_bytes(), t.nbytes());
    TANDEM_CHECK(t.dtype() != kBool || is_valid_bool(t), IoError,
                 "{}the data are corrupt: {} is of dtype bool and has a byte other than 0 and 1", where,
                 shown(e->name));
    values[static_cast<size_t>(e - header.entries.data())] = std::move(t);
  }
  if (!sums.empty()) {
    const std::string found = fmt::format("-{:08x}", data_crc);
    TANDEM_CHECK(sums.substr(8) == found, IoError,
                 "{}the data of the tensors are corrupt: their CRC-32 is {}, but the file says {}; use another copy",
                 where, found.substr(1), shown(sums.substr(9)));
  }
  TensorFile result;
  std::vector<std::string> left_out;
  for (size_t i = 0; i < values.size(); ++i) {
    HeaderEntry& e = header.entries[i];
    if (e.left_out.empty()) {
      result.tensors.insert(std::move(e.name), values[i]);
    } else {
      left_out.push_back(fmt::format("{} ({})", shown(e.name), e.left_out));
    }
  }
  warn_of_left_out(where, left_out);
  result.metadata = std::move(header.metadata);
  return result;
}

}  // namespace

void save_file(const StateDict& tensors, const std::string& path, const Metadata& metadata) {
  const OpScope op("save_file");
  write_file(path, [&](const Write& write) { write_all(tensors, metadata, write); });
}

TensorFile load_file(const std::string& path, Device device) {
  const OpScope op("load_file");
  TensorFile result = read_all(file_source(path));
  for (auto& item : result.tensors) item.value() = item.value().to(device);
  return result;
}

std::string serialize(const StateDict& tensors, const Metadata& metadata) {
  const OpScope op("serialize");
  return written_bytes([&](const Write& write) { write_all(tensors, metadata, write); });
}

TensorFile deserialize(std::string_view bytes) {
  const OpScope op("deserialize");
  return read_all(memory_source(bytes));
}

}  // namespace tandem::io
