#pragma once
// Small IDX files in a temporary folder: valid or invalid, plain or compressed.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace tandem::testing {

inline Bytes idx_header(const std::vector<uint32_t>& sizes, uint32_t type = 0x08) {
  Bytes bytes = {0, 0, static_cast<uint8_t>(type), static_cast<uint8_t>(sizes.size())};
  for (uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(size >> shift));
  }
  return bytes;
}

/// Returns an IDX file whose element i has the value i * step modulo 256.
inline Bytes idx_file(const std::vector<uint32_t>& sizes, uint32_t step = 1) {
  Bytes bytes = idx_header(sizes);
  size_t numel = 1;
  for (uint32_t size : sizes) numel *= size;
  for (size_t i = 0; i < numel; ++i) bytes.push_back(static_cast<uint8_t>(i * step));
  return bytes;
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace tandem::testing
