#include "tandem/data/loader_state.h"

#include "tandem/base/check.h"

namespace tandem::data::detail {

StateDict write_loader_state(const DataLoaderOptions& options, const LoaderPosition& position, const std::string& part,
                             const StateDict& state_of_part) {
  const OpScope op("DataLoader::state_dict");
  TANDEM_CHECK(!position.in_epoch || options.workers() == 0 || options.enforce_ordering(), StateError,
               "the order of batches is undefined, so there is no position in the epoch to save; use "
               "enforce_ordering(true), or save between epochs");
  StateDict state;
  StateWriter writer(state);
  auto batches = static_cast<int64_t>(position.batches);
  bool in_epoch = position.in_epoch;
  writer.number("in_epoch", in_epoch);
  if (!in_epoch) return state;
  writer.number("batches", batches);
  if (position.seed) {
    auto seed = static_cast<int64_t>(*position.seed);
    writer.number("seed", seed);
  }
  add_below(state, part, state_of_part);
  return state;
}

LoaderPosition read_loader_state(const StateDict& state, const std::string& part, bool random) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  bool in_epoch = false;
  int64_t batches = 0, seed = 0;
  reader.number("in_epoch", in_epoch);
  if (in_epoch) {
    reader.number("batches", batches);
    if (random) reader.number("seed", seed);
    for (const auto& item : state) {
      if (item.key().starts_with(part + ".")) reader.find(item.key());
    }
    if (batches < 0) reader.add_fault(fmt::format("'batches' is {}", batches));
  }
  reader.finish();
  LoaderPosition position{in_epoch, static_cast<uint64_t>(batches), std::nullopt};
  if (random && in_epoch) position.seed = static_cast<uint64_t>(seed);
  return position;
}

}  // namespace tandem::data::detail
