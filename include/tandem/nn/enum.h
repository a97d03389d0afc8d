#pragma once
// Constants for options, named as in libtorch: kMean, kSame, kFanIn, ...
#include <cstdint>

#include "tandem/ops/loss.h"
#include "tandem/ops/pad.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Reductions of losses.
inline constexpr LossReduction kNone = LossReduction::None;
inline constexpr LossReduction kMean = LossReduction::Mean;
inline constexpr LossReduction kSum = LossReduction::Sum;

/// Modes of padding.
inline constexpr PadMode kConstant = PadMode::Constant;
inline constexpr PadMode kReflect = PadMode::Reflect;
inline constexpr PadMode kReplicate = PadMode::Replicate;
inline constexpr PadMode kCircular = PadMode::Circular;

namespace nn {
/// The type of kBatchMean, a reduction of kl_div only: the sum divided by the number of samples.
struct BatchMean {};
}  // namespace nn
/// The reduction itself, for KLDivLossOptions.
inline constexpr nn::BatchMean kBatchMean{};

namespace nn {
/// Padding of a convolution by name: none, or as much as keeps the image's size.
enum class PaddingMode : uint8_t { Valid, Same };
}  // namespace nn
/// The values of PaddingMode.
inline constexpr nn::PaddingMode kValid = nn::PaddingMode::Valid;
inline constexpr nn::PaddingMode kSame = nn::PaddingMode::Same;

namespace nn {
/// The type of kMax, a mode of embedding_bag only.
struct LargestOfBag {};
}  // namespace nn
/// The mode itself, for EmbeddingBagOptions.
inline constexpr nn::LargestOfBag kMax{};

namespace nn {
/// What grid_sample takes for positions outside the image.
enum class GridPadding : uint8_t { Zeros, Border, Reflection };
}  // namespace nn
/// The values of GridPadding.
inline constexpr nn::GridPadding kZeros = nn::GridPadding::Zeros;
inline constexpr nn::GridPadding kBorder = nn::GridPadding::Border;
inline constexpr nn::GridPadding kReflection = nn::GridPadding::Reflection;

namespace nn {
/// How an image is resized; nn::init::Nonlinearity::Linear, that is kLinear, stands for linear interpolation.
enum class ResizeMode : uint8_t { Nearest, NearestExact, Bilinear, Bicubic, Trilinear, Area };
}  // namespace nn
/// The values of ResizeMode.
inline constexpr nn::ResizeMode kNearest = nn::ResizeMode::Nearest;
inline constexpr nn::ResizeMode kNearestExact = nn::ResizeMode::NearestExact;
inline constexpr nn::ResizeMode kBilinear = nn::ResizeMode::Bilinear;
inline constexpr nn::ResizeMode kBicubic = nn::ResizeMode::Bicubic;
inline constexpr nn::ResizeMode kTrilinear = nn::ResizeMode::Trilinear;
inline constexpr nn::ResizeMode kArea = nn::ResizeMode::Area;

namespace nn {
/// The type of kGELU, an activation of transformer layers; the other is kReLU.
struct GELUActivation {};
}  // namespace nn
/// The activation itself, for TransformerEncoderLayerOptions.
inline constexpr nn::GELUActivation kGELU{};

namespace nn::init {
/// Whether initialisation preserves the variance in the forward pass (FanIn) or in the backward pass (FanOut).
enum class FanMode : uint8_t { FanIn, FanOut };
/// The function that follows a layer, for calculate_gain.
enum class Nonlinearity : uint8_t {
  Linear,
  Conv1D,
  Conv2D,
  Conv3D,
  ConvTranspose1D,
  ConvTranspose2D,
  ConvTranspose3D,
  Sigmoid,
  Tanh,
  ReLU,
  LeakyReLU
};
}  // namespace nn::init
/// The values of FanMode.
inline constexpr nn::init::FanMode kFanIn = nn::init::FanMode::FanIn;
inline constexpr nn::init::FanMode kFanOut = nn::init::FanMode::FanOut;
/// The values of Nonlinearity.
inline constexpr nn::init::Nonlinearity kLinear = nn::init::Nonlinearity::Linear;
inline constexpr nn::init::Nonlinearity kConv1D = nn::init::Nonlinearity::Conv1D;
inline constexpr nn::init::Nonlinearity kConv2D = nn::init::Nonlinearity::Conv2D;
inline constexpr nn::init::Nonlinearity kConv3D = nn::init::Nonlinearity::Conv3D;
inline constexpr nn::init::Nonlinearity kConvTranspose1D = nn::init::Nonlinearity::ConvTranspose1D;
inline constexpr nn::init::Nonlinearity kConvTranspose2D = nn::init::Nonlinearity::ConvTranspose2D;
inline constexpr nn::init::Nonlinearity kConvTranspose3D = nn::init::Nonlinearity::ConvTranspose3D;
inline constexpr nn::init::Nonlinearity kSigmoid = nn::init::Nonlinearity::Sigmoid;
inline constexpr nn::init::Nonlinearity kTanh = nn::init::Nonlinearity::Tanh;
inline constexpr nn::init::Nonlinearity kReLU = nn::init::Nonlinearity::ReLU;
inline constexpr nn::init::Nonlinearity kLeakyReLU = nn::init::Nonlinearity::LeakyReLU;

}  // namespace tandem
#pragma GCC visibility pop
