// One function per rule. Broadcasting, promotion and friendly messages happen in `tensor`; these checks are the last
// line that every recorder (gradients, decompositions, the optimiser of graphs) has to pass.

#include "tenon/ir/infer.h"

#include "tenon/base/error.h"
#include "tenon/ir/composition.h"
#include "tenon/ir/print.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/view.h"

namespace tenon::ir {
namespace {

using base::fail;

void require_dtype(Op op, const Value& value, bool allowed, std::string_view wanted) {
  if (!allowed) fail(name(op), "takes {}, got {}", wanted, tenon::name(value.dtype()));
}

void require_same_dtype(Op op, std::span<const Value> values) {
  for (const Value& value : values) {
    if (value.dtype() != values[0].dtype()) {
      fail(name(op), "dtypes {} and {} differ", tenon::name(values[0].dtype()), tenon::name(value.dtype()));
    }
  }
}

DType contracted_dtype(Op op, DType operands, DType result) {
  if (result == DType::boolean || (is_float(operands) && !is_float(result))) {
    fail(name(op), "the product of {} matrices cannot be {}", tenon::name(operands), tenon::name(result));
  }
  return result;
}

DType result_dtype(Op op, const Operands& in, const Attrs& attrs) {
  const auto all = std::span<const Value>(in.data(), in.size());
  switch (info(op).dtype_rule) {
    case DTypeRule::attrs:
      if (const auto* a = std::get_if<BufferAttrs>(&attrs)) return a->type.dtype;
      if (const auto* a = std::get_if<ConstantAttrs>(&attrs)) return a->dtype;
      return std::get<IotaAttrs>(attrs).dtype;
    case DTypeRule::random: require_dtype(op, in[0], in[0].dtype() == DType::i64, "an i64 state"); return DType::i32;
    case DTypeRule::first:
    case DTypeRule::custom: return in[0].dtype();
    case DTypeRule::same: require_same_dtype(op, all); return in[0].dtype();
    case DTypeRule::number:
      require_same_dtype(op, all);
      require_dtype(op, in[0], in[0].dtype() != DType::boolean, "numbers");
      return in[0].dtype();
    case DTypeRule::real:
      require_same_dtype(op, all);
      require_dtype(op, in[0], is_float(in[0].dtype()), "floating-point values");
      return in[0].dtype();
    case DTypeRule::integer:
      require_same_dtype(op, all);
      require_dtype(op, in[0], is_integer(in[0].dtype()), "integers");
      return in[0].dtype();
    case DTypeRule::bits:
      require_same_dtype(op, all);
      require_dtype(op, in[0], !is_float(in[0].dtype()), "integers or bool");
      return in[0].dtype();
    case DTypeRule::compare: require_same_dtype(op, all); return DType::boolean;
    case DTypeRule::select:
      require_dtype(op, in[0], in[0].dtype() == DType::boolean, "a bool condition");
      require_same_dtype(op, all.subspan(1));
      return in[1].dtype();
    case DTypeRule::cast: return std::get<CastAttrs>(attrs).dtype;
    case DTypeRule::bitcast: {
      const DType to = std::get<CastAttrs>(attrs).dtype;
      if (size_of(to) != size_of(in[0].dtype()) || (to == DType::boolean) != (in[0].dtype() == DType::boolean)) {
        fail(name(op), "{} has not the bits of {}", tenon::name(in[0].dtype()), tenon::name(to));
      }
      return to;
    }
    case DTypeRule::indexed:
      require_dtype(op, in[1], in[1].dtype() == DType::i32 || in[1].dtype() == DType::i64, "i32 or i64 indices");
      if (in.size() == 3) {
        if (in[0].dtype() != in[2].dtype()) {
          fail(name(op), "dtypes {} and {} differ", tenon::name(in[0].dtype()), tenon::name(in[2].dtype()));
        }
        require_dtype(op, in[0], op == Op::scatter || in[0].dtype() != DType::boolean, "numbers");
      }
      return in[0].dtype();
    case DTypeRule::contract:
      require_same_dtype(op, all);
      require_dtype(op, in[0], in[0].dtype() != DType::boolean, "numbers");
      return contracted_dtype(op, in[0].dtype(), std::get<ContractAttrs>(attrs).result);
    case DTypeRule::conv:
      require_same_dtype(op, all);
      require_dtype(op, in[0], is_float(in[0].dtype()), "floating-point values");
      return contracted_dtype(op, in[0].dtype(), std::get<ConvAttrs>(attrs).result);
    case DTypeRule::pool:
      require_dtype(op, in[0], is_float(in[0].dtype()), "floating-point values");
      if (op == Op::max_pool_backward)
        require_dtype(op, in[1], in[1].dtype() == std::get<PoolAttrs>(attrs).place_dtype(),
                      "places as max_pool gives them");
      return in[0].dtype();
    case DTypeRule::attention:
    case DTypeRule::recurrent:
    case DTypeRule::sort:
      require_dtype(op, in[0], op == Op::sort || is_float(in[0].dtype()), "floating-point values");
      return in[0].dtype();
  }
  return in[0].dtype();
}

void require_axis(Op op, int64_t axis, size_t rank) {
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) fail(name(op), "axis {} is out of range for rank {}", axis, rank);
}

Dims reduced_shape(Op op, const Value& in, const AxesAttrs& attrs) {
  Dims shape = in.shape();
  for (int64_t axis : attrs.axes) {
    require_axis(op, axis, shape.size());
    if (op == Op::max && shape[static_cast<size_t>(axis)] == 0) {
      fail(name(op), "cannot reduce axis {} of {}: it is empty and max has no identity", axis, to_string(in.shape()));
    }
    shape[static_cast<size_t>(axis)] = 1;
  }
  return shape;
}

Dims gathered_shape(Op op, const Value& source, const Value& index, int64_t axis) {
  require_axis(op, axis, source.rank());
  Dims shape(source.shape().begin(), source.shape().begin() + axis);
  for (int64_t size : index.shape()) shape.push_back(size);
  for (size_t i = static_cast<size_t>(axis) + 1; i < source.rank(); ++i) shape.push_back(source.shape()[i]);
  return shape;
}

Dims contracted_shape(Op op, const Dims& a, const Dims& b) {
  const auto misfit = [&] { fail(name(op), "shapes {} and {} do not fit", to_string(a), to_string(b)); };
  if (a.size() < 2 || a.size() != b.size()) misfit();
  const size_t rank = a.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i]) misfit();
  }
  if (a[rank - 1] != b[rank - 2]) misfit();
  Dims shape = a;
  shape[rank - 1] = b[rank - 1];
  return shape;
}

// The three shapes of a convolution: two are given, one is the result.
Dims convolved_shape(Op op, const Dims& a, const Dims& b, const ConvAttrs& attrs) {
  const auto misfit = [&] { fail(name(op), "shapes {} and {} do not fit", to_string(a), to_string(b)); };
  const size_t rank = attrs.axes.size() + 2;
  const int64_t groups = attrs.groups;
  if (rank < 3 || rank > 4 || a.size() != rank || b.size() != rank || groups < 1) misfit();
  if (attrs.channels_last) {
    ConvAttrs plain = attrs;
    plain.channels_last = false;
    return channels_to_last(convolved_shape(op, channels_to_second(a), channels_to_second(b), plain));
  }
  const auto of = [&](int64_t first, int64_t second, int64_t ConvAxis::*size) {
    Dims shape{first, second};
    for (const ConvAxis& axis : attrs.axes) shape.push_back(axis.*size);
    return shape;
  };
  for (const ConvAxis& axis : attrs.axes) {
    if (axis.stride < 1 || axis.dilation < 1 || axis.image < 0 || axis.kernel < 0 || axis.out < 0) misfit();
  }
  const auto image = [&](const Dims& s) { return of(s[0], s[1], &ConvAxis::image); };
  const auto kernel = [&](const Dims& s) { return of(s[0], s[1], &ConvAxis::kernel); };
  const auto out = [&](const Dims& s) { return of(s[0], s[1], &ConvAxis::out); };
  switch (op) {
    case Op::conv:
      if (a != image(a) || b != kernel(b) || a[1] != b[1] * groups || b[0] % groups != 0) misfit();
      return of(a[0], b[0], &ConvAxis::out);
    case Op::conv_transpose:
      if (a != out(a) || b != kernel(b) || a[1] != b[0] || b[0] % groups != 0) misfit();
      return of(a[0], b[1] * groups, &ConvAxis::image);
    default:
      if (a != image(a) || b != out(b) || a[0] != b[0] || a[1] % groups != 0 || b[1] % groups != 0) misfit();
      return of(b[1], a[1] / groups, &ConvAxis::kernel);
  }
}

Dims pooled_shape(Op op, const Operands& in, const PoolAttrs& attrs) {
  Dims given = in[0].shape();
  const bool makes_images = op == Op::max_pool_backward;
  const auto misfit = [&] {
    fail(name(op), "{} does not fit the windows {}", to_string(in[0].shape()), to_string(Attrs(attrs)));
  };
  if (attrs.axes.empty() || attrs.axes.size() > 2 || given.size() != attrs.axes.size() + 2) misfit();
  if (attrs.channels_last) given = channels_to_second(given);
  Dims image{given[0], given[1]}, out = image;
  for (const ConvAxis& axis : attrs.axes) {
    const int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
    if (axis.stride < 1 || axis.dilation < 1 || axis.kernel < 1 || axis.image < 1 || axis.out < 1) misfit();
    if (axis.padding < 0 || axis.padding >= reach || (axis.out - 1) * axis.stride - axis.padding >= axis.image)
      misfit();
    image.push_back(axis.image);
    out.push_back(axis.out);
  }
  if (given != (makes_images ? out : image) || (makes_images && in[1].shape() != in[0].shape())) misfit();
  const Dims& made = makes_images ? image : out;
  return attrs.channels_last ? channels_to_last(made) : made;
}

void infer_attention(Op op, const Operands& in, const AttentionAttrs& attrs, Inferred& out) {
  const size_t extra = attrs.masks() + attrs.states();
  const size_t expected = op == Op::attention ? 3 + extra : 6 + extra;
  if (in.size() != expected) fail(name(op), "takes {} operands, got {}", expected, in.size());
  const Dims &q = in[0].shape(), &k = in[1].shape(), &v = in[2].shape();
  const auto misfit = [&] {
    fail(name(op), "query {}, key {} and value {} do not fit", to_string(q), to_string(k), to_string(v));
  };
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) misfit();
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3]) misfit();
  if (k[1] == 0 || q[1] % k[1] != 0) misfit();
  for (size_t i = 1; i < 3; ++i) {
    if (in[i].dtype() != in[0].dtype()) misfit();
  }
  const Dims scores{q[0], q[1], q[2], k[2]};
  if (attrs.has_mask && in[3].shape() != scores) {
    fail(name(op), "mask {} does not fit scores {}", to_string(in[3].shape()), to_string(scores));
  }
  const DType dtype = in[0].dtype();
  if (attrs.has_mask) require_dtype(op, in[3], is_float(in[3].dtype()), "a floating-point mask");
  if (!(attrs.dropout >= 0 && attrs.dropout < 1)) fail(name(op), "dropout must lie in 0..1, got {}", attrs.dropout);
  if (attrs.dropout > 0 && !(in[3 + attrs.masks()].type() == Type{DType::i64, {2}})) {
    fail(name(op), "the state of random numbers must be i64(2,), got {}", to_string(in[3 + attrs.masks()].type()));
  }
  if (op == Op::attention_backward) {
    const Type o{dtype, {q[0], q[1], q[2], v[3]}}, lse{accumulator(dtype), {q[0], q[1], q[2]}};
    const size_t at = 3 + extra;
    if (!(in[at].type() == o) || !(in[at + 1].type() == lse) || !(in[at + 2].type() == o)) {
      fail(name(op), "result {}, log-sum {} and gradient {} do not fit query {}", to_string(in[at].type()),
           to_string(in[at + 1].type()), to_string(in[at + 2].type()), to_string(q));
    }
  }
  // Results lie by tokens, (B, T, H, D): as the product that follows wants them.
  const auto by_tokens = [](const Dims& shape, int64_t width) { return Dims{shape[0], shape[2], shape[1], width}; };
  if (op == Op::attention) {
    out.first = {dtype, by_tokens(q, v[3])};
    out.more = {{accumulator(dtype), {q[0], q[1], q[2]}}};
    return;
  }
  if (attrs.joined) {
    if (attrs.has_mask || q[2] != k[2] || q[3] != v[3])
      fail(name(op), "gradients of {}, {} and {} cannot be joined", to_string(q), to_string(k), to_string(v));
    out.first = {dtype, {q[0], q[2], q[1] + 2 * k[1], q[3]}};
    return;
  }
  out.first = {dtype, by_tokens(q, q[3])};
  out.more = {{dtype, by_tokens(k, k[3])}, {dtype, by_tokens(v, v[3])}};
  if (attrs.has_mask) out.more.push_back({in[3].dtype(), scores});
}

void infer_recurrent(Op op, const Operands& in, const RecurrentAttrs& attrs, Inferred& out) {
  const bool is_forward = op == Op::recurrent;
  const size_t given = attrs.operands();
  const auto arrived = static_cast<size_t>(attrs.from_states + attrs.from_last + attrs.from_cells);
  const size_t expected = is_forward ? given : given + 1 + attrs.kept() + arrived;
  if (in.size() != expected) fail(name(op), "takes {} operands, got {}", expected, in.size());
  const Dims& inputs = in[0].shape();
  if (inputs.size() != 4 || inputs[0] != attrs.gates() || inputs[1] < 1)
    fail(name(op), "inputs of shape {} are not those of {} gates", to_string(inputs), attrs.gates());
  const int64_t gates = inputs[0], steps = inputs[1], batch = inputs[2], hidden = inputs[3];
  const Dims one{batch, hidden};
  // What states are computed in: nothing that goes into them is rounded.
  DType wide = promote(promote(in[0].dtype(), attrs.product), in[2].dtype());
  if (attrs.has_bias) wide = promote(wide, in[attrs.has_cells() ? 4 : 3].dtype());
  const Type state{wide, one}, all{wide, {steps + 1, batch, hidden}}, cells{wide, {steps, batch, hidden}};
  const Type products{attrs.product, {steps, gates, batch, hidden}};
  size_t next = 1;
  const auto require = [&](std::string_view what, const Type& wanted, bool any_float = false) {
    const Type& type = in[next++].type();
    if (type.shape != wanted.shape || !(any_float ? is_float(type.dtype) : type.dtype == wanted.dtype))
      fail(name(op), "{} must be {}, got {}", what, to_string(wanted), to_string(type));
  };
  require("weights", {wide, {gates, hidden, hidden}}, true);
  require("the state", state);
  if (attrs.has_cells()) require("cells", state);
  if (attrs.has_bias) require("the bias", {wide, {gates, hidden}}, true);
  if (attrs.has_mask) require("the mask", {DType::boolean, {steps, batch, 1}});
  if (is_forward) {
    out.first = all;
    out.more = {state};
    if (attrs.has_cells()) out.more.push_back(state);
    if (attrs.keeps && attrs.has_products()) out.more.push_back(products);
    if (attrs.keeps && attrs.has_cells()) out.more.push_back(cells);
    return;
  }
  require("all states", all);
  if (attrs.has_products()) require("products", products);
  if (attrs.has_cells()) require("all cells", cells);
  if (attrs.from_states) require("the gradient of all states", all);
  if (attrs.from_last) require("the gradient of the last state", state);
  if (attrs.from_cells) require("the gradient of the last cells", state);
  out.first = {wide, {attrs.cell == Cell::gru ? 4 : gates, steps, batch, hidden}};
  out.more = {state};
  if (attrs.has_cells()) out.more.push_back(state);
}

void require_same_shape(Op op, const Operands& in) {
  for (const Value& value : in) {
    if (value.shape() != in[0].shape()) {
      fail(name(op), "shapes {} and {} differ", to_string(in[0].shape()), to_string(value.shape()));
    }
  }
}

Dims stored_shape(Op op, const Dims& base, const Dims& value, const StoreAttrs& attrs) {
  Dims target = base;
  const Move* padded = nullptr;
  for (const Move& move : attrs.target) {
    if (move.op == Op::pad) padded = &move;
    target = moved_shape(move, target);
  }
  if (padded) {  // on the way to a diagonal say, which shows nothing of it
    IndexMap map(base);
    map.apply(attrs.target);
    if (map.has_padding()) fail(name(op), "a part of the target {} is padding", to_string(attrs_of(*padded)));
  }
  if (target != value) {
    fail(name(op), "a value of shape {} does not fit a target of {}", to_string(value), to_string(target));
  }
  return base;
}

Dims result_shape(Op op, const Operands& in, const Attrs& attrs) {
  switch (info(op).shape_rule) {
    case ShapeRule::attrs:
      if (const auto* a = std::get_if<BufferAttrs>(&attrs)) return a->type.shape;
      if (const auto* a = std::get_if<IotaAttrs>(&attrs)) return {a->size};
      return {};
    case ShapeRule::random:
      if (in[0].shape() != Dims{2}) fail(name(op), "state must have shape (2,), got {}", to_string(in[0].shape()));
      return {std::get<RandomAttrs>(attrs).size};
    case ShapeRule::same: require_same_shape(op, in); return in[0].shape();
    case ShapeRule::first:
    case ShapeRule::custom:
    case ShapeRule::sort:
    case ShapeRule::recurrent:
    case ShapeRule::attention: return in[0].shape();
    case ShapeRule::move: return moved_shape(move_of(op, attrs), in[0].shape());
    case ShapeRule::reduce: return reduced_shape(op, in[0], std::get<AxesAttrs>(attrs));
    case ShapeRule::gather: return gathered_shape(op, in[0], in[1], std::get<AxisAttrs>(attrs).axis);
    case ShapeRule::scatter: {
      const Dims wanted = gathered_shape(op, in[0], in[1], std::get<AxisAttrs>(attrs).axis);
      if (in[2].shape() != wanted) {
        fail(name(op), "values have shape {}, the indices select {}", to_string(in[2].shape()), to_string(wanted));
      }
      return in[0].shape();
    }
    case ShapeRule::contract: return contracted_shape(op, in[0].shape(), in[1].shape());
    case ShapeRule::conv: return convolved_shape(op, in[0].shape(), in[1].shape(), std::get<ConvAttrs>(attrs));
    case ShapeRule::pool: return pooled_shape(op, in, std::get<PoolAttrs>(attrs));
    case ShapeRule::store: return stored_shape(op, in[0].shape(), in[1].shape(), std::get<StoreAttrs>(attrs));
  }
  return in[0].shape();
}

void infer_composed(const Operands& in, const Composition& what, Inferred& out) {
  if (in.size() != what.inputs.size()) fail(what.name, "takes {} operands, got {}", what.inputs.size(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].type() == what.inputs[i].type()) continue;
    fail(what.name, "operand {} has {} of shape {}, got {} of {}", i, tenon::name(what.inputs[i].dtype()),
         to_string(what.inputs[i].shape()), tenon::name(in[i].dtype()), to_string(in[i].shape()));
  }
  out.first = what.outputs[0].type();
  for (size_t i = 1; i < what.outputs.size(); ++i) out.more.push_back(what.outputs[i].type());
}

DeviceId common_device(Op op, const Operands& in, const Attrs& attrs) {
  if (const auto* a = std::get_if<BufferAttrs>(&attrs)) return a->device;
  if (const auto* a = std::get_if<ConstantAttrs>(&attrs)) return a->device;
  if (const auto* a = std::get_if<IotaAttrs>(&attrs)) return a->device;
  if (const auto* a = std::get_if<CopyAttrs>(&attrs)) return a->device;
  for (const Value& value : in) {
    if (!(value.device() == in[0].device())) {
      fail(name(op), "operands are on {} and {}", in[0].device().name, value.device().name);
    }
  }
  return in[0].device();
}

}  // namespace

Inferred infer(Op op, const Operands& in, const Attrs& attrs) {
  const OpInfo& row = info(op);
  if (attrs.index() != row.attrs_index) fail(row.name, "carries {}", row.attrs_name);
  if (row.arity >= 0 && in.size() != static_cast<size_t>(row.arity)) {
    fail(row.name, "takes {} operands, got {}", row.arity, in.size());
  }
  if (row.arity < 0 && in.empty()) fail(row.name, "takes at least 1 operand, got 0");
  for (const Value& value : in) {
    if (!value) fail(row.name, "an operand is empty");
  }
  Inferred out;
  out.device = common_device(op, in, attrs);
  out.first = {result_dtype(op, in, attrs), result_shape(op, in, attrs)};
  if (op == Op::sort) {
    require_axis(op, std::get<SortAttrs>(attrs).axis, in[0].rank());
    out.more = {{DType::i64, in[0].shape()}};
  } else if (op == Op::max_pool) {
    out.more = {{std::get<PoolAttrs>(attrs).place_dtype(), out.first.shape}};
  } else if (op == Op::scan) {
    require_axis(op, std::get<ScanAttrs>(attrs).axis, in[0].rank());
  } else if (row.shape_rule == ShapeRule::attention) {
    infer_attention(op, in, std::get<AttentionAttrs>(attrs), out);
  } else if (row.shape_rule == ShapeRule::recurrent) {
    infer_recurrent(op, in, std::get<RecurrentAttrs>(attrs), out);
  } else if (op == Op::composed) {
    const auto& what = std::get<ComposedAttrs>(attrs).what;
    if (!what || what->outputs.empty()) fail(row.name, "carries no composition");
    infer_composed(in, *what, out);
  } else if (op == Op::custom) {
    const size_t results = std::get<CustomAttrs>(attrs).results;
    if (results == 0 || results > in.size()) fail(row.name, "{} results of {} operands", results, in.size());
    for (size_t i = 1; i < results; ++i) out.more.push_back(in[i].type());
  }
  // The one place that every shape passes: from here on, products of sizes cannot overflow.
  require_shape(row.name, out.first.shape);
  for (const Type& type : out.more) require_shape(row.name, type.shape);
  return out;
}

void verify(std::span<const Value> outputs) {
  for (const NodeRef& node : topological_order(outputs)) {
    Operands inputs(node->inputs().begin(), node->inputs().end());
    const Inferred again = infer(node->op(), inputs, node->attrs());
    bool holds = again.first == node->type(0) && again.more.size() + 1 == node->results();
    for (size_t i = 0; holds && i < again.more.size(); ++i) holds = again.more[i] == node->type(i + 1);
    if (!holds) fail("verify", "node breaks its row of the op table: {}", describe(*node));
  }
}

}  // namespace tenon::ir
