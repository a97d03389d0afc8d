#pragma once
// Training on several processes: process groups and what is built on them.
#include "tandem/distributed/init.h"
#include "tandem/distributed/process_group.h"
#include "tandem/distributed/reduce_op.h"
#include "tandem/distributed/thread_group.h"
#include "tandem/distributed/work.h"
#include "tandem/optim/zero_redundancy_optimizer.h"
