#pragma once
// Options of recurrent layers and cells.
#include <cstdint>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `LSTMOptions(128, 256).num_layers(2).dropout(0.1)`
struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;  ///< [batch, steps, ...] instead of [steps, batch, ...]
  TANDEM_ARG(double, dropout) = 0.0;      ///< after each layer but the last, in training
  TANDEM_ARG(bool, bidirectional) = false;
  TANDEM_ARG(int64_t, proj_size) = 0;  ///< size of the projected hidden state; 0: no projection
};

/// `GRUOptions(128, 256).bidirectional(true)`; see LSTMOptions.
struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
};

/// `RNNOptions(128, 256).nonlinearity(kReLU)`; see LSTMOptions.
struct RNNOptions {
  RNNOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = kTanh;  ///< kTanh or kReLU
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
};

/// `LSTMCellOptions(128, 256).bias(false)`
struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
};
using GRUCellOptions = LSTMCellOptions;

/// `RNNCellOptions(128, 256).nonlinearity(kReLU)`
struct RNNCellOptions {
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = kTanh;  ///< kTanh or kReLU
};

}  // namespace tandem::nn
#pragma GCC visibility pop
