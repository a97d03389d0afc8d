#include "src/distributed/nccl/communicator.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "src/distributed/nccl/check.h"
#include "src/distributed/signature.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/device_guard.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

constexpr auto kLongestPause = std::chrono::microseconds(1000);  // between looks at a call that NCCL carries out

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case kHalf:
      return ncclFloat16;
    case kBFloat16:
      return ncclBfloat16;
    case kFloat:
      return ncclFloat32;
    case kDouble:
      return ncclFloat64;
    case kChar:
      return ncclInt8;
    case kByte:
      return ncclUint8;
    case kInt:
      return ncclInt32;
    case kLong:
      return ncclInt64;
    default:
      TANDEM_THROW(DTypeError, "NCCL cannot combine {} tensors; convert with .to(kInt)", name(dtype));
  }
}

ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
      return ncclSum;
    case ReduceOp::AVG:
      return ncclAvg;
    case ReduceOp::MAX:
      return ncclMax;
    case ReduceOp::MIN:
      return ncclMin;
    case ReduceOp::BOR:
      break;
  }
  TANDEM_THROW(DTypeError, "NCCL has no bitwise or; move the tensors to the CPU with .cpu(), or use MAX for flags");
}

/// What a call sends: elements that NCCL combines, or bytes.
struct Elements {
  ncclDataType_t type;
  ncclRedOp_t op;
  bool are_bytes;
  size_t count(const Tensor& t) const { return are_bytes ? t.nbytes() : static_cast<size_t>(t.numel()); }
};

Elements elements_of(const Collective& call) {
  if (!combines(call.kind)) return {ncclUint8, ncclSum, true};
  const Tensor& any = call.inputs.empty() ? call.outputs[0] : call.inputs[0];
  return {type_of(any.dtype()), op_of(call.op), false};
}

bool follow_each_other(const std::vector<Tensor>& parts) {
  for (size_t r = 1; r < parts.size(); ++r) {
    if (parts[r].raw_bytes() != static_cast<char*>(parts[0].raw_bytes()) + r * parts[0].nbytes()) return false;
  }
  return true;
}

/// The parts of all ranks, which are equal, as the one block that NCCL reads or writes.
class Block {
 public:
  /// Makes a copy, with undefined values, unless the parts follow each other in memory.
  explicit Block(const std::vector<Tensor>& parts) : parts_(parts) {
    if (follow_each_other(parts)) return;
    copy_ = empty({static_cast<int64_t>(parts.size()) * parts[0].numel()},
                  TensorOptions(parts[0].dtype()).device(parts[0].device()));
  }
  void* data() const { return copy_.defined() ? copy_.raw_bytes() : parts_[0].raw_bytes(); }
  void read_parts() const {
    for_each_copied([](const Tensor& part, const Tensor& place) { backend(part).copy(place, part); });
  }
  void write_parts() const {
    for_each_copied([](const Tensor& part, const Tensor& place) { backend(part).copy(part, place); });
  }

 private:
  template <class F>
  void for_each_copied(const F& function) const {
    if (!copy_.defined() || copy_.numel() == 0) return;
    int64_t offset = 0;
    for (const Tensor& part : parts_) {
      function(part, make_view(copy_, part.sizes(), part.strides(), offset));
      offset += part.numel();
    }
  }

  const std::vector<Tensor>& parts_;
  Tensor copy_;
};

}  // namespace

Communicator::Communicator(const ncclUniqueId& id, int rank, int size, Device device,
                           std::shared_ptr<ProcessGroup> hosts, std::chrono::milliseconds timeout)
    : rank_(rank),
      size_(size),
      hosts_(std::move(hosts)),
      timeout_(timeout),
      stream_(stream_from_pool(device, /*high_priority=*/true)) {
  const DeviceGuard on(device);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  try {
    const std::lock_guard lock(mutex_);
    finish(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "ncclCommInitRankConfig");
  } catch (...) {
    abort();
    throw;
  }
}

Communicator::~Communicator() { abort(); }

void Communicator::close() {
  const DeviceGuard on(device());
  stream_.synchronize();
  const std::lock_guard lock(mutex_);
  if (!comm_) return;
  finish(ncclCommFinalize(comm_), "ncclCommFinalize");
  ncclCommDestroy(std::exchange(comm_, nullptr));
}

void Communicator::finish(ncclResult_t code, const char* call) {
  const auto end = std::chrono::steady_clock::now() + timeout_;
  auto pause = std::chrono::microseconds(0);
  while (code == ncclInProgress) {
    if (const std::exception_ptr error = hosts_->failure()) std::rethrow_exception(error);
    TANDEM_CHECK(std::chrono::steady_clock::now() < end, StateError,
                 "{} has not connected the ranks within {} ms; see whether a rank hangs or has left, or set a longer "
                 "timeout",
                 call, timeout_.count());
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause + std::chrono::microseconds(1), kLongestPause);
    check_nccl(ncclCommGetAsyncError(comm_, &code), "ncclCommGetAsyncError", comm_);
  }
  check_nccl(code, call, comm_);
}

void Communicator::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (comm_) ncclCommAbort(std::exchange(comm_, nullptr));
}

std::optional<std::string> Communicator::error() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  ncclResult_t state = ncclSuccess;
  if (!lock || !comm_ || ncclCommGetAsyncError(comm_, &state) != ncclSuccess) return std::nullopt;
  if (state == ncclSuccess || state == ncclInProgress) return std::nullopt;
  return nccl_message(state, comm_);
}

std::shared_ptr<Event> Communicator::start(const Collective& call) {
  const DeviceGuard on(device());
  stream_.wait_stream(current_stream(device()));
  {
    const std::lock_guard lock(mutex_);
    TANDEM_CHECK(comm_, StateError, "the group has failed and cannot be used any more");
    launch(call);
  }
  for (const std::vector<Tensor>* list : {&call.inputs, &call.outputs}) {
    for (const Tensor& t : *list) t.record_stream(stream_);
  }
  auto end = std::make_shared<Event>();
  end->record(stream_);
  return end;
}

void Communicator::launch(const Collective& call) {
  using Kind = Collective::Kind;
  const auto stream = static_cast<cudaStream_t>(stream_.handle());
  const Elements e = elements_of(call);
  const auto check = [this](ncclResult_t code, const char* name) {
    if (code != ncclInProgress) check_nccl(code, name, comm_);  // ncclGroupEnd() starts the calls
  };
  const auto send = [&](const Tensor& t, int peer) {
    if (t.numel()) check(ncclSend(t.raw_bytes(), e.count(t), e.type, peer, comm_, stream), "ncclSend");
  };
  const auto receive = [&](const Tensor& t, int peer) {
    if (t.numel()) check(ncclRecv(t.raw_bytes(), e.count(t), e.type, peer, comm_, stream), "ncclRecv");
  };
  const auto all = [&](const auto& each) {
    for (int r = 0; r < size_; ++r) each(static_cast<size_t>(r), r);
  };

  const StreamGuard on(stream_);  // of blocks and their copies
  std::optional<Block> block;
  check_nccl(ncclGroupStart(), "ncclGroupStart");
  switch (call.kind) {
    case Kind::all_reduce: {
      const Tensor& x = call.outputs[0];
      check(ncclAllReduce(x.raw_bytes(), x.raw_bytes(), e.count(x), e.type, e.op, comm_, stream), "ncclAllReduce");
      break;
    }
    case Kind::broadcast: {
      const Tensor& x = call.outputs[0];
      check(ncclBroadcast(x.raw_bytes(), x.raw_bytes(), e.count(x), e.type, call.peer, comm_, stream), "ncclBroadcast");
      break;
    }
    case Kind::reduce: {
      const Tensor& x = call.inputs[0];
      void* result = call.outputs.empty() ? nullptr : call.outputs[0].raw_bytes();  // except on the root
      check(ncclReduce(x.raw_bytes(), result, e.count(x), e.type, e.op, call.peer, comm_, stream), "ncclReduce");
      break;
    }
    case Kind::all_gather: {
      const Tensor& x = call.inputs[0];
      block.emplace(call.outputs);
      check(ncclAllGather(x.raw_bytes(), block->data(), e.count(x), e.type, comm_, stream), "ncclAllGather");
      break;
    }
    case Kind::reduce_scatter: {
      const Tensor& y = call.outputs[0];
      block.emplace(call.inputs);
      block->read_parts();
      check(ncclReduceScatter(block->data(), y.raw_bytes(), e.count(y), e.type, e.op, comm_, stream),
            "ncclReduceScatter");
      break;
    }
    case Kind::all_to_all:
      all([&](size_t r, int peer) {
        send(call.inputs[r], peer);
        receive(call.outputs[r], peer);
      });
      break;
    case Kind::gather:
      send(call.inputs[0], call.peer);
      if (rank_ == call.peer) all([&](size_t r, int peer) { receive(call.outputs[r], peer); });
      break;
    case Kind::scatter:
      if (rank_ == call.peer) all([&](size_t r, int peer) { send(call.inputs[r], peer); });
      receive(call.outputs[0], call.peer);
      break;
    case Kind::send:
      send(call.inputs[0], 1 - rank_);
      break;
    case Kind::recv:
      receive(call.outputs[0], 1 - rank_);
      break;
    case Kind::barrier:
      break;
  }
  finish(ncclGroupEnd(), "ncclGroupEnd");
  if (call.kind == Kind::all_gather) block->write_parts();
}

}  // namespace tandem::distributed
