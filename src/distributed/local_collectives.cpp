#include "src/distributed/local_collectives.h"

#include "src/distributed/combine.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {

void run_for_all(const std::vector<Collective>& calls) {
  using Kind = Collective::Kind;
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  const Collective& any = calls[0];
  const size_t n = calls.size(), root = static_cast<size_t>(any.peer);
  const auto copy_to_all = [&](const Tensor& value, size_t except) {
    for (size_t r = 0; r < n; ++r) {
      if (r != except) calls[r].outputs[0].copy_(value);
    }
  };
  std::vector<Tensor> parts;
  switch (any.kind) {
    case Kind::all_reduce:
      for (const Collective& c : calls) parts.push_back(c.outputs[0]);
      combine(calls[0].outputs[0], parts, any.op);
      copy_to_all(calls[0].outputs[0], 0);
      break;
    case Kind::broadcast:
      copy_to_all(calls[root].outputs[0], root);
      break;
    case Kind::reduce:
      for (const Collective& c : calls) parts.push_back(c.inputs[0]);
      combine(calls[root].outputs[0], parts, any.op);
      break;
    case Kind::reduce_scatter: {
      // An output may be one of the inputs of its rank, which other ranks still need: all results first, then copies.
      std::vector<Tensor> results;
      for (size_t r = 0; r < n; ++r) {
        parts.clear();
        for (const Collective& c : calls) parts.push_back(c.inputs[r]);
        results.push_back(empty_like(parts[0]));
        combine(results[r], parts, any.op);
      }
      for (size_t r = 0; r < n; ++r) calls[r].outputs[0].copy_(results[r]);
      break;
    }
    case Kind::all_gather:
    case Kind::gather:
      for (const Collective& to : calls) {
        for (size_t r = 0; r < to.outputs.size(); ++r) {
          if (to.outputs[r].raw_bytes() != calls[r].inputs[0].raw_bytes()) to.outputs[r].copy_(calls[r].inputs[0]);
        }
      }
      break;
    case Kind::scatter:
      for (size_t r = 0; r < n; ++r) calls[r].outputs[0].copy_(calls[root].inputs[r]);
      break;
    case Kind::all_to_all:
      for (size_t from = 0; from < n; ++from) {
        for (size_t to = 0; to < n; ++to) {
          const Tensor &x = calls[from].inputs[to], &y = calls[to].outputs[from];
          TANDEM_CHECK(x.sizes() == y.sizes(), ShapeError,
                       "rank {} sends {} to rank {}, whose output is {}; they must have the same sizes", from,
                       to_string(x.sizes()), to, to_string(y.sizes()));
        }
      }
      for (size_t from = 0; from < n; ++from) {
        for (size_t to = 0; to < n; ++to) calls[to].outputs[from].copy_(calls[from].inputs[to]);
      }
      break;
    case Kind::send:  // calls[0] sends, calls[1] receives
    case Kind::recv: {
      const Tensor &x = calls[0].inputs[0], &y = calls[1].outputs[0];
      TANDEM_CHECK(x.sizes() == y.sizes() && x.dtype() == y.dtype(), StateError, "{} does not fit to {}",
                   describe(calls[0]), describe(calls[1]));
      y.copy_(x);
      break;
    }
    case Kind::barrier:
      break;
  }
}

}  // namespace tandem::distributed
