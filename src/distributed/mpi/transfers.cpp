#include "src/distributed/mpi/transfers.h"

#include <algorithm>

#include "src/distributed/combine.h"
#include "src/distributed/fnv1a.h"
#include "src/distributed/mpi/check.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

using Kind = Collective::Kind;

constexpr size_t kPiece = size_t{1} << 30;  // MPI counts in int
/// All-reduces of at most this size send the whole tensor to all ranks: one message time instead of two.
constexpr size_t kSmall = 4096;

template <class Start>
void in_pieces(size_t bytes, Start start) {
  size_t at = 0;
  do {
    const size_t piece = std::min(kPiece, bytes - at);
    start(at, static_cast<int>(piece));
    at += piece;
  } while (at < bytes);
}

Tensor flat(const Tensor& x) { return x.view({-1}); }

}  // namespace

void start_send(std::vector<MPI_Request>& requests, const void* data, size_t bytes, int rank, int tag, MPI_Comm comm) {
  in_pieces(bytes, [&](size_t at, int piece) {
    check_mpi(
        MPI_Isend(static_cast<const char*>(data) + at, piece, MPI_BYTE, rank, tag, comm, &requests.emplace_back()),
        "MPI_Isend");
  });
}

void start_receive(std::vector<MPI_Request>& requests, void* data, size_t bytes, int rank, int tag, MPI_Comm comm) {
  in_pieces(bytes, [&](size_t at, int piece) {
    check_mpi(MPI_Irecv(static_cast<char*>(data) + at, piece, MPI_BYTE, rank, tag, comm, &requests.emplace_back()),
              "MPI_Irecv");
  });
}

Transfers::Transfers(MPI_Comm comm, Finish finish) : comm_(duplicate(comm)), finish_(std::move(finish)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

std::vector<uint64_t> Transfers::gather_words(uint64_t word) {
  const auto words = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(size_) + 1, word);
  held_.push_back(words);
  std::vector<MPI_Request> requests(1);
  check_mpi(MPI_Iallgather(words->data() + size_, 1, MPI_UINT64_T, words->data(), 1, MPI_UINT64_T, comm_, &requests[0]),
            "MPI_Iallgather");
  finish_(requests);
  held_.clear();
  words->pop_back();
  return *words;
}

std::vector<std::string> Transfers::gather_texts(const std::string& text) {
  const std::vector<uint64_t> lengths = gather_words(text.size());
  const auto texts = std::make_shared<std::vector<std::string>>();
  held_.push_back(texts);
  for (const uint64_t length : lengths) texts->emplace_back(static_cast<size_t>(length), '\0');
  std::string& own = (*texts)[static_cast<size_t>(rank_)];
  own = text;
  std::vector<Part> sends, receives;
  for (int r = 0; r < size_; ++r) {
    std::string& theirs = (*texts)[static_cast<size_t>(r)];
    sends.push_back({r, own.data(), own.size()});
    receives.push_back({r, theirs.data(), theirs.size()});
  }
  exchange(sends, receives);
  held_.clear();
  return *texts;
}

Tensor Transfers::scratch(IntArrayRef sizes, const Tensor& like) {
  const Tensor memory = empty(sizes, like.options());
  held_.push_back(memory.impl_ptr());
  return memory;
}

void Transfers::exchange(const std::vector<Part>& sends, const std::vector<Part>& receives) {
  std::vector<MPI_Request> requests;
  for (const Part& part : receives) {
    if (part.rank != rank_) start_receive(requests, part.data, part.bytes, part.rank, 0, comm_);
  }
  // Every rank begins with another peer, so that they do not all send to rank 0 first.
  std::vector<Part> ordered = sends;
  std::sort(ordered.begin(), ordered.end(), [this](const Part& a, const Part& b) {
    return (a.rank - rank_ + size_) % size_ < (b.rank - rank_ + size_) % size_;
  });
  for (const Part& part : ordered) {
    if (part.rank != rank_) start_send(requests, part.data, part.bytes, part.rank, 0, comm_);
  }
  finish_(requests);
}

std::vector<Transfers::Part> Transfers::parts_of(const std::vector<Tensor>& tensors) const {
  std::vector<Part> parts;
  for (size_t r = 0; r < tensors.size(); ++r) {
    parts.push_back({static_cast<int>(r), tensors[r].raw_bytes(), tensors[r].nbytes()});
  }
  return parts;
}

void Transfers::broadcast(const Tensor& tensor, int root) {
  std::vector<MPI_Request> requests;
  in_pieces(tensor.nbytes(), [&](size_t at, int piece) {
    check_mpi(
        MPI_Ibcast(static_cast<char*>(tensor.raw_bytes()) + at, piece, MPI_BYTE, root, comm_, &requests.emplace_back()),
        "MPI_Ibcast");
  });
  finish_(requests);
}

void Transfers::check_sizes(const Collective& call) {
  // Of the tensor for each rank; then of the tensor from each rank.
  const auto sizes = std::make_shared<std::vector<uint64_t>>();
  held_.push_back(sizes);
  for (const Tensor& t : call.inputs) sizes->push_back(fnv1a(to_string(t.sizes())));
  sizes->resize(2 * call.inputs.size());
  std::vector<MPI_Request> requests(1);
  uint64_t* const theirs = sizes->data() + size_;
  check_mpi(MPI_Ialltoall(sizes->data(), 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, comm_, &requests[0]),
            "MPI_Ialltoall");
  finish_(requests);
  for (int r = 0; r < size_; ++r) {
    const Tensor& y = call.outputs[static_cast<size_t>(r)];
    TANDEM_CHECK(theirs[r] == fnv1a(to_string(y.sizes())), ShapeError,
                 "rank {} sends a tensor of other sizes to rank {} than those of its output, {}; they must be equal", r,
                 rank_, to_string(y.sizes()));
  }
}

Tensor Transfers::chunk(const Tensor& flat, int rank) const {
  const int64_t n = flat.numel(), begin = n * rank / size_, end = n * (rank + 1) / size_;
  return flat.narrow(0, begin, end - begin);
}

void Transfers::combine_chunks(const Tensor& result, const Tensor& input, ReduceOp op) {
  const Tensor mine = chunk(input, rank_);
  const Tensor received = scratch({size_, mine.numel()}, mine);
  std::vector<Part> sends, receives;
  std::vector<Tensor> parts;
  for (int r = 0; r < size_; ++r) {
    const Tensor theirs = chunk(input, r);
    sends.push_back({r, theirs.raw_bytes(), theirs.nbytes()});
    parts.push_back(r == rank_ ? mine : received.select(0, r));
    receives.push_back({r, parts.back().raw_bytes(), mine.nbytes()});
  }
  exchange(sends, receives);
  combine(chunk(result, rank_), parts, op);
}

void Transfers::run(const Collective& call) {
  const auto chunks_of = [this](const Tensor& x) {
    std::vector<Part> parts;
    for (int r = 0; r < size_; ++r) {
      const Tensor c = chunk(x, r);
      parts.push_back({r, c.raw_bytes(), c.nbytes()});
    }
    return parts;
  };
  const auto to_all = [this](const Tensor& x) {
    std::vector<Part> parts;
    for (int r = 0; r < size_; ++r) parts.push_back({r, x.raw_bytes(), x.nbytes()});
    return parts;
  };
  const auto only = [](int rank, const Tensor& x) { return std::vector<Part>{{rank, x.raw_bytes(), x.nbytes()}}; };
  const auto copy_own = [](const Tensor& to, const Tensor& from) {
    if (to.raw_bytes() != from.raw_bytes()) to.copy_(from);
  };
  const size_t own = static_cast<size_t>(rank_), root = static_cast<size_t>(call.peer);
  switch (call.kind) {
    case Kind::all_reduce: {
      const Tensor x = flat(call.outputs[0]);
      if (x.nbytes() <= kSmall) {
        const Tensor all = scratch({size_, x.numel()}, x);
        std::vector<Tensor> parts;
        for (int r = 0; r < size_; ++r) parts.push_back(r == rank_ ? x : all.select(0, r));
        exchange(to_all(x), parts_of(parts));
        combine(x, parts, call.op);
        break;
      }
      combine_chunks(x, x, call.op);
      exchange(to_all(chunk(x, rank_)), chunks_of(x));
      break;
    }
    case Kind::reduce: {
      const Tensor x = flat(call.inputs[0]);
      const Tensor result = rank_ == call.peer ? flat(call.outputs[0]) : scratch(x.sizes(), x);
      combine_chunks(result, x, call.op);
      if (rank_ == call.peer) {
        exchange({}, chunks_of(result));
      } else {
        exchange(only(call.peer, chunk(result, rank_)), {});
      }
      break;
    }
    case Kind::reduce_scatter: {
      std::vector<Tensor> parts;
      for (int r = 0; r < size_; ++r)
        parts.push_back(r == rank_ ? call.inputs[own] : scratch(call.outputs[0].sizes(), call.outputs[0]));
      exchange(parts_of(call.inputs), parts_of(parts));
      combine(call.outputs[0], parts, call.op);
      break;
    }
    case Kind::broadcast:
      broadcast(call.outputs[0], call.peer);
      break;
    case Kind::all_gather:
      copy_own(call.outputs[own], call.inputs[0]);
      exchange(to_all(call.inputs[0]), parts_of(call.outputs));
      break;
    case Kind::gather:
      if (rank_ == call.peer) {
        copy_own(call.outputs[root], call.inputs[0]);
        exchange({}, parts_of(call.outputs));
      } else {
        exchange(only(call.peer, call.inputs[0]), {});
      }
      break;
    case Kind::scatter:
      if (rank_ == call.peer) {
        exchange(parts_of(call.inputs), {});
        copy_own(call.outputs[0], call.inputs[root]);
      } else {
        exchange({}, only(call.peer, call.outputs[0]));
      }
      break;
    case Kind::all_to_all:
      check_sizes(call);
      exchange(parts_of(call.inputs), parts_of(call.outputs));
      copy_own(call.outputs[own], call.inputs[own]);
      break;
    case Kind::send:
    case Kind::recv:
    case Kind::barrier:  // the comparison of the calls is a barrier
      break;
  }
  held_.clear();
}

}  // namespace tandem::distributed
