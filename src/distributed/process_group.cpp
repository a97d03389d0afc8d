#include "tandem/distributed/process_group.h"

#include <functional>

#include "src/distributed/counters.h"
#include "src/distributed/device_group.h"
#include "src/distributed/signature.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"

namespace tandem::distributed {
namespace {

using Kind = Collective::Kind;

bool is_peer_call(Kind kind) { return kind == Kind::send || kind == Kind::recv; }

void check_tensor(const char* which, const Tensor& x) {
  TANDEM_CHECK(x.defined(), StateError, "{} is an undefined tensor; give it a value first", which);
  TANDEM_CHECK(x.is_contiguous(), ShapeError, "{} {} with strides {} is not contiguous; pass contiguous()", which,
               checks::show(x), to_string(x.strides()));
}

/// Lists of equal tensors: all have the sizes, dtype and device of `first`.
void check_like(const char* which, const std::vector<Tensor>& list, const Tensor& first) {
  for (size_t i = 0; i < list.size(); ++i) {
    TANDEM_CHECK(list[i].sizes() == first.sizes(), ShapeError,
                 "{}[{}] is {}, but the tensor of this rank is {}; they must have the same sizes", which, i,
                 checks::show(list[i]), checks::show(first));
  }
}

/// The numbers of inputs and outputs that a rank passes.
struct Counts {
  size_t inputs, outputs;
};

Counts counts_of(const Collective& call, size_t ranks, bool is_root) {
  switch (call.kind) {
    case Kind::all_reduce:
    case Kind::broadcast:
    case Kind::recv:
      return {0, 1};
    case Kind::reduce:
      return {1, is_root ? 1U : 0U};
    case Kind::all_gather:
      return {1, ranks};
    case Kind::reduce_scatter:
      return {ranks, 1};
    case Kind::all_to_all:
      return {ranks, ranks};
    case Kind::gather:
      return {1, is_root ? ranks : 0};
    case Kind::scatter:
      return {is_root ? ranks : 0, 1};
    case Kind::send:
      return {1, 0};
    case Kind::barrier:
      return {0, 0};
  }
  return {0, 0};
}

void check_op(const Collective& call, DType dtype) {
  if (is_storage_only(dtype)) detail::throw_storage_only_arithmetic(dtype);
  TANDEM_CHECK(call.op != ReduceOp::AVG || is_floating_point(dtype), DTypeError,
               "the average of {} tensors is not defined; use SUM, or convert with .to(kFloat)", name(dtype));
  TANDEM_CHECK(call.op != ReduceOp::BOR || !is_floating_point(dtype), DTypeError,
               "the bitwise or of {} tensors is not defined; use MAX for flags", name(dtype));
  TANDEM_CHECK(dtype != kBool || call.op == ReduceOp::BOR, DTypeError,
               "bool tensors can only be combined with BOR; convert with .to(kInt)");
}

void check_tag(const char* call, int tag) {
  const OpScope op(call);
  TANDEM_CHECK(tag >= 0 && tag <= kMaxTag, StateError, "tag = {}; it must be between 0 and {}", tag, kMaxTag);
}

}  // namespace

void check_on_cpu(const Collective& call) {
  for (const std::vector<Tensor>* list : {&call.inputs, &call.outputs}) {
    for (const Tensor& t : *list) {
      TANDEM_CHECK(t.is_cpu(), DeviceError,
                   "a tensor is on {}, but this library was built without NCCL and sends only from the CPU's memory; "
                   "build it with -DTANDEM_NCCL=ON, or move the tensor with .cpu()",
                   t.device().str());
    }
  }
}

/// Counts the time of wait().
class ProcessGroup::TimedState final : public Work::State {
 public:
  TimedState(std::shared_ptr<State> state, std::shared_ptr<Counters> counters)
      : state_(std::move(state)), counters_(std::move(counters)) {}
  void wait() override {
    const Stopwatch watch(counters_->wait_seconds);
    state_->wait();
  }
  bool is_completed() const override { return state_->is_completed(); }
  std::exception_ptr exception() const override { return state_->exception(); }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Counters> counters_;
};

ProcessGroup::ProcessGroup(int rank, int size) : rank_(rank), size_(size), counters_(std::make_shared<Counters>()) {}

ProcessGroup::Statistics ProcessGroup::statistics() const {
  return {counters_->calls, counters_->bytes, counters_->wait_seconds, counters_->run_seconds};
}

void ProcessGroup::check(const Collective& call) const {
  TANDEM_CHECK(call.peer >= 0 && call.peer < size_, IndexError, "rank {} does not exist; the group has {} ranks",
               call.peer, size_);
  TANDEM_CHECK(!is_peer_call(call.kind) || call.peer != rank_, StateError,
               "rank {} cannot send to itself; copy the tensor with copy_()", rank_);
  const Counts counts = counts_of(call, static_cast<size_t>(size_), call.peer == rank_);
  TANDEM_CHECK(
      call.inputs.size() == counts.inputs && call.outputs.size() == counts.outputs, StateError,
      "rank {} passes {} inputs and {} outputs, but must pass {} and {}: lists have one tensor for each of the "
      "{} ranks, or none on ranks other than the root",
      rank_, call.inputs.size(), call.outputs.size(), counts.inputs, counts.outputs, size_);
  for (const Tensor& t : call.inputs) check_tensor("an input", t);
  for (const Tensor& t : call.outputs) check_tensor("an output", t);
  const Tensor* first = !call.inputs.empty() ? &call.inputs[0] : !call.outputs.empty() ? &call.outputs[0] : nullptr;
  if (!first) return;
  for (const std::vector<Tensor>* list : {&call.inputs, &call.outputs}) {
    for (const Tensor& t : *list) {
      TANDEM_CHECK(t.dtype() == first->dtype(), DTypeError, "the tensors are {} and {}; they must have one dtype",
                   checks::show(*first), checks::show(t));
      TANDEM_CHECK(t.device() == first->device(), DeviceError,
                   "the tensors are on {} and {}; move them to one device with .to(device)", first->device().str(),
                   t.device().str());
    }
  }
  if (combines(call.kind)) check_op(call, first->dtype());
  if (call.kind == Kind::all_to_all) return;
  if (!call.inputs.empty()) check_like("outputs", call.outputs, call.inputs[0]);
  if (!call.outputs.empty()) check_like("inputs", call.inputs, call.outputs[0]);
}

namespace {

/// Whether the memory of two contiguous tensors overlaps.
bool overlap(const Tensor& x, const Tensor& y) {
  const auto *a = static_cast<const char*>(x.raw_bytes()), *b = static_cast<const char*>(y.raw_bytes());
  return std::less<>()(a, b + y.nbytes()) && std::less<>()(b, a + x.nbytes());
}

/// Copies the inputs that another rank's part of the outputs could overwrite before they are sent. The part that a rank
/// sends to itself may be in place.
void separate_inputs(Collective& call, size_t rank) {
  using Kind = Collective::Kind;
  if (call.kind != Kind::all_gather && call.kind != Kind::gather && call.kind != Kind::scatter &&
      call.kind != Kind::all_to_all) {
    return;
  }
  const auto is_own = [rank](const std::vector<Tensor>& parts, size_t i) { return parts.size() == 1 || i == rank; };
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    for (size_t j = 0; j < call.outputs.size(); ++j) {
      const Tensor &x = call.inputs[i], &y = call.outputs[j];
      const bool in_place = x.raw_bytes() == y.raw_bytes() && is_own(call.inputs, i) && is_own(call.outputs, j);
      if (!in_place && overlap(x, y)) call.inputs[i] = x.clone();
    }
  }
}

}  // namespace

Work ProcessGroup::start(Collective call) {
  const OpScope op(to_string(call.kind));
  check(call);
  int64_t bytes = 0;
  // What this rank contributes: its inputs, or the tensor that is combined or broadcast in place.
  const bool in_place = call.kind == Kind::all_reduce || (call.kind == Kind::broadcast && call.peer == rank_);
  for (const Tensor& t : in_place ? call.outputs : call.inputs) bytes += static_cast<int64_t>(t.nbytes());
  for (std::vector<Tensor>* list : {&call.inputs, &call.outputs}) {
    for (Tensor& t : *list) {
      t = t.detach();
      t.raw_bytes();  // postponed writes are done by this thread, on its stream, before the call
    }
  }
  separate_inputs(call, static_cast<size_t>(rank_));
  for (const Tensor& t : call.outputs) t.impl().storage->bump_version();
  std::shared_ptr<Work::State> state = run(std::move(call));
  ++counters_->calls;
  counters_->bytes += bytes;
  return Work(std::make_shared<TimedState>(std::move(state), counters_));
}

// ---- the short forms

Work ProcessGroup::all_reduce_async(const Tensor& tensor, ReduceOp op, std::string label) {
  return start({.kind = Kind::all_reduce, .op = op, .outputs = {tensor}, .label = std::move(label)});
}

Work ProcessGroup::broadcast_async(const Tensor& tensor, int root) {
  return start({.kind = Kind::broadcast, .peer = root, .outputs = {tensor}});
}

Work ProcessGroup::reduce_async(const Tensor& tensor, int root, ReduceOp op) {
  Collective call{.kind = Kind::reduce, .op = op, .peer = root, .inputs = {tensor}};
  if (root == rank_) call.outputs = {tensor};
  return start(std::move(call));
}

Work ProcessGroup::all_gather_async(const std::vector<Tensor>& outputs, const Tensor& input) {
  return start({.kind = Kind::all_gather, .inputs = {input}, .outputs = outputs});
}

Work ProcessGroup::reduce_scatter_async(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op) {
  return start({.kind = Kind::reduce_scatter, .op = op, .inputs = inputs, .outputs = {output}});
}

Work ProcessGroup::all_to_all_async(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  return start({.kind = Kind::all_to_all, .inputs = inputs, .outputs = outputs});
}

Work ProcessGroup::gather_async(const std::vector<Tensor>& outputs, const Tensor& input, int root) {
  return start({.kind = Kind::gather, .peer = root, .inputs = {input}, .outputs = outputs});
}

Work ProcessGroup::scatter_async(const Tensor& output, const std::vector<Tensor>& inputs, int root) {
  return start({.kind = Kind::scatter, .peer = root, .inputs = inputs, .outputs = {output}});
}

Work ProcessGroup::barrier_async() { return start({.kind = Kind::barrier}); }

Work ProcessGroup::send_async(const Tensor& tensor, int destination, int tag) {
  check_tag("send", tag);
  return start({.kind = Kind::send, .peer = destination, .tag = tag, .inputs = {tensor}});
}

Work ProcessGroup::recv_async(const Tensor& tensor, int source, int tag) {
  check_tag("recv", tag);
  return start({.kind = Kind::recv, .peer = source, .tag = tag, .outputs = {tensor}});
}

void ProcessGroup::all_reduce(const Tensor& tensor, ReduceOp op) { all_reduce_async(tensor, op).wait(); }
void ProcessGroup::broadcast(const Tensor& tensor, int root) { broadcast_async(tensor, root).wait(); }
void ProcessGroup::reduce(const Tensor& tensor, int root, ReduceOp op) { reduce_async(tensor, root, op).wait(); }
void ProcessGroup::all_gather(const std::vector<Tensor>& outputs, const Tensor& input) {
  all_gather_async(outputs, input).wait();
}
void ProcessGroup::reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op) {
  reduce_scatter_async(output, inputs, op).wait();
}
void ProcessGroup::all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  all_to_all_async(outputs, inputs).wait();
}
void ProcessGroup::gather(const std::vector<Tensor>& outputs, const Tensor& input, int root) {
  gather_async(outputs, input, root).wait();
}
void ProcessGroup::scatter(const Tensor& output, const std::vector<Tensor>& inputs, int root) {
  scatter_async(output, inputs, root).wait();
}
void ProcessGroup::barrier() { barrier_async().wait(); }
void ProcessGroup::send(const Tensor& tensor, int destination, int tag) { send_async(tensor, destination, tag).wait(); }
void ProcessGroup::recv(const Tensor& tensor, int source, int tag) { recv_async(tensor, source, tag).wait(); }

}  // namespace tandem::distributed
