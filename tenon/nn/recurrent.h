// RNN, LSTM and GRU, with PyTorch's parameters, names and gate order.
//
//   nn::LSTM lstm(128, 256, {.layers = 2, .batch_first = true});
//   auto [y, state] = lstm(x);         // x (batch, time, 128), y (batch, time, 256)
//   auto [z, after] = lstm(x, state);  // goes on where the first call ended
//
// Sequences of different lengths are padded to the longest; `lengths` says how long each is, from 1 on. One that has
// ended keeps its state and gives zeros, and the backward direction begins at its last element.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// What a recurrent layer has.
struct RecurrentOptions {
  int64_t layers = 1;                 // one on the other
  bool bias = true;                   // of the products with inputs and with states
  bool batch_first = false;           // x and y are (batch, time, ...), else (time, batch, ...)
  double dropout = 0;                 // of what each layer but the last hands on, in training
  bool bidirectional = false;         // a second direction, from the end, whose states stand beside those of the first
  std::string nonlinearity = "tanh";  // of RNN: tanh or relu
  Options options = {};               // of the parameters
  int64_t proj_size = 0;  // of LSTM: states h are projected to this many elements, fewer than `hidden`; 0: they are not
};

/// (layers * directions, batch, hidden), or without batch where x has none; c of LSTM only. h has proj_size elements
/// instead where that is given.
struct RecurrentState {
  Tensor h, c;  // what the layer hands on, and what only the cell of LSTM keeps
};
/// What a call of a recurrent layer gives.
struct RecurrentOutput {
  Tensor y;              // the last layer's states at all times, both directions side by side
  RecurrentState state;  // after the last time of each sequence
};

inline void collect_tensors(const RecurrentState& state, std::vector<Tensor>& into) {
  for (const Tensor& x : {state.h, state.c}) collect_tensors(x, into);
}
inline void collect_tensors(const RecurrentOutput& output, std::vector<Tensor>& into) {
  collect_tensors(output.y, into);
  collect_tensors(output.state, into);
}

/// Parameters of one layer and direction.
struct RecurrentWeights {
  /// (gates * hidden, in), (gates * hidden, hidden) and (gates * hidden) twice.
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  Tensor weight_hr;  // (proj_size, hidden), if states are projected
};
enum class RecurrentCell : uint8_t { tanh, relu, lstm, gru };

/// What the layers below compute, with weights that somebody else holds: those of a layer and both its directions,
/// where it has two, before those of the next one. Dropout is that of `options`; 0 outside of training.
RecurrentOutput recurrent(RecurrentCell cell, const Tensor& x, const std::vector<const RecurrentWeights*>& weights,
                          const RecurrentOptions& options, const RecurrentState& state = {},
                          const Tensor& lengths = Tensor());

/// What the three share: parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ...
///   nn::GRU gru(4, 8);
///   gru.weights(0).weight_hh.shape();  // (24, 8)
class Recurrent : public Module {
 public:
  using Cell = RecurrentCell;

  /// x (time, batch, in) or (time, in); a state that is left out is zero; lengths (batch) of i64 or i32, on any
  /// device.
  RecurrentOutput forward(const Tensor& x, const RecurrentState& state = {}, const Tensor& lengths = Tensor()) const;
  RecurrentOutput operator()(const Tensor& x, const RecurrentState& state = {},
                             const Tensor& lengths = Tensor()) const {
    return called(
        *this, [&] { return forward(x, state, lengths); }, x, state, lengths);
  }

  using Weights = RecurrentWeights;
  /// The parameters of a layer, in one direction.
  Weights& weights(int64_t layer, bool reverse = false);

 protected:
  Recurrent(std::string_view op, Cell cell, int64_t in, int64_t hidden, const RecurrentOptions& options);

 private:
  std::string op_;
  Cell cell_;
  RecurrentOptions options_;
  std::vector<std::unique_ptr<Weights>> weights_;
};

/// h' = tanh(W x + U h), or relu.
///   nn::RNN rnn(4, 8);
///   rnn(randn({5, 2, 4})).y.shape();  // (5, 2, 8)
class RNN : public Recurrent {
 public:
  RNN(int64_t in, int64_t hidden, const RecurrentOptions& options = {});
};

/// Long short-term memory (Hochreiter and Schmidhuber, 1997).
///   nn::LSTM lstm(4, 8, {.batch_first = true});
///   lstm(randn({2, 5, 4})).state.c.shape();  // (1, 2, 8)
class LSTM : public Recurrent {
 public:
  LSTM(int64_t in, int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent("lstm", Cell::lstm, in, hidden, options) {}
};

/// Gated recurrent units (Cho et al., 2014).
///   nn::GRU gru(4, 8, {.bidirectional = true});
///   gru(randn({5, 2, 4})).y.shape();  // (5, 2, 16)
class GRU : public Recurrent {
 public:
  GRU(int64_t in, int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent("gru", Cell::gru, in, hidden, options) {}
};

}  // namespace tenon::nn
