#pragma once
// Reads event files of TensorBoard, with the checksums of their frames.
#ifdef TANDEM_PROTOBUF
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/io/protobuf/event.pb.h"
#include "src/io/record_file.h"

namespace tandem::testing {

using io::board::Event;
using io::board::Summary;

/// The events of a file.
inline std::vector<Event> events_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto masked = [](std::string_view data) {
    const uint32_t crc = io::crc32c(data);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  std::vector<Event> events;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    uint32_t crc_of_size = 0, crc = 0;
    if (bytes.size() - at < 16) {
      ADD_FAILURE() << path << " ends within a frame";
      return events;
    }
    std::memcpy(&size, &bytes[at], 8);
    std::memcpy(&crc_of_size, &bytes[at + 8], 4);
    if (crc_of_size != masked({&bytes[at], 8}) || bytes.size() - at - 16 < size) {
      ADD_FAILURE() << path << " has a wrong size at byte " << at;
      return events;
    }
    std::memcpy(&crc, &bytes[at + 12 + size], 4);
    const std::string_view record(&bytes[at + 12], size);
    EXPECT_EQ(crc, masked(record)) << path << " at byte " << at;
    EXPECT_TRUE(events.emplace_back().ParseFromArray(record.data(), static_cast<int>(size)));
    at += 16 + size;
  }
  return events;
}

/// The paths of a folder's event files, sorted.
inline std::vector<std::string> event_files_of(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The events of a folder with one file, after the event with the version.
inline std::vector<Event> events_in(const std::string& folder) {
  const std::vector<std::string> files = event_files_of(folder);
  EXPECT_EQ(files.size(), 1u) << folder;
  if (files.empty()) return {};
  std::vector<Event> events = events_of(files[0]);
  EXPECT_FALSE(events.empty());
  if (events.empty()) return {};
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  events.erase(events.begin());
  return events;
}

}  // namespace tandem::testing
#endif
