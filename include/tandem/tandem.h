#pragma once
// The header for programs; the library's own files include only what they use. To keep compile times low, it leaves out
// tandem/amp/tools.h (tools that show what AMP does), tandem/amp/modes.h (the modes of Apex, Colossal-AI and Keras),
// tandem/amp/fp8.h (training in float8),
// tandem/amp/custom_function.h and tandem/autograd/function.h (custom functions), tandem/autograd/checkpoint.h,
// tandem/amp/custom_op.h and tandem/autograd/gradcheck.h (custom ops), tandem/tensor/dlpack.h (exchange of tensors in
// memory), tandem/base/assert.h (checks in programs), tandem/nn/averaged_model.h, tandem/nn/utils/weight_norm.h,
// tandem/ops/in_place.h and tandem/ops/special.h (functions that are methods too), and parts of tandem/optim/optim.h
// (all optimizers and schedules), tandem/data/data.h (all datasets, samplers and transforms) and tandem/io/io.h (files
// of other libraries).
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/amp/thread_context.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/base/error.h"
#include "tandem/base/warn.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/global_context.h"
#include "tandem/cuda/graph.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/cuda/memory.h"
#include "tandem/cuda/stream.h"
#include "tandem/data/data_loader.h"
#include "tandem/data/datasets/mnist.h"
#include "tandem/data/datasets/tensor.h"
#include "tandem/data/transforms.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/safetensors.h"
#include "tandem/io/serialize.h"
#include "tandem/left_out.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/adagrad.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/adamw.h"
#include "tandem/optim/lbfgs.h"
#include "tandem/optim/lr_scheduler.h"
#include "tandem/optim/rmsprop.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/default_device.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"
#include "tandem/tensor/print.h"
#include "tandem/tensor/random.h"
#include "tandem/tensor/tensor.h"
#include "tandem/tensor/threads.h"
#include "tandem/version.h"
