#pragma once
// What shows what AMP does: docs/seeing.md. Apart from tandem.h, which every file of a program pays for.
#include "tandem/amp/check_numerics.h"
#include "tandem/amp/compare_accuracy.h"
#include "tandem/amp/explain.h"
#include "tandem/amp/op_stats.h"
#include "tandem/amp/overflow_finder.h"
#include "tandem/amp/train_log.h"
