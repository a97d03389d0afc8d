#include "tandem/data/data_loader_options.h"

#include "tandem/base/check.h"

namespace tandem::data::detail {

void check_options(const DataLoaderOptions& options) {
  const OpScope op("DataLoader");
  TANDEM_CHECK(options.batch_size() > 0, StateError, "batch_size is 0; it must be at least 1");
  TANDEM_CHECK(options.timeout().value_or(0) >= 0, StateError,
               "timeout is {} ms; it must be at least 0, or nullopt to wait without a limit", *options.timeout());
  TANDEM_CHECK(options.workers() <= DataLoaderOptions::kMaxWorkers, StateError,
               "workers is {}; it must be at most {}: each is a thread", options.workers(),
               DataLoaderOptions::kMaxWorkers);
  TANDEM_CHECK(options.max_jobs() <= DataLoaderOptions::kMaxJobs, StateError,
               "max_jobs is {}; it must be at most {}: each is a batch in memory", options.max_jobs(),
               DataLoaderOptions::kMaxJobs);
}

}  // namespace tandem::data::detail
