#pragma once
// The header for programs; the library's own files include only what they use. To keep compile times low, it leaves out
// what few programs need and what takes more of the standard library:
//
//   tandem/amp/tools.h                                         OpStats, Profiler, OverflowFinder, check_numerics ...
//   tandem/amp/modes.h                                         the modes of Apex, Colossal-AI and Keras
//   tandem/amp/fp8.h                                           training in float8
//   tandem/amp/custom_function.h, tandem/autograd/function.h   custom functions
//   tandem/amp/custom_op.h                                     custom ops
//   tandem/autograd/checkpoint.h                               activation checkpointing
//   tandem/base/assert.h                                       TANDEM_ASSERT
//   tandem/data/stateful_data_loader.h                         StatefulDataLoader
//   tandem/distributed/distributed.h, tandem/nn/parallel/*.h   training on several processes or devices
//   tandem/io/io.h                                             pickle_load, SummaryWriter
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/amp/thread_context.h"
#include "tandem/amp/tools/train_log.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/gradcheck.h"
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
#include "tandem/data/datasets/cifar.h"
#include "tandem/data/datasets/combine.h"
#include "tandem/data/datasets/image_folder.h"
#include "tandem/data/datasets/mnist.h"
#include "tandem/data/datasets/shared.h"
#include "tandem/data/datasets/stateful.h"
#include "tandem/data/datasets/tensor.h"
#include "tandem/data/datasets/text.h"
#include "tandem/data/samplers/batch.h"
#include "tandem/data/samplers/distributed.h"
#include "tandem/data/samplers/random_choice.h"
#include "tandem/data/samplers/stream.h"
#include "tandem/data/transforms.h"
#include "tandem/data/transforms/color.h"
#include "tandem/data/transforms/geometry.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/file_kind.h"
#include "tandem/io/numpy.h"
#include "tandem/io/safetensors.h"
#include "tandem/io/serialize.h"
#include "tandem/left_out.h"
#include "tandem/nn/averaged_model.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/utils/weight_norm.h"
#include "tandem/ops/in_place.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/special.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/cpu_capability.h"
#include "tandem/tensor/default_device.h"
#include "tandem/tensor/dlpack.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"
#include "tandem/tensor/print.h"
#include "tandem/tensor/random.h"
#include "tandem/tensor/tensor.h"
#include "tandem/tensor/threads.h"
#include "tandem/version.h"
