// NCCL on the emulated devices, for ranks that are threads. Calls return at once. The ranks' calls with one number, or
// groups of calls, meet (queue.h): they run when the streams of all ranks have reached them. Ranks whose calls differ
// wait for each other forever, as with NCCL, until they abort. Two ranks on one device are refused.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "cuda_emulated/device/communications.h"
#include "cuda_emulated/device/device.h"
#include "cuda_emulated/device/vendor_memory.h"
#include "kernels/cuda/runtime.h"

using namespace tandem;
using namespace tandem::cuda::emulated;

namespace {

enum class Kind { all_reduce, broadcast, reduce, all_gather, reduce_scatter, send, recv };

struct Call {
  Kind kind;
  const void* from;
  void* to;
  size_t count;  ///< elements of this rank's part
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;  ///< the root, or the other side

  /// Whether the ranks can make these calls together.
  friend bool fit(const Call& a, const Call& b) {
    return a.kind == b.kind && a.count == b.count && a.type == b.type && a.op == b.op && a.peer == b.peer;
  }
};

/// The calls of the ranks with one number.
struct Round {
  std::vector<std::vector<Call>> calls;  ///< by rank
  MeetingPtr meeting = std::make_shared<Meeting>();
};

/// The ranks of one unique id.
struct Clique {
  int size = 0;
  std::map<int, int> devices;  ///< by rank
  std::map<int64_t, Round> rounds;
};

/// Of the state below. Never locked while the device's lock is waited for.
std::recursive_mutex& mutex() {
  static auto& one = *new std::recursive_mutex;
  return one;
}
using Lock = std::lock_guard<std::recursive_mutex>;

std::map<int64_t, std::shared_ptr<Clique>>& cliques() {
  static auto& all = *new std::map<int64_t, std::shared_ptr<Clique>>;
  return all;
}
std::vector<Communication> recorded;
std::map<int, ncclResult_t> errors;  // by rank
std::map<int, int64_t> looks;        // by rank: how often a group of calls is still in progress

DType type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return kChar;
    case ncclUint8:
      return kByte;
    case ncclInt32:
      return kInt;
    case ncclInt64:
      return kLong;
    case ncclFloat16:
      return kHalf;
    case ncclBfloat16:
      return kBFloat16;
    case ncclFloat64:
      return kDouble;
    case ncclFloat32:
      break;
  }
  return kFloat;
}

/// Part r of a block.
Tensor vector_of(const void* data, const Call& c, size_t r = 0) {
  const DType dtype = type_of(c.type);
  return device_tensor(static_cast<const char*>(data) + r * c.count * element_size(dtype),
                       {static_cast<int64_t>(c.count)}, {1}, dtype);
}

double combined(ncclRedOp_t op, double a, double b) {
  switch (op) {
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

/// The combination of the ranks' elements, in f64: of part `part` of their blocks.
Tensor combination(const std::vector<const Call*>& parts, size_t part = 0) {
  const Backend& cpu = backend(kCPU);
  const auto wide = [&](const Call& c) {
    const Tensor x = empty({static_cast<int64_t>(c.count)}, TensorOptions(kDouble).device(kCPU));
    cpu.copy(x, vector_of(c.from, c, part));
    return x;
  };
  const Call& first = *parts[0];
  const Tensor sum = wide(first);
  for (size_t r = 1; r < parts.size(); ++r) {
    const Tensor x = wide(*parts[r]);
    for (size_t i = 0; i < first.count; ++i) {
      sum.raw<double>()[i] = combined(first.op, sum.raw<double>()[i], x.raw<double>()[i]);
    }
  }
  if (first.op == ncclAvg) {
    for (size_t i = 0; i < first.count; ++i) sum.raw<double>()[i] /= static_cast<double>(parts.size());
  }
  return sum;
}

void run_collective(const std::vector<const Call*>& parts) {
  const Backend& cpu = backend(kCPU);
  const Call& first = *parts[0];
  const auto root = static_cast<size_t>(first.peer);
  if (first.kind == Kind::broadcast) {
    const Tensor value = vector_of(parts[root]->from, first);
    for (const Call* c : parts) {
      if (c->to != parts[root]->from) cpu.copy(vector_of(c->to, *c), value);
    }
    return;
  }
  if (first.kind == Kind::all_gather) {
    for (const Call* to : parts) {
      for (size_t r = 0; r < parts.size(); ++r) {
        const Tensor place = vector_of(to->to, *to, r), value = vector_of(parts[r]->from, *to);
        if (place.raw_bytes() != value.raw_bytes()) cpu.copy(place, value);
      }
    }
    return;
  }
  if (first.kind == Kind::reduce_scatter) {
    std::vector<Tensor> results;  // before any is written: an output may be its rank's part of the inputs
    for (size_t r = 0; r < parts.size(); ++r) results.push_back(combination(parts, r));
    for (size_t r = 0; r < parts.size(); ++r) cpu.copy(vector_of(parts[r]->to, *parts[r]), results[r]);
    return;
  }
  const Tensor result = combination(parts);
  for (size_t r = 0; r < parts.size(); ++r) {
    if (first.kind == Kind::all_reduce || r == root) cpu.copy(vector_of(parts[r]->to, first), result);
  }
}

/// Returns false if the ranks' calls do not fit together.
bool run_round(const Round& round) {
  std::vector<std::vector<const Call*>> collectives;                        // by rank
  std::map<std::pair<int, int>, std::vector<const Call*>> sends, receives;  // by source and destination
  for (size_t r = 0; r < round.calls.size(); ++r) {
    const int rank = static_cast<int>(r);
    collectives.emplace_back();
    for (const Call& c : round.calls[r]) {
      if (c.kind == Kind::send) {
        sends[{rank, c.peer}].push_back(&c);
      } else if (c.kind == Kind::recv) {
        receives[{c.peer, rank}].push_back(&c);
      } else {
        collectives[r].push_back(&c);
      }
    }
  }
  for (const auto& list : collectives) {
    if (list.size() != collectives[0].size()) return false;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!fit(*list[i], *collectives[0][i])) return false;
    }
  }
  if (sends.size() != receives.size()) return false;
  for (const auto& [pair, list] : sends) {
    const auto& others = receives[pair];
    if (others.size() != list.size()) return false;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i]->count != others[i]->count || list[i]->type != others[i]->type) return false;
    }
  }
  for (size_t i = 0; i < collectives[0].size(); ++i) {
    std::vector<const Call*> parts;
    for (const auto& list : collectives) parts.push_back(list[i]);
    run_collective(parts);
  }
  for (const auto& [pair, list] : sends) {
    for (size_t i = 0; i < list.size(); ++i) {
      backend(kCPU).copy(vector_of(receives[pair][i]->to, *list[i]), vector_of(list[i]->from, *list[i]));
    }
  }
  return true;
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank, device;
  int64_t rounds = 0;
  int64_t looks = 0;  ///< how often the last calls are still in progress
  std::vector<std::pair<cudaStream_t, MeetingPtr>> joined;
};

namespace {

/// The calls of the group that this thread is making.
struct OpenGroup {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Call> calls;
};
thread_local OpenGroup open_group;

void start(ncclComm_t comm, cudaStream_t stream, std::vector<Call> calls) {
  require(comm->device == cuda::current_device(), "the communicator belongs to another device");
  join(stream, [&] {
    const Lock lock(mutex());
    Round& round = comm->clique->rounds[comm->rounds++];
    if (round.calls.empty()) {
      round.calls.resize(static_cast<size_t>(comm->clique->size));
      round.meeting->missing = round.calls.size();
      for (const auto& [rank, device] : comm->clique->devices) round.meeting->devices |= only(device);
      round.meeting->run = [&round] { return run_round(round); };
    }
    round.calls[static_cast<size_t>(comm->rank)] = std::move(calls);
    std::erase_if(comm->joined, [](const auto& at) { return at.second->ended; });
    comm->joined.emplace_back(stream, round.meeting);
    return round.meeting;
  });
}

ncclResult_t add(const char* name, ncclComm_t comm, cudaStream_t stream, const Call& call) {
  const size_t bytes = call.count * element_size(type_of(call.type));
  {
    const Lock lock(mutex());
    recorded.push_back({name, comm->rank, comm->clique->size, bytes, stream});
  }
  OpenGroup& group = open_group;
  if (group.depth == 0) {
    start(comm, stream, {call});
    return ncclSuccess;
  }
  require(group.calls.empty() || (group.comm == comm && group.stream == stream), "a group has several streams");
  group.comm = comm;
  group.stream = stream;
  group.calls.push_back(call);
  return ncclSuccess;
}

}  // namespace

namespace tandem::cuda::emulated {

std::vector<Communication> communications() {
  const Lock lock(mutex());
  return recorded;
}

void clear_communications() {
  const Lock lock(mutex());
  recorded.clear();
}

void set_communication_error(int rank, ncclResult_t code) {
  const Lock lock(mutex());
  if (code == ncclSuccess) {
    errors.erase(rank);
  } else {
    errors[rank] = code;
  }
}

void set_communication_looks(int rank, int64_t count) {
  const Lock lock(mutex());
  looks[rank] = count;
}

}  // namespace tandem::cuda::emulated

const char* ncclGetErrorString(ncclResult_t code) {
  switch (code) {
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "an error of the emulated devices";
  }
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int64_t next = 0;
  const Lock lock(mutex());
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, &++next, sizeof(next));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  require(config->blocking == 0, "waiting for the other ranks is not emulated");
  int64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  const int device = cuda::current_device();
  const Lock lock(mutex());
  auto& clique = cliques()[number];
  if (!clique) clique = std::make_shared<Clique>();
  clique->size = size;
  const bool is_taken = std::any_of(clique->devices.begin(), clique->devices.end(),
                                    [&](const auto& other) { return other.second == device; });
  clique->devices[rank] = device;
  *comm = new ncclComm{.clique = clique, .rank = rank, .device = device, .joined = {}};
  return is_taken ? ncclInvalidUsage : ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* code) {
  const Lock lock(mutex());
  if (comm->looks > 0) {
    --comm->looks;
    *code = ncclInProgress;
    return ncclSuccess;
  }
  const std::set<int> devices = [&] {
    std::set<int> all;
    for (const auto& [rank, device] : comm->clique->devices) all.insert(device);
    return all;
  }();
  const auto error = errors.find(comm->rank);
  if (devices.size() < comm->clique->devices.size()) {
    *code = ncclInvalidUsage;
  } else if (error != errors.end()) {
    *code = error->second;
  } else {
    *code = comm->clique->devices.size() < static_cast<size_t>(comm->clique->size) ? ncclInProgress : ncclSuccess;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  for (const auto& [stream, meeting] : comm->joined) leave(stream, meeting);
  return ncclCommDestroy(comm);
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  OpenGroup& group = open_group;
  if (--group.depth > 0 || group.calls.empty()) return ncclSuccess;
  start(group.comm, group.stream, std::exchange(group.calls, {}));
  const Lock lock(mutex());
  group.comm->looks = looks[group.comm->rank];
  return group.comm->looks > 0 ? ncclInProgress : ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return add("ncclAllReduce", comm, stream, {Kind::all_reduce, from, to, count, type, op, 0});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return add("ncclBroadcast", comm, stream, {Kind::broadcast, from, to, count, type, ncclSum, root});
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return add("ncclReduce", comm, stream, {Kind::reduce, from, to, count, type, op, root});
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add("ncclAllGather", comm, stream, {Kind::all_gather, from, to, count, type, ncclSum, 0});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return add("ncclReduceScatter", comm, stream, {Kind::reduce_scatter, from, to, count, type, op, 0});
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add("ncclSend", comm, stream, {Kind::send, from, nullptr, count, type, ncclSum, peer});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add("ncclRecv", comm, stream, {Kind::recv, nullptr, to, count, type, ncclSum, peer});
}
