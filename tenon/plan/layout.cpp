// One walk, operands first. What lies channels last is known by the node that computes it.

#include "tenon/plan/layout.h"

#include <algorithm>
#include <optional>

#include "tenon/base/divide.h"
#include "tenon/base/flat_map.h"
#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;
using Results = std::optional<std::vector<Value>>;

bool is_any_convolution(Op op) { return op == Op::conv || op == Op::conv_transpose || op == Op::conv_weight; }

// Elements in row-major order, beginning where a vector does.
bool is_dense(const Value& value) {
  constexpr int64_t kVector = 16;  // bytes
  ir::IndexMap map = ir::look_through(value).map;
  const int64_t first = map.views()[0].offset;
  if (!map.is_strided() || first * static_cast<int64_t>(size_of(value.dtype())) % kVector != 0) return false;
  map.shift(-first);
  return map.is_contiguous();
}

class Arranger {
 public:
  Arranger(const std::vector<Value>& outputs, const std::function<bool(const ir::Call&)>& takes)
      : outputs_(outputs), takes_(takes) {}

  std::vector<Value> run() {
    const std::vector<NodeRef> order = ir::order_of_evaluation(outputs_);
    const bool any = std::any_of(order.begin(), order.end(), [](const NodeRef& node) {
      return !node->evaluated() && is_any_convolution(node->op());
    });
    if (!any) return outputs_;
    return rewrite(outputs_, order, [&](const Node& node, std::span<const Value> in) { return replaced(node, in); });
  }

 private:
  Results replaced(const Node& node, std::span<const Value> in) {
    const Kind kind = node.info().kind;
    if (is_any_convolution(node.op())) return convolution(node, in);
    if (node.op() == Op::max_pool || node.op() == Op::max_pool_backward) return pooling(node, in);
    if (std::none_of(in.begin(), in.end(), [&](const Value& value) { return behind(value).has_value(); }))
      return std::nullopt;
    if (kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary) return elementwise(node, in);
    if (kind == Kind::reduce) return reduction(node, in);
    if (node.op() == Op::pad || node.op() == Op::shrink) return movement(node, in);
    return std::nullopt;
  }

  // The value whose channels come last, where this is the view of one.
  std::optional<Value> behind(const Value& value) const {
    const Node& node = *value.node;
    if (node.evaluated() || node.op() != Op::permute || !lie_last_.contains(node.input(0).node.get()))
      return std::nullopt;
    const Dims to_second = ir::channels_to_second(ir::iota_dims(value.rank()));
    return node.attrs_as<ir::AxesAttrs>().axes == to_second ? std::optional(node.input(0)) : std::nullopt;
  }
  Value last(const Value& value) const {
    const std::optional<Value> known = behind(value);
    return known ? *known : ir::channels_last(value);
  }
  // In memory as it is seen: a copy where it is not, into which all that is computed from other memory goes.
  Value laid_out(const Value& value) const {
    const Value moved = last(value);
    return is_dense(moved) ? moved : ir::decompose(Op::contiguous, {&moved, 1}, ir::NoAttrs())[0];
  }

  std::vector<Value> shown(const NodeRef& made) {
    lie_last_.emplace(made.get(), made);
    std::vector<Value> all;
    for (uint32_t i = 0; i < made->results(); ++i) all.push_back(ir::channels_second({made, i}));
    return all;
  }

  Results convolution(const Node& node, std::span<const Value> in) {
    auto attrs = node.attrs_as<ir::ConvAttrs>();
    attrs.channels_last = true;
    if (Results wider = with_more_channels(node, in, attrs)) return wider;
    if (!is_taken(node.op(), in[0], in[1], node.type().shape, attrs)) return std::nullopt;
    return shown(Node::make(node.op(), {laid_out(in[0]), laid_out(in[1])}, attrs));
  }

  bool is_taken(Op op, const Value& a, const Value& b, const Dims& result, const ir::ConvAttrs& attrs) const {
    if (!takes_) return true;
    ir::Call call;
    call.op = op;
    call.attrs = attrs;
    for (const Value& operand : {a, b})
      call.inputs.push_back({operand.dtype(), ir::IndexMap(ir::channels_to_last(operand.shape()))});
    call.outputs.push_back({attrs.result, ir::channels_to_last(result)});
    return takes_(call);
  }

  // Pictures have three channels, and tensor cores take eight 16-bit numbers at a time: the first convolution of a
  // network, forward and for its weights, is made of more. Where it takes every second pixel, the pixels between are
  // channels too; zeros make up what is missing.
  Results with_more_channels(const Node& node, std::span<const Value> in, const ir::ConvAttrs& attrs) {
    constexpr int64_t kMost = 4;
    const int64_t channels = in[0].shape()[1];
    const bool makes_weights = node.op() == Op::conv_weight;
    if (channels > kMost || attrs.groups != 1 || size_of(in[0].dtype()) != 2 || ir::count(in[0].shape()) == 0 ||
        !(makes_weights || node.op() == Op::conv))
      return std::nullopt;
    ir::ConvAttrs wider = attrs;
    const bool folds = std::all_of(attrs.axes.begin(), attrs.axes.end(), [](const ir::ConvAxis& axis) {
      return axis.stride == 2 && axis.dilation == 1 && axis.kernel > 2;
    });
    Value image = in[0], other = in[1];
    Dims result = node.type().shape;
    if (folds) {
      Dims kernels;
      for (ir::ConvAxis& axis : wider.axes) {
        const int64_t kernel = base::ceil_div(axis.kernel, 2);
        axis = {axis.out + kernel - 1, kernel, axis.out};
        kernels.push_back(kernel);
      }
      image = folded_image(image, attrs, wider);
      if (makes_weights)
        result = image_like(result[0], image.shape()[1], kernels);
      else
        other = folded(other, kernels, Dims(kernels.size(), 0));
    }
    const int64_t missing = -image.shape()[1] & 7;
    image = with_zeros_behind(image, missing);
    if (makes_weights)
      result[1] += missing;
    else
      other = with_zeros_behind(other, missing);
    if (!is_taken(node.op(), image, other, result, wider)) return std::nullopt;
    const std::vector<Value> made = shown(Node::make(node.op(), {laid_out(image), laid_out(other)}, wider));
    if (!makes_weights) return made;
    result[1] -= missing;
    const Value weights = first_of(made[0], result);
    return std::vector<Value>{folds ? unfolded(weights, node.type().shape) : weights};
  }

  static Dims image_like(int64_t first, int64_t channels, const Dims& sizes) {
    Dims shape{first, channels};
    for (const int64_t size : sizes) shape.push_back(size);
    return shape;
  }
  static Value with_zeros_behind(const Value& x, int64_t channels) {
    Dims before(x.rank(), 0), after = before;
    after[1] = channels;
    return ir::pad(x, before, after);
  }
  static Value first_of(const Value& x, const Dims& size) {
    return ir::shrink(x, Dims(size.size(), 0), size, Dims(size.size(), 1));
  }

  // (N, C, ...) with so many zeros before each axis, of which `sizes` pairs of neighbours are taken, as (N, C * 2 *
  // ..., sizes...).
  static Value folded(const Value& x, const Dims& sizes, const Dims& zeros) {
    const size_t rank = sizes.size();
    Dims most = x.shape(), before{0, 0}, after{0, 0}, pairs{most[0], most[1]}, order{0, 1}, shape = pairs;
    for (size_t i = 0; i < rank; ++i) {
      most[i + 2] = std::min(most[i + 2], 2 * sizes[i] - zeros[i]);
      before.push_back(zeros[i]);
      after.push_back(2 * sizes[i] - zeros[i] - most[i + 2]);
      pairs.push_back(sizes[i]);
      pairs.push_back(2);
      order.push_back(static_cast<int64_t>(2 * i + 3));
      shape[1] *= 2;
      shape.push_back(sizes[i]);
    }
    for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(2 * i + 2));
    const Value padded = ir::pad(first_of(x, most), before, after);
    return ir::reshape(ir::permute(ir::reshape(padded, pairs), order), shape);
  }
  static Value folded_image(const Value& x, const ir::ConvAttrs& attrs, const ir::ConvAttrs& wider) {
    Dims sizes, zeros;
    for (size_t i = 0; i < attrs.axes.size(); ++i) {
      sizes.push_back(wider.axes[i].image);
      zeros.push_back(attrs.axes[i].padding);
    }
    return folded(x, sizes, zeros);
  }
  // Weights of this shape, from what folded() makes of them.
  static Value unfolded(const Value& x, const Dims& shape) {
    const size_t rank = shape.size() - 2;
    Dims pairs{shape[0], shape[1]}, order{0, 1}, whole = pairs;
    for (size_t i = 0; i < rank; ++i) pairs.push_back(2);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t size = x.shape()[i + 2];
      pairs.push_back(size);
      order.push_back(static_cast<int64_t>(2 + rank + i));
      order.push_back(static_cast<int64_t>(2 + i));
      whole.push_back(2 * size);
    }
    return first_of(ir::reshape(ir::permute(ir::reshape(x, pairs), order), whole), shape);
  }

  Results pooling(const Node& node, std::span<const Value> in) {
    if (std::none_of(in.begin(), in.end(), [&](const Value& value) { return behind(value).has_value(); }))
      return std::nullopt;
    auto attrs = node.attrs_as<ir::PoolAttrs>();
    attrs.channels_last = true;
    ir::Operands operands;
    for (const Value& value : in) operands.push_back(last(value));
    return shown(Node::make(node.op(), std::move(operands), attrs));
  }

  Results elementwise(const Node& node, std::span<const Value> in) {
    ir::Operands operands;
    for (const Value& value : in) operands.push_back(last(value));
    return shown(Node::make_like(node, std::move(operands)));
  }

  Results reduction(const Node& node, std::span<const Value> in) {
    const Dims place = ir::inverse_permutation(ir::channels_to_last(ir::iota_dims(in[0].rank())));
    Dims axes;
    for (const int64_t axis : node.attrs_as<ir::AxesAttrs>().axes) axes.push_back(place[static_cast<size_t>(axis)]);
    std::sort(axes.begin(), axes.end());
    return shown(Node::make(node.op(), {last(in[0])}, ir::AxesAttrs{axes}));
  }

  Results movement(const Node& node, std::span<const Value> in) {
    const Value x = last(in[0]);
    const auto moved = [](const Dims& dims) { return ir::channels_to_last(dims); };
    Value made;
    if (node.op() == Op::pad) {
      const auto& attrs = node.attrs_as<ir::PadAttrs>();
      made = ir::pad(x, moved(attrs.before), moved(attrs.after));
    } else {
      const auto& attrs = node.attrs_as<ir::ShrinkAttrs>();
      made = ir::shrink(x, moved(attrs.start), moved(attrs.size), moved(attrs.step));
    }
    if (made == x) return std::vector<Value>{in[0]};
    return shown(made.node);
  }

  const std::vector<Value>& outputs_;
  const std::function<bool(const ir::Call&)>& takes_;
  base::FlatMap<const Node*, NodeRef> lie_last_;
};

}  // namespace

std::vector<Value> with_channels_last(const std::vector<Value>& outputs,
                                      const std::function<bool(const ir::Call&)>& takes) {
  return Arranger(outputs, takes).run();
}

}  // namespace tenon::plan
