// One product for the inputs of all steps, one a step for what comes from the state; all gates at once in both.
//
// Gates lie one behind the other, (gates, time, batch, hidden), so that every step reads and writes whole blocks. The
// gradient has a rule of its own: taken step by step it would multiply for the weights at every step, where one product
// over all steps does. What the rule needs of the forward pass is handed to it with its history, so that it can be
// differentiated again.

#include "tenon/nn/recurrent.h"

#include <cmath>

#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;
using Cell = Recurrent::Cell;

int64_t gates_of(Cell cell) {
  switch (cell) {
    case Cell::lstm: return 4;
    case Cell::gru: return 3;
    default: return 1;
  }
}

// Pieces of one size behind each other: each is written where it belongs.
Tensor joined(const std::vector<Tensor>& pieces, const Dims& shape) {
  const int64_t total = ir::count(shape), size = pieces[0].numel();
  if (total == 0 || pieces.size() == 1) return pieces[0].reshape(shape);
  int64_t begin = 0;
  ir::Value sum;
  for (const Tensor& piece : pieces) {
    const ir::Value padded = ir::pad(ir::reshape(record::in(piece), {size}), {begin}, {total - begin - size});
    sum = sum ? ir::add(sum, padded) : padded;
    begin += size;
  }
  return tensor_of(ir::reshape(sum, shape));
}

// One pass over a sequence, seen from the rule and from the steps themselves.
struct Pass {
  Cell cell;
  bool reverse;
  int64_t gates, steps, batch, hidden;
  Tensor inputs;                 // (gates, time, batch, hidden): the inputs' share of every gate, biases and all
  Tensor weights;                // (gates, hidden, hidden), as in weight_hh: rows are results
  Tensor h0, c0;                 // (batch, hidden)
  Tensor bias;                   // GRU: (gates, hidden), of the state's share
  Tensor mask;                   // (time, batch, 1): whether the sequence has such an element; undefined: all have
  std::vector<Tensor> products;  // by time: the state's share of every gate, (gates, batch, hidden)
  std::vector<Tensor> h, c;      // by time: the states behind a step
  Tensor sequence;               // (time + 1, batch, hidden): all h, with h0 where the sequence begins

  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  Tensor input(int64_t gate, int64_t t) const { return inputs.select(0, input_gate(gate)).select(0, t); }
  Tensor product(int64_t gate, int64_t t) const {
    const Tensor share = products[static_cast<size_t>(t)].select(0, gate);
    return bias.defined() ? share + bias.select(0, gate) : share;
  }
  /// GRU's last gate comes first among the inputs: so the gradients of both shares, which have the other two in common,
  /// are stretches of one tensor.
  int64_t input_gate(int64_t gate) const { return cell == Cell::gru ? (gate + 1) % 3 : gate; }
  Tensor sum(int64_t gate, int64_t t) const { return input(gate, t) + product(gate, t); }
  const Tensor& state_before(const std::vector<Tensor>& states, const Tensor& first, int64_t step) const {
    return step == 0 ? first : states[static_cast<size_t>(time(step - 1))];
  }
  /// (time, batch, hidden): the states behind every step, and those before.
  Tensor behind() const { return sequence.narrow(0, reverse ? 0 : 1, steps); }
  Tensor before() const { return sequence.narrow(0, reverse ? 1 : 0, steps); }
  const Tensor& h_before(int64_t step) const { return state_before(h, h0, step); }
  const Tensor& c_before(int64_t step) const { return state_before(c, c0, step); }

  /// All tensors, as operands of the rule and back.
  std::vector<Tensor> listed() const {
    std::vector<Tensor> all{inputs, weights, h0};
    for (const Tensor* some : {&c0, &bias, &mask, &sequence}) {
      if (some->defined()) all.push_back(*some);
    }
    for (const std::vector<Tensor>* many : {&products, &h, &c}) all.insert(all.end(), many->begin(), many->end());
    return all;
  }
  Pass with(std::span<const Tensor> all) const {
    Pass pass = *this;
    size_t next = 0;
    for (Tensor* one : {&pass.inputs, &pass.weights, &pass.h0, &pass.c0, &pass.bias, &pass.mask, &pass.sequence}) {
      if (one->defined()) *one = all[next++];
    }
    for (std::vector<Tensor>* many : {&pass.products, &pass.h, &pass.c}) {
      for (Tensor& one : *many) one = all[next++];
    }
    return pass;
  }
  /// Without its tensors, which with() puts back: a rule that kept them would keep the states of all steps before,
  /// whose rules keep theirs.
  Pass emptied() const { return with(std::vector<Tensor>(listed().size(), zeros({}))); }
};

Tensor activated(Cell cell, const Tensor& x) { return cell == Cell::relu ? relu(x) : tanh(x); }

struct LstmGates {
  Tensor i, f, g, o;
  LstmGates(const Pass& p, int64_t t)
      : i(sigmoid(p.sum(0, t))), f(sigmoid(p.sum(1, t))), g(tanh(p.sum(2, t))), o(sigmoid(p.sum(3, t))) {}
};

struct GruGates {
  Tensor r, z, hidden_n, n;
  GruGates(const Pass& p, int64_t t)
      : r(sigmoid(p.sum(0, t))),
        z(sigmoid(p.sum(1, t))),
        hidden_n(p.product(2, t)),
        n(tanh(p.input(2, t) + r * hidden_n)) {}
};

void run_steps(Pass& p) {
  const size_t steps = static_cast<size_t>(p.steps);
  p.products.resize(steps);
  p.h.resize(steps);
  if (p.cell == Cell::lstm) p.c.resize(steps);
  // Turned once: a product would turn it at every step.
  const Tensor turned = tensor_of(ir::contiguous(record::in(p.weights.transpose(1, 2))));
  for (int64_t step = 0; step < p.steps; ++step) {
    const int64_t t = p.time(step);
    const auto at = static_cast<size_t>(t);
    const Tensor& before = p.h_before(step);
    p.products[at] = matmul(before.unsqueeze(0), turned);
    const Tensor inside = p.mask.defined() ? p.mask.select(0, t) : Tensor();
    const auto kept = [&](const Tensor& now, const Tensor& then) {
      return inside.defined() ? where(inside, now, then) : now;
    };
    if (p.cell == Cell::lstm) {
      const LstmGates gates(p, t);
      p.c[at] = kept(gates.f * p.c_before(step) + gates.i * gates.g, p.c_before(step));
      p.h[at] = kept(gates.o * tanh(p.c[at]), before);
    } else if (p.cell == Cell::gru) {
      const GruGates gates(p, t);
      p.h[at] = kept((1.0 - gates.z) * gates.n + gates.z * before, before);
    } else {
      p.h[at] = kept(activated(p.cell, p.sum(0, t)), before);
    }
  }
}

Tensor slope_of_sigmoid(const Tensor& g, const Tensor& s) { return g * (s * (1.0 - s)); }
Tensor slope_of_tanh(const Tensor& g, const Tensor& t) { return g * (1.0 - t * t); }

struct Slopes {
  Tensor inputs, weights, h0, c0, bias;
};

// From the last step to the first. dy is (time, batch, hidden); any of the three may be missing.
Slopes slopes_of(const Pass& p, const Tensor& dy, const Tensor& dh_last, const Tensor& dc_last) {
  const bool is_gru = p.cell == Cell::gru;
  // GRU has one more: of the last gate, the inputs' share and the state's have other gradients.
  const auto steps = static_cast<size_t>(p.steps), kinds = static_cast<size_t>(is_gru ? 4 : p.gates);
  std::vector<Tensor> pieces(kinds * steps);
  Tensor dh = dh_last, dc = dc_last;
  const auto added = [](const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; };
  for (int64_t step = p.steps; step-- > 0;) {
    const int64_t t = p.time(step);
    const Tensor inside = p.mask.defined() ? p.mask.select(0, t) : Tensor();
    const auto here = [&](const Tensor& x) { return inside.defined() ? where(inside, x, 0.0) : x; };
    const auto passed = [&](const Tensor& x) {
      return inside.defined() && x.defined() ? where(inside, 0.0, x) : Tensor();
    };
    const Tensor passed_h = passed(dh), passed_c = passed(dc);
    Tensor g = added(dh, dy.defined() ? dy.select(0, t) : Tensor());
    if (!g.defined()) g = zeros_like(p.h0);
    g = here(g);
    std::vector<Tensor> d;  // of each gate's sum
    Tensor direct;          // what reaches the state before without a product
    if (p.cell == Cell::lstm) {
      const LstmGates gate(p, t);
      const Tensor tanh_c = tanh(p.c[static_cast<size_t>(t)]);
      const Tensor of_c = added(slope_of_tanh(g * gate.o, tanh_c), dc.defined() ? here(dc) : Tensor());
      d = {slope_of_sigmoid(of_c * gate.g, gate.i), slope_of_sigmoid(of_c * p.c_before(step), gate.f),
           slope_of_tanh(of_c * gate.i, gate.g), slope_of_sigmoid(g * tanh_c, gate.o)};
      dc = added(of_c * gate.f, passed_c);
    } else if (is_gru) {
      const GruGates gate(p, t);
      const Tensor of_n = slope_of_tanh(g * (1.0 - gate.z), gate.n);
      d = {of_n, slope_of_sigmoid(of_n * gate.hidden_n, gate.r),
           slope_of_sigmoid(g * (p.h_before(step) - gate.n), gate.z), of_n * gate.r};
      direct = g * gate.z;
    } else {
      const Tensor& h = p.h[static_cast<size_t>(t)];
      d = {p.cell == Cell::relu ? where(gt(h, 0.0), g, 0.0) : slope_of_tanh(g, h)};
    }
    for (size_t k = 0; k < kinds; ++k) pieces[k * steps + static_cast<size_t>(t)] = d[k];
    const Tensor joint = joined(d, {static_cast<int64_t>(kinds), p.batch, p.hidden});
    const Tensor all = is_gru ? joint.narrow(0, 1, p.gates) : joint;
    const Tensor back = matmul(all, p.weights);  // (gates, batch, hidden), to be added up
    Tensor through = back.select(0, 0);
    for (int64_t k = 1; k < p.gates; ++k) through = through + back.select(0, k);
    dh = added(added(through, direct), passed_h);
  }
  Slopes slopes;
  const Tensor every = joined(pieces, {static_cast<int64_t>(kinds), p.steps, p.batch, p.hidden});
  slopes.inputs = every.narrow(0, 0, p.gates);
  slopes.h0 = dh;
  slopes.c0 = dc;
  const Tensor of_all = is_gru ? every.narrow(0, 1, p.gates) : every;
  const int64_t places = p.steps * p.batch;
  const Tensor before = p.before().reshape({1, places, p.hidden});
  slopes.weights = matmul(of_all.reshape({p.gates, places, p.hidden}).transpose(1, 2), before);
  if (p.bias.defined()) slopes.bias = sum(of_all, {1, 2});
  return slopes;
}

// (steps, batch, hidden) of all steps, and the states behind the last one.
Tensor run_pass(Pass& p, RecurrentState& state) {
  run_steps(p);
  std::vector<Tensor> sequence = p.h;
  sequence.insert(p.reverse ? sequence.end() : sequence.begin(), p.h0);
  p.sequence = joined(sequence, {p.steps + 1, p.batch, p.hidden});
  const auto last = static_cast<size_t>(p.time(p.steps - 1));
  const CustomFunction function{"recurrent",
                                [&](std::span<const Tensor>) {
                                  const Tensor y = p.mask.defined() ? where(p.mask, p.behind(), 0.0) : p.behind();
                                  std::vector<Tensor> results{y, p.h[last]};
                                  if (p.cell == Cell::lstm) results.push_back(p.c[last]);
                                  return results;
                                },
                                [shape = p.emptied()](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                  const Pass pass = shape.with(in);
                                  const Tensor dc = grads.size() > 2 ? grads[2] : Tensor();
                                  const Slopes slopes = slopes_of(pass, grads[0], grads[1], dc);
                                  std::vector<Tensor> all{slopes.inputs, slopes.weights, slopes.h0};
                                  if (pass.c0.defined()) all.push_back(slopes.c0);
                                  if (pass.bias.defined()) all.push_back(slopes.bias);
                                  all.resize(in.size());
                                  return all;
                                }};
  const std::vector<Tensor> results = tenon::apply(function, p.listed());
  state.h = results[1];
  if (p.cell == Cell::lstm) state.c = results[2];
  return results[0];
}

// As i64 on the device of the inputs, all in 1..steps: PyTorch wants them on the CPU, whose programs hand them over so.
// What is known is looked at now; the rest is looked up by the device, which finds the same.
Tensor checked_lengths(std::string_view op, const Tensor& lengths, int64_t steps, const Device& device) {
  const Tensor whole = lengths.to(device).to(DType::i64);
  const auto range = known_range(lengths);
  if (range && range->first >= 1 && range->second <= steps) return whole;
  const std::vector<int64_t> known =
      known_range_is_exact(lengths) ? std::vector{range->first, range->second} : record::suspects(lengths, 0);
  for (const int64_t length : known) {
    if (length < 1 || length > steps) fail(op, "lengths must lie in 1..{}, the number of steps, got {}", steps, length);
  }
  return known.empty() ? record::looked_at(whole - 1, 0, steps) + 1 : whole;
}

}  // namespace

Recurrent::Recurrent(std::string_view op, Cell cell, int64_t in, int64_t hidden, const RecurrentOptions& options)
    : op_(op), cell_(cell), in_(in), hidden_(hidden), options_(options) {
  if (in < 1 || hidden < 1) fail(op, "takes positive sizes, got {} and {}", in, hidden);
  if (options.layers < 1) fail(op, "takes at least one layer, got {}", options.layers);
  if (!(options.dropout >= 0 && options.dropout <= 1)) fail(op, "dropout must lie in 0..1, got {}", options.dropout);
  if (options.proj_size != 0 && cell != Cell::lstm) fail(op, "proj_size is of LSTM alone");
  if (options.proj_size < 0 || options.proj_size >= hidden)
    fail(op, "proj_size must be at least 0 and less than hidden, {}, got {}", hidden, options.proj_size);
  const int64_t rows = gates_of(cell) * hidden, width = state_width(), directions = options.bidirectional ? 2 : 1;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      Weights& w = *weights_.emplace_back(std::make_unique<Weights>());
      w.weight_ih = empty({rows, layer == 0 ? in : directions * width}, options.options);
      w.weight_hh = empty({rows, width}, options.options);
      if (options.bias) {
        w.bias_ih = empty({rows}, options.options);
        w.bias_hh = empty({rows}, options.options);
      }
      if (options.proj_size > 0) w.weight_hr = empty({options.proj_size, hidden}, options.options);
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto add = [&](const std::string& what, Tensor& parameter) {
        if (parameter.defined()) init::uniform_(parameter, -bound, bound);
        register_parameter(what + suffix, parameter);
      };
      add("weight_ih", w.weight_ih);
      add("weight_hh", w.weight_hh);
      add("bias_ih", w.bias_ih);
      add("bias_hh", w.bias_hh);
      if (w.weight_hr.defined()) add("weight_hr", w.weight_hr);
    }
  }
}

Recurrent::Weights& Recurrent::weights(int64_t layer, bool reverse) {
  if (layer < 0 || layer >= options_.layers || (reverse && !options_.bidirectional))
    fail(op_, "there is no layer {}{}", layer, reverse ? " in reverse" : "");
  return *weights_[static_cast<size_t>(options_.bidirectional ? 2 * layer + reverse : layer)];
}

// Plain tensor code, with the gradient of its ops: the state goes through a product twice a step.
Tensor Recurrent::projected(const Tensor& x, const Weights& w, const Tensor& mask, bool reverse,
                            RecurrentState& state) const {
  const int64_t steps = x.size(0);
  Tensor inputs = matmul(x, w.weight_ih.t());
  if (w.bias_ih.defined()) inputs = inputs + (w.bias_ih + w.bias_hh);
  std::vector<Tensor> behind(static_cast<size_t>(steps));
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t t = reverse ? steps - 1 - step : step;
    const Tensor inside = mask.defined() ? mask.select(0, t) : Tensor();
    const auto kept = [&](const Tensor& now, const Tensor& then) {
      return inside.defined() ? where(inside, now, then) : now;
    };
    const Tensor sums = inputs.select(0, t) + matmul(state.h, w.weight_hh.t());
    const auto gate = [&](int64_t k) { return sums.narrow(1, k * hidden_, hidden_); };
    const Tensor c = sigmoid(gate(1)) * state.c + sigmoid(gate(0)) * tanh(gate(2));
    const Tensor h = matmul(sigmoid(gate(3)) * tanh(c), w.weight_hr.t());
    state.c = kept(c, state.c);
    state.h = kept(h, state.h);
    behind[static_cast<size_t>(t)] = inside.defined() ? where(inside, h, 0.0) : h;
  }
  return stack(behind, 0);
}

// x (time, batch, in); the state is that before the pass, and then that behind it.
Tensor Recurrent::one_direction(const Tensor& x, const Weights& w, const Tensor& mask, bool reverse,
                                RecurrentState& state) const {
  if (options_.proj_size > 0) return projected(x, w, mask, reverse, state);
  Pass pass{cell_, reverse, gates_of(cell_), x.size(0), x.size(1), hidden_};
  const int64_t gates = pass.gates, places = pass.steps * pass.batch;
  const bool is_gru = cell_ == Cell::gru;
  const auto by_gate = [&](const Tensor& all, int64_t width) {
    const Tensor split = all.reshape({gates, hidden_, width});
    return is_gru ? roll(split, 1, 0) : split;
  };
  Tensor inputs = matmul(x.reshape({1, places, x.size(2)}), by_gate(w.weight_ih, x.size(2)).transpose(1, 2));
  if (w.bias_ih.defined()) {
    if (is_gru) pass.bias = w.bias_hh.reshape({gates, hidden_});
    const Tensor bias = is_gru ? w.bias_ih : w.bias_ih + w.bias_hh;
    // In memory: every step reads it.
    inputs = inputs + tensor_of(ir::contiguous(record::in(by_gate(bias, 1).transpose(1, 2))));
  }
  pass.inputs = inputs.reshape({gates, pass.steps, pass.batch, hidden_});
  pass.weights = w.weight_hh.reshape({gates, hidden_, hidden_});
  pass.h0 = state.h;
  pass.c0 = state.c;
  pass.mask = mask;
  return run_pass(pass, state);
}

RecurrentOutput Recurrent::forward(const Tensor& given, const RecurrentState& state, const Tensor& lengths) const {
  record::require_float(op_, given);
  const bool is_single = given.dim() == 2, is_lstm = cell_ == Cell::lstm;
  if (given.dim() != 2 && given.dim() != 3)
    fail(op_, "takes {}, got {}",
         options_.batch_first ? "(batch, time, in) or (time, in)" : "(time, batch, in) or (time, in)",
         ir::to_string(given.shape()));
  Tensor x = is_single ? given.unsqueeze(1) : options_.batch_first ? given.transpose(0, 1) : given;
  if (x.size(2) != in_) fail(op_, "takes inputs of width {}, got {}", in_, ir::to_string(given.shape()));
  const int64_t steps = x.size(0), batch = x.size(1), directions = options_.bidirectional ? 2 : 1;
  if (steps < 1) fail(op_, "takes at least one step, got {}", ir::to_string(given.shape()));
  const auto first = [&](const Tensor& one, std::string_view what, int64_t width) {
    const Dims all{options_.layers * directions, batch, width};
    if (!one.defined()) return zeros(all, Options(x.dtype(), x.device()));
    const Tensor whole = is_single && one.dim() == 2 ? one.unsqueeze(1) : one;
    if (whole.shape() != all)
      fail(op_, "the state {} must have shape {}, got {}", what, ir::to_string(all), ir::to_string(one.shape()));
    return whole;
  };
  if (!is_lstm && state.c.defined()) fail(op_, "has no state c");
  if (state.h.defined() != state.c.defined() && is_lstm) fail(op_, "takes h and c together");
  const Tensor h0 = first(state.h, "h", state_width()), c0 = is_lstm ? first(state.c, "c", hidden_) : Tensor();
  Tensor mask;
  if (lengths.defined()) {
    if (lengths.shape() != Dims{batch} || !is_integer(lengths.dtype()))
      fail(op_, "lengths must be {} whole numbers, got {}{}", batch, tenon::name(lengths.dtype()),
           ir::to_string(lengths.shape()));
    const Tensor time = arange(steps, Options(DType::i64, x.device())).reshape({steps, 1, 1});
    mask = lt(time, checked_lengths(op_, lengths, steps, x.device()).reshape({1, batch, 1}));
  }
  std::vector<Tensor> h, c;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> sides;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t index = layer * directions + direction;
      RecurrentState now{h0.select(0, index), is_lstm ? c0.select(0, index) : Tensor()};
      sides.push_back(one_direction(x, *weights_[static_cast<size_t>(index)], mask, direction == 1, now));
      h.push_back(now.h);
      if (is_lstm) c.push_back(now.c);
    }
    x = directions == 2 ? cat({sides[0], sides[1]}, 2) : sides[0];
    if (layer + 1 < options_.layers) x = dropout(x, options_.dropout, is_training());
  }
  RecurrentOutput out{x, {stack(h, 0), is_lstm ? stack(c, 0) : Tensor()}};
  if (is_single) {
    out.y = out.y.squeeze(1);
    out.state.h = out.state.h.squeeze(1);
    if (is_lstm) out.state.c = out.state.c.squeeze(1);
  } else if (options_.batch_first) {
    out.y = tensor_of(ir::contiguous(record::in(out.y.transpose(0, 1))));  // whoever reads it goes by sequences
  }
  return out;
}

namespace {
Cell plain_cell(const std::string& nonlinearity) {
  if (nonlinearity == "tanh") return Cell::tanh;
  if (nonlinearity == "relu") return Cell::relu;
  fail("rnn", "nonlinearity '{}' is not known; it can be tanh or relu", nonlinearity);
}
}  // namespace

RNN::RNN(int64_t in, int64_t hidden, const RecurrentOptions& options)
    : Recurrent("rnn", plain_cell(options.nonlinearity), in, hidden, options) {}

}  // namespace tenon::nn
