// The graph's own key knows leaves by the memory they share; here they are known by where they come from, because
// another call may pass other memory.

#include "tenon/tensor/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

using Origin = Signature::Origin;

base::FlatMap<const ir::Node*, Origin> origins_of(Trace& trace) {
  base::FlatMap<const ir::Node*, Origin> origins;
  const auto add = [&](const ir::Value& leaf, const Origin& origin) { origins.emplace(leaf.node.get(), origin); };
  for (size_t i = 0; i < trace.argument_leaves().size(); ++i)
    add(trace.argument_leaves()[i].leaf, {Origin::Kind::argument, nullptr, i});
  for (const Trace::Outside& one : trace.outside()) add(one.leaf, {Origin::Kind::outside, one.tensor.get(), 0});
  for (size_t i = 0; i < trace.blocks().size(); ++i) add(trace.blocks()[i].leaf, {Origin::Kind::scalars, nullptr, i});
  for (const Trace::Varying& one : trace.varying()) add(one.leaf, {Origin::Kind::random, one.generator.get(), 0});
  for (const Trace::Uploaded& one : trace.uploaded()) add(one.leaf, {Origin::Kind::uploaded, nullptr, one.hash});
  return origins;
}

// The op that reads each constant, through views.
base::FlatMap<const ir::Node*, ir::Op> readers_of(const exec::Graph& graph) {
  base::FlatMap<const ir::Node*, ir::Op> readers;
  for (const ir::NodeRef& node : graph.nodes()) {
    if (node->evaluated() || ir::is_movement(node->op())) continue;
    for (const ir::Value& input : node->inputs()) {
      const ir::Value base = ir::base_of(input);
      if (base.node->op() == ir::Op::constant) readers.emplace(base.node.get(), node->op());
    }
  }
  return readers;
}

}  // namespace

Signature signature_of(Trace& trace, const std::vector<ir::Value>& values, const std::vector<Place>& results,
                       const std::vector<GradientLeft>& gradients) {
  Signature made;
  made.results = results;
  for (const GradientLeft& one : gradients) made.gradients.push_back({one.leaf.get(), one.place});
  for (const Trace::Outside& one : trace.outside()) {
    if (one.is_written) made.written.push_back(one.tensor.get());
  }
  for (const ScalarBlock& block : trace.blocks()) {
    for (const auto& scalar : block.scalars) made.scalars.push_back(scalar.get());
  }
  for (const Trace::Varying& one : trace.varying()) made.drawn.push_back({one.generator.get(), one.drawn});

  std::vector<ir::Value> open;
  for (const ir::Value& value : values) {
    if (!ir::base_of(value).node->evaluated() && std::find(open.begin(), open.end(), value) == open.end())
      open.push_back(value);
  }
  if (open.empty()) return made;
  const base::FlatSet<const ir::Node*> none;
  const exec::Graph graph(ir::order_of_evaluation(open), open, none);
  made.graph = graph.key();
  const auto origins = origins_of(trace);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::NodeRef& node = graph.nodes()[i];
    made.is_of_one_device = made.is_of_one_device && node->device() == made.graph.device && node->op() != ir::Op::copy;
    if (!node->evaluated()) continue;
    const Origin* origin = origins.find(node.get());
    made.graph.nodes[i].memory = static_cast<uint32_t>(made.origins.size());
    made.origins.push_back(origin ? *origin : Origin{});
  }
  const auto readers = readers_of(graph);
  for (size_t i = 0; i < graph.literals().size(); ++i) {
    const ir::Op* reader = readers.find(graph.nodes()[graph.literals()[i]].get());
    made.numbers.push_back({graph.literal(i), reader ? *reader : ir::Op::store});
  }
  return made;
}

namespace {

// As the program has it: 0.2, which an f32 holds as 0.200000003.
std::string text_of(const ir::ConstantAttrs& number) {
  const bool is_short = number.dtype == DType::f32 || number.dtype == DType::f16 || number.dtype == DType::bf16;
  return is_short ? fmt::format("{}", static_cast<float>(number.as_double())) : ir::to_string(ir::Attrs(number));
}

std::optional<Difference> other_operations(const exec::GraphKey& before, const exec::GraphKey& now) {
  const auto differ = [](std::string text) {
    return Difference{Difference::Kind::operations, std::move(text),
                      "compile one function for each case, or choose on the device with where(); a number that may be "
                      "0 or 1 is a Scalar"};
  };
  for (size_t i = 0; i < std::min(before.nodes.size(), now.nodes.size()); ++i) {
    const auto &a = before.nodes[i], &b = now.nodes[i];
    if (a == b) continue;
    if (a.op != b.op)
      return differ(
          fmt::format("a branch went another way: {} is recorded where {} was before", ir::name(b.op), ir::name(a.op)));
    if (!(a.types == b.types)) return differ("a tensor of another type is read than before");
    return differ(fmt::format("{} is recorded with other operands or settings than before", ir::name(b.op)));
  }
  if (before.nodes.size() != now.nodes.size())
    return differ(
        fmt::format("{} operations are recorded where {} were before", now.nodes.size(), before.nodes.size()));
  if (!(before.outputs == now.outputs) || !(before.device == now.device))
    return differ("other values are handed out than before");
  return {};
}

}  // namespace

std::optional<Difference> difference(const Signature& before, const Signature& now) {
  if (auto other = other_operations(before.graph, now.graph)) return other;
  for (size_t i = 0; i < now.numbers.size(); ++i) {
    if (now.numbers[i].number.bits == before.numbers[i].number.bits) continue;
    return Difference{Difference::Kind::numbers,
                      fmt::format("the number {} that {} reads was {} before", text_of(now.numbers[i].number),
                                  ir::name(now.numbers[i].reader), text_of(before.numbers[i].number)),
                      "make it a Scalar, or pass it as a tensor"};
  }
  for (size_t i = 0; i < now.origins.size(); ++i) {
    const Origin &a = before.origins[i], &b = now.origins[i];
    if (a == b) continue;
    if (a.kind == Origin::Kind::uploaded && b.kind == Origin::Kind::uploaded)
      return Difference{Difference::Kind::host_values,
                        "a tensor that is made from host values has other values than before",
                        "pass it as an argument"};
    if (a.kind == Origin::Kind::random || b.kind == Origin::Kind::random)
      return Difference{Difference::Kind::operations, "another Generator is drawn from than before",
                        "keep one, and seed it with manual_seed"};
    return Difference{
        Difference::Kind::operations,
        "another tensor is read than before, perhaps a gradient that backward() has made anew",
        "pass it as an argument, write new values into the same tensor (copy_), or call backward() inside"};
  }
  const auto differ = [](const char* text, const char* cure) {
    return Difference{Difference::Kind::operations, text, cure};
  };
  if (before.scalars != now.scalars)
    return differ("another Scalar is read than before", "keep one, and change it with set()");
  if (before.drawn != now.drawn)
    return differ("other random numbers are drawn than before", "draw the same in every call");
  if (!(before.results == now.results))
    return differ("other tensors are returned than before", "return the same in every call");
  if (before.written != now.written || !(before.gradients == now.gradients))
    return differ("other tensors or gradients are written than before", "write the same in every call");
  return {};
}

}  // namespace tenon
