#include <zlib.h>

#include <algorithm>
#include <memory>

#include "src/io/zip.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

/// Appends little-endian numbers.
class Fields {
 public:
  template <class T>
  Fields& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Fields& short_(uint64_t value) { return add(static_cast<uint16_t>(value)); }
  Fields& word(uint64_t value) { return add(static_cast<uint32_t>(value)); }
  Fields& wide(uint64_t value) { return add(value); }
  Fields& text(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

constexpr uint64_t kVersion = 20, kVersion64 = 45;     // of the format
constexpr uint64_t kUtf8Flag = 0x800, kDate = 0x0021;  // 1980-01-01, the first date; files are the same at any time
constexpr uint64_t kShortLimit = 0xffff, kWordLimit = 0xffffffff;

/// The fields that a record's header and its entry in the directory have in common, from the flags on.
void add_common(Fields& f, const ZipEntry& e, bool wide) {
  f.short_(kUtf8Flag).short_(e.deflated ? 8 : 0).short_(0).short_(kDate).word(e.crc);
  f.word(wide ? kWordLimit : e.packed).word(wide ? kWordLimit : e.size).short_(e.name.size());
}

}  // namespace

ZipWriter::ZipWriter(Write write, uint64_t alignment, uint64_t zip64_from, uint64_t offset)
    : write_(std::move(write)), alignment_(alignment), zip64_from_(zip64_from), offset_(offset) {}

void ZipWriter::put(std::string_view bytes) {
  if (bytes.empty()) return;
  write_(bytes.data(), bytes.size());
  offset_ += bytes.size();
}

void ZipWriter::begin_entry(ZipEntry entry, uint64_t alignment) {
  TANDEM_CHECK(entry.name.size() <= kShortLimit, StateError,
               "the name {} has {} bytes; at most {} are possible: shorten it", shown(entry.name), entry.name.size(),
               kShortLimit);
  TANDEM_CHECK(index_.emplace(entry.name, entries_.size()).second, StateError, "{} is added twice; rename one",
               shown(entry.name));
  entry.header = offset_;
  const bool wide = std::max(entry.size, entry.packed) >= zip64_from_;
  Fields extra;
  if (wide) extra.short_(1).short_(16).wide(entry.size).wide(entry.packed);
  if (alignment > 1) {  // a field of padding, which PyTorch names FB
    const uint64_t begin = offset_ + 30 + entry.name.size() + extra.str().size() + 4;
    const uint64_t padding = (alignment - begin % alignment) % alignment;
    extra.text("FB").short_(padding).text(std::string(padding, 'Z'));
  }
  Fields local;
  local.text("PK\3\4").short_(wide ? kVersion64 : kVersion);
  add_common(local, entry, wide);
  local.short_(extra.str().size()).text(entry.name).text(extra.str());
  put(local.str());
  entries_.push_back(std::move(entry));
}

namespace {

uint64_t size_of(std::initializer_list<std::string_view> parts) {
  uint64_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  return size;
}

uint32_t crc_of_parts(std::initializer_list<std::string_view> parts) {
  uint32_t crc = 0;
  for (const std::string_view part : parts) crc = crc_of(crc, part.data(), part.size());
  return crc;
}

}  // namespace

void ZipWriter::add_stored(const std::string& name, std::initializer_list<std::string_view> parts) {
  const uint64_t size = size_of(parts);
  begin_entry({name, size, size, 0, 0, crc_of_parts(parts), /*deflated=*/false}, alignment_);
  for (const std::string_view part : parts) put(part);
}

void ZipWriter::add_deflated(const std::string& name, std::initializer_list<std::string_view> parts) {
  constexpr size_t kMostBytes = 1 << 30;  // per call, whose counts are 32-bit
  z_stream stream{};
  TANDEM_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               OutOfMemoryError, "zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, deflateEnd);
  std::string packed, chunk(1 << 16, '\0');
  const auto* part = parts.begin();
  std::string_view left;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    while (left.empty() && part != parts.end()) left = *part++;
    if (stream.avail_in == 0 && !left.empty()) {
      const size_t count = std::min(left.size(), kMostBytes);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));  // zlib does not write there
      stream.avail_in = static_cast<uInt>(count);
      left.remove_prefix(count);
    }
    const bool is_last = left.empty() && part == parts.end();
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    packed.append(chunk, 0, chunk.size() - stream.avail_out);
  }
  begin_entry({name, size_of(parts), packed.size(), 0, 0, crc_of_parts(parts), /*deflated=*/true}, /*alignment=*/1);
  put(packed);
}

void ZipWriter::finish() {
  const uint64_t begin = offset_;
  for (const ZipEntry& e : entries_) {
    const bool wide = std::max({e.size, e.packed, e.header}) >= zip64_from_;
    Fields f;
    f.text("PK\1\2").short_(wide ? kVersion64 : kVersion).short_(wide ? kVersion64 : kVersion);
    add_common(f, e, wide);
    f.short_(wide ? 28 : 0).short_(0).short_(0).short_(0).word(0).word(wide ? kWordLimit : e.header).text(e.name);
    if (wide) f.short_(1).short_(24).wide(e.size).wide(e.packed).wide(e.header);
    put(f.str());
  }
  const uint64_t end = offset_, size = end - begin, count = entries_.size();
  const bool wide = count >= kShortLimit || std::max(begin, size) >= zip64_from_;
  Fields f;
  if (wide) {
    f.text("PK\6\6").wide(44).short_(kVersion64).short_(kVersion64).word(0).word(0);
    f.wide(count).wide(count).wide(size).wide(begin);
    f.text("PK\6\7").word(0).wide(end).word(1);
  }
  const uint64_t shown_count = wide ? kShortLimit : count;
  f.text("PK\5\6").short_(0).short_(0).short_(shown_count).short_(shown_count);
  f.word(wide ? kWordLimit : size).word(wide ? kWordLimit : begin).short_(0);
  put(f.str());
}

}  // namespace tandem::io
