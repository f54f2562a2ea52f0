// The captured steps of bench/python_bench.py, written in C++: what Python adds to them is the difference.
//
//   build/release/bin/python_steps mlp
//   build/release/bin/python_steps distilgpt2

#include <algorithm>
#include <chrono>
#include <string_view>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

/// The shortest of several rounds, in microseconds a step.
template <typename Step>
double best(Step&& step, int warm_up, int steps, int rounds) {
  for (int i = 0; i < warm_up; ++i) step();
  double shortest = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    Tensor loss;
    for (int i = 0; i < steps; ++i) loss = step();
    loss.item<float>();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, took.count() / steps);
  }
  return shortest;
}

double mlp() {
  manual_seed(1);
  nn::Sequential net(std::make_unique<nn::Linear>(16, 64), std::make_unique<nn::ReLU>(),
                     std::make_unique<nn::Linear>(64, 64), std::make_unique<nn::ReLU>(),
                     std::make_unique<nn::Linear>(64, 4));
  optim::Adam optimizer(net.parameters());
  const Tensor x = rand({32, 16}), y = rand({32, 4});
  wait({x, y});
  auto step = compile(
      [&](const Tensor& a, const Tensor& b) {
        const Tensor loss = nn::mse_loss(net(a), b);
        Tensor(loss).backward();
        optimizer.step();
        optimizer.zero_grad();
        return loss.detach();
      },
      {.verify_every = 0});
  return best([&] { return step(x, y); }, 100, 1000, 9);
}

double distilgpt2() {
  manual_seed(1);
  models::Gpt2 model(models::Gpt2Config::distilgpt2());
  optim::AdamW optimizer(model.parameters());
  const Tensor ids = randint(0, 50257, {1, 65}, int64), x = ids.slice(1, 0, 64), y = ids.slice(1, 1, 65);
  auto step = compile(
      [&](const Tensor& a, const Tensor& b) {
        const Tensor loss = model.loss(a, b);
        Tensor(loss).backward();
        optimizer.step();
        optimizer.zero_grad();
        return loss.detach();
      },
      {.verify_every = 0});
  return best([&] { return step(x, y); }, 3, 2, 4);
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_large = argc > 1 && std::string_view(argv[1]) == "distilgpt2";
  fmt::print("{:.3f}\n", is_large ? distilgpt2() : mlp());
}
