// The order of execution. memory_access.cpp has the block's memories.
#include "ptx/block.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::ptx {
namespace {

unsigned threads_of(const Launch& launch) { return launch.block[0] * launch.block[1] * launch.block[2]; }

}  // namespace

Block::Block(Grid& grid, uint64_t number)
    : grid_(grid),
      number_(static_cast<uint32_t>(number)),
      id_(coordinates(number, grid.launch.grid)),
      shared_(grid.kernel.shared_bytes),
      local_(grid.kernel.local_bytes * threads_of(grid.launch)),
      shared_bytes_(grid.kernel.shared_bytes),
      local_is_initialized_(local_.size()),
      copies_(threads_of(grid.launch)) {
  const Kernel& k = grid.kernel;
  const unsigned threads = threads_of(grid.launch);
  for (unsigned first = 0; first < threads; first += kLanes) {
    Warp& w =
        warps_.emplace_back(Warp{k.constants, grid.registers[first / kLanes], std::vector<Lanes>(k.values),
                                 std::vector<Lanes>(k.predicates), std::vector<Lanes>(k.predicates), 0, this, first});
    const Position at{id_, grid.launch.grid, grid.launch.block, first};
    for (const SpecialRegister& s : k.special) {
      w.values[s.index] = special_register(s.name, at);
      w.defined[s.index] = ~Lanes{0};
    }
    const unsigned lanes = std::min<unsigned>(threads - first, kLanes);
    groups_.push_back({{0, ~Lanes{0} >> (kLanes - lanes)}});
  }
}

void Block::report(Fault fault, const Instruction& i, unsigned thread, uint64_t address, const std::string& what) {
  if (!grid_.reported.emplace(fault, &i).second) return;
  grid_.reports.push_back({fault, grid_.kernel.name, grid_.kernel.file, std::string(i.text), i.line, id_,
                           coordinates(thread, grid_.launch.block), address, what});
}

void Block::stop(Fault fault, const Instruction& i, unsigned thread, uint64_t address, const std::string& what) {
  report(fault, i, thread, address, what);
  throw Stopped(text(grid_.reports.back()));
}

void Block::run() {
  const auto is_over = [](const std::vector<Group>& groups) { return groups.empty(); };
  while (true) {
    for (size_t n = 0; n < warps_.size(); ++n) run_warp(grid_.launch.reverse ? warps_.size() - 1 - n : n);
    if (std::ranges::all_of(groups_, is_over)) return;
    release_barrier();
  }
}

void Block::run_warp(size_t index) {
  std::vector<Group>& groups = groups_[index];
  while (true) {
    std::ranges::sort(groups, {}, &Group::at);
    for (size_t n = 1; n < groups.size();) {  // groups that have met
      if (groups[n - 1].at != groups[n].at) {
        ++n;
        continue;
      }
      groups[n - 1].lanes |= groups[n].lanes;
      groups[n - 1].state = State::ready;
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(n));
    }
    const auto next = std::ranges::find(groups, State::ready, &Group::state);
    if (next == groups.end()) break;
    // The group runs on to where another one waits.
    const uint32_t limit = next + 1 == groups.end() ? ~uint32_t{0} : (next + 1)->at;
    run_group(warps_[index], groups, static_cast<size_t>(next - groups.begin()), limit);
  }
  const auto alone = std::ranges::find(groups, State::waits_for_lanes, &Group::state);
  if (alone == groups.end()) return;
  const Warp& w = warps_[index];
  const Instruction& i = grid_.kernel.code[alone->at];
  stop(Fault::missing_lane, i, w.thread(std::countr_zero(alone->lanes)), 0,
       fmt::format("only the lanes {:#x} arrive", alone->lanes));
}

/// The lanes in which the instruction's guard is true.
Lanes Block::guarded(const Warp& w, const Instruction& i, Lanes lanes) {
  if (i.guard.kind == Operand::none) return lanes;
  if (const Lanes undefined = lanes & ~w.defined_lanes(i.guard)) {
    report(Fault::uninitialized, i, w.thread(std::countr_zero(undefined)), 0, "the guard");
  }
  return lanes & w.truth(i.guard);
}

/// Whether all lanes that the instruction waits for are there. It does not wait for those that have returned.
bool Block::all_meet(const Warp& w, const Instruction& i, const std::vector<Group>& groups, Lanes lanes) {
  if (i.mask.kind == Operand::none) return groups.size() == 1;
  Lanes running = 0;
  for (const Group& group : groups) running |= group.lanes;
  bool all = true;
  for_lanes(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(w.row(i.mask)[static_cast<size_t>(lane)]);
    if (!(mask >> lane & 1)) stop(Fault::missing_lane, i, w.thread(lane), 0, fmt::format("the mask is {:#x}", mask));
    all &= (mask & running & ~lanes) == 0;
  });
  return all;
}

/// Counts an execution and its accesses, if they are asked for.
void Block::count(const Instruction& i, Lanes lanes) {
  if (!grid_.counts) return;
  Count& count = (*grid_.counts)[static_cast<size_t>(&i - grid_.kernel.code.data())];
  ++count.warps;
  count.threads += static_cast<unsigned>(std::popcount(lanes));
  add_cost(accesses_, count);
  accesses_.clear();
}

/// Runs a group up to the instruction `limit`, or until it waits; beside other groups, to its next change of order.
void Block::run_group(Warp& w, std::vector<Group>& groups, size_t index, uint32_t limit) {
  do {
    Group& group = groups[index];
    const Instruction& i = grid_.kernel.code[group.at];
    const Lanes lanes = guarded(w, i, group.lanes);
    if (i.control == Control::none || !lanes) {
      if (lanes) i.run(w, i, lanes);
      count(i, lanes);
      ++group.at;
      continue;
    }
    if (lanes != group.lanes) {
      const Group others{group.at + 1, group.lanes & ~lanes};
      group.lanes = lanes;
      groups.push_back(others);
    }
    if (i.control != Control::meets) count(i, lanes);
    Group& taken = groups[index];
    switch (i.control) {
      case Control::branch:
        taken.at = i.target;
        break;
      case Control::meets:
        if (all_meet(w, i, groups, lanes)) {
          i.run(w, i, lanes);
          count(i, lanes);
          ++taken.at;
        } else {
          taken.state = State::waits_for_lanes;
        }
        break;
      case Control::barrier:
        taken.state = State::at_barrier;
        break;
      case Control::trap:
        stop(Fault::trap, i, w.thread(std::countr_zero(lanes)), 0, "");
      default:
        groups.erase(groups.begin() + static_cast<ptrdiff_t>(index));  // exit
        return;
    }
    if (groups.size() > 1) return;
  } while (groups[index].state == State::ready && groups[index].at < limit);
}

void Block::release_barrier() {
  const Group* first = nullptr;
  for (size_t n = 0; n < warps_.size(); ++n) {
    for (Group& group : groups_[n]) {
      if (!first) first = &group;
      if (group.at != first->at) {
        const Instruction& i = grid_.kernel.code[group.at];
        stop(Fault::divergent_barrier, i, warps_[n].thread(std::countr_zero(group.lanes)), 0,
             fmt::format("other threads wait in line {}", grid_.kernel.code[first->at].line));
      }
    }
  }
  const Instruction& i = grid_.kernel.code[first->at];
  if (!i.to.empty()) {  // bar.red.or.pred
    Lanes any = 0, all_known = ~Lanes{0};
    for (size_t n = 0; n < warps_.size(); ++n) {
      for (const Group& group : groups_[n]) {
        any |= warps_[n].truth(i.from[1]) & group.lanes;
        all_known &= warps_[n].defined_lanes(i.from[1]) | ~group.lanes;
      }
    }
    for (size_t n = 0; n < warps_.size(); ++n) {
      for (const Group& group : groups_[n]) {
        warps_[n].set_truth(i.to[0], group.lanes, any ? ~Lanes{0} : 0, ~all_known ? 0 : ~Lanes{0});
      }
    }
  }
  for (std::vector<Group>& groups : groups_) {
    for (Group& group : groups) group = {group.at + 1, group.lanes};
  }
  ++barriers_;
}

}  // namespace tandem::ptx
