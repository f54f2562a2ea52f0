// A layer of an RNN, LSTM or GRU step by step: one product a step for what comes from the state, and one kernel for its
// gates.
//
// Programs record a layer as one op, because at every step it is some forty small ones, which cost more time to record
// and to look up than to compute. No device has the op: planning writes it out here, once for each shape.

#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"

namespace tenon::ir {
namespace {

DType joint_dtype(const Value& a, const Value& b) { return promote(a.dtype(), b.dtype()); }
Value plus(const Value& a, const Value& b) {
  const DType dtype = joint_dtype(a, b);
  return add(cast(a, dtype), cast(b, dtype));
}
Value times(const Value& a, const Value& b) {
  const DType dtype = joint_dtype(a, b);
  return mul(cast(a, dtype), cast(b, dtype));
}
Value one_less(const Value& x) { return sub(full_like(x, 1), x); }
Value sigmoid(const Value& x) { return unary(Op::sigmoid, x); }
Value tanh(const Value& x) { return unary(Op::tanh, x); }
Value relu(const Value& x) {
  const Value zero = full_like(x, 0);
  return where(binary(Op::bit_or, less(x, zero), equal(x, zero)), zero, x);
}
Value slope_of_sigmoid(const Value& g, const Value& s) { return times(g, mul(s, one_less(s))); }
Value slope_of_tanh(const Value& g, const Value& t) { return times(g, one_less(mul(t, t))); }

// Elements `index` of the first axes, without these axes.
Value at(const Value& x, std::initializer_list<int64_t> index) {
  Dims start(x.rank(), 0), size = x.shape(), left;
  size_t axis = 0;
  for (const int64_t i : index) {
    start[axis] = i;
    size[axis++] = 1;
  }
  for (; axis < x.rank(); ++axis) left.push_back(x.shape()[axis]);
  return reshape(shrink(x, start, size, Dims(x.rank(), 1)), left);
}

// Pieces of one size behind each other: each is written where it belongs.
Value joined_steps(const std::vector<Value>& pieces, const Dims& shape) {
  const int64_t total = count(shape), size = count(pieces[0].shape());
  if (total == 0 || pieces.size() == 1) return reshape(pieces[0], shape);
  int64_t begin = 0;
  Value sum;
  for (const Value& piece : pieces) {
    const Value padded = pad(reshape(piece, {size}), {begin}, {total - begin - size});
    sum = sum ? add(sum, padded) : padded;
    begin += size;
  }
  return reshape(sum, shape);
}

// One pass over a sequence: its operands by name, and what is computed at every time.
struct Pass {
  const RecurrentAttrs& attrs;
  Value inputs, weights, h0, c0, bias, mask;
  int64_t gates, steps, batch, hidden;
  RecurrentSteps made;

  Pass(std::span<const Value> in, const RecurrentAttrs& layer) : attrs(layer) {
    size_t next = 0;
    inputs = in[next++];
    weights = in[next++];
    h0 = in[next++];
    if (attrs.has_cells()) c0 = in[next++];
    if (attrs.has_bias) bias = in[next++];
    if (attrs.has_mask) mask = in[next++];
    const Dims& shape = inputs.shape();
    gates = shape[0], steps = shape[1], batch = shape[2], hidden = shape[3];
  }

  int64_t time(int64_t step) const { return attrs.reverse ? steps - 1 - step : step; }
  Value input(int64_t gate, int64_t t) const {
    return at(inputs, {attrs.cell == Cell::gru ? (gate + 1) % 3 : gate, t});
  }
  Value of_state(int64_t gate, int64_t t) const {
    const Value share = at(made.products[static_cast<size_t>(t)], {gate});
    return bias ? plus(share, expand(reshape(at(bias, {gate}), {1, hidden}), {batch, hidden})) : share;
  }
  Value sum(int64_t gate, int64_t t) const { return plus(input(gate, t), of_state(gate, t)); }
  const Value& state_before(const std::vector<Value>& states, const Value& first, int64_t step) const {
    return step == 0 ? first : states[static_cast<size_t>(time(step - 1))];
  }
  const Value& h_before(int64_t step) const { return state_before(made.h, h0, step); }
  const Value& c_before(int64_t step) const { return state_before(made.c, c0, step); }
  /// Whether the sequences have an element at a time; empty where all have.
  Value inside(int64_t t) const { return mask ? expand(at(mask, {t}), {batch, hidden}) : Value(); }

  Value multiplied(const Value& x, const Value& matrices, DType result) const {
    return contract(cast(x, attrs.product), cast(matrices, attrs.product), ContractAttrs{result, attrs.tf32});
  }
};

struct LstmGates {
  Value i, f, g, o;
  LstmGates(const Pass& p, int64_t t)
      : i(sigmoid(p.sum(0, t))), f(sigmoid(p.sum(1, t))), g(tanh(p.sum(2, t))), o(sigmoid(p.sum(3, t))) {}
};

struct GruGates {
  Value r, z, hidden_n, n;
  GruGates(const Pass& p, int64_t t)
      : r(sigmoid(p.sum(0, t))),
        z(sigmoid(p.sum(1, t))),
        hidden_n(p.of_state(2, t)),
        n(tanh(plus(p.input(2, t), times(r, hidden_n)))) {}
};

}  // namespace

std::vector<Value> decompose_recurrent(std::span<const Value> operands, const RecurrentAttrs& attrs,
                                       RecurrentSteps* kept_steps) {
  Pass p(operands, attrs);
  const auto steps = static_cast<size_t>(p.steps);
  const DType wide = p.h0.dtype();
  p.made.products.resize(steps);
  p.made.h.resize(steps);
  if (attrs.has_cells()) p.made.c.resize(steps);
  // Turned once: a product would turn it at every step.
  const Value turned = contiguous(transpose_last(p.weights));
  const Dims every_gate{p.gates, p.batch, p.hidden};
  for (int64_t step = 0; step < p.steps; ++step) {
    const int64_t t = p.time(step);
    const auto now = static_cast<size_t>(t);
    const Value& before = p.h_before(step);
    const Value repeated = expand(reshape(cast(before, attrs.product), {1, p.batch, p.hidden}), every_gate);
    p.made.products[now] = p.multiplied(repeated, turned, attrs.product);
    const Value inside = p.inside(t);
    const auto kept = [&](const Value& made, const Value& then) {
      return inside ? where(inside, cast(made, wide), then) : cast(made, wide);
    };
    if (attrs.cell == Cell::lstm) {
      const LstmGates gates(p, t);
      p.made.c[now] = kept(plus(times(gates.f, p.c_before(step)), times(gates.i, gates.g)), p.c_before(step));
      p.made.h[now] = kept(times(gates.o, tanh(p.made.c[now])), before);
    } else if (attrs.cell == Cell::gru) {
      const GruGates gates(p, t);
      p.made.h[now] = kept(plus(times(one_less(gates.z), gates.n), times(gates.z, before)), before);
    } else {
      const Value sum = p.sum(0, t);
      p.made.h[now] = kept(attrs.cell == Cell::relu ? relu(sum) : tanh(sum), before);
    }
  }
  std::vector<Value> sequence = p.made.h;
  sequence.insert(attrs.reverse ? sequence.end() : sequence.begin(), p.h0);
  const auto last = static_cast<size_t>(p.time(p.steps - 1));
  std::vector<Value> results{joined_steps(sequence, {p.steps + 1, p.batch, p.hidden}), p.made.h[last]};
  if (attrs.has_cells()) results.push_back(p.made.c[last]);
  if (attrs.keeps && attrs.has_products())
    results.push_back(joined_steps(p.made.products, {p.steps, p.gates, p.batch, p.hidden}));
  if (attrs.keeps && attrs.has_cells()) results.push_back(joined_steps(p.made.c, {p.steps, p.batch, p.hidden}));
  if (kept_steps) *kept_steps = std::move(p.made);
  return results;
}

// From the last step to the first.
std::vector<Value> decompose_recurrent_backward(std::span<const Value> operands, const RecurrentAttrs& attrs,
                                                const RecurrentSteps* kept_steps) {
  Pass p(operands, attrs);
  const bool is_gru = attrs.cell == Cell::gru;
  size_t next = attrs.operands();
  const Value all_states = operands[next++];
  const Value products = attrs.has_products() ? operands[next++] : Value();
  const Value cells = attrs.has_cells() ? operands[next++] : Value();
  const Value of_states = attrs.from_states ? operands[next++] : Value();
  Value dh = attrs.from_last ? operands[next++] : Value(), dc = attrs.from_cells ? operands[next++] : Value();
  const int64_t first = attrs.reverse ? 0 : 1;  // of the states behind the elements
  if (kept_steps) {
    p.made = *kept_steps;
  } else {
    for (int64_t t = 0; t < p.steps; ++t) {
      p.made.h.push_back(at(all_states, {first + t}));
      if (products) p.made.products.push_back(at(products, {t}));
      if (cells) p.made.c.push_back(at(cells, {t}));
    }
  }
  // GRU has one more: of the last gate, the inputs' share and the states' have other gradients.
  const auto steps = static_cast<size_t>(p.steps), kinds = static_cast<size_t>(is_gru ? 4 : p.gates);
  const DType wide = p.h0.dtype();
  std::vector<Value> pieces(kinds * steps);
  const auto added = [](const Value& a, const Value& b) { return !a ? b : !b ? a : plus(a, b); };
  for (int64_t step = p.steps; step-- > 0;) {
    const int64_t t = p.time(step);
    const auto now = static_cast<size_t>(t);
    const Value inside = p.inside(t);
    const auto here = [&](const Value& x) { return inside ? where(inside, x, full_like(x, 0)) : x; };
    const auto passed = [&](const Value& x) { return inside && x ? where(inside, full_like(x, 0), x) : Value(); };
    const Value passed_h = passed(dh), passed_c = passed(dc);
    Value g = added(dh, of_states ? at(of_states, {first + t}) : Value());
    if (!g) g = full_like(p.h0, 0);
    g = here(g);
    std::vector<Value> d;  // of each gate's sum
    Value direct;          // what reaches the state before without a product
    if (attrs.cell == Cell::lstm) {
      const LstmGates gate(p, t);
      const Value tanh_c = tanh(p.made.c[now]);
      const Value of_c = added(slope_of_tanh(times(g, gate.o), tanh_c), dc ? here(dc) : Value());
      d = {slope_of_sigmoid(times(of_c, gate.g), gate.i), slope_of_sigmoid(times(of_c, p.c_before(step)), gate.f),
           slope_of_tanh(times(of_c, gate.i), gate.g), slope_of_sigmoid(times(g, tanh_c), gate.o)};
      dc = added(times(of_c, gate.f), passed_c);
    } else if (is_gru) {
      const GruGates gate(p, t);
      const Value of_n = slope_of_tanh(times(g, one_less(gate.z)), gate.n);
      d = {of_n, slope_of_sigmoid(times(of_n, gate.hidden_n), gate.r),
           slope_of_sigmoid(times(g, plus(p.h_before(step), neg(cast(gate.n, wide)))), gate.z), times(of_n, gate.r)};
      direct = times(g, gate.z);
    } else {
      const Value& h = p.made.h[now];
      d = {attrs.cell == Cell::relu ? where(less(full_like(h, 0), h), g, full_like(g, 0)) : slope_of_tanh(g, h)};
    }
    for (size_t k = 0; k < kinds; ++k) pieces[k * steps + now] = d[k] = cast(d[k], wide);
    const Value joint = joined_steps(d, {static_cast<int64_t>(kinds), p.batch, p.hidden});
    const Dims every_gate{p.gates, p.batch, p.hidden};
    const Value all = is_gru ? shrink(joint, {1, 0, 0}, every_gate, {1, 1, 1}) : joint;
    const Value back = p.multiplied(all, p.weights, wide);  // (gates, batch, hidden), to be added up
    Value through = at(back, {0});
    for (int64_t k = 1; k < p.gates; ++k) through = add(through, at(back, {k}));
    dh = added(added(through, direct), passed_h);
  }
  if (of_states) dh = plus(dh, at(of_states, {attrs.reverse ? p.steps : 0}));
  std::vector<Value> results{joined_steps(pieces, {static_cast<int64_t>(kinds), p.steps, p.batch, p.hidden}), dh};
  if (attrs.has_cells()) results.push_back(dc);
  return results;
}

}  // namespace tenon::ir
