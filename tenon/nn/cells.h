// One step of a recurrent layer, with PyTorch's parameters, names and gate order.
//
//   nn::LSTMCell cell(128, 256);
//   nn::RecurrentState state;
//   for (const Tensor& x : steps) state = cell(x, state);  // x (batch, 128), state.h and state.c (batch, 256)

#pragma once

#include <string>

#include "tenon/nn/recurrent.h"

namespace tenon::nn {

/// What a cell has.
struct CellOptions {
  bool bias = true;                   // of the products with inputs and with states
  std::string nonlinearity = "tanh";  // of RNNCell: tanh or relu
  Options options = {};               // of the parameters
};

/// One step of a cell whose weights somebody else holds: x (batch, in) or (in); a state that is left out is zero. `op`
/// names the caller in errors.
///   nn::GRUCell cell(4, 8);
///   nn::recurrent_step("step", nn::RecurrentCell::gru, randn({2, 4}), cell.weights).h.shape();  // (2, 8)
RecurrentState recurrent_step(std::string_view op, RecurrentCell kind, const Tensor& x, const RecurrentWeights& weights,
                              const RecurrentState& state = {});

/// What the cells share: parameters weight_ih, weight_hh, bias_ih and bias_hh.
///   nn::GRUCell cell(4, 8);
///   cell.weights.weight_ih.shape();  // (24, 4)
class StepCell : public Module {
 public:
  RecurrentWeights weights;  // of both products

 protected:
  StepCell(std::string_view op, RecurrentCell kind, int64_t in, int64_t hidden, const CellOptions& options);
  RecurrentState step(const Tensor& x, const RecurrentState& state) const {
    return recurrent_step(op_, kind_, x, weights, state);
  }

 private:
  std::string op_;
  RecurrentCell kind_;
};

/// One step of RNN.
///   nn::RNNCell cell(4, 8);
///   cell(randn({2, 4})).shape();  // (2, 8)
class RNNCell : public StepCell {
 public:
  RNNCell(int64_t in, int64_t hidden, const CellOptions& options = {});
  Tensor forward(const Tensor& x, const Tensor& h = Tensor()) const { return step(x, {h, {}}).h; }
  Tensor operator()(const Tensor& x, const Tensor& h = Tensor()) const {
    return called(
        *this, [&] { return forward(x, h); }, x, h);
  }
};

/// One step of GRU.
///   nn::GRUCell cell(4, 8);
///   cell(randn({2, 4})).shape();  // (2, 8)
class GRUCell : public StepCell {
 public:
  GRUCell(int64_t in, int64_t hidden, const CellOptions& options = {});
  Tensor forward(const Tensor& x, const Tensor& h = Tensor()) const { return step(x, {h, {}}).h; }
  Tensor operator()(const Tensor& x, const Tensor& h = Tensor()) const {
    return called(
        *this, [&] { return forward(x, h); }, x, h);
  }
};

/// One step of LSTM.
///   nn::LSTMCell cell(4, 8);
///   cell(randn({2, 4})).c.shape();  // (2, 8)
class LSTMCell : public StepCell {
 public:
  LSTMCell(int64_t in, int64_t hidden, const CellOptions& options = {});
  RecurrentState forward(const Tensor& x, const RecurrentState& state = {}) const { return step(x, state); }
  RecurrentState operator()(const Tensor& x, const RecurrentState& state = {}) const {
    return called(
        *this, [&] { return forward(x, state); }, x, state);
  }
};

}  // namespace tenon::nn
