#pragma once
// The AMP debugging tools, see docs/seeing.md. Not included by tandem.h, to keep compile times low.
#include "tandem/amp/check_numerics.h"
#include "tandem/amp/compare_accuracy.h"
#include "tandem/amp/explain.h"
#include "tandem/amp/op_stats.h"
#include "tandem/amp/overflow_finder.h"
#include "tandem/amp/train_log.h"
