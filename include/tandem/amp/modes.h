#pragma once
// The modes of other systems: docs/modes.md. Apart from tandem.h, which every file of a program pays for.
#include "tandem/amp/booster.h"
#include "tandem/amp/dtype_policy.h"
#include "tandem/amp/loss_scale_optimizer.h"
#include "tandem/amp/mixed_precision.h"
#include "tandem/amp/opt_level.h"
