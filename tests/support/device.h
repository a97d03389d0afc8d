#pragma once
// The device that the tests run on: the CPU, or the device in TANDEM_TEST_DEVICE ("cuda:1"). device.cpp makes it the
// default device before each test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tandem/tensor/default_device.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// Returns the device in TANDEM_TEST_DEVICE.
inline Device device_asked_for() {
  const char* name = std::getenv("TANDEM_TEST_DEVICE");
  return name && *name ? Device(name) : Device(kCPU);
}

inline DeviceType device_type() { return get_default_device().type(); }
inline bool on_cuda() { return get_default_device().is_cuda(); }
/// The device as error messages name it.
inline std::string device_name() { return empty({0}).device().str(); }

/// For tests that access memory through pointers or count calls of the CPU backend: always runs on CPU tensors.
#define TANDEM_TEST_ON_HOST() const ::tandem::DefaultDeviceGuard on_host(::tandem::kCPU)

}  // namespace tandem::testing

/// GTEST_SKIP with a reason if the tests run on a CUDA device.
#define SKIP_ON_CUDA(reason) \
  if (::tandem::testing::on_cuda()) GTEST_SKIP() << "on a CUDA device: " << reason
