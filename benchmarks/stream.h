#pragma once
// Passes over memory, compared with a stream of as many bytes.
#include <benchmark/benchmark.h>
#include <tandem/tandem.h>

#include <functional>
#include <vector>

#include "peak.h"
#include "statistics.h"

namespace bench {

enum class Stream { copy, read };

/// Times `pass`, which must move `bytes` bytes, alternately with a copy (or a read) of as many bytes.
inline void against_stream(::benchmark::State& state, Stream stream, int64_t bytes, const std::function<void()>& pass) {
  const auto size = static_cast<size_t>(stream == Stream::copy ? bytes / 2 : bytes);
  const tandem::Tensor from = tandem::zeros({static_cast<int64_t>(size)}, tandem::kByte);
  const tandem::Tensor to = tandem::zeros_like(from);
  const void* source = from.const_data_ptr<uint8_t>();
  void* target = to.data_ptr();
  const auto plain = [&] { stream == Stream::copy ? stream_copy(target, source, size) : stream_read(source, size); };
  pass();
  plain();
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    const double start = now();
    pass();
    const double middle = now();
    plain();
    ours.push_back(middle - start);
    theirs.push_back(now() - middle);
    state.SetIterationTime(ours.back());
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters[stream == Stream::copy ? "x_copy" : "x_read"] = median(ours) / median(theirs);
}

}  // namespace bench
