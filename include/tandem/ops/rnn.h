#pragma once
// Recurrent layers and cells. One autograd node per layer and direction: its products over all steps are single matrix
// products, its steps one product and one pass over the gates each. Sums of f16 and bf16 are held in f32. The cell
// state of an LSTM stays in f32 from step to step (f64 for f64), and is rounded to the layer's dtype once, at the end.
//
// Gates are in PyTorch's order: i, f, g, o (LSTM) and r, z, n (GRU), each with H rows in weight_ih, weight_hh and the
// biases. All tensors of a call must have one dtype, else DTypeError (autocast makes the dtypes equal). Errors of
// sizes are ShapeErrors with the sizes at fault.
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Long short-term memory over a sequence.
///
///   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)     f, o likewise
///   g = tanh(W_ig x + b_ig + W_hg h + b_hg)
///   c' = f c + i g,  h' = o tanh(c')               with a projection: h' = W_hr (o tanh(c'))
///
/// input: [T, B, I], or [B, T, I] if batch_first. hx: h and c before the first step, [layers * D, B, P] and
/// [layers * D, B, H], with D = 2 if bidirectional, else 1; P = H without projections. params, for each layer and
/// direction: weight_ih [4 H, I] (D P in place of I from the second layer on), weight_hh [4 H, P], with has_biases
/// bias_ih and bias_hh [4 H], with projections weight_hr [P, H]; there are projections if P differs from H. In
/// training, dropout is applied to the output of each layer but the last. Returns the output [T, B, D P] of the last
/// layer (or [B, T, D P]), and h and c after the last step, like hx.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first);
/// The same over a packed batch of sequences (nn::utils::rnn::PackedSequence): data [N, I], the steps one after the
/// other; batch_sizes, i64 on the CPU: the sequences at each step, never more than at the step before. h and c after
/// the last step are those after the last step of each sequence. Throws StateError for other batch_sizes.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional);

/// Gated recurrent units over a sequence; arguments like those of lstm, with 3 H rows, and hx = h [layers * D, B, H].
///
///   r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)     z likewise
///   n = tanh(W_in x + b_in + r (W_hn h + b_hn))
///   h' = (1 - z) n + z h
///
/// Returns the output, and h after the last step.
std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                               bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional);

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh); arguments like those of gru, with H rows.
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first);
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional);
/// h' = relu(W_ih x + b_ih + W_hh h + b_hh)
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first);
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional);

/// One step of lstm for a batch: input [B, I], hx: h and c [B, H], w_ih [4 H, I], w_hh [4 H, H], b_ih and b_hh
/// (optional) [4 H]. Returns h' and c'.
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// One step of gru; hx: h [B, H], weights and biases with 3 H rows. Returns h'.
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});
/// One step of rnn_tanh and rnn_relu; weights and biases with H rows.
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});

}  // namespace tandem
#pragma GCC visibility pop
