#pragma once
// The choice among a library's candidates for one computation: cuBLASLt's algorithms for a product, cuDNN's engines for
// a convolution.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "kernels/cuda/timing.h"
#include "tandem/base/error.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::cuda {

/// The candidates that are timed.
constexpr size_t kTimedCandidates = 8;
constexpr size_t kAllCandidates = std::numeric_limits<size_t>::max();

/// The candidate in use, chosen at the first run: the first that works, or the fastest. A candidate that fails, or
/// whose workspace does not fit into memory, is replaced by the next one that works, for good.
///
/// Ways, the owner's view of one run, has
///   std::vector<Candidate> find(size_t most): up to `most` candidates, best first; find(m) begins like find(n);
///   void run(const Candidate&): throws BackendError or OutOfMemoryError if the candidate does not work;
///   std::optional<size_t> fastest(const std::vector<Candidate>&): the index of the fastest, or the number of
///     candidates if the computation without the library's help is faster; empty if nothing works;
///   bool has_alternative(): whether there is such a computation;
///   bool can_decide(): whether the choice can be made now.
/// A Candidate has a member workspace_bytes.
template <class Candidate>
class Choice {
 public:
  /// Returns false, having done nothing, if there is no candidate or the alternative is to be used. If candidates exist
  /// but none works and there is no alternative, throws the last one's error.
  template <class Ways>
  bool run(const Ways& ways, bool timed) {
    Decision& d = timed && !deterministic() && (by_time_.made || !is_capturing()) ? by_time_ : by_heuristic_;
    if (!d.made) {
      if (!ways.can_decide()) return false;
      decide(d, ways);
    }
    while (d.candidate) {
      try {
        ways.run(*d.candidate);
        return true;
      } catch (const OutOfMemoryError&) {
        if (deterministic()) throw;  // free memory differs between runs
        if (!replace(d, ways, d.candidate->workspace_bytes)) throw;
      } catch (const BackendError&) {
        if (!replace(d, ways, std::numeric_limits<int64_t>::max())) throw;
      }
    }
    return false;
  }

 private:
  /// Not made yet, or a candidate, or none.
  struct Decision {
    bool made = false;
    std::optional<Candidate> candidate;
    size_t index = 0;           ///< the candidate's
    std::vector<size_t> tried;  ///< the indices of those that failed
  };

  template <class Ways>
  void decide(Decision& d, const Ways& ways) {
    std::vector<Candidate> candidates = ways.find(&d == &by_time_ ? kTimedCandidates : 1);
    if (&d == &by_time_) d.index = ways.fastest(candidates).value_or(0);
    if (d.index < candidates.size()) d.candidate = std::move(candidates[d.index]);
    d.made = true;
  }

  /// Takes the next candidate that needs less than `most_bytes` of workspace. Returns false if there is neither one nor
  /// an alternative; the next run then starts anew.
  template <class Ways>
  bool replace(Decision& d, const Ways& ways, int64_t most_bytes) {
    d.tried.push_back(d.index);
    d.candidate.reset();
    std::vector<Candidate> candidates;
    if (ways.can_decide()) candidates = ways.find(kAllCandidates);
    for (size_t i = 0; i < candidates.size() && !d.candidate; ++i) {
      if (std::count(d.tried.begin(), d.tried.end(), i) || candidates[i].workspace_bytes >= most_bytes) continue;
      d.index = i;
      d.candidate = std::move(candidates[i]);
    }
    if (d.candidate || ways.has_alternative()) return true;
    d = {};
    return false;
  }

  Decision by_heuristic_, by_time_;
};

}  // namespace tandem::cuda
