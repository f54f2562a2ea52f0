// A value is stored if somebody asked for it, if a call reads it, if there is too much behind it to be computed again,
// or if that is cheaper than reading all that it is made of for every reader.

#include "tenon/plan/stored.h"

#include <algorithm>

#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr size_t kMaxInlined = 48;  // ops computed inside one kernel behind one value: bounds kernels and planning

// How many different elements are seen through the views around a value, at most.
int64_t elements_behind(const Value& value) {
  const Value *at = &value, *base = &ir::base_of(value);
  int64_t fewest = ir::count(base->shape());
  for (; at != base; at = &ir::shown_by(*at->node, at->index)) fewest = std::min(fewest, ir::count(at->shape()));
  return fewest;
}

// What `contiguous` is decomposed to: somebody wants the value in memory.
bool is_copy(const Node& node) { return node.op() == Op::where && node.input(1) == node.input(2); }

}  // namespace

Uses count_uses(const std::vector<NodeRef>& order, const Assemblies& assemblies) {
  Uses uses;
  for (const NodeRef& node : order) {
    if (node->evaluated() || ir::is_transparent(*node)) continue;
    if (const auto* pieces = assemblies.find(node.get())) {
      for (const Piece& piece : *pieces) ++uses[ir::base_node(piece.value)];
      continue;
    }
    for (const Value& input : node->inputs()) ++uses[ir::base_node(input)];
  }
  return uses;
}

void StoredValues::decide(const NodeRef& node, bool for_product) {
  if (!limits_.fuses || kept_.contains(node.get()) || assemblies_.totals.contains(node.get()))
    stored_.insert(node.get());
  if (const auto* pieces = assemblies_.find(node.get())) {
    stored_.insert(node.get());
    for (const Piece& piece : *pieces) stored_.insert(ir::base_node(piece.value));
  } else if (is_inline(*node, limits_)) {
    Behind all = behind_operands(*node);
    if (all.sources.size() + 1 > limits_.max_buffers) store_until_few_sources(*node, all);
    all.inlined.push_back(node.get());
    if (all.inlined.size() > kMaxInlined || for_product || is_copy(*node)) stored_.insert(node.get());
    if (!stored_.contains(node.get()) && is_cheaper_stored(*node, all)) {
      const Node* narrow = narrow_operand(*node);
      stored_.insert(narrow ? narrow : node.get());
      if (narrow) all = behind_operands(*node);
    }
    if (!stored_.contains(node.get())) behind_.emplace(node.get(), std::move(all));
  }
}

void StoredValues::store_operands(const Node& node) {
  if (assemblies_.contains(&node)) return;
  if (node.op() == Op::random_bits || (node.op() == Op::gather && is_inline(node, limits_)))
    store_operand(node.input(0));
  else if (!is_inline(node, limits_) && node.info().kind != Kind::reduce)
    for (const Value& input : node.inputs()) store_operand(input);
}

void StoredValues::store_operand(const Value& operand) {
  const Node* base = ir::base_node(operand);
  if (is_inline(*base, limits_) || base->info().kind == Kind::reduce) stored_.insert(base);
}

// Writing a value once and reading it back beats reading all that it is made of for every user: a residual stream. Not
// where it is wider than all of that together: the gradient of a norm, in f32 of two 16-bit values.
bool StoredValues::is_cheaper_stored(const Node& node, const Behind& all) const {
  const int64_t own = ir::count(node.type().shape);
  size_t big = 0, bytes = 0;  // of one element of each
  for (const auto& source : all.sources) {
    if (2 * source.elements <= own) continue;
    ++big;
    bytes += size_of(source.dtype);
  }
  if (big < 2 || bytes <= size_of(node.type().dtype)) return false;
  const size_t* found = uses_.find(&node);
  const size_t uses = found ? *found : 0;
  return uses >= 3 || (big >= 3 && uses >= 2);
}

// The operand of a cast that has its values in fewer bytes, where it would be computed in the same kernels.
const Node* StoredValues::narrow_operand(const Node& node) const {
  if (node.op() != Op::cast) return nullptr;
  const Value& operand = node.input(0);
  const bool widens = is_float(operand.dtype()) && size_of(operand.dtype()) < size_of(node.type().dtype);
  return widens && behind_.find(operand.node.get()) ? operand.node.get() : nullptr;
}

StoredValues::Behind StoredValues::behind_operands(const Node& node) const {
  Behind all;
  size_t inlined = 1, sources = 0;  // at most: the node itself comes last
  for (const Value& input : node.inputs()) {
    const Behind* found = behind_.find(ir::base_node(input));
    inlined += found ? found->inlined.size() : 0;
    sources += found ? found->sources.size() : 1;
  }
  all.inlined.reserve(inlined);
  all.sources.reserve(sources);
  const auto add_source = [&](const Node* source, DType dtype, int64_t elements) {
    for (Behind::Source& known : all.sources) {
      if (known.node != source) continue;
      known.elements = std::max(known.elements, elements);
      return;
    }
    all.sources.push_back({source, dtype, elements});
  };
  for (const Value& input : node.inputs()) {
    const Node* base = ir::base_node(input);
    const Behind* found = behind_.find(base);
    if (!found || stored_.contains(base)) {
      const bool is_table = node.op() == Op::gather && base == ir::base_node(node.input(0));
      add_source(base, ir::base_of(input).dtype(), is_table ? ir::count(node.type().shape) : elements_behind(input));
      continue;
    }
    const size_t known = all.inlined.size();  // none is there twice within one operand
    for (const Node* inner : found->inlined) {
      const Node** const end = all.inlined.begin() + known;
      if (std::find(all.inlined.begin(), end, inner) == end) all.inlined.push_back(inner);
    }
    const int64_t seen = elements_behind(input);
    for (const Behind::Source& source : found->sources)
      add_source(source.node, source.dtype, std::min(source.elements, seen));
  }
  return all;
}

// A kernel binds so many buffers and no more: the operand that brings most of them gets a kernel of its own.
void StoredValues::store_until_few_sources(const Node& node, Behind& all) {
  while (all.sources.size() + 1 > limits_.max_buffers) {
    const Node* most = nullptr;
    size_t brought = 1;  // storing it brings one
    for (const Value& input : node.inputs()) {
      const Node* base = ir::base_node(input);
      const Behind* found = behind_.find(base);
      if (!found || stored_.contains(base) || found->sources.size() <= brought) continue;
      most = base;
      brought = found->sources.size();
    }
    if (!most) return;
    stored_.insert(most);
    all = behind_operands(node);
  }
}

}  // namespace tenon::plan
