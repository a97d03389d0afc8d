#pragma once
// Training in float8, see docs/fp8.md. Not included by tandem.h, to keep compile times low.
#include "tandem/amp/fp8/fp8_autocast.h"
#include "tandem/amp/fp8/fp8_tensor.h"
#include "tandem/amp/fp8/losses.h"
#include "tandem/amp/fp8/recipe.h"
