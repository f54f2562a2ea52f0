// One product for the inputs of all steps and all gates; what comes from the state is one op for all steps, which is
// planned step by step (ir/decompose_recurrent).
//
// Gates lie one behind the other, (gates, time, batch, hidden), so that every step reads and writes whole blocks.

#include "tenon/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;
using Cell = Recurrent::Cell;

ir::Cell row_of(Cell cell) {
  switch (cell) {
    case Cell::lstm: return ir::Cell::lstm;
    case Cell::gru: return ir::Cell::gru;
    case Cell::relu: return ir::Cell::relu;
    default: return ir::Cell::tanh;
  }
}

int64_t gates_of(Cell cell) { return ir::RecurrentAttrs{row_of(cell)}.gates(); }

// Of its own: whoever keeps the last state of a single layer would keep all others with it.
Tensor together(const std::vector<Tensor>& states) {
  if (states.size() > 1) return stack(states, 0);
  return tensor_of(ir::contiguous(record::in(states[0].unsqueeze(0))));
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

// Sums and states are f32 under autocast, and what is given back has PyTorch's type: the low one, but where the state
// that a GRU begins with is f32.
DType result_type(Cell cell, DType weights, DType given, DType state, DType made) {
  const std::optional<DType> low = autocast_dtype();
  if (!low || !is_autocast(given) || !is_autocast(state) || !is_autocast(weights)) return made;
  return cell == Cell::gru ? promote(*low, state) : *low;
}

}  // namespace

Recurrent::Recurrent(std::string_view op, Cell cell, int64_t in, int64_t hidden, const RecurrentOptions& options)
    : op_(op), cell_(cell), options_(options) {
  if (in < 1 || hidden < 1) fail(op, "takes positive sizes, got {} and {}", in, hidden);
  constexpr int64_t kMostLayers = 1 << 16;
  if (options.layers < 1) fail(op, "takes at least one layer, got {}", options.layers);
  if (options.layers > kMostLayers) fail(op, "takes at most {} layers, got {}", kMostLayers, options.layers);
  if (!(options.dropout >= 0 && options.dropout <= 1)) fail(op, "dropout must lie in 0..1, got {}", options.dropout);
  if (options.proj_size != 0 && cell != Cell::lstm) fail(op, "proj_size is of LSTM alone");
  if (options.proj_size < 0 || options.proj_size >= hidden)
    fail(op, "proj_size must be at least 0 and less than hidden, {}, got {}", hidden, options.proj_size);
  const int64_t rows = gates_of(cell) * hidden, width = options.proj_size > 0 ? options.proj_size : hidden;
  const int64_t directions = options.bidirectional ? 2 : 1;
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

RecurrentOutput Recurrent::forward(const Tensor& x, const RecurrentState& state, const Tensor& lengths) const {
  std::vector<const Weights*> weights;
  for (const auto& one : weights_) weights.push_back(one.get());
  RecurrentOptions options = options_;
  if (options.layers == 1 || !is_training()) options.dropout = 0;
  return recurrent(cell_, x, weights, options, state, lengths);
}

namespace {

// One call of a layer.
struct Pass {
  std::string_view op;
  Cell cell;
  int64_t hidden;
  const RecurrentOptions& options;

  Tensor projected(const Tensor& x, const RecurrentWeights& w, const Tensor& mask, bool reverse,
                   RecurrentState& state) const;
  Tensor one_direction(const Tensor& x, const RecurrentWeights& w, const Tensor& mask, bool reverse,
                       RecurrentState& state) const;
};

// Plain tensor code, with the gradient of its ops: the state goes through a product twice a step.
Tensor Pass::projected(const Tensor& x, const RecurrentWeights& w, const Tensor& mask, bool reverse,
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
    const auto gate = [&](int64_t k) { return sums.narrow(1, k * hidden, hidden); };
    const Tensor c = sigmoid(gate(1)) * state.c + sigmoid(gate(0)) * tanh(gate(2));
    const Tensor h = matmul(sigmoid(gate(3)) * tanh(c), w.weight_hr.t());
    state.c = kept(c, state.c);
    state.h = kept(h, state.h);
    behind[static_cast<size_t>(t)] = inside.defined() ? where(inside, h, 0.0) : h;
  }
  return stack(behind, 0);
}

// x (time, batch, in); the state is that before the pass, and then that behind it.
Tensor Pass::one_direction(const Tensor& x, const RecurrentWeights& w, const Tensor& mask, bool reverse,
                           RecurrentState& state) const {
  if (options.proj_size > 0) return projected(x, w, mask, reverse, state);
  ir::RecurrentAttrs attrs;
  attrs.cell = row_of(cell);
  attrs.reverse = reverse;
  const int64_t gates = attrs.gates(), steps = x.size(0), batch = x.size(1), places = steps * batch;
  const bool is_gru = cell == Cell::gru, is_lstm = cell == Cell::lstm;
  const auto by_gate = [&](const Tensor& all, int64_t width) {
    const Tensor split = all.reshape({gates, hidden, width});
    return is_gru ? roll(split, 1, 0) : split;
  };
  Tensor inputs = matmul(x.reshape({1, places, x.size(2)}), by_gate(w.weight_ih, x.size(2)).transpose(1, 2));
  Tensor bias;  // of the states' share
  if (w.bias_ih.defined()) {
    if (is_gru) bias = w.bias_hh.reshape({gates, hidden});
    const Tensor of_inputs = is_gru ? w.bias_ih : w.bias_ih + w.bias_hh;
    // In memory: every step reads it.
    inputs = inputs + tensor_of(ir::contiguous(record::in(by_gate(of_inputs, 1).transpose(1, 2))));
  }
  record::require_same_device(op, x, state.h);
  const std::optional<DType> low = autocast_dtype();
  const bool is_lowered = low && is_autocast(w.weight_hh.dtype()) && is_autocast(state.h.dtype());
  if (!is_lowered && w.weight_hh.dtype() != state.h.dtype()) {
    fail(op, "dtypes {} and {} of state and weights differ; convert one with to()", tenon::name(state.h.dtype()),
         tenon::name(w.weight_hh.dtype()));
  }
  attrs.product = is_lowered ? *low : w.weight_hh.dtype();
  attrs.tf32 = record::is_tf32(attrs.product, x.device().id);
  DType wide = promote(promote(inputs.dtype(), attrs.product), state.h.dtype());
  if (is_lstm) wide = promote(wide, state.c.dtype());
  if (bias.defined()) wide = promote(wide, bias.dtype());
  ir::Operands operands{record::in(inputs.reshape({gates, steps, batch, hidden})),
                        record::in(w.weight_hh.reshape({gates, hidden, hidden})), record::in(state.h.to(wide))};
  if (is_lstm) operands.push_back(record::in(state.c.to(wide)));
  attrs.has_bias = bias.defined();
  if (bias.defined()) operands.push_back(record::in(bias));
  attrs.has_mask = mask.defined();
  if (mask.defined()) operands.push_back(record::in(mask));
  attrs.keeps = std::ranges::any_of(operands, [](const ir::Value& operand) { return operand.needs_grad(); });
  const ir::NodeRef node = ir::Node::make(ir::Op::recurrent, operands, attrs);
  state.h = tensor_of({node, 1});
  if (is_lstm) state.c = tensor_of({node, 2});
  const Dims behind{reverse ? 0 : 1, 0, 0};
  const Tensor y = tensor_of(ir::shrink({node, 0}, behind, {steps, batch, hidden}, Dims(3, 1)));
  return mask.defined() ? where(mask, y, 0.0) : y;
}

std::string_view name_of(Cell cell) { return cell == Cell::lstm ? "lstm" : cell == Cell::gru ? "gru" : "rnn"; }

}  // namespace

RecurrentOutput recurrent(Cell cell, const Tensor& given, const std::vector<const RecurrentWeights*>& weights,
                          const RecurrentOptions& options, const RecurrentState& state, const Tensor& lengths) {
  const std::string_view op = name_of(cell);
  if (!(options.dropout >= 0 && options.dropout <= 1)) fail(op, "dropout must lie in 0..1, got {}", options.dropout);
  const auto expected = static_cast<size_t>(options.layers * (options.bidirectional ? 2 : 1));
  if (weights.empty() || weights.size() != expected)
    fail(op, "takes {} sets of weights, one for each layer and direction, got {}", expected, weights.size());
  const RecurrentWeights& outer = *weights.front();
  const int64_t in = outer.weight_ih.size(1), hidden = outer.weight_ih.size(0) / gates_of(cell);
  const int64_t state_width = options.proj_size > 0 ? options.proj_size : hidden;
  const Pass pass{op, cell, hidden, options};
  record::require_float(op, given);
  const bool is_single = given.dim() == 2, is_lstm = cell == Cell::lstm;
  if (given.dim() != 2 && given.dim() != 3)
    fail(op, "takes {}, got {}",
         options.batch_first ? "(batch, time, in) or (time, in)" : "(time, batch, in) or (time, in)",
         ir::to_string(given.shape()));
  Tensor x = is_single ? given.unsqueeze(1) : options.batch_first ? given.transpose(0, 1) : given;
  if (x.size(2) != in) fail(op, "takes inputs of width {}, got {}", in, ir::to_string(given.shape()));
  const DType stored = outer.weight_ih.dtype();
  if (given.dtype() != stored && !(autocast_dtype() && is_autocast(given.dtype()) && is_autocast(stored)))
    fail(op, "takes inputs of {}, as its weights are, got {}; convert one with to()", tenon::name(stored),
         tenon::name(given.dtype()));
  const int64_t steps = x.size(0), batch = x.size(1), directions = options.bidirectional ? 2 : 1;
  if (steps < 1) fail(op, "takes at least one step, got {}", ir::to_string(given.shape()));
  const auto first = [&](const Tensor& one, std::string_view what, int64_t width) {
    const Dims all{options.layers * directions, batch, width};
    if (!one.defined()) return zeros(all, Options(x.dtype(), x.device()));
    const Tensor whole = is_single && one.dim() == 2 ? one.unsqueeze(1) : one;
    if (whole.shape() != all)
      fail(op, "the state {} must have shape {}, got {}", what, ir::to_string(all), ir::to_string(one.shape()));
    return whole;
  };
  if (!is_lstm && state.c.defined()) fail(op, "has no state c");
  if (state.h.defined() != state.c.defined() && is_lstm) fail(op, "takes h and c together");
  const Tensor h0 = first(state.h, "h", state_width), c0 = is_lstm ? first(state.c, "c", hidden) : Tensor();
  Tensor mask;
  if (lengths.defined()) {
    if (lengths.shape() != Dims{batch} || !is_integer(lengths.dtype()))
      fail(op, "lengths must be {} whole numbers, got {}{}", batch, tenon::name(lengths.dtype()),
           ir::to_string(lengths.shape()));
    const Tensor time = arange(steps, Options(DType::i64, x.device())).reshape({steps, 1, 1});
    mask = lt(time, checked_lengths(op, lengths, steps, x.device()).reshape({1, batch, 1}));
  }
  std::vector<Tensor> h, c;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    std::vector<Tensor> sides;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t index = layer * directions + direction;
      RecurrentState now{h0.select(0, index), is_lstm ? c0.select(0, index) : Tensor()};
      sides.push_back(pass.one_direction(x, *weights[static_cast<size_t>(index)], mask, direction == 1, now));
      h.push_back(now.h);
      if (is_lstm) c.push_back(now.c);
    }
    x = directions == 2 ? cat({sides[0], sides[1]}, 2) : sides[0];
    if (layer + 1 < options.layers) x = dropout(x, options.dropout);
  }
  const DType result = result_type(cell, stored, given.dtype(), h0.dtype(), x.dtype());
  // A projection is computed op by op, also by PyTorch: there c has the type of the sums that it is part of.
  const DType result_c = is_lstm && options.proj_size > 0 ? promote(result, c0.dtype()) : result;
  RecurrentOutput out{x.to(result), {together(h).to(result), is_lstm ? together(c).to(result_c) : Tensor()}};
  if (is_single) {
    out.y = out.y.squeeze(1);
    out.state.h = out.state.h.squeeze(1);
    if (is_lstm) out.state.c = out.state.c.squeeze(1);
  } else if (options.batch_first) {
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
