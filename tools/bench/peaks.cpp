#include "tools/bench/peaks.h"

#include <tandem/autograd/grad_mode.h>
#include <tandem/cuda/device.h>
#include <tandem/ops/convert.h>
#include <tandem/ops/matmul.h>
#include <tandem/tensor/factories.h>
#include <tandem/tensor/threads.h>

#include <cmath>

#include "benchmarks/peak.h"
#include "tools/bench/timer.h"
#include "tools/system_memory.h"

namespace tools {
namespace {

using tandem::Device;
using tandem::DType;
using tandem::Tensor;

constexpr double kLongest = 0.25;  // seconds of one product; larger sizes are left out

double product_rate(const Device& device, DType dtype, int64_t size, double budget) {
  const Tensor a = tandem::randn({size, size}, device).to(dtype), b = tandem::randn({size, size}, device).to(dtype);
  const double operations = 2.0 * std::pow(static_cast<double>(size), 3);
  return operations / shortest(device, budget, [&] { tandem::matmul(a, b); });
}

ProductRates product_rates(const Device& device, const std::vector<int64_t>& sizes, double budget) {
  ProductRates rates;
  for (const DType dtype : trainable_dtypes(device)) {
    double rate = 0;
    for (const int64_t size : sizes) {
      if (rate > 0 && 2.0 * std::pow(static_cast<double>(size), 3) / rate > kLongest) break;
      rate = product_rate(device, dtype, size, budget);
      rates.set(dtype, size, rate);
    }
  }
  return rates;
}

double copy_bandwidth(const Device& device, bool quick) {
  int64_t bytes = int64_t{quick ? 16 : 256} << 20;  // more than the caches
  if (const SystemMemory memory = system_memory(); device.is_cpu() && memory.available > 0) {
    while (bytes > memory.available / 8 && bytes > 1 << 20) bytes /= 2;
  }
  const Tensor from = tandem::zeros({bytes}, tandem::TensorOptions(tandem::kByte).device(device));
  const Tensor to = tandem::zeros_like(from);
  const double seconds = shortest(device, quick ? 0.05 : 0.3, [&] {
    if (device.is_cpu()) {
      bench::stream_copy(to.data_ptr(), from.const_data_ptr<uint8_t>(), static_cast<size_t>(bytes));
    } else {
      to.copy_(from);
    }
  });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

}  // namespace

double ProductRates::measured(DType dtype, int64_t size) const {
  const auto of_dtype = rates_.find(dtype);
  if (of_dtype == rates_.end()) return 0;
  const auto rate = of_dtype->second.find(size);
  return rate == of_dtype->second.end() ? 0 : rate->second;
}

double ProductRates::at(DType dtype, double size) const {
  const std::map<int64_t, double>& rates = rates_.at(dtype);
  const auto above = rates.lower_bound(static_cast<int64_t>(std::ceil(size)));
  if (above == rates.begin()) return above->second;
  if (above == rates.end()) return rates.rbegin()->second;
  const auto below = std::prev(above);
  const double low = std::log(static_cast<double>(below->first)), high = std::log(static_cast<double>(above->first));
  const double weight = (std::log(size) - low) / (high - low);
  return std::exp((1 - weight) * std::log(below->second) + weight * std::log(above->second));
}

std::vector<DType> trainable_dtypes(const Device& device) {
  if (device.is_cuda() && !tandem::cuda::is_bf16_supported()) return {tandem::kFloat, tandem::kHalf};
  return {tandem::kFloat, tandem::kBFloat16, tandem::kHalf};
}

Peaks measure_peaks(const Device& device, bool quick) {
  const tandem::NoGradGuard no_grad;
  Peaks peaks;
  peaks.sizes = quick ? std::vector<int64_t>{64, 128} : std::vector<int64_t>{256, 1024, 2048};
  if (device.is_cuda() && !quick) peaks.sizes = {512, 2048, 8192};
  const double budget = quick ? 0.005 : 0.15;
  peaks.copy_bandwidth = copy_bandwidth(device, quick);
  peaks.all_threads = product_rates(device, peaks.sizes, budget);
  if (device.is_cuda()) return peaks;
  peaks.threads = tandem::get_num_threads();
  if (!quick) peaks.fma_rate = bench::fma_peak_gflops() * 1e9;
  if (peaks.threads == 1) {
    peaks.one_thread = peaks.all_threads;
    return peaks;
  }
  tandem::set_num_threads(1);
  peaks.one_thread = product_rates(device, peaks.sizes, budget);
  tandem::set_num_threads(peaks.threads);
  return peaks;
}

}  // namespace tools
