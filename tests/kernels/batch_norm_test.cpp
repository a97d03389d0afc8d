// Batch normalisation against the definition, in f64.
#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

constexpr double kEps = 1e-3;

struct BatchNormCase {
  Dims sizes;
  MemoryLayout layout;
  int64_t channels() const { return sizes[1]; }
  int64_t inner() const { return numel_of(sizes) / (sizes[0] * sizes[1]); }
  double count() const { return static_cast<double>(numel_of(sizes) / sizes[1]); }
  size_t channel(int64_t i) const { return static_cast<size_t>(i / inner() % channels()); }
};

const BatchNormCase kBatchNormCases[] = {
    {{17, 5}, MemoryLayout::contiguous},
    {{300, 70}, MemoryLayout::contiguous},
    {{2, 20000}, MemoryLayout::contiguous},
    {{4, 3, 50}, MemoryLayout::contiguous},
    {{4, 19, 50}, MemoryLayout::channels_last},
    {{3, 5, 7, 6}, MemoryLayout::contiguous},
    {{3, 17, 7, 6}, MemoryLayout::channels_last},
    {{8, 33, 14, 14}, MemoryLayout::channels_last},
    {{2, 2, 130, 130}, MemoryLayout::contiguous},
    {{5, 1, 9, 8}, MemoryLayout::contiguous},
    {{5, 64, 1, 1}, MemoryLayout::channels_last},
    {{2, 3, 4, 5, 6}, MemoryLayout::contiguous},
    {{2, 3, 4, 5, 6}, MemoryLayout::channels_last},
};

template <class F>
void for_each_batch_norm_case(F&& f) {
  for (const BatchNormCase& c : kBatchNormCases) {
    for (DType dtype : kFloatingTypes) {
      for (DType parameter : {dtype, wide(dtype)}) {
        f(c, dtype, parameter,
          to_string(c.sizes) + " " + name(c.layout) + " " + std::string(name(dtype)) + " with " +
              std::string(name(parameter)));
      }
    }
  }
}

struct Statistics {
  std::vector<double> mean, variance, rstd;
};

Statistics statistics_of(const BatchNormCase& c, const std::vector<double>& x) {
  const size_t channels = static_cast<size_t>(c.channels());
  Statistics s{std::vector<double>(channels), std::vector<double>(channels), {}};
  for (size_t i = 0; i < x.size(); ++i) s.mean[c.channel(i)] += x[i] / c.count();
  for (size_t i = 0; i < x.size(); ++i)
    s.variance[c.channel(i)] += std::pow(x[i] - s.mean[c.channel(i)], 2) / c.count();
  for (double v : s.variance) s.rstd.push_back(1 / std::sqrt(v + kEps));
  return s;
}

std::vector<double> normalised(const BatchNormCase& c, const std::vector<double>& x, const Statistics& s,
                               const Tensor& weight, const Tensor& bias) {
  const std::vector<double> w = read(weight), b = read(bias);
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = c.channel(i);
    y.push_back((x[i] - s.mean[k]) * s.rstd[k] * w[k] + b[k]);
  }
  return y;
}

// Compares relative to the largest value: xhat and its products reach 40 and more.
void expect_scaled(const Tensor& actual, const std::vector<double>& expected, const std::string& what) {
  EXPECT_TRUE(near(actual, expected, tolerance(actual.dtype(), 100, 1, scale_of(expected)))) << what;
}

TEST(BatchNorm, Training) {
  for_each_batch_norm_case([](const BatchNormCase& c, DType dtype, DType parameter, const std::string& what) {
    const Tensor x = noise(c.sizes, dtype, 1, c.layout), y = unwritten(c.sizes, dtype, c.layout);
    const Tensor weight = noise({c.channels()}, parameter, 2),
                 bias = noise({c.channels()}, parameter, 3, MemoryLayout::spread);
    const Tensor mean = unwritten({c.channels()}, wide(dtype)), rstd = unwritten({c.channels()}, wide(dtype));
    const Tensor running_mean = noise({c.channels()}, parameter, 4), running_var = noise({c.channels()}, parameter, 5);
    std::vector<double> means = read(running_mean), vars = read(running_var);
    const Statistics s = statistics_of(c, read(x));
    for (size_t k = 0; k < means.size(); ++k) {
      means[k] = 0.75 * means[k] + 0.25 * s.mean[k];
      vars[k] = 0.75 * vars[k] + 0.25 * s.variance[k] * c.count() / (c.count() - 1);
    }
    under_test().batch_norm_train(y, mean, rstd, running_mean, running_var, x, weight, bias, 0.25, kEps);
    expect_scaled(mean, s.mean, what + ": mean");
    expect_scaled(rstd, s.rstd, what + ": rstd");
    expect_scaled(y, normalised(c, read(x), s, weight, bias), what + ": y");
    expect_scaled(running_mean, means, what + ": running_mean");
    expect_scaled(running_var, vars, what + ": running_var");
  });
}

TEST(BatchNorm, TrainingWithoutParameters) {
  for (DType dtype : kFloatingTypes) {
    const BatchNormCase c = kBatchNormCases[6];
    const Tensor x = noise(c.sizes, dtype, 1, c.layout), y = unwritten(c.sizes, dtype, c.layout);
    const Tensor mean = unwritten({c.channels()}, wide(dtype)), rstd = unwritten({c.channels()}, wide(dtype));
    const Tensor one = unwritten({c.channels()}, dtype), zero = unwritten({c.channels()}, dtype);
    write(one, std::vector<double>(static_cast<size_t>(c.channels()), 1));
    write(zero, std::vector<double>(static_cast<size_t>(c.channels())));
    under_test().batch_norm_train(y, mean, rstd, {}, {}, x, {}, {}, 0.1, kEps);
    expect_scaled(y, normalised(c, read(x), statistics_of(c, read(x)), one, zero), "y");
  }
}

TEST(BatchNorm, LargeMeanKeepsTheVariance) {
  for (const BatchNormCase& c : kBatchNormCases) {
    const Tensor x = noise(c.sizes, kFloat, 1, c.layout), y = unwritten(c.sizes, kFloat, c.layout);
    std::vector<double> shifted = read(x);
    for (double& v : shifted) v += 4096;
    write(x, shifted);
    const Tensor mean = unwritten({c.channels()}, kFloat), rstd = unwritten({c.channels()}, kFloat);
    under_test().batch_norm_train(y, mean, rstd, {}, {}, x, {}, {}, 0.1, kEps);
    const Statistics s = statistics_of(c, read(x));
    EXPECT_TRUE(near(rstd, s.rstd, {.rtol = 4e-6, .atol = 0})) << to_string(c.sizes);
  }
}

TEST(BatchNorm, Inference) {
  for_each_batch_norm_case([](const BatchNormCase& c, DType dtype, DType parameter, const std::string& what) {
    const Tensor x = noise(c.sizes, dtype, 1, c.layout), y = unwritten(c.sizes, dtype, c.layout);
    const Tensor weight = noise({c.channels()}, parameter, 2), bias = noise({c.channels()}, parameter, 3);
    const Tensor mean = noise({c.channels()}, parameter, 4), var = unwritten({c.channels()}, parameter);
    write(var, random_values(c.channels(), 5, 0.1, 2));
    Statistics s{read(mean), read(var), {}};
    for (double v : s.variance) s.rstd.push_back(1 / std::sqrt(v + kEps));
    under_test().batch_norm_inference(y, x, mean, var, weight, bias, kEps);
    expect_scaled(y, normalised(c, read(x), s, weight, bias), what);
  });
}

TEST(BatchNorm, Backward) {
  for_each_batch_norm_case([](const BatchNormCase& c, DType dtype, DType parameter, const std::string& what) {
    const Tensor x = noise(c.sizes, dtype, 1, c.layout), gy = noise(c.sizes, dtype, 2, c.layout);
    const Tensor weight = noise({c.channels()}, parameter, 3);
    const Statistics s = statistics_of(c, read(x));
    const Tensor mean = unwritten({c.channels()}, wide(dtype)), rstd = unwritten({c.channels()}, wide(dtype));
    write(mean, s.mean);
    write(rstd, s.rstd);
    const std::vector<double> xs = read(x), g = read(gy), w = read(weight), m = read(mean), r = read(rstd);
    std::vector<double> sum_g(m.size()), sum_gx(m.size());
    for (size_t i = 0; i < xs.size(); ++i) {
      const size_t k = c.channel(i);
      sum_g[k] += g[i];
      sum_gx[k] += g[i] * (xs[i] - m[k]) * r[k];
    }
    for (bool train : {true, false}) {
      std::vector<double> expected;
      for (size_t i = 0; i < xs.size(); ++i) {
        const size_t k = c.channel(i);
        const double means = (sum_g[k] + (xs[i] - m[k]) * r[k] * sum_gx[k]) / c.count();
        expected.push_back(r[k] * w[k] * (g[i] - (train ? means : 0)));
      }
      const Tensor gx = unwritten(c.sizes, dtype, c.layout);
      const Tensor gweight = unwritten({c.channels()}, parameter), gbias = unwritten({c.channels()}, parameter);
      under_test().batch_norm_backward(gx, gweight, gbias, gy, x, mean, rstd, weight, train);
      expect_scaled(gx, expected, what + ": gx");
      expect_scaled(gweight, sum_gx, what + ": gweight");
      expect_scaled(gbias, sum_g, what + ": gbias");
    }
    const Tensor gbias = unwritten({c.channels()}, parameter);
    under_test().batch_norm_backward({}, {}, gbias, gy, x, mean, rstd, {}, true);
    expect_scaled(gbias, sum_g, what + ": gbias alone");
  });
}

}  // namespace
}  // namespace tandem::testing
