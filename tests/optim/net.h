// A small network and its data, for the tests of optimizers.

#pragma once

#include <vector>

#include "tenon/tenon.h"

namespace tenon::testing {

using Floats = std::vector<float>;

struct Net {
  Tensor w = (rand({8, 16}) - 0.5).requires_grad_(), b = zeros({16}).clone().requires_grad_();
  Tensor v = (rand({16, 3}) - 0.5).requires_grad_(), c = zeros({3}).clone().requires_grad_();
  std::vector<Tensor> parameters() const { return {w, b, v, c}; }
  Tensor loss(const Tensor& x, const Tensor& y) const {
    return nn::mse_loss(matmul(tanh(matmul(x, w) + b), v) + c, y);
  }
};

struct Batch {
  Tensor x = rand({32, 8}).eval(), y = rand({32, 3}).eval();
};

inline Net seeded_net() {
  manual_seed(3);
  return Net();
}

inline double train(Net& net, optim::Optimizer& optimizer, const Batch& batch, int steps) {
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    Tensor loss = net.loss(batch.x, batch.y);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    last = loss.item<double>();
  }
  return last;
}

}  // namespace tenon::testing
