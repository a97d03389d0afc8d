#include "src/io/summary_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "src/io/utf8.h"
#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

using autograd::Node;

/// Names as TensorFlow makes them unique: linear, linear_1, linear_2.
class UniqueNames {
 public:
  std::string make(const std::string& name) {
    int& count = counts_[name];
    for (;;) {
      const std::string unique = count == 0 ? name : fmt::format("{}_{}", name, count);
      ++count;
      if (taken_.insert(unique).second) return unique;
    }
  }

 private:
  std::unordered_map<std::string, int> counts_;
  std::set<std::string> taken_;
};

/// The nodes reachable from `root`: leaves first, then ops in recording order.
std::vector<Node*> nodes_of(Node* root) {
  std::vector<Node*> nodes = {root};
  std::unordered_set<const Node*> seen = {root};
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const autograd::Edge& edge : nodes[i]->next) {
      if (edge && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
  }
  const auto is_op = [](const Node* node) { return dynamic_cast<const autograd::AccumulateGrad*>(node) == nullptr; };
  std::sort(nodes.begin(), nodes.end(),
            [&](const Node* a, const Node* b) { return is_op(a) != is_op(b) ? is_op(b) : a->sequence < b->sequence; });
  return nodes;
}

}  // namespace

std::vector<GraphNode> graph_of(const Tensor& output, const OrderedDict<std::string, Tensor>& parameters) {
  TANDEM_CHECK(output.defined(), StateError, "the tensor is undefined; give the result of a forward pass");
  const std::shared_ptr<Node> root = output.grad_fn();
  TANDEM_CHECK(root, StateError,
               "the tensor has no graph; give the result of ops on parameters, computed without NoGradGuard");
  std::unordered_map<const TensorImpl*, std::string> parameter_names;
  for (const auto& parameter : parameters) {
    std::string name = parameter.key();
    TANDEM_CHECK(is_utf8(name), StateError, "the name of a parameter is not UTF-8; convert it");
    std::replace(name.begin(), name.end(), '.', '/');
    if (parameter.value().defined()) parameter_names.emplace(&parameter.value().impl(), std::move(name));
  }
  UniqueNames unique;
  std::unordered_map<const Node*, std::string> names;
  std::vector<GraphNode> graph;
  const std::vector<Node*> nodes = nodes_of(root.get());
  for (const Node* node : nodes) {
    GraphNode& to = graph.emplace_back();
    if (const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(node)) {
      const auto name = parameter_names.find(&leaf->variable().impl());
      to.name = unique.make(name == parameter_names.end() ? "leaf" : name->second);
      to.op = "parameter";
    } else {
      to.name = unique.make(node->op);
      to.op = node->op;
    }
    names[node] = to.name;
    for (const autograd::OutputMeta& meta : node->outputs) to.shapes.emplace_back(meta.sizes.begin(), meta.sizes.end());
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const autograd::Edge& edge : nodes[i]->next) {
      if (!edge) continue;
      const std::string& from = names.at(edge.node.get());
      graph[i].inputs.push_back(edge.input == 0 ? from : fmt::format("{}:{}", from, edge.input));
    }
  }
  return graph;
}

}  // namespace tandem::io
