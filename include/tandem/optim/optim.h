#pragma once
// All optimizers and learning rate schedules.
#include "tandem/optim/adam.h"
#include "tandem/optim/adamw.h"
#include "tandem/optim/lr_scheduler.h"
#include "tandem/optim/optimizer.h"
#include "tandem/optim/sgd.h"
