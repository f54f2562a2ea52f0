#include "tenon/nn/cells.h"

#include <cmath>

#include "tenon/base/error.h"
#include "tenon/nn/init.h"

namespace tenon::nn {
namespace {

int64_t gates_of(RecurrentCell kind) {
  return kind == RecurrentCell::lstm ? 4 : kind == RecurrentCell::gru ? 3 : 1;
}

RecurrentCell kind_of(const CellOptions& options) {
  if (options.nonlinearity == "relu") return RecurrentCell::relu;
  if (options.nonlinearity != "tanh")
    base::fail("rnn_cell", "there is no nonlinearity \"{}\"; there are tanh and relu", options.nonlinearity);
  return RecurrentCell::tanh;
}

}  // namespace

StepCell::StepCell(std::string_view op, RecurrentCell kind, int64_t in, int64_t hidden, const CellOptions& options)
    : op_(op), kind_(kind) {
  if (in < 1 || hidden < 1) base::fail(op, "takes positive sizes, got {} and {}", in, hidden);
  const int64_t rows = gates_of(kind) * hidden;
  weights.weight_ih = empty({rows, in}, options.options);
  weights.weight_hh = empty({rows, hidden}, options.options);
  if (options.bias) {
    weights.bias_ih = empty({rows}, options.options);
    weights.bias_hh = empty({rows}, options.options);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const auto add = [&](const char* name, Tensor& parameter) {
    if (parameter.defined()) init::uniform_(parameter, -bound, bound);
    register_parameter(name, parameter);
  };
  add("weight_ih", weights.weight_ih);
  add("weight_hh", weights.weight_hh);
  add("bias_ih", weights.bias_ih);
  add("bias_hh", weights.bias_hh);
}

// A sequence of one step.
RecurrentState recurrent_step(std::string_view op, RecurrentCell kind, const Tensor& x, const RecurrentWeights& weights,
                              const RecurrentState& state) {
  const int64_t in = weights.weight_ih.size(1);
  if ((x.dim() != 1 && x.dim() != 2) || x.size(-1) != in)
    base::fail(op, "an input (batch, {}) or ({},) is needed, got {}", in, in, ir::to_string(x.shape()));
  Dims state_shape = x.shape();
  state_shape.back() = weights.weight_hh.size(1);
  for (const Tensor* one : {&state.h, &state.c}) {
    if (one->defined() && one->shape() != state_shape)
      base::fail(op, "a state {} is needed, got {}", ir::to_string(state_shape), ir::to_string(one->shape()));
  }
  const bool is_single = x.dim() == 1;
  const auto as_layer = [&](const Tensor& one) {
    if (!one.defined()) return one;
    return is_single ? one.unsqueeze(0).unsqueeze(0) : one.unsqueeze(0);
  };
  const Tensor batch = is_single ? x.unsqueeze(0) : x;
  const RecurrentState after =
      recurrent(kind, batch.unsqueeze(0), {&weights}, {}, {as_layer(state.h), as_layer(state.c)}).state;
  const auto as_given = [&](const Tensor& one) {
    if (!one.defined()) return one;
    return is_single ? one.squeeze(0).squeeze(0) : one.squeeze(0);
  };
  return {as_given(after.h), as_given(after.c)};
}

RNNCell::RNNCell(int64_t in, int64_t hidden, const CellOptions& options)
    : StepCell("rnn_cell", kind_of(options), in, hidden, options) {}
GRUCell::GRUCell(int64_t in, int64_t hidden, const CellOptions& options)
    : StepCell("gru_cell", RecurrentCell::gru, in, hidden, options) {}
LSTMCell::LSTMCell(int64_t in, int64_t hidden, const CellOptions& options)
    : StepCell("lstm_cell", RecurrentCell::lstm, in, hidden, options) {}

}  // namespace tenon::nn
