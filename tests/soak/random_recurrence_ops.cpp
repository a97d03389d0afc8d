// Random calls of recurrent layers and cells. The Python side is differential_recurrence.py.
#include "soak/random_call_ops.h"
#include "tandem/tensor/factories.h"

#define TANDEM_LAYERS(NAME, STATES, HX)                                                                                \
  TANDEM_OP(#NAME, NAME(x[0], HX, after(x, 1 + STATES), a.flag("biases"), a.i("layers"), 0, true, a.flag("both_ways"), \
                        a.flag("batch_first")));                                                                       \
  TANDEM_OP(#NAME ".packed",                                                                                           \
            NAME(x[0], tensor(a.list("batches"), TensorOptions(kLong).device(kCPU)), HX, after(x, 1 + STATES),         \
                 a.flag("biases"), a.i("layers"), 0, true, a.flag("both_ways")))

namespace tandem::testing {
namespace {

/// The inputs from number `first` on.
Out after(In x, int64_t first) { return Out(x.begin() + first, x.end()); }
Out both_states(In x) { return {x[1], x[2]}; }

}  // namespace

void add_recurrence_ops(Ops& ops) {
  TANDEM_LAYERS(lstm, 2, both_states(x));
  TANDEM_LAYERS(gru, 1, x[1]);
  TANDEM_LAYERS(rnn_tanh, 1, x[1]);
  TANDEM_LAYERS(rnn_relu, 1, x[1]);
  TANDEM_OP("lstm_cell", lstm_cell(x[0], both_states(x), x[3], maybe(x, 4), maybe(x, 5), maybe(x, 6)));
  TANDEM_OP("gru_cell", gru_cell(x[0], x[1], x[2], x[3], maybe(x, 4), maybe(x, 5)));
  TANDEM_OP("rnn_tanh_cell", rnn_tanh_cell(x[0], x[1], x[2], x[3], maybe(x, 4), maybe(x, 5)));
  TANDEM_OP("rnn_relu_cell", rnn_relu_cell(x[0], x[1], x[2], x[3], maybe(x, 4), maybe(x, 5)));
}

}  // namespace tandem::testing
