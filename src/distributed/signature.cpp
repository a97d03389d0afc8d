#include "src/distributed/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/distributed/fnv1a.h"
#include "tandem/tensor/checks.h"

namespace tandem::distributed {
namespace {

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
      return "SUM";
    case ReduceOp::AVG:
      return "AVG";
    case ReduceOp::MAX:
      return "MAX";
    case ReduceOp::MIN:
      return "MIN";
    case ReduceOp::BOR:
      return "BOR";
  }
  return "?";
}

}  // namespace

const char* to_string(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::all_reduce:
      return "all_reduce";
    case Collective::Kind::broadcast:
      return "broadcast";
    case Collective::Kind::reduce:
      return "reduce";
    case Collective::Kind::all_gather:
      return "all_gather";
    case Collective::Kind::reduce_scatter:
      return "reduce_scatter";
    case Collective::Kind::all_to_all:
      return "all_to_all";
    case Collective::Kind::gather:
      return "gather";
    case Collective::Kind::scatter:
      return "scatter";
    case Collective::Kind::send:
      return "send";
    case Collective::Kind::recv:
      return "recv";
    case Collective::Kind::barrier:
      return "barrier";
  }
  return "?";
}

bool combines(Collective::Kind kind) {
  using Kind = Collective::Kind;
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

std::string describe(const Collective& call) {
  using Kind = Collective::Kind;
  std::string text = to_string(call.kind);
  const auto add = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  switch (call.kind) {
    case Kind::all_reduce:
      add(" {} {}", to_string(call.op), checks::show(call.outputs[0]));
      break;
    case Kind::reduce_scatter:
      add(" {} {}", to_string(call.op), checks::show(call.outputs[0]));
      break;
    case Kind::reduce:
      add(" {} {} to rank {}", to_string(call.op), checks::show(call.inputs[0]), call.peer);
      break;
    case Kind::gather:
      add(" {} to rank {}", checks::show(call.inputs[0]), call.peer);
      break;
    case Kind::broadcast:
    case Kind::scatter:
      add(" {} from rank {}", checks::show(call.outputs[0]), call.peer);
      break;
    case Kind::all_gather:
      add(" {}", checks::show(call.inputs[0]));
      break;
    case Kind::all_to_all:
      add(" {}", name(call.inputs[0].dtype()));
      break;
    case Kind::send:
      add(" {} to rank {}, tag {}", checks::show(call.inputs[0]), call.peer, call.tag);
      break;
    case Kind::recv:
      add(" {} from rank {}, tag {}", checks::show(call.outputs[0]), call.peer, call.tag);
      break;
    case Kind::barrier:
      if (!call.label.empty()) return call.label;  // stands for the call that the label describes
      break;
  }
  if (!call.label.empty()) add(" ({})", call.label);
  return text;
}

uint64_t signature(const Collective& call) { return fnv1a(describe(call)); }

std::string list_ranks(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::string list_calls(const std::vector<std::string>& descriptions) {
  std::string text;
  std::vector<bool> listed(descriptions.size());
  for (size_t r = 0; r < descriptions.size(); ++r) {
    if (listed[r]) continue;
    std::vector<int> same;
    for (size_t other = r; other < descriptions.size(); ++other) {
      if (descriptions[other] != descriptions[r]) continue;
      listed[other] = true;
      same.push_back(static_cast<int>(other));
    }
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", list_ranks(same), descriptions[r]);
  }
  return text;
}

}  // namespace tandem::distributed
