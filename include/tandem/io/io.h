#pragma once
// Saving and loading.
#include "tandem/io/checkpoint.h"
#include "tandem/io/file_kind.h"
#include "tandem/io/numpy.h"
#include "tandem/io/pickle.h"
#include "tandem/io/safetensors.h"
#include "tandem/io/serialize.h"
#include "tandem/io/summary_writer.h"
