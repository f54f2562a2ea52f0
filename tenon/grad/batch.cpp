#include "tenon/grad/batch.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/base/flat_map.h"
#include "tenon/ir/build.h"
#include "tenon/ir/composition.h"
#include "tenon/ir/topology.h"

namespace tenon::autodiff {
namespace {

using namespace ir;

using Results = base::SmallVector<Value, 1>;

Dims joined(std::initializer_list<std::span<const int64_t>> parts) {
  Dims all;
  for (const auto& part : parts) {
    for (const int64_t size : part) all.push_back(size);
  }
  return all;
}

/// The sizes of a batch of such examples.
Dims sizes_of_batch(int64_t count, const Dims& shape) { return joined({std::span(&count, 1), shape}); }

/// Axes of an example, as axes of the batch.
Dims behind(Dims axes) {
  for (int64_t& axis : axes) ++axis;
  return axes;
}

/// One value for all examples.
Value spread(const Value& x, int64_t count) {
  return expand(reshape(x, sizes_of_batch(1, x.shape())), sizes_of_batch(count, x.shape()));
}

/// A node of one example, and its operands: of all examples where is_batched, else one that they share.
struct Step {
  const Node& node;
  int64_t count;
  std::vector<Value> in;
  std::vector<bool> is_batched;

  Value all(size_t i) const { return is_batched[i] ? in[i] : spread(in[i], count); }
  Operands all() const {
    Operands operands;
    for (size_t i = 0; i < in.size(); ++i) operands.push_back(all(i));
    return operands;
  }
  template <typename T>
  const T& attrs() const {
    return node.attrs_as<T>();
  }
};

Results results_of(const NodeRef& node) {
  Results made;
  for (uint32_t i = 0; i < node->results(); ++i) made.push_back({node, i});
  return made;
}

[[noreturn]] void refuse(std::string_view what) {
  base::fail("vmap", "there is no rule for {}; do it outside of the mapped function, on the whole batch", what);
}

// ---- movement ----

Move move_of_batch(const Move& move, int64_t count) {
  Move made = move;
  const auto front = [](Dims& dims, int64_t value) { dims.insert(dims.begin(), value); };
  if (auto* to = std::get_if<ShapeAttrs>(&made.attrs)) {
    front(to->shape, count);
  } else if (auto* turn = std::get_if<AxesAttrs>(&made.attrs)) {
    turn->axes = behind(turn->axes);
    if (move.op == Op::permute) front(turn->axes, 0);
  } else if (auto* wider = std::get_if<PadAttrs>(&made.attrs)) {
    front(wider->before, 0);
    front(wider->after, 0);
  } else {
    auto& cut = std::get<ShrinkAttrs>(made.attrs);
    front(cut.start, 0);
    front(cut.size, count);
    front(cut.step, 1);
  }
  return made;
}

// ---- indexed: where indices differ between examples, their lines are laid one after the other ----

/// (count, ..., size, ...) with the axis of an example as its first one, joined with that of the batch.
Dims lines_first(size_t rank, size_t axis) {
  Dims order{0, static_cast<int64_t>(axis) + 1};
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(static_cast<int64_t>(i) + 1);
  }
  return order;
}

Value lines(const Value& x, size_t axis) {
  const Value turned = permute(x, lines_first(x.rank() - 1, axis));
  const Dims& shape = turned.shape();
  const int64_t all = shape[0] * shape[1];
  return reshape(turned, joined({std::span(&all, 1), std::span(shape).subspan(2)}));
}

/// Indices of 0..size-1 as those of lines(); one out of range stays so.
Value index_of_lines(const Value& index, int64_t size) {
  const Value whole = cast(index, DType::i64);
  const Value inside =
      binary(Op::bit_and, less(full_like(whole, -1), whole), less(whole, full_like(whole, static_cast<double>(size))));
  const Value example = iota_along(index.shape(), 0, DType::i64, index.device());
  return where(inside, add(whole, scale(example, static_cast<double>(size))), full_like(whole, -1));
}

/// (count, a axes, k axes, rest) as (count, k axes, a axes, rest).
Value swapped_behind_count(const Value& x, size_t a, size_t k) {
  Dims order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 1 + static_cast<ptrdiff_t>(a),
              order.begin() + 1 + static_cast<ptrdiff_t>(a + k));
  return permute(x, order);
}

Value gathered(const Step& step) {
  const auto& attrs = step.attrs<AxisAttrs>();
  const auto axis = static_cast<size_t>(attrs.axis);
  if (!step.is_batched[1]) return gather(step.in[0], step.in[1], axis + 1, attrs.use);
  if (!step.is_batched[0]) {
    const Value picked = gather(step.in[0], step.in[1], axis, attrs.use);
    Dims order = iota_dims(picked.rank());
    std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(axis),
                order.begin() + static_cast<ptrdiff_t>(axis) + 1);
    return permute(picked, order);
  }
  const Value index = index_of_lines(step.in[1], step.in[0].shape()[axis + 1]);
  return swapped_behind_count(gather(lines(step.in[0], axis), index, 0, attrs.use), index.rank() - 1, axis);
}

Value scattered(const Step& step) {
  const auto axis = static_cast<size_t>(step.attrs<AxisAttrs>().axis);
  const auto record = step.node.op() == Op::scatter ? scatter : scatter_add;
  const Value base = step.all(0), value = step.all(2);
  if (!step.is_batched[1]) return record(base, step.in[1], value, axis + 1);
  const Value index = index_of_lines(step.in[1], base.shape()[axis + 1]);
  const Value made = record(lines(base, axis), index, swapped_behind_count(value, axis, index.rank() - 1), 0);
  const Dims order = lines_first(base.rank() - 1, axis);
  return permute(reshape(made, permute(base, order).shape()), inverse_permutation(order));
}

// ---- calls ----

/// A batch of examples that are batches themselves, as one batch.
Value folded(const Value& x) {
  const Dims& shape = x.shape();
  const int64_t all = shape[0] * shape[1];
  return reshape(x, joined({std::span(&all, 1), std::span(shape).subspan(2)}));
}

/// The call on operands whose first axis is a batch already.
Results folded_call(const Step& step) {
  Operands operands;
  for (size_t i = 0; i < step.in.size(); ++i) operands.push_back(folded(step.all(i)));
  const NodeRef call = Node::make(step.node.op(), operands, step.node.attrs());
  Results made;
  for (uint32_t i = 0; i < call->results(); ++i)
    made.push_back(reshape({call, i}, sizes_of_batch(step.count, step.node.type(i).shape)));
  return made;
}

// A product with a matrix that all share is one of more rows.
Value product(const Step& step) {
  const auto& attrs = step.attrs<ContractAttrs>();
  if (step.is_batched[1] || step.in[1].rank() != 2) return contract(step.all(0), step.all(1), attrs);
  return reshape(contract(folded(step.in[0]), step.in[1], attrs), sizes_of_batch(step.count, step.node.type().shape));
}

/// (count, N, C, ...) as (N, count C, ...), and back.
Value examples_as_channels(const Value& x) {
  Dims order = iota_dims(x.rank());
  std::swap(order[0], order[1]);
  const Value turned = permute(x, order);
  const Dims& shape = turned.shape();
  const int64_t sizes[] = {shape[0], shape[1] * shape[2]};
  return reshape(turned, joined({sizes, std::span(shape).subspan(3)}));
}
Value channels_as_examples(const Value& x, int64_t count) {
  const Dims& shape = x.shape();
  const int64_t sizes[] = {shape[0], count, shape[1] / std::max<int64_t>(count, 1)};
  const Value split = reshape(x, joined({sizes, std::span(shape).subspan(2)}));
  Dims order = iota_dims(split.rank());
  std::swap(order[0], order[1]);
  return permute(split, order);
}

// Images of all examples are one batch where they share the weights; else every example is a group of channels.
Value convolution(const Step& step) {
  const Op op = step.node.op();
  ConvAttrs attrs = step.attrs<ConvAttrs>();
  if (op != Op::conv_weight && !step.is_batched[1]) {
    const NodeRef call = Node::make(op, {folded(step.in[0]), step.in[1]}, attrs);
    return reshape({call, 0}, sizes_of_batch(step.count, step.node.type().shape));
  }
  if (step.count == 0)
    return full(sizes_of_batch(0, step.node.type().shape), 0, step.node.type().dtype, step.node.device());
  attrs.groups *= step.count;
  const Value first = examples_as_channels(step.all(0)), second = step.all(1);
  if (op == Op::conv_weight)
    return reshape(conv_weight(first, examples_as_channels(second), attrs),
                   sizes_of_batch(step.count, step.node.type().shape));
  const NodeRef call = Node::make(op, {first, folded(second)}, attrs);
  return channels_as_examples({call, 0}, step.count);
}

Results attention_call(const Step& step) {
  if (step.attrs<AttentionAttrs>().dropout > 0) refuse("attention with dropout");
  return folded_call(step);
}

// ---- functions with gradients of their own: the rule is recorded on placeholders, as the function was ----

Results custom_call(const Step& step) {
  const auto& attrs = step.attrs<CustomAttrs>();
  const int64_t count = step.count;
  auto rule = std::make_shared<CustomRule>();
  rule->name = attrs.rule->name;
  rule->backward = [inner = attrs.rule, count](std::span<const Value> operands, std::span<const Value> grads) {
    std::vector<Examples> examples;
    const auto one_of = [&](const Value& all) {
      if (!all) return Value();
      const Dims shape(all.shape().begin() + 1, all.shape().end());
      const Value data = placeholder({all.dtype(), shape}, all.device());
      examples.push_back({data, all});
      return data;
    };
    std::vector<Value> one_operands, one_grads, made;
    for (const Value& operand : operands) one_operands.push_back(one_of(operand));
    for (const Value& gradient : grads) one_grads.push_back(one_of(gradient));
    std::vector<Value> there;
    const std::vector<Value> found = inner->backward(one_operands, one_grads);
    std::copy_if(found.begin(), found.end(), std::back_inserter(there), [](const Value& one) { return bool{one}; });
    const std::vector<Value> all = batched(there, examples, count);
    size_t next = 0;
    for (const Value& one : found) made.push_back(one ? all[next++] : Value());
    return made;
  };
  return results_of(Node::make(Op::custom, step.all(), CustomAttrs{rule, attrs.results}));
}

// Written out once more, for all examples.
Results composed_call(const Step& step) {
  const Composition& what = *step.attrs<ComposedAttrs>().what;
  std::vector<Examples> examples;
  for (size_t i = 0; i < step.in.size(); ++i) {
    const Value all = step.all(i);
    examples.push_back({what.inputs[i], all});
    if (const Value* data = data_of(what.inputs[i])) examples.push_back({*data, detach(all)});
  }
  const std::vector<Value> made = batched(what.outputs, examples, step.count);
  return Results(made.begin(), made.end());
}

// ---- all rows of the table ----

Results call(const Step& step) {
  switch (step.node.op()) {
    case Op::contract: return {product(step)};
    case Op::conv:
    case Op::conv_transpose:
    case Op::conv_weight: return {convolution(step)};
    case Op::attention:
    case Op::attention_backward: return attention_call(step);
    case Op::composed: return composed_call(step);
    case Op::sort: {
      SortAttrs attrs = step.attrs<SortAttrs>();
      ++attrs.axis;
      return results_of(Node::make(Op::sort, step.all(), attrs));
    }
    case Op::scan: {
      const auto& attrs = step.attrs<ScanAttrs>();
      return {scan(step.all(0), static_cast<size_t>(attrs.axis) + 1, attrs.kind)};
    }
    default:
      if (step.node.info().shape_rule == ShapeRule::pool) return folded_call(step);
      refuse(fmt::format("the op '{}'", step.node.info().name));
  }
}

Results effect(const Step& step) {
  switch (step.node.op()) {
    case Op::store: {
      std::vector<Move> target = step.attrs<StoreAttrs>().target;
      for (Move& move : target) move = move_of_batch(move, step.count);
      return {store(step.all(0), step.all(1), std::move(target))};
    }
    case Op::after: {
      return {after(step.all(0), std::span(step.in).subspan(1))};
    }
    case Op::copy: return {copy(step.all(0), step.attrs<CopyAttrs>().device)};
    case Op::contiguous: return {contiguous(step.all(0))};
    case Op::detach: return {detach(step.all(0))};
    case Op::param: return {step.all(0)};  // a leaf of the function's own: its gradients are recorded already
    default: return custom_call(step);
  }
}

Results mapped(const Step& step) {
  const Node& node = step.node;
  switch (node.info().kind) {
    case Kind::movement: return {move(step.in[0], move_of_batch(move_of(node.op(), node.attrs()), step.count))};
    case Kind::unary:
    case Kind::binary:
    case Kind::ternary: return results_of(Node::make(node.op(), step.all(), node.attrs()));
    case Kind::reduce: return {reduce(node.op(), step.in[0], behind(step.attrs<AxesAttrs>().axes))};
    case Kind::indexed: return {node.op() == Op::gather ? gathered(step) : scattered(step)};
    case Kind::call: return call(step);
    case Kind::effect: return effect(step);
    default: refuse(fmt::format("the op '{}'", node.info().name));
  }
}

}  // namespace

// Versions of buffers count from 0: no buffer of a device has this one.
Value placeholder(const Type& type, DeviceId device) {
  const Param unique;
  return contiguous(buffer({unique.id, ~uint64_t{0}, device, type}));
}

std::vector<Value> batched(std::span<const Value> values, std::span<const Examples> examples, int64_t count) {
  base::FlatMap<const Node*, uint32_t> at;
  std::vector<Results> all;
  const auto note = [&](const Node& node, Results results) {
    at.emplace(&node, static_cast<uint32_t>(all.size()));
    all.push_back(std::move(results));
  };
  for (const Examples& each : examples) note(*each.one.node, {each.all});
  for (const NodeRef& node : topological_order(values, [](const Node& one) { return one.evaluated(); })) {
    if (at.contains(node.get())) continue;
    Step step{*node, count, {}, {}};
    for (const Value& input : node->inputs()) {
      const uint32_t* found = at.find(input.node.get());
      step.in.push_back(found ? all[*found][input.index] : input);
      step.is_batched.push_back(found != nullptr);
    }
    if (std::ranges::find(step.is_batched, true) == step.is_batched.end()) continue;
    if (node->hooks()) refuse("hooks on tensors");
    note(*node, mapped(step));
  }
  std::vector<Value> made;
  for (const Value& value : values) {
    const uint32_t* found = at.find(value.node.get());
    made.push_back(found ? all[*found][value.index] : spread(value, count));
  }
  return made;
}

}  // namespace tenon::autodiff
