#pragma once
// The device that the tests run on: the CPU, or what TANDEM_TEST_DEVICE names ("cuda"), which then is every test's
// default device. device.cpp sets it before each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tandem/tensor/default_device.h"

namespace tandem::testing {

/// What TANDEM_TEST_DEVICE names.
inline Device device_asked_for() {
  const char* name = std::getenv("TANDEM_TEST_DEVICE");
  return name && *name ? Device(name) : Device(kCPU);
}

inline DeviceType device_type() { return get_default_device().type(); }
inline bool on_cuda() { return get_default_device().is_cuda(); }
/// As messages name it.
inline std::string device_name() { return on_cuda() ? "cuda:0" : "cpu"; }

/// For a test that reads or writes memory through pointers, or counts what the CPU's backend does: there it runs on the
/// CPU's tensors in any case.
#define TANDEM_TEST_ON_HOST() const ::tandem::DefaultDeviceGuard on_host(::tandem::kCPU)

}  // namespace tandem::testing

/// GTEST_SKIP with a reason where the tests run on a CUDA device.
#define SKIP_ON_CUDA(reason) \
  if (::tandem::testing::on_cuda()) GTEST_SKIP() << "on a CUDA device: " << reason
