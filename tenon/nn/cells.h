// One step of a recurrent layer, with PyTorch's parameters, names and gate order.
//
//   nn::LSTMCell cell(128, 256);
//   nn::RecurrentState state;
//   for (const Tensor& x : steps) state = cell(x, state);  // x (batch, 128), state.h and state.c (batch, 256)

#pragma once

#include <string>

#include "tenon/nn/recurrent.h"

namespace tenon::nn {

struct CellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";  // of RNNCell: tanh or relu
  Options options = {};
};

/// What the cells share: parameters weight_ih, weight_hh, bias_ih and bias_hh.
class StepCell : public Module {
 public:
  RecurrentWeights weights;

 protected:
  StepCell(std::string_view op, RecurrentCell kind, int64_t in, int64_t hidden, const CellOptions& options);
  /// x (batch, in) or (in); a state that is left out is zero.
  RecurrentState step(const Tensor& x, const RecurrentState& state) const;

 private:
  std::string op_;
  RecurrentCell kind_;
  int64_t in_;
};

class RNNCell : public StepCell {
 public:
  RNNCell(int64_t in, int64_t hidden, const CellOptions& options = {});
  Tensor forward(const Tensor& x, const Tensor& h = Tensor()) const { return step(x, {h, {}}).h; }
  Tensor operator()(const Tensor& x, const Tensor& h = Tensor()) const {
    return called(
        *this, [&] { return forward(x, h); }, x, h);
  }
};

class GRUCell : public StepCell {
 public:
  GRUCell(int64_t in, int64_t hidden, const CellOptions& options = {});
  Tensor forward(const Tensor& x, const Tensor& h = Tensor()) const { return step(x, {h, {}}).h; }
  Tensor operator()(const Tensor& x, const Tensor& h = Tensor()) const {
    return called(
        *this, [&] { return forward(x, h); }, x, h);
  }
};

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
