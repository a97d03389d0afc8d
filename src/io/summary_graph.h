#pragma once
// The graph of the ops behind a tensor. Internal.
#include <string>
#include <vector>

#include "src/io/events.h"
#include "tandem/base/ordered_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem::io {

/// The ops recorded for the backward of `output` and its leaves, in the order of the forward pass; each name is unique.
/// Leaves that are in `parameters` have the name there, with slashes for dots.
std::vector<GraphNode> graph_of(const Tensor& output, const OrderedDict<std::string, Tensor>& parameters);

}  // namespace tandem::io
