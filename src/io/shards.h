#pragma once
// Checkpoints in several files, with an index that tells which file has which tensor.
#include <string>

#include "tandem/tensor/state_dict.h"

namespace tandem::io {

/// Returns the path of the index in a folder: the file whose name ends in .index.json; of several, that of safetensors
/// files. Throws IoError unless there is exactly one.
std::string shard_index_in(const std::string& folder);

/// Reads the tensors that an index lists: {"weight_map": {"fc1.weight": "model-00001-of-00002.safetensors"}}. The files
/// are beside the index, of any format that load_state reads. Throws IoError for a file elsewhere, and for one that
/// lacks a tensor.
StateDict load_shards(const std::string& index);

}  // namespace tandem::io
