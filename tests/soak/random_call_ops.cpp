#include "soak/random_call_ops.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "soak/random_calls.h"

namespace tandem::testing {
namespace {

/// The arguments of a recorded call.
class RecordedArgs : public Args {
 public:
  explicit RecordedArgs(const nlohmann::json& values) : values_(values) {}
  int64_t i(const char* name) const override { return values_.at(name); }
  bool flag(const char* name) const override { return values_.at(name); }
  double real(const char* name) const override { return n(name).to_double(); }
  Scalar n(const char* name) const override {
    const nlohmann::json& v = values_.at(name);
    if (v.is_string()) return std::stod(v.get<std::string>());  // "inf"
    if (v.is_number_integer()) return v.get<int64_t>();
    return v.get<double>();
  }
  std::string text(const char* name) const override { return values_.at(name); }
  std::vector<int64_t> list(const char* name) const override { return values_.at(name); }
  std::optional<DType> dtype() const override {
    if (!values_.contains("dtype")) return {};
    for (int d = 0; d < kNumDTypes; ++d) {
      if (name(static_cast<DType>(d)) == text("dtype")) return static_cast<DType>(d);
    }
    throw std::out_of_range(text("dtype"));
  }
  LossReduction reduction() const override {
    const std::string r = text("reduction");
    return r == "none" ? LossReduction::None : r == "mean" ? LossReduction::Mean : LossReduction::Sum;
  }

 private:
  bool null(const char* name) const override { return values_.at(name).is_null(); }

  const nlohmann::json& values_;
};

}  // namespace

const Ops& random_call_ops() {
  static const Ops all = [] {
    Ops ops;
    for (const auto& add :
         {add_elementwise_ops, add_in_place_ops, add_geometry_ops, add_indexing_ops, add_everyday_ops, add_product_ops,
          add_layer_ops, add_loss_ops, add_convolution_ops, add_sampling_ops, add_recurrence_ops}) {
      add(ops);
    }
    return ops;
  }();
  return all;
}

std::vector<Tensor> run_op(const std::string& op, const std::vector<Tensor>& x, const nlohmann::json& args) {
  return random_call_ops().at(op)(x, RecordedArgs(args));
}

}  // namespace tandem::testing
