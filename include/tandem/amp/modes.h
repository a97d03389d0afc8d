#pragma once
// The AMP modes of other systems, see docs/modes.md. Not included by tandem.h, to keep compile times low.
#include "tandem/amp/booster.h"
#include "tandem/amp/dtype_policy.h"
#include "tandem/amp/loss_scale_optimizer.h"
#include "tandem/amp/mixed_precision.h"
#include "tandem/amp/opt_level.h"
