#pragma once
// What this machine reaches at most: the rates of matrix products and of memory.
#include <tandem/base/device.h>
#include <tandem/base/dtype.h>

#include <cstdint>
#include <map>
#include <vector>

namespace tools {

/// Rates of square matrix products in operations per second, by dtype and size.
class ProductRates {
 public:
  void set(tandem::DType dtype, int64_t size, double rate) { rates_[dtype][size] = rate; }
  bool has(tandem::DType dtype) const { return rates_.contains(dtype); }
  /// The measured rate; 0 if this size was left out.
  double measured(tandem::DType dtype, int64_t size) const;
  /// The rate for products of this size, interpolated between the measured ones on logarithmic scales.
  double at(tandem::DType dtype, double size) const;

 private:
  std::map<tandem::DType, std::map<int64_t, double>> rates_;
};

struct Peaks {
  std::vector<int64_t> sizes;
  int threads = 1;
  ProductRates one_thread, all_threads;  ///< of a GPU, only all_threads
  double copy_bandwidth = 0;             ///< bytes read and written per second, with all threads
  double fma_rate = 0;  ///< f32 multiply-adds from registers with all threads, in operations per second
};

/// The dtypes that a training step uses on this device: f32, bf16 unless it is a GPU that does not multiply it, f16.
std::vector<tandem::DType> trainable_dtypes(const tandem::Device& device);

/// Measures the peaks; takes about 10 seconds, or 1 if `quick`.
Peaks measure_peaks(const tandem::Device& device, bool quick);

}  // namespace tools
