#pragma once
// The AMP modes of other systems, see docs/modes.md. Not included by tandem.h, to keep compile times low.
#include "tandem/amp/modes/booster.h"
#include "tandem/amp/modes/dtype_policy.h"
#include "tandem/amp/modes/loss_scale_optimizer.h"
#include "tandem/amp/modes/mixed_precision.h"
#include "tandem/amp/modes/opt_level.h"
