#pragma once
// Training on several processes: process groups and what is built on them.
#include "tandem/dist/init.h"
#include "tandem/dist/process_group.h"
#include "tandem/dist/reduce_op.h"
#include "tandem/dist/thread_group.h"
#include "tandem/dist/work.h"
#include "tandem/optim/zero_redundancy_optimizer.h"
