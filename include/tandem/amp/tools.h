#pragma once
// The AMP debugging tools, see docs/seeing.md. Not included by tandem.h, to keep compile times low.
#include "tandem/amp/tools/check_numerics.h"
#include "tandem/amp/tools/compare_accuracy.h"
#include "tandem/amp/tools/explain.h"
#include "tandem/amp/tools/op_stats.h"
#include "tandem/amp/tools/overflow_finder.h"
#include "tandem/amp/tools/profiler.h"
#include "tandem/amp/tools/train_log.h"
