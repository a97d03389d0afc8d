#pragma once
// All headers of the data library.
#include "tandem/data/data_loader.h"
#include "tandem/data/datasets/mnist.h"
#include "tandem/data/datasets/stacked.h"
#include "tandem/data/transforms.h"
