#include "soak/scaler_program.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

namespace tandem::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ScalerProgramGenerator {
 public:
  explicit ScalerProgramGenerator(uint64_t seed) : random_(seed) {}

  ScalerProgram make() {
    set_up();
    const int form = below(20);
    if (form == 0) {
      for (int n = 8 + below(25); n > 0; --n) add(any_call());
    } else {
      for (int n = 1 + below(4); n > 0; --n) iteration(below(program_.scalers.size()));
      if (form < 10) spoil();
    }
    // Such gradients never cancel those of a scaled loss, where PyTorch would be right by chance.
    for (ScalerInstruction& i : program_.calls) {
      if (i.call != ScalerCall::seeded_backward) continue;
      for (double& slope : i.slopes) slope += slope == 0 ? 0 : 0.125;
      if (i.flag) i.slopes[i.param] = 0;  // the pass would write the gradient that it reads
    }
    return program_;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  bool chance(size_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  ScalerInstruction& add(ScalerInstruction call) {
    call.reads = chance(4);
    program_.calls.push_back(call);
    return program_.calls.back();
  }

  /// Scales never become 1, by which a scaled gradient could not be told from one that is not.
  void set_up() {
    const size_t params = 1 + below(3), optimizers = 1 + below(3), scalers = chance(3) ? 2 : 1;
    const bool extreme = chance(12);
    for (size_t i = 0; i < params; ++i) {
      program_.params.push_back(extreme ? kFloat : pick({kFloat, kFloat, kHalf, kBFloat16, kBFloat16}));
    }
    for (size_t i = 0; i < scalers; ++i) {
      program_.scalers.push_back({extreme ? pick({0x1p-126, 0x1.2p126}) : pick({1024.0, 128.0, 640.0, 48.0}),
                                  pick({2.0, 2.0, 3.0, 1.5}), pick({0.5, 0.5, 0.3, 0.75}),
                                  pick<int64_t>({1, 1, 2, 5})});
    }
    std::vector<int> owners(params, 0);
    for (size_t i = 0; i < optimizers; ++i) {
      program_.optimizers.push_back({pick({ScalerProgram::Kind::fused, ScalerProgram::Kind::fused,
                                           ScalerProgram::Kind::overridden, ScalerProgram::Kind::own}),
                                     optim::MasterWeights::none,
                                     pick({0.5, 1.0, 0.25}),
                                     {}});
    }
    // Each optimizer has a parameter, and each parameter an optimizer.
    for (size_t i = 0; i < std::max(params, optimizers); ++i) {
      const size_t o = i < optimizers ? i : below(optimizers), p = i % params;
      program_.optimizers[o].params.push_back(p);
      ++owners[p];
    }
    if (chance(5)) {
      const size_t o = below(optimizers), p = below(params);
      std::vector<size_t>& own = program_.optimizers[o].params;
      if (std::find(own.begin(), own.end(), p) == own.end()) {
        own.push_back(p);
        ++owners[p];
      }
    }
    for (ScalerProgram::Optimizer& o : program_.optimizers) {
      // Scalers unscale f16 gradients only for optimizers that do it as they step.
      for (const size_t p : o.params) {
        if (o.kind != ScalerProgram::Kind::fused && program_.params[p] == kHalf && !chance(4))
          program_.params[p] = kBFloat16;
      }
      const bool shared = std::any_of(o.params.begin(), o.params.end(), [&](size_t p) { return owners[p] > 1; });
      if (o.kind != ScalerProgram::Kind::own && !shared && !chance(3)) {
        o.masters = pick({optim::MasterWeights::f32, optim::MasterWeights::remainder});
      }
    }
  }

  double slope() { return pick({1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -3.0, 1.5}); }
  std::array<double, 3> loss_of(const std::vector<size_t>& params) {
    std::array<double, 3> slopes{};
    for (const size_t p : params) slopes[p] = slope();
    return slopes;
  }
  /// Calls that change gradients, of parameters that have some.
  void change_gradients(size_t optimizer, bool scaled) {
    const size_t p = pick_of(program_.optimizers[optimizer].params);
    switch (below(5)) {
      case 0:
        add({.call = ScalerCall::clip_norm, .optimizer = optimizer, .number = pick({0.5, 1.0, 100.0})});
        break;
      case 1:
        add({.call = ScalerCall::clip_value, .optimizer = optimizer, .number = pick({0.5, 1.0, 100.0})});
        break;
      case 2:
        add({.call = ScalerCall::change, .param = p, .number = pick({0.5, 2.0, -1.0}), .flag = chance(3)});
        break;
      case 3:
        add({.call = ScalerCall::move, .param = p, .other = below(program_.params.size()), .flag = chance(2)});
        break;
      default:
        add({.call = ScalerCall::replace, .param = p, .number = scaled ? pick({64.0, -32.0}) : slope()});
    }
  }
  size_t pick_of(const std::vector<size_t>& values) { return values[below(values.size())]; }

  /// A step as PyTorch wants it: the gradients are dropped, written, perhaps unscaled and changed, and stepped.
  void iteration(size_t scaler) {
    std::vector<size_t> optimizers, params;
    for (size_t o = 0; o < program_.optimizers.size(); ++o) {
      // Two optimizers of one parameter do not step in the same iteration: PyTorch divides twice.
      const std::vector<size_t>& own = program_.optimizers[o].params;
      const bool taken = std::any_of(
          own.begin(), own.end(), [&](size_t p) { return std::find(params.begin(), params.end(), p) != params.end(); });
      if (taken || (chance(4) && !optimizers.empty())) continue;
      optimizers.push_back(o);
      params.insert(params.end(), own.begin(), own.end());
    }
    for (const size_t o : optimizers) {
      if (chance(5)) {
        for (const size_t p : program_.optimizers[o].params) add({.call = ScalerCall::drop, .param = p});
      } else {
        add({.call = ScalerCall::zero_grad, .optimizer = o, .flag = chance(3)});
      }
    }
    if (chance(10)) {  // without the scaler
      add({.call = ScalerCall::plain_backward, .slopes = loss_of(params)});
      for (const size_t o : optimizers) {
        if (chance(3)) change_gradients(o, false);
        add({.call = ScalerCall::plain_step, .optimizer = o});
      }
      return;
    }
    for (int n = pick({1, 1, 2, 3}); n > 0; --n) backward(scaler, params);
    if (chance(6)) {
      add({.call = ScalerCall::seeded_backward,
           .scaler = scaler,
           .param = pick_of(params),
           .flag = true,
           .slopes = loss_of(params)});
    }
    bool any = false;
    for (const size_t o : optimizers) any |= step_legally(scaler, o);
    if (!any) return;
    if (chance(8)) {
      add({.call = ScalerCall::set_scale, .scaler = scaler, .number = pick({96.0, 2048.0}), .flag = chance(2)});
    } else {
      add({.call = ScalerCall::update, .scaler = scaler});
    }
    if (chance(10)) {
      add({.call = ScalerCall::load_state, .scaler = scaler, .number = pick({96.0, 2048.0}), .flag = chance(2)});
    } else if (chance(12)) {
      add({.call = ScalerCall::set_interval, .scaler = scaler, .number = pick({1.0, 2.0, 3.0})});
    } else if (chance(12)) {
      add({.call = ScalerCall::set_factors, .scaler = scaler, .flag = chance(2)});
    }
  }
  void backward(size_t scaler, const std::vector<size_t>& params) {
    ScalerInstruction call{
        .call = ScalerCall::scaled_backward, .scaler = scaler, .flag = chance(5), .slopes = loss_of(params)};
    if (chance(12)) call.slopes[pick_of(params)] = pick({kInfinity, -kInfinity, std::nan("")});
    if (chance(8)) {
      call.call = pick({ScalerCall::seeded_backward, ScalerCall::grad});
      call.number = 1;
      call.flag = false;
    }
    if (call.call != ScalerCall::scaled_backward || !chance(4)) {
      add(call);
      return;
    }
    call.call = ScalerCall::scale;
    add(call);
    const bool again = chance(2);
    add({.call = ScalerCall::backward, .kept = kept_, .flag = again});
    if (again) add({.call = ScalerCall::backward, .kept = kept_});
    ++kept_;
  }
  /// Returns whether the scaler then has something to update with.
  bool step_legally(size_t scaler, size_t o) {
    const ScalerProgram::Optimizer& optimizer = program_.optimizers[o];
    const bool has_f16 = std::any_of(optimizer.params.begin(), optimizer.params.end(),
                                     [&](size_t p) { return program_.grad_dtype(p) == kHalf; });
    const size_t form = below(10);
    if (form == 0) {  // unscales by itself
      const auto call = pick({ScalerCall::undo_scale, ScalerCall::undo_scale, ScalerCall::unscale_tensor});
      for (const size_t p : optimizer.params) add({.call = call, .scaler = scaler, .param = p, .flag = chance(3)});
      add({.call = ScalerCall::plain_step, .optimizer = o});
      return false;
    }
    if (form < 3) change_gradients(o, true);
    if (form > 5 && (!has_f16 || chance(10))) {
      add({.call = ScalerCall::unscale, .scaler = scaler, .optimizer = o});
      if (form > 6) change_gradients(o, false);
      if (form == 9 && chance(3)) {
        add({.call = ScalerCall::plain_step, .optimizer = o});
        return true;
      }
    }
    add({.call = ScalerCall::step, .scaler = scaler, .optimizer = o});
    return true;
  }

  ScalerInstruction any_call() {
    const auto call = static_cast<ScalerCall>(below(kScalerCalls));
    std::vector<size_t> params;
    for (size_t p = 0; p < program_.params.size(); ++p) {
      if (params.empty() || chance(2)) params.push_back(p);
    }
    ScalerInstruction i{.call = call,
                        .scaler = below(program_.scalers.size()),
                        .optimizer = below(program_.optimizers.size()),
                        .param = below(program_.params.size()),
                        .other = below(program_.params.size()),
                        .kept = below(8),
                        .flag = chance(2),
                        .slopes = loss_of(params)};
    switch (call) {
      case ScalerCall::set_scale:
      case ScalerCall::load_state:
        i.number = pick({96.0, 2048.0});
        break;
      case ScalerCall::set_interval:
        i.number = pick({1.0, 2.0, 3.0});
        break;
      case ScalerCall::replace:
        i.number = pick({64.0, -32.0, 1.0, 2.0});
        break;
      case ScalerCall::half_scaled_backward:
      case ScalerCall::grad:
        i.number = pick({0.0, 1.0});
        break;
      case ScalerCall::change:
        i.number = pick({0.5, 2.0});
        break;
      default:
        i.number = pick({0.5, 1.0, 100.0});
    }
    return i;
  }
  /// Leaves calls out, repeats, exchanges or adds some, or makes the usual mistakes.
  void spoil() {
    std::vector<ScalerInstruction>& calls = program_.calls;
    for (size_t n = 1 + below(4); n > 0 && !calls.empty(); --n) {
      const auto at = calls.begin() + static_cast<std::ptrdiff_t>(below(calls.size()));
      const auto other = calls.begin() + static_cast<std::ptrdiff_t>(below(calls.size()));
      const auto next = [&](ScalerCall call) {
        return std::find_if(at, calls.end(), [call](const ScalerInstruction& i) { return i.call == call; });
      };
      std::vector<ScalerInstruction>::iterator mistake;
      switch (below(9)) {
        case 0:
          calls.erase(at);
          break;
        case 1:
          calls.insert(at, ScalerInstruction(*other));
          break;
        case 2:
          std::swap(*at, *other);
          break;
        case 3:
          calls.insert(at, any_call());
          break;
        case 4:
          at->scaler = below(program_.scalers.size());
          break;
        case 5:
          if ((mistake = next(ScalerCall::zero_grad)) != calls.end()) calls.erase(mistake);
          break;
        case 6:
          if ((mistake = next(ScalerCall::scaled_backward)) == calls.end()) break;
          mistake->call =
              pick({ScalerCall::half_scaled_backward, ScalerCall::plain_backward, ScalerCall::seeded_backward});
          mistake->number = pick({0.0, 1.0});
          break;
        case 7:
          if ((mistake = next(ScalerCall::step)) != calls.end()) mistake->call = ScalerCall::plain_step;
          break;
        default:
          mistake = next(pick({ScalerCall::unscale, ScalerCall::step}));
          if (mistake != calls.end()) write_after(mistake);
      }
    }
  }
  /// Writes gradients after they were unscaled.
  void write_after(std::vector<ScalerInstruction>::iterator at) {
    const size_t o = at->optimizer;
    const std::vector<size_t>& params = program_.optimizers[o].params;
    const ScalerCall call = pick({ScalerCall::plain_backward, ScalerCall::scaled_backward});
    std::vector<ScalerInstruction> added;
    if (chance(3)) {
      added.push_back({.call = ScalerCall::zero_grad, .optimizer = o, .flag = chance(2)});
    } else if (chance(2)) {
      added.push_back({.call = ScalerCall::replace, .param = pick_of(params), .number = slope()});
    }
    added.push_back({.call = call, .scaler = at->scaler, .slopes = loss_of(params)});
    program_.calls.insert(at + 1, added.begin(), added.end());
  }

  std::mt19937_64 random_;
  ScalerProgram program_;
  size_t kept_ = 0;
};

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string loss_text(const std::array<double, 3>& slopes) {
  std::string text;
  for (size_t p = 0; p < slopes.size(); ++p) {
    if (slopes[p] == 0) continue;
    text += (text.empty() ? "p" : " + p") + std::to_string(p) + " * " + number_text(slopes[p]);
  }
  return text;
}

}  // namespace

bool ScalerProgram::has_master(size_t param) const {
  return is_16_bit(param) && std::any_of(optimizers.begin(), optimizers.end(), [&](const Optimizer& o) {
           return o.masters != optim::MasterWeights::none &&
                  std::find(o.params.begin(), o.params.end(), param) != o.params.end();
         });
}

ScalerProgram random_scaler_program(uint64_t seed) { return ScalerProgramGenerator(seed).make(); }

std::string to_string(const ScalerInstruction& i) {
  const std::string scaler = "s" + std::to_string(i.scaler), optimizer = "o" + std::to_string(i.optimizer),
                    param = "p" + std::to_string(i.param), other = "p" + std::to_string(i.other),
                    value = number_text(i.number);
  switch (i.call) {
    case ScalerCall::scaled_backward:
      if (i.flag) return "l = " + scaler + ".scale({" + loss_text(i.slopes) + "}); (l / 4 + l * 0.75).backward();";
      return scaler + ".scale(" + loss_text(i.slopes) + ").backward();";
    case ScalerCall::scale:
      return "kept.push_back(" + scaler + ".scale(" + loss_text(i.slopes) + "));";
    case ScalerCall::backward:
      return "kept[" + std::to_string(i.kept) + " % size].backward({}, /*retain_graph=*/" +
             (i.flag ? "true);" : "false);");
    case ScalerCall::plain_backward:
      return "(" + loss_text(i.slopes) + ").backward();";
    case ScalerCall::half_scaled_backward:
      return "l = " + loss_text(i.slopes) + "; m = " + (i.flag ? "l" : loss_text(i.slopes)) + "; (" + scaler +
             ".scale(l) + " + (i.number != 0 ? "the_next_scaler.scale(m)" : "m") + ").backward();";
    case ScalerCall::seeded_backward:
      return "(" + loss_text(i.slopes) + ").backward(" +
             (i.flag ? param + ".grad());" : "full({}, " + scaler + ".get_scale()));");
    case ScalerCall::grad:
      return "grads of p = autograd::grad({" + (i.number != 0 ? scaler + ".scale" : "") + "(" + loss_text(i.slopes) +
             ")}, those without masters)" + (i.flag ? " * (1 / " + scaler + ".get_scale());" : ";");
    case ScalerCall::unscale:
      return scaler + ".unscale_(" + optimizer + ");";
    case ScalerCall::unscale_tensor:
      return scaler + ".unscale_({" + param + ".grad()});";
    case ScalerCall::clip_norm:
      return "clip_grad_norm_(" + optimizer + ".parameters(), " + value + ");";
    case ScalerCall::clip_value:
      return "clip_grad_value_(" + optimizer + ".parameters(), " + value + ");";
    case ScalerCall::change:
    case ScalerCall::undo_scale: {
      const std::string factor = i.call == ScalerCall::change ? value : "1 / " + scaler + ".get_scale()";
      return param + (i.flag ? ".grad().set_data(" + param + ".grad() * " : ".grad().mul_(") + factor + ");";
    }
    case ScalerCall::move:
      return param + ".mutable_grad() = " +
             (i.flag ? other + ".grad();" : "std::exchange(" + other + ".mutable_grad(), Tensor());");
    case ScalerCall::replace:
      return param + ".mutable_grad() = full({1}, " + value + ");";
    case ScalerCall::drop:
      return param + ".mutable_grad() = Tensor();";
    case ScalerCall::zero_grad:
      return optimizer + ".zero_grad(/*set_to_none=*/" + (i.flag ? "false);" : "true);");
    case ScalerCall::step:
      return scaler + ".step(" + optimizer + ");";
    case ScalerCall::plain_step:
      return optimizer + ".step();";
    case ScalerCall::update:
      return scaler + ".update();";
    case ScalerCall::set_scale:
      return scaler + ".update(" + (i.flag ? "full({1}, " + value + "));" : value + ");");
    case ScalerCall::load_state:
      return scaler + ".load_state_dict(" + scaler + ".state_dict()" + (i.flag ? ");" : " with scale " + value + ");");
    case ScalerCall::set_interval:
      return scaler + ".set_growth_interval(" + value + ");";
    default:
      return scaler + ".set_growth_factor, set_backoff_factor(" + (i.flag ? "4, 0.25);" : "2, 0.5);");
  }
}

std::string to_string(const ScalerProgram& program) {
  std::string text;
  for (size_t p = 0; p < program.params.size(); ++p) {
    text += "p" + std::to_string(p) + " = ones({1}, " + std::string(name(program.params[p])) + ");\n";
  }
  for (size_t o = 0; o < program.optimizers.size(); ++o) {
    const ScalerProgram::Optimizer& optimizer = program.optimizers[o];
    constexpr const char* kinds[] = {"SGD", "SGD with overridden step", "the user's optimizer"};
    constexpr const char* masters[] = {"", ", f32 masters", ", remainders"};
    text += "o" + std::to_string(o) + " = " + kinds[static_cast<int>(optimizer.kind)] + " of {";
    for (const size_t p : optimizer.params) text += " p" + std::to_string(p);
    text += " }, lr " + number_text(optimizer.lr) + masters[static_cast<int>(optimizer.masters)] + ";\n";
  }
  for (size_t s = 0; s < program.scalers.size(); ++s) {
    const ScalerProgram::Scaler& scaler = program.scalers[s];
    text += "s" + std::to_string(s) + " = GradScaler of scale " + number_text(scaler.scale) + ", growth " +
            number_text(scaler.growth) + ", backoff " + number_text(scaler.backoff) + ", interval " +
            std::to_string(scaler.interval) + ";\n";
  }
  for (const ScalerInstruction& i : program.calls) text += to_string(i) + '\n';
  return text;
}

}  // namespace tandem::testing
