// A training step, captured: the function runs twice, then its recording is replayed.
//
// Fits y = sin(3 x) with a small network and Adam, and prints what a step costs with and without capture.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "arguments.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

struct Model {
  std::vector<Tensor> weights, means, squares;

  explicit Model(uint64_t seed) {
    Generator generator(seed);
    for (const Dims& shape : std::vector<Dims>{{1, 32}, {32}, {32, 32}, {32}, {32, 1}, {1}}) {
      const double scale = shape.size() == 2 ? 1 / std::sqrt(static_cast<double>(shape[0])) : 0;
      weights.push_back((randn(shape, {}, &generator) * scale).eval().requires_grad_());
      means.push_back(zeros(shape).clone().eval());
      squares.push_back(zeros(shape).clone().eval());
    }
  }

  Tensor operator()(const Tensor& x) const {
    const Tensor h = tanh(matmul(x, weights[0]) + weights[1]);
    return matmul(tanh(matmul(h, weights[2]) + weights[3]), weights[4]) + weights[5];
  }

  Tensor step(const Tensor& x, const Tensor& y, const Scalar& rate) {
    Tensor loss = nn::mse_loss((*this)(x), y);
    loss.backward();
    const NoGrad updating;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Tensor g = weights[i].grad();
      means[i].mul_(0.9).add_(g * 0.1);
      squares[i].mul_(0.99).add_(g * g * 0.01);
      weights[i].sub_(means[i] / (sqrt(squares[i]) + 1e-8) * rate);
      weights[i].zero_grad();
    }
    return loss;
  }
};

// The last loss, and microseconds a step.
template <typename Step>
std::pair<float, double> run(int steps, Scalar& rate, Step&& step) {
  Generator data(7);
  float loss = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    rate.set(0.01 * (1 - static_cast<double>(i) / steps));
    const Tensor x = rand({64, 1}, {}, &data) * 2 - 1;
    loss = step(x, sin(x * 3)).template item<float>();
  }
  return {loss, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / steps};
}

int compare(const example::Arguments&) {
  Scalar rate(0.01);
  Model plain(1), captured(1);
  const auto [loss, time] = run(600, rate, [&](const Tensor& x, const Tensor& y) { return plain.step(x, y, rate); });
  auto step = compile([&](const Tensor& x, const Tensor& y) { return captured.step(x, y, rate); });
  const auto [captured_loss, captured_time] = run(600, rate, step);
  fmt::print("plain     loss {:.6f}  {:7.1f} us a step\n", loss, time);
  fmt::print("captured  loss {:.6f}  {:7.1f} us a step\n", captured_loss, captured_time);
  fmt::print("{}\n", loss == captured_loss ? "the same numbers, bit for bit" : "THE NUMBERS DIFFER");
  return loss == captured_loss && loss < 0.01f ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[--quick]", compare); }
