// Evaluates what grew too large, and replaces evaluated values by their buffers.

#include "tenon/tensor/settle.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/unread.h"

namespace tenon {

bool is_param(const ir::Value& value) { return value.node->op() == ir::Op::param; }

std::shared_ptr<Leaf> leaf_of(const ir::Value& value) {
  if (!is_param(value)) return nullptr;
  return std::dynamic_pointer_cast<Leaf>(value.node->attrs_as<ir::ParamAttrs>().param.lock());
}

bool can_settle(const ir::Value& value) {
  const ir::Node& node = *(is_param(value) ? value.node->input(0) : value).node;
  return node.evaluated() && node.op() != ir::Op::buffer && !node.needs_grad();
}

ir::Value settled(const ir::Value& value) {
  if (!is_param(value)) return exec::settle(value);
  const ir::Value inner = exec::settle(value.node->input(0));
  const auto leaf = leaf_of(value);
  return !leaf || inner == value.node->input(0) ? value : ir::param(inner, leaf);
}

void forget_how_made(TensorImpl& tensor) {
  std::vector<TensorImpl*> path;
  for (TensorImpl* impl = &tensor; impl; impl = impl->root.get()) path.push_back(impl);
  const auto let_go = [](TensorImpl& impl) {
    const ir::Value now = impl.held();
    ir::Value next = settled(now);
    if (!(next == now)) impl.let_go(now, std::move(next));
  };
  let_go(*path.back());
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (exec::is_evaluated(path[i + 1]->held()) && !path[i]->held().needs_grad()) {
      std::lock_guard lock(views_mutex());
      path[i]->look_at_root();
    } else {
      let_go(*path[i]);
    }
  }
}

uint64_t bytes_held_for(std::span<const ir::Value> tops, size_t* nodes) {
  std::unordered_map<const ir::Node*, uint32_t> seen;  // how often each is an operand
  for (const ir::Value& top : tops) seen[top.node.get()] = ~0u;
  const auto all_tops = [&] {
    std::vector<const ir::Node*> all;
    for (const ir::Value& top : tops) all.push_back(top.node.get());
    return all;
  };
  std::vector<const ir::Node*> waiting = all_tops();
  const auto walk = [&](const auto& visit) {
    while (!waiting.empty()) {
      const ir::Node& node = *waiting.back();
      waiting.pop_back();
      for (const ir::Value& input : node.inputs()) visit(*input.node);
    }
  };
  walk([&](const ir::Node& below) {
    uint32_t& times = seen[&below];
    if (times != ~0u && ++times == 1 && !below.evaluated()) waiting.push_back(&below);
  });
  if (nodes) *nodes = seen.size();
  uint64_t bytes = 0;
  std::unordered_set<const ir::Node*> counted;
  waiting = all_tops();
  walk([&](const ir::Node& below) {
    const bool is_had_anyway = below.references() > seen[&below] && (below.evaluated() || below.op() == ir::Op::param);
    if (is_had_anyway || !counted.insert(&below).second) return;
    if (below.evaluated())
      bytes += ir::bytes_of(below.type());
    else
      waiting.push_back(&below);
  });
  return bytes;
}

bool has_large_graph(const ir::Value& value) {
  constexpr size_t kMany = 8192;  // nodes; while they are planned and run, each takes about 3 KB, measured
  base::FlatSet<const ir::Node*> seen;
  std::vector<const ir::Node*> waiting{value.node.get()};
  size_t count = 0;
  while (!waiting.empty()) {
    const ir::Node& node = *waiting.back();
    waiting.pop_back();
    if (node.evaluated()) continue;
    if (++count >= kMany) return true;
    for (const ir::Value& input : node.inputs()) {
      if (seen.insert(input.node.get())) waiting.push_back(input.node.get());
    }
  }
  return false;
}

namespace {

// Values along the longest chain below this one, from the innermost on. What is planned at once takes several times the
// memory of its graph, so a long chain is evaluated in parts.
std::vector<ir::Value> parts_of_chain(const ir::Value& value) {
  constexpr uint32_t kPart = 4096;
  constexpr size_t kMostBytes = 1 << 20;  // of each: those that gradients are asked of stay in memory
  std::vector<ir::Value> parts;
  uint32_t last = value.node->depth();
  ir::Value at = value;
  while (!at.node->evaluated() && !at.node->inputs().empty()) {
    const auto depth_of = [](const ir::Value& input) { return input.node->evaluated() ? 0 : input.node->depth() + 1; };
    ir::Value below = *std::ranges::max_element(at.node->inputs(), {}, depth_of);
    const bool may_be_kept = ir::bytes_of(below.type()) <= kMostBytes && below.device() == value.device() &&
                             below.node->op() != ir::Op::param && !exec::reads_a_part(below);
    if (may_be_kept && below.node->depth() + kPart <= last && !below.node->evaluated()) {
      last = below.node->depth();
      parts.push_back(below);
    }
    at = std::move(below);
  }
  std::ranges::reverse(parts);
  return parts;
}

}  // namespace

void evaluate_growth(const ir::Value& value) {
  constexpr uint32_t kDeep = 1 << 15;  // a step of a model of a hundred layers is a few thousand deep
  constexpr uint32_t kNotShallow = 256;
  constexpr uint64_t kHeavy = uint64_t{1} << 30;
  const ir::Node& node = *value.node;
  const bool is_large = node.depth() >= kDeep || (node.depth() >= kNotShallow && node.held_bytes() >= kHeavy);
  if (!is_large || node.evaluated()) return;
  if (node.depth() < kDeep) {
    // The bytes along a chain name what is used often as often. Looked at once for every so many of them.
    value.node->set_held_bytes(bytes_held_for({&value, 1}));
    if (node.held_bytes() < kHeavy) return;
  }
  static const bool warned = [&] {
    std::fprintf(stderr,
                 "[tenon] %u operations that hold %llu bytes were recorded and never read; evaluating them now. Call "
                 "eval() once a step to choose when.\n",
                 node.depth(), static_cast<unsigned long long>(node.held_bytes()));
    return true;
  }();
  static_cast<void>(warned);
  for (const ir::Value& part : parts_of_chain(value)) {
    exec::eval({&part, 1}, false, {}, nullptr, {});
  }
  exec::eval({&value, 1}, false, pending_writes::stores(), nullptr,
             [](std::span<const ir::DataRef>) { return unread::values(); });
}

}  // namespace tenon
