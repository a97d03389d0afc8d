#pragma once
// RNN, LSTM, GRU, and their cells.
#include <optional>
#include <tuple>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/nn/options/rnn.h"
#include "tandem/nn/utils/rnn.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

namespace detail {

/// What the recurrent layers share: parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, then
/// those of the reverse direction (weight_ih_l0_reverse, ...), then those of layer 1, and so on.
class RNNImplBase : public ResettableModule {
 public:
  /// Initialises all parameters uniformly in +-1 / sqrt(hidden_size).
  void reset_parameters();
  /// Does nothing: tandem's kernels need no common block of memory for the weights.
  void flatten_parameters() {}
  /// Returns all parameters in the order of their names above.
  std::vector<Tensor> all_weights() const { return parameters_.values(); }

 protected:
  /// The options that the layers have in common.
  struct Shape {
    int64_t input_size, hidden_size, num_layers, proj_size;
    bool bias, batch_first, bidirectional;
    double dropout;
    int64_t gates;
  };
  void register_weights(const Shape& shape);
  const Shape& shape() const { return shape_; }
  int64_t state_size() const { return shape_.proj_size > 0 ? shape_.proj_size : shape_.hidden_size; }
  /// An input and states as the functions take them: [T, B, I] or [B, T, I], and [layers * D, B, size].
  struct Batch {
    Tensor input;
    std::vector<Tensor> states;
    bool unbatched;
  };
  /// Checks an input with its optional states, adds a batch of one to unbatched ones, and zeros for absent states.
  Batch batched(const Tensor& input, const std::vector<Tensor>& states, const std::vector<int64_t>& sizes) const;
  /// Remove the batch of one that batched() added.
  Tensor output_of(const Tensor& y, const Batch& batch) const;
  static Tensor state_of(const Tensor& state, const Batch& batch);
  /// States for a packed input, in the order of its sequences.
  std::vector<Tensor> packed_states(const utils::rnn::PackedSequence& input, const std::vector<Tensor>& states,
                                    const std::vector<int64_t>& sizes) const;
  static Tensor unsorted(const Tensor& state, const utils::rnn::PackedSequence& input);
  void print_shape(std::ostream& stream, const char* name) const;

 private:
  Shape shape_{};
};

/// What the cells share: parameters weight_ih, weight_hh, bias_ih, bias_hh.
class RNNCellImplBase : public ResettableModule {
 public:
  /// Initialises all parameters uniformly in +-1 / sqrt(hidden_size).
  void reset_parameters();

  Tensor weight_ih, weight_hh;
  Tensor bias_ih, bias_hh;  ///< undefined without bias

 protected:
  void register_weights(int64_t input_size, int64_t hidden_size, bool bias, int64_t gates);
  /// [batch, input_size] from an input that may lack the batch.
  Tensor rows_of(const Tensor& input) const;
  /// A state for these rows: given, with or without a batch, or zeros.
  Tensor state_for(const Tensor& rows, const Tensor& input, const char* which, const Tensor& state) const;

  int64_t input_size_ = 0, hidden_size_ = 0;
};

}  // namespace detail

/// Layers of tandem::lstm. input: [T, B, input_size], with batch_first [B, T, input_size], or [T, input_size] without a
/// batch. Returns the output, and h and c after the last step, [num_layers * D, B, size]; D = 2 if bidirectional. The
/// initial h and c are zeros unless given. Throws StateError for sizes below 1, a dropout outside [0, 1], or a
/// proj_size that is not in [0, hidden_size).
class LSTMImpl : public Cloneable<LSTMImpl, detail::RNNImplBase> {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMImpl(const LSTMOptions& options);
  void reset() override;
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& input,
                                                         std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});
  /// The same for a packed batch. h and c are those after the last step of each sequence, in the sequences' original
  /// order, like hx_opt.
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});
  void pretty_print(std::ostream& stream) const override;

  LSTMOptions options;
};
TANDEM_MODULE(LSTM);

/// Layers of tandem::gru; see LSTM. Returns the output, and h after the last step.
class GRUImpl : public Cloneable<GRUImpl, detail::RNNImplBase> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUImpl(const GRUOptions& options);
  void reset() override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  /// The same for a packed batch; see LSTM.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  void pretty_print(std::ostream& stream) const override;

  GRUOptions options;
};
TANDEM_MODULE(GRU);

/// Layers of tandem::rnn_tanh or rnn_relu; see GRU. Throws StateError for another nonlinearity.
class RNNImpl : public Cloneable<RNNImpl, detail::RNNImplBase> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNImpl(const RNNOptions& options);
  void reset() override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  /// The same for a packed batch; see LSTM.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  void pretty_print(std::ostream& stream) const override;

  RNNOptions options;
};
TANDEM_MODULE(RNN);

/// One step of an LSTM: [B, input_size] or [input_size] -> h and c, [B, hidden_size] or [hidden_size]. h and c before
/// the step are zeros unless given.
class LSTMCellImpl : public Cloneable<LSTMCellImpl, detail::RNNCellImplBase> {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMCellImpl(const LSTMCellOptions& options);
  void reset() override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});
  void pretty_print(std::ostream& stream) const override;

  LSTMCellOptions options;
};
TANDEM_MODULE(LSTMCell);

/// One step of a GRU; see LSTMCell. Returns h.
class GRUCellImpl : public Cloneable<GRUCellImpl, detail::RNNCellImplBase> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUCellImpl(const GRUCellOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input, Tensor hx = {});
  void pretty_print(std::ostream& stream) const override;

  GRUCellOptions options;
};
TANDEM_MODULE(GRUCell);

/// One step of an RNN; see LSTMCell. Returns h.
class RNNCellImpl : public Cloneable<RNNCellImpl, detail::RNNCellImplBase> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNCellImpl(const RNNCellOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input, Tensor hx = {});
  void pretty_print(std::ostream& stream) const override;

  RNNCellOptions options;
};
TANDEM_MODULE(RNNCell);

}  // namespace tandem::nn
#pragma GCC visibility pop
