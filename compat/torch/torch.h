#pragma once
// libtorch's namespaces and macros for programs written for libtorch: aliases of tandem's, and nothing else. To use it,
// link tandem::torch_compat, which puts this folder on the include path. docs/libtorch.md lists what is different.
#include <iostream>

#include "tandem/amp/tools.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/base/assert.h"
#include "tandem/data/data.h"
#include "tandem/io/io.h"
#include "tandem/nn/averaged_model.h"
#include "tandem/ops/in_place.h"
#include "tandem/ops/special.h"
#include "tandem/optim/optim.h"
#include "tandem/tandem.h"

namespace torch {
using namespace tandem;

/// What libtorch's C++ front end lacks: autocast and the gradient scaler, with the names of Python's torch.amp.
namespace cuda::amp {
using tandem::amp::GradScaler;
using tandem::amp::GradScalerOptions;
}  // namespace cuda::amp
}  // namespace torch

namespace at {
using namespace tandem;
}
namespace c10 {
using namespace tandem;
}

#define TORCH_ARG(T, name) TANDEM_ARG(T, name)
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define FORWARD_HAS_DEFAULT_ARGS(...) TANDEM_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
#define TORCH_API

#define TORCH_CHECK(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TANDEM_ASSERT((a) == (b), #a " == " #b ": ", a, " and ", b)
#define AT_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) TANDEM_ASSERT(false __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) ::tandem::warn(::tandem::str(__VA_ARGS__))
