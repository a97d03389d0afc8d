#pragma once
// What calls of gradient scalers must do, in f64, and whether PyTorch makes the same steps.
#include "soak/scaler_program.h"

namespace tandem::testing {

/// What the oracle checks. Each has a row in the test's table.
enum class ScalerRule : uint8_t {
  scaled,
  earlier_scale,
  other_scaler,
  two_scales,
  late_backward,
  of_grad,
  of_seed,
  shared,
  clipped_scaled,
  changed_scaled,
  forgotten_scale,
  unscaled,
  unscaled_and_scaled,
  unscaled_and_plain,
  unscaled_and_replaced,
  zeroed,
  replaced,
  replaced_and_scaled,
  replaced_and_plain,
  after_unscale,
  after_unscale_plain,
  after_unscale_replaced,
  after_unscale_scaled,
  overflow,
  plain_step,
  plain_step_of_changed,
  plain_step_of_scaled,
  plain_step_of_mixed,
  mixed,
  before_scale,
  step_twice,
  unscale_twice,
  unscale_after_step,
  update_without_flags,
  load_in_iteration,
  unscale_f16
};

struct ScalerRuleText {
  ScalerRule rule;
  bool throws, steps;  ///< the outcomes that occur
  const char* text;
};
const std::vector<ScalerRuleText>& scaler_rules();

/// A set of rules.
class ScalerRules {
 public:
  void add(ScalerRule rule) { bits_ |= uint64_t{1} << static_cast<int>(rule); }
  void add(ScalerRules rules) { bits_ |= rules.bits_; }
  bool has(ScalerRule rule) const { return (bits_ >> static_cast<int>(rule) & 1) != 0; }

 private:
  uint64_t bits_ = 0;
};

struct ScalerGradient {
  enum Kind : uint8_t { none, scaled, plain, unscaled, replaced, zero, mixed } kind = none;
  double value = 0;        ///< the true gradient; of a replaced one, as stored
  double unit = 1;         ///< value * unit is stored, unless `mixed`
  double torch = 0;        ///< what PyTorch stores
  double error = 0;        ///< bound of the error of `value`
  DType dtype = kFloat;    ///< of what is stored
  bool changed = false;    ///< the program has written it since the last backward pass, unscale_ or step
  uint64_t unscaled_by{};  ///< bits: the scalers that have unscaled this memory in their iterations
  // Of a scaled gradient: the scaler, how often its scale had been written, whether a replaced gradient is a part (also
  // of an unscaled one), and whether that part has since been brought to another scale.
  size_t scaler = 0;
  uint64_t writes = 0;
  bool on_replaced = false, is_vague = false;
  ScalerRules rules = {};  ///< that its history is about
};

/// A change of a parameter.
struct ScalerStep {
  double change = 0, error = 0;
};

struct ScalerVerdict {
  enum Outcome : uint8_t {
    done,
    state_error,
    dtype_error,
    not_stated  ///< the rules do not say what happens; the call is not made
  } outcome = done;
  ScalerRules rules = {};                ///< that decide the outcome
  bool skipped = false;                  ///< of a step
  bool right_in_torch = false;           ///< of an error: PyTorch would step right
  std::array<ScalerStep, 3> steps = {};  ///< of the parameters
};

class ScalerOracle {
 public:
  explicit ScalerOracle(const ScalerProgram& program);

  /// The call's outcome. Its effect is in this object only if the outcome is `done`.
  ScalerVerdict make(const ScalerInstruction& call);

  /// Whether PyTorch raises nothing and steps right so far.
  bool legal() const { return legal_; }
  /// Whether the rules have refused a call of a legal program.
  bool refused_legal() const { return refused_legal_; }
  /// Whether the numbers so far are too close to a limit to say what happens.
  bool unsure() const { return unsure_; }
  const ScalerGradient& gradient(size_t param) const { return gradients_[tensors_[param]]; }
  double scale(size_t scaler) const { return scalers_[scaler].scale; }
  int64_t growth_tracker(size_t scaler) const { return scalers_[scaler].tracker; }
  size_t next_scaler(size_t scaler) const { return (scaler + 1) % scalers_.size(); }
  size_t kept() const { return kept_.size(); }
  /// Which kept loss an index means.
  size_t kept_index(size_t index) const { return index % kept_.size(); }

 private:
  enum class Stage : uint8_t { ready, unscaled, stepped };
  struct Record {
    Stage stage = Stage::ready;
    bool checked = false, overflow = false;
  };
  struct Scaler {
    float scale;
    double growth, backoff;
    int64_t interval, tracker = 0;
    bool used = false;    // has scaled a loss
    uint64_t writes = 0;  // of the scale
    Record tensors = {};  // of unscale_tensor
    std::vector<Record> records;
    bool in_iteration() const;
  };
  struct Kept {
    std::array<double, 3> slopes;
    size_t scaler;
    double unit;
    uint64_t writes;
    bool freed = false;
  };
  /// A backward pass of a loss; null: it is not scaled.
  void backward(const std::array<double, 3>& slopes, const Kept* scaled);
  /// The backward pass of the sum of a scaled loss and the same loss, which may be scaled by another scaler.
  void half_scaled_backward(const ScalerInstruction& call);
  /// The backward pass of a loss, given a scale or a gradient.
  ScalerVerdict seeded_backward(const ScalerInstruction& call);
  /// Makes results of autograd::grad the gradients.
  ScalerVerdict grad(const ScalerInstruction& call);
  /// Adds a backward pass's gradient to that of a parameter.
  void add(size_t param, ScalerGradient part);
  ScalerVerdict run(const ScalerInstruction& call);
  ScalerVerdict unscale_or_step(const ScalerInstruction& call, bool steps);
  ScalerVerdict unscale_tensor(size_t param, size_t scaler);
  ScalerVerdict plain_step(size_t optimizer);
  /// Unscales a gradient, as a part of `verdict`.
  void unscale(size_t param, size_t scaler, bool is_ready, ScalerVerdict& verdict);
  void clip(const ScalerInstruction& call, ScalerVerdict& verdict);
  void change(size_t param, double factor);
  void set_scale(Scaler& scaler, double value);
  void update(Scaler& scaler);
  /// Adds the rounding of one write to the error, and replaces what the dtype cannot hold by infinity.
  void round(ScalerGradient& gradient, double added = 0);

  ScalerGradient& at(size_t param) { return gradients_[tensors_[param]]; }
  /// Gives a parameter a new gradient, which it shares with no other. References to others become invalid.
  ScalerGradient& renew(size_t param);

  const ScalerProgram* program_;
  std::vector<ScalerGradient> gradients_;
  std::vector<size_t> tensors_;  // of the parameters: which gradient
  std::vector<Scaler> scalers_;
  std::vector<Kept> kept_;
  bool legal_ = true, refused_legal_ = false, unsure_ = false;
};

}  // namespace tandem::testing
