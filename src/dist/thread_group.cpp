// The last rank that makes a call runs it for all of them. So no threads are needed besides the ranks, and the result
// does not depend on their timing.
#include "tandem/dist/thread_group.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "src/dist/combine.h"
#include "src/dist/signature.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

using Kind = Collective::Kind;
using Clock = std::chrono::steady_clock;

/// Runs a call of all ranks, whose tensors are in one address space.
void run_for_all(const std::vector<Collective>& calls) {
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

/// The state that the ranks share.
class Meeting {
 public:
  Meeting(int size, const ProcessGroupOptions& options)
      : size_(static_cast<size_t>(size)), options_(options), made_(size_), left_(size_) {}

  /// The calls of all ranks with one number.
  struct Round {
    std::vector<Collective> calls;
    std::vector<bool> joined;
    size_t missing;
    bool ended = false;
    std::exception_ptr error;
    Clock::time_point deadline;
    std::string description;  // of the first call
  };

  std::shared_ptr<Round> join(int rank, Collective call) {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (call.kind == Kind::send || call.kind == Kind::recv) return meet_peer(rank, std::move(call));
    // Rounds that some ranks have joined and others have not are consecutive: the k-th call of each rank.
    const size_t number = made_[static_cast<size_t>(rank)]++ - first_round_;
    if (number == rounds_.size()) rounds_.push_back(make_round(size_, call));
    const std::shared_ptr<Round> round = rounds_[number];
    put(*round, static_cast<size_t>(rank), std::move(call));
    check_left(*round);
    while (!rounds_.empty() && rounds_.front()->missing == 0) {
      rounds_.pop_front();
      ++first_round_;
    }
    return round;
  }

  void wait(Round& round, int rank) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, round.deadline, [&] { return round.ended; })) time_out(round, rank);
    if (round.error) std::rethrow_exception(round.error);
  }

  bool ended(const Round& round) {
    const std::lock_guard lock(mutex_);
    return round.ended;
  }

  std::exception_ptr error(const Round& round) {
    const std::lock_guard lock(mutex_);
    return round.error;
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    fail_all(std::move(error));
  }

  /// The rank makes no further calls.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<size_t>(rank)] = true;
    const auto rounds = rounds_;
    for (const std::shared_ptr<Round>& round : rounds) check_left(*round);
  }

 private:
  /// Fails a round that a rank that has left did not join.
  void check_left(const Round& round) {
    for (size_t r = 0; r < size_; ++r) {
      if (round.ended || !left_[r] || round.joined[r]) continue;
      fail_all(std::make_exception_ptr(
          StateError("", fmt::format("rank {} has left the group and did not join {}", r, round.description))));
    }
  }

  std::shared_ptr<Round> make_round(size_t ranks, const Collective& call) {
    auto round = std::make_shared<Round>();
    round->calls.resize(ranks);
    round->joined.resize(ranks);
    round->missing = ranks;
    round->deadline = Clock::now() + options_.timeout;
    round->description = describe(call);
    open_.push_back(round);
    return round;
  }

  void put(Round& round, size_t place, Collective call) {
    round.calls[place] = std::move(call);
    round.joined[place] = true;
    if (--round.missing > 0) return;
    try {
      check_equal(round);
      run_for_all(round.calls);
      end(round, nullptr);
    } catch (...) {
      fail_all(std::current_exception());
    }
  }

  static void check_equal(const Round& round) {
    const Collective& first = round.calls[0];
    if (first.kind == Kind::send || first.kind == Kind::recv) return;
    std::vector<std::string> descriptions;
    bool equal = true;
    for (const Collective& call : round.calls) {
      descriptions.push_back(describe(call));
      equal &= descriptions.back() == descriptions[0];
    }
    TANDEM_CHECK(equal, StateError,
                 "the ranks make different calls ({}); all must make the same calls in the same order",
                 list_calls(descriptions));
  }

  /// Sends and receives meet in their own rounds, of the sender and the receiver.
  std::shared_ptr<Round> meet_peer(int rank, Collective call) {
    const bool sends = call.kind == Kind::send;
    const auto key = std::make_tuple(sends ? rank : call.peer, sends ? call.peer : rank, call.tag);
    auto& waiting = (sends ? receives_ : sends_)[key];
    if (waiting.empty()) {
      const std::shared_ptr<Round> round = make_round(2, call);
      put(*round, sends ? 0 : 1, std::move(call));
      (sends ? sends_ : receives_)[key].push_back(round);
      return round;
    }
    const std::shared_ptr<Round> round = waiting.front();
    waiting.pop_front();
    put(*round, sends ? 0 : 1, std::move(call));
    return round;
  }

  void end(Round& round, std::exception_ptr error) {
    round.ended = true;
    round.error = std::move(error);
    if (!round.error) round.calls.clear();  // releases the tensors
    std::erase_if(open_, [&](const std::shared_ptr<Round>& r) { return r.get() == &round; });
    changed_.notify_all();
  }

  void fail_all(std::exception_ptr error) {
    if (failure_) return;
    failure_ = std::move(error);
    const auto open = std::exchange(open_, {});
    for (const std::shared_ptr<Round>& round : open) end(*round, failure_);
  }

  void time_out(Round& round, int rank) {
    std::vector<int> missing;
    for (size_t r = 0; r < round.joined.size(); ++r) {
      if (!round.joined[r]) missing.push_back(static_cast<int>(r));
    }
    const std::string who = round.joined.size() == size_ ? list_ranks(missing) : std::string("the other rank");
    fail_all(std::make_exception_ptr(StateError(
        to_string(round.calls[static_cast<size_t>(round.joined[0] ? 0 : 1)].kind),
        fmt::format(
            "{} did not join {} within {} ms; rank {} gave up. See whether it hangs or has left, or set a longer "
            "timeout",
            who, round.description, options_.timeout.count(), rank))));
  }

  const size_t size_;
  const ProcessGroupOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> made_;  // number of calls by rank
  std::vector<bool> left_;
  size_t first_round_ = 0;  // number of the first round in rounds_
  std::deque<std::shared_ptr<Round>> rounds_;
  std::vector<std::shared_ptr<Round>> open_;  // that have not ended
  using Peers = std::map<std::tuple<int, int, int>, std::deque<std::shared_ptr<Round>>>;
  Peers sends_, receives_;  // by sender, receiver and tag, for which the other side is missing
  std::exception_ptr failure_;
};

class ThreadWork final : public Work::State {
 public:
  ThreadWork(std::shared_ptr<Meeting> meeting, std::shared_ptr<Meeting::Round> round, int rank)
      : meeting_(std::move(meeting)), round_(std::move(round)), rank_(rank) {}
  void wait() override { meeting_->wait(*round_, rank_); }
  bool is_completed() const override { return meeting_->ended(*round_); }
  std::exception_ptr exception() const override { return meeting_->error(*round_); }

 private:
  std::shared_ptr<Meeting> meeting_;
  std::shared_ptr<Meeting::Round> round_;
  int rank_;
};

class ThreadGroup final : public ProcessGroup {
 public:
  ThreadGroup(int rank, int size, std::shared_ptr<Meeting> meeting)
      : ProcessGroup(rank, size), meeting_(std::move(meeting)) {}
  ~ThreadGroup() override {
    if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
    meeting_->leave(rank());
  }
  const char* name() const override { return "threads"; }
  void abort(const std::string& reason) noexcept override {
    try {
      meeting_->fail(
          std::make_exception_ptr(StateError("", fmt::format("rank {} left the group: {}", rank(), reason))));
    } catch (...) {  // no memory for the message: the others run into their time limits
    }
  }

 protected:
  std::shared_ptr<Work::State> run(Collective call) override {
    return std::make_shared<ThreadWork>(meeting_, meeting_->join(rank(), std::move(call)), rank());
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::vector<std::shared_ptr<ProcessGroup>> make_thread_groups(int size, const ProcessGroupOptions& options) {
  const OpScope op("make_thread_groups");
  TANDEM_CHECK(size >= 1, StateError, "size = {}; it must be at least 1", size);
  const auto meeting = std::make_shared<Meeting>(size, options);
  std::vector<std::shared_ptr<ProcessGroup>> groups;
  for (int rank = 0; rank < size; ++rank) groups.push_back(std::make_shared<ThreadGroup>(rank, size, meeting));
  return groups;
}

}  // namespace tandem::distributed
