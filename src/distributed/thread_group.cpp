// The last rank that makes a call runs it for all of them. So no threads are needed besides the ranks, and the result
// does not depend on their timing.
#include "tandem/distributed/thread_group.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

#include "src/distributed/device_group.h"
#include "src/distributed/local_collectives.h"
#include "src/distributed/options.h"
#include "src/distributed/signature.h"
#include "tandem/base/check.h"

namespace tandem::distributed {
namespace {

using Kind = Collective::Kind;
using Clock = std::chrono::steady_clock;

/// The state that the ranks share.
class Meeting {
 public:
  Meeting(int size, const ProcessGroupOptions& options)
      : size_(static_cast<size_t>(size)), options_(options), made_(size_), left_(size_) {}

  /// The calls of all ranks with one number; or a send and a receive.
  struct Round {
    std::vector<int> ranks;  // who must join
    std::vector<Collective> calls;
    std::vector<bool> joined;
    size_t missing;
    bool ended = false;
    std::exception_ptr error;
    Clock::time_point deadline;
    std::string description;  // of the first call
    const char* op;           // its name
  };

  std::shared_ptr<Round> join(int rank, Collective call) {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (call.kind == Kind::send || call.kind == Kind::recv) return meet_peer(rank, std::move(call));
    // Rounds that some ranks have joined and others have not are consecutive: the k-th call of each rank.
    const size_t number = made_[static_cast<size_t>(rank)]++ - first_round_;
    if (number == rounds_.size()) {
      std::vector<int> all(size_);
      std::iota(all.begin(), all.end(), 0);
      rounds_.push_back(make_round(std::move(all), call));
    }
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

  std::exception_ptr failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  /// The rank makes no further calls.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<size_t>(rank)] = true;
    const auto open = open_;  // a copy: failing changes the list
    for (const std::shared_ptr<Round>& round : open) check_left(*round);
  }

 private:
  /// Fails a round that a rank that has left did not join.
  void check_left(const Round& round) {
    for (size_t i = 0; i < round.ranks.size(); ++i) {
      const int rank = round.ranks[i];
      if (round.ended || !left_[static_cast<size_t>(rank)] || round.joined[i]) continue;
      fail_all(std::make_exception_ptr(
          StateError("", fmt::format("rank {} has left the group and did not join {}", rank, round.description))));
    }
  }

  std::shared_ptr<Round> make_round(std::vector<int> ranks, const Collective& call) {
    auto round = std::make_shared<Round>();
    round->missing = ranks.size();
    round->calls.resize(ranks.size());
    round->joined.resize(ranks.size());
    round->ranks = std::move(ranks);
    round->deadline = Clock::now() + options_.timeout;
    round->description = describe(call);
    round->op = to_string(call.kind);
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
      const std::shared_ptr<Round> round = make_round({std::get<0>(key), std::get<1>(key)}, call);
      put(*round, sends ? 0 : 1, std::move(call));
      check_left(*round);
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

  void time_out(const Round& round, int rank) {
    std::vector<int> missing;
    for (size_t i = 0; i < round.ranks.size(); ++i) {
      if (!round.joined[i]) missing.push_back(round.ranks[i]);
    }
    fail_all(std::make_exception_ptr(StateError(
        round.op,
        fmt::format("{} did not join {} within {} ms; rank {} gave up. See whether it hangs or has left, or set a "
                    "longer timeout",
                    list_ranks(missing), round.description, options_.timeout.count(), rank))));
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

  std::exception_ptr failure() const override { return meeting_->failure(); }

 protected:
  std::shared_ptr<Work::State> run(Collective call) override {
    if (size() > 1) check_on_cpu(call);  // streams of different ranks are not ordered
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
  check_options(options);
  const auto meeting = std::make_shared<Meeting>(size, options);
  std::vector<std::shared_ptr<ProcessGroup>> groups;
  for (int rank = 0; rank < size; ++rank) {
    auto group = std::make_shared<ThreadGroup>(rank, size, meeting);
    groups.push_back(size > 1 ? with_device_tensors(std::move(group), options) : std::move(group));
  }
  return groups;
}

}  // namespace tandem::distributed
