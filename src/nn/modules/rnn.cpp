#include "tandem/nn/modules/rnn.h"

#include <cmath>

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/init.h"
#include "tandem/ops/index.h"
#include "tandem/ops/rnn.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

namespace {

using utils::rnn::PackedSequence;

void check_nonlinearity(init::Nonlinearity nonlinearity) {
  TANDEM_CHECK(nonlinearity == kTanh || nonlinearity == kReLU, StateError,
               "nonlinearity = {}; it must be kTanh or kReLU", static_cast<int>(nonlinearity));
}

void initialise(const std::vector<Tensor>& parameters, int64_t hidden_size) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  for (const Tensor& p : parameters) {
    if (p.defined()) init::uniform_(p, -bound, bound);
  }
}

void check_sizes(int64_t input_size, int64_t hidden_size) {
  TANDEM_CHECK(input_size > 0 && hidden_size > 0, StateError,
               "input_size = {}, hidden_size = {}; both must be at least 1", input_size, hidden_size);
}

std::vector<Tensor> both(const std::optional<std::tuple<Tensor, Tensor>>& states) {
  if (!states) return {Tensor(), Tensor()};
  return {std::get<0>(*states), std::get<1>(*states)};
}

PackedSequence with_data(const PackedSequence& input, const Tensor& data) {
  return PackedSequence(data, input.batch_sizes(), input.sorted_indices(), input.unsorted_indices());
}

const char* name_of(init::Nonlinearity nonlinearity) { return nonlinearity == kTanh ? "kTanh" : "kReLU"; }

}  // namespace

namespace detail {

void RNNImplBase::register_weights(const Shape& s) {
  check_sizes(s.input_size, s.hidden_size);
  TANDEM_CHECK(s.num_layers > 0, StateError, "num_layers = {}; it must be at least 1", s.num_layers);
  check_probability("dropout", s.dropout);
  TANDEM_CHECK(s.proj_size >= 0 && s.proj_size < s.hidden_size, StateError,
               "proj_size = {}; it must be in [0, {}), less than hidden_size", s.proj_size, s.hidden_size);
  shape_ = s;
  parameters_.clear();
  const int64_t directions = s.bidirectional ? 2 : 1, state = state_size();
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    const int64_t input = layer == 0 ? s.input_size : state * directions;
    for (int64_t d = 0; d < directions; ++d) {
      const auto add = [&](const char* name, IntArrayRef sizes) {
        register_parameter(fmt::format("{}_l{}{}", name, layer, d == 1 ? "_reverse" : ""), empty(sizes));
      };
      add("weight_ih", {s.gates * s.hidden_size, input});
      add("weight_hh", {s.gates * s.hidden_size, state});
      if (s.bias) {
        add("bias_ih", {s.gates * s.hidden_size});
        add("bias_hh", {s.gates * s.hidden_size});
      }
      if (s.proj_size > 0) add("weight_hr", {s.proj_size, s.hidden_size});
    }
  }
  reset_parameters();
}

void RNNImplBase::reset_parameters() { initialise(all_weights(), shape_.hidden_size); }

RNNImplBase::Batch RNNImplBase::batched(const Tensor& input, const std::vector<Tensor>& states,
                                        const std::vector<int64_t>& sizes) const {
  const Shape& s = shape_;
  checks::floating("input", input);
  TANDEM_CHECK(
      (input.dim() == 2 || input.dim() == 3) && input.size(-1) == s.input_size, ShapeError,
      "input is {}, but must be {} or, without a batch, [steps, {}]", checks::show(input),
      s.batch_first ? fmt::format("[batch, steps, {}]", s.input_size) : fmt::format("[steps, batch, {}]", s.input_size),
      s.input_size);
  Batch result{input, {}, input.dim() == 2};
  if (result.unbatched) result.input = unsqueeze(input, s.batch_first ? 0 : 1);
  const int64_t batch = result.input.size(s.batch_first ? 0 : 1), rows = s.num_layers * (s.bidirectional ? 2 : 1);
  for (size_t i = 0; i < states.size(); ++i) {
    const Tensor& state = states[i];
    if (!state.defined()) {
      result.states.push_back(zeros({rows, batch, sizes[i]}, input.options()));
      continue;
    }
    const Dims expected = result.unbatched ? Dims{rows, sizes[i]} : Dims{rows, batch, sizes[i]};
    TANDEM_CHECK(state.sizes() == IntArrayRef(expected), ShapeError, "{} is {}, but must be {}, as input is {}",
                 states.size() == 1 ? "hx"
                 : i == 0           ? "h of hx"
                                    : "c of hx",
                 checks::show(state), to_string(expected), checks::show(input));
    result.states.push_back(result.unbatched ? unsqueeze(state, 1) : state);
  }
  return result;
}

Tensor RNNImplBase::output_of(const Tensor& y, const Batch& batch) const {
  return batch.unbatched ? squeeze(y, shape_.batch_first ? 0 : 1) : y;
}

Tensor RNNImplBase::state_of(const Tensor& state, const Batch& batch) {
  return batch.unbatched ? squeeze(state, 1) : state;
}

std::vector<Tensor> RNNImplBase::packed_states(const PackedSequence& input, const std::vector<Tensor>& states,
                                               const std::vector<int64_t>& sizes) const {
  const Tensor& data = input.data();
  TANDEM_CHECK(data.dim() == 2 && data.size(1) == shape_.input_size, ShapeError,
               "the packed data is {}, but must be [rows, {}]", checks::show(data), shape_.input_size);
  TANDEM_CHECK(input.batch_sizes().numel() > 0, ShapeError, "the packed sequences have no steps");
  const int64_t batch = input.batch_sizes().select(0, 0).item<int64_t>();
  const int64_t rows = shape_.num_layers * (shape_.bidirectional ? 2 : 1);
  std::vector<Tensor> result;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].defined()) {
      result.push_back(zeros({rows, batch, sizes[i]}, data.options()));
    } else {
      const Tensor& order = input.sorted_indices();
      TANDEM_CHECK(states[i].sizes() == IntArrayRef({rows, batch, sizes[i]}), ShapeError,
                   "{} is {}, but must be [{}, {}, {}] for the {} sequences",
                   states.size() == 1 ? "hx"
                   : i == 0           ? "h of hx"
                                      : "c of hx",
                   checks::show(states[i]), rows, batch, sizes[i], batch);
      result.push_back(order.defined() ? index_select(states[i], 1, order) : states[i]);
    }
  }
  return result;
}

Tensor RNNImplBase::unsorted(const Tensor& state, const PackedSequence& input) {
  const Tensor& order = input.unsorted_indices();
  return order.defined() ? index_select(state, 1, order) : state;
}

void RNNImplBase::print_shape(std::ostream& stream, const char* name) const {
  const Shape& s = shape_;
  print(stream,
        "tandem::nn::{}(input_size={}, hidden_size={}, num_layers={}, bias={}, batch_first={}, dropout={}, "
        "bidirectional={}",
        name, s.input_size, s.hidden_size, s.num_layers, s.bias, s.batch_first, s.dropout, s.bidirectional);
  if (s.proj_size > 0) print(stream, ", proj_size={}", s.proj_size);
  stream << ")";
}

void RNNCellImplBase::register_weights(int64_t input_size, int64_t hidden_size, bool bias, int64_t gates) {
  check_sizes(input_size, hidden_size);
  input_size_ = input_size;
  hidden_size_ = hidden_size;
  parameters_.clear();
  register_parameter(weight_ih, "weight_ih", empty({gates * hidden_size, input_size}));
  register_parameter(weight_hh, "weight_hh", empty({gates * hidden_size, hidden_size}));
  register_parameter(bias_ih, "bias_ih", bias ? empty({gates * hidden_size}) : Tensor());
  register_parameter(bias_hh, "bias_hh", bias ? empty({gates * hidden_size}) : Tensor());
  reset_parameters();
}

void RNNCellImplBase::reset_parameters() { initialise(parameters_.values(), hidden_size_); }

Tensor RNNCellImplBase::rows_of(const Tensor& input) const {
  checks::floating("input", input);
  TANDEM_CHECK((input.dim() == 1 || input.dim() == 2) && input.size(-1) == input_size_, ShapeError,
               "input is {}, but must be [batch, {}] or [{}]", checks::show(input), input_size_, input_size_);
  return input.dim() == 1 ? unsqueeze(input, 0) : input;
}

Tensor RNNCellImplBase::state_for(const Tensor& rows, const Tensor& input, const char* which,
                                  const Tensor& state) const {
  if (!state.defined()) return zeros({rows.size(0), hidden_size_}, rows.options());
  const Dims expected = input.dim() == 1 ? Dims{hidden_size_} : Dims{rows.size(0), hidden_size_};
  TANDEM_CHECK(state.sizes() == IntArrayRef(expected), ShapeError, "{} is {}, but must be {}, as input is {}", which,
               checks::show(state), to_string(expected), checks::show(input));
  return input.dim() == 1 ? unsqueeze(state, 0) : state;
}

}  // namespace detail

LSTMImpl::LSTMImpl(const LSTMOptions& o) : options(o) { reset(); }

LSTMImpl::LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}

void LSTMImpl::reset() {
  const OpScope op("LSTM");
  const LSTMOptions& o = options;
  register_weights({o.input_size(), o.hidden_size(), o.num_layers(), o.proj_size(), o.bias(), o.batch_first(),
                    o.bidirectional(), o.dropout(), 4});
}

std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(const Tensor& input,
                                                                 std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const OpScope op("LSTM");
  const Batch batch = batched(input, both(hx_opt), {state_size(), shape().hidden_size});
  const auto [y, h, c] = tandem::lstm(batch.input, batch.states, all_weights(), shape().bias, shape().num_layers,
                                      shape().dropout, is_training(), shape().bidirectional, shape().batch_first);
  return {output_of(y, batch), {state_of(h, batch), state_of(c, batch)}};
}

std::tuple<PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(
    const PackedSequence& packed_input, std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const OpScope op("LSTM");
  const std::vector<Tensor> states = packed_states(packed_input, both(hx_opt), {state_size(), shape().hidden_size});
  const auto [y, h, c] =
      tandem::lstm(packed_input.data(), packed_input.batch_sizes(), states, all_weights(), shape().bias,
                   shape().num_layers, shape().dropout, is_training(), shape().bidirectional);
  return {with_data(packed_input, y), {unsorted(h, packed_input), unsorted(c, packed_input)}};
}

void LSTMImpl::pretty_print(std::ostream& stream) const { print_shape(stream, "LSTM"); }

GRUImpl::GRUImpl(const GRUOptions& o) : options(o) { reset(); }

GRUImpl::GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}

void GRUImpl::reset() {
  const OpScope op("GRU");
  const GRUOptions& o = options;
  register_weights({o.input_size(), o.hidden_size(), o.num_layers(), 0, o.bias(), o.batch_first(), o.bidirectional(),
                    o.dropout(), 3});
}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  const OpScope op("GRU");
  const Batch batch = batched(input, {hx}, {shape().hidden_size});
  const auto [y, h] = tandem::gru(batch.input, batch.states[0], all_weights(), shape().bias, shape().num_layers,
                                  shape().dropout, is_training(), shape().bidirectional, shape().batch_first);
  return {output_of(y, batch), state_of(h, batch)};
}

std::tuple<PackedSequence, Tensor> GRUImpl::forward_with_packed_input(const PackedSequence& packed_input, Tensor hx) {
  const OpScope op("GRU");
  const std::vector<Tensor> states = packed_states(packed_input, {hx}, {shape().hidden_size});
  const auto [y, h] =
      tandem::gru(packed_input.data(), packed_input.batch_sizes(), states[0], all_weights(), shape().bias,
                  shape().num_layers, shape().dropout, is_training(), shape().bidirectional);
  return {with_data(packed_input, y), unsorted(h, packed_input)};
}

void GRUImpl::pretty_print(std::ostream& stream) const { print_shape(stream, "GRU"); }

RNNImpl::RNNImpl(const RNNOptions& o) : options(o) { reset(); }

RNNImpl::RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}

void RNNImpl::reset() {
  const OpScope op("RNN");
  const RNNOptions& o = options;
  check_nonlinearity(o.nonlinearity());
  register_weights({o.input_size(), o.hidden_size(), o.num_layers(), 0, o.bias(), o.batch_first(), o.bidirectional(),
                    o.dropout(), 1});
}

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  const OpScope op("RNN");
  const Batch batch = batched(input, {hx}, {shape().hidden_size});
  using Function =
      std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool, bool);
  Function* const function =
      options.nonlinearity() == kTanh ? static_cast<Function*>(rnn_tanh) : static_cast<Function*>(rnn_relu);
  const auto [y, h] = function(batch.input, batch.states[0], all_weights(), shape().bias, shape().num_layers,
                               shape().dropout, is_training(), shape().bidirectional, shape().batch_first);
  return {output_of(y, batch), state_of(h, batch)};
}

std::tuple<PackedSequence, Tensor> RNNImpl::forward_with_packed_input(const PackedSequence& packed_input, Tensor hx) {
  const OpScope op("RNN");
  const std::vector<Tensor> states = packed_states(packed_input, {hx}, {shape().hidden_size});
  using Function = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, TensorList, bool, int64_t,
                                              double, bool, bool);
  Function* const function =
      options.nonlinearity() == kTanh ? static_cast<Function*>(rnn_tanh) : static_cast<Function*>(rnn_relu);
  const auto [y, h] = function(packed_input.data(), packed_input.batch_sizes(), states[0], all_weights(), shape().bias,
                               shape().num_layers, shape().dropout, is_training(), shape().bidirectional);
  return {with_data(packed_input, y), unsorted(h, packed_input)};
}

void RNNImpl::pretty_print(std::ostream& stream) const { print_shape(stream, "RNN"); }

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o) : options(o) { reset(); }

LSTMCellImpl::LSTMCellImpl(int64_t input_size, int64_t hidden_size)
    : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}

void LSTMCellImpl::reset() {
  const OpScope op("LSTMCell");
  register_weights(options.input_size(), options.hidden_size(), options.bias(), 4);
}

std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input,
                                                 std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const OpScope op("LSTMCell");
  const Tensor rows = rows_of(input);
  const std::vector<Tensor> states = both(hx_opt);
  const auto [h, c] = tandem::lstm_cell(
      rows, {state_for(rows, input, "h of hx", states[0]), state_for(rows, input, "c of hx", states[1])}, weight_ih,
      weight_hh, bias_ih, bias_hh);
  if (input.dim() == 1) return {squeeze(h, 0), squeeze(c, 0)};
  return {h, c};
}

void LSTMCellImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::LSTMCell({}, {}, bias={})", options.input_size(), options.hidden_size(), options.bias());
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& o) : options(o) { reset(); }

GRUCellImpl::GRUCellImpl(int64_t input_size, int64_t hidden_size)
    : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}

void GRUCellImpl::reset() {
  const OpScope op("GRUCell");
  register_weights(options.input_size(), options.hidden_size(), options.bias(), 3);
}

Tensor GRUCellImpl::forward(const Tensor& input, Tensor hx) {
  const OpScope op("GRUCell");
  const Tensor rows = rows_of(input);
  const Tensor h = tandem::gru_cell(rows, state_for(rows, input, "hx", hx), weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? squeeze(h, 0) : h;
}

void GRUCellImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::GRUCell({}, {}, bias={})", options.input_size(), options.hidden_size(), options.bias());
}

RNNCellImpl::RNNCellImpl(const RNNCellOptions& o) : options(o) { reset(); }

RNNCellImpl::RNNCellImpl(int64_t input_size, int64_t hidden_size)
    : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}

void RNNCellImpl::reset() {
  const OpScope op("RNNCell");
  check_nonlinearity(options.nonlinearity());
  register_weights(options.input_size(), options.hidden_size(), options.bias(), 1);
}

Tensor RNNCellImpl::forward(const Tensor& input, Tensor hx) {
  const OpScope op("RNNCell");
  const Tensor rows = rows_of(input);
  const Tensor state = state_for(rows, input, "hx", hx);
  const Tensor h = options.nonlinearity() == kTanh
                       ? tandem::rnn_tanh_cell(rows, state, weight_ih, weight_hh, bias_ih, bias_hh)
                       : tandem::rnn_relu_cell(rows, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? squeeze(h, 0) : h;
}

void RNNCellImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::RNNCell({}, {}, bias={}, nonlinearity={})", options.input_size(), options.hidden_size(),
        options.bias(), name_of(options.nonlinearity()));
}

}  // namespace tandem::nn
