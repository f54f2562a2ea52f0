// What a step costs the host: captured and uncaptured steps of a small network, replays that run nothing, views.

#include <benchmark/benchmark.h>

#include "tenon/base/allocations.h"
#include "tenon/exec/eval.h"
#include "tenon/exec/log.h"
#include "tenon/tenon.h"
#include "tests/plan/gpt2.h"

namespace tenon {
namespace {

// 16-64-64-4 with tanh, all parameters slices of one arena, Adam on the arena.
struct Mlp {
  static constexpr int64_t kSizes[] = {16, 64, 64, 4};
  Tensor weights, mean, square;
  std::vector<std::pair<Tensor, Tensor>> layers;
  Scalar rate{1e-3};

  Mlp() {
    int64_t total = 0;
    for (int i = 0; i < 3; ++i) total += (kSizes[i] + 1) * kSizes[i + 1];
    weights = (randn({total}) * 0.1).eval();
    weights.requires_grad_();
    mean = zeros({total}).clone().eval();
    square = zeros({total}).clone().eval();
    int64_t at = 0;
    const auto cut = [&](const Dims& shape) {
      const int64_t n = ir::count(shape);
      at += n;
      return weights.slice(0, at - n, at).reshape(shape);
    };
    for (int i = 0; i < 3; ++i) {
      const Tensor w = cut({kSizes[i], kSizes[i + 1]});
      layers.emplace_back(w, cut({kSizes[i + 1]}));
    }
  }

  Tensor forward(const Tensor& x) const {
    Tensor h = x;
    for (size_t i = 0; i < layers.size(); ++i) {
      h = matmul(h, layers[i].first) + layers[i].second;
      if (i + 1 < layers.size()) h = tanh(h);
    }
    return h;
  }

  Tensor step(const Tensor& x, const Tensor& y) {
    Tensor loss = nn::mse_loss(forward(x), y);
    const Tensor g = grad(loss, weights);
    const NoGrad updating;
    mean.mul_(0.9).add_(g * 0.1);
    this->square.mul_(0.999).add_(g * g * 0.001);
    weights.sub_(mean / (sqrt(this->square) + 1e-8) * rate);
    return loss.detach();
  }
};

void report(benchmark::State& state, size_t allocations_before, const exec::Stats& before) {
  const auto n = static_cast<double>(state.iterations());
  const exec::Stats after = exec::stats();
  state.counters["new"] = static_cast<double>(base::allocations().value_or(0) - allocations_before) / n;
  state.counters["launches"] = static_cast<double>(after.launches - before.launches) / n;
  state.counters["submits"] = static_cast<double>(after.submits - before.submits) / n;
}

void captured_mlp_step(benchmark::State& state) {
  Mlp mlp;
  auto step = compile([&](const Tensor& x, const Tensor& y) { return mlp.step(x, y); });
  const Tensor x = rand({32, 16}).eval(), y = rand({32, 4}).eval();
  for (int i = 0; i < 5; ++i) wait({step(x, y)});
  const size_t allocated = base::allocations().value_or(0);
  const exec::Stats before = exec::stats();
  for (auto _ : state) wait({step(x, y)});
  report(state, allocated, before);
}
BENCHMARK(captured_mlp_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Every replay is compared with the function: what a check costs is the difference.
void checked_mlp_step(benchmark::State& state) {
  Mlp mlp;
  auto step = compile([&](const Tensor& x, const Tensor& y) { return mlp.step(x, y); }, {.verify_every = 1});
  const Tensor x = rand({32, 16}).eval(), y = rand({32, 4}).eval();
  for (int i = 0; i < 5; ++i) wait({step(x, y)});
  for (auto _ : state) wait({step(x, y)});
}
BENCHMARK(checked_mlp_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

void uncaptured_mlp_step(benchmark::State& state) {
  Mlp mlp;
  const Tensor x = rand({32, 16}).eval(), y = rand({32, 4}).eval();
  const auto step = [&] {
    const Tensor loss = mlp.step(x, y);
    wait({loss, mlp.weights, mlp.mean, mlp.square});
  };
  for (int i = 0; i < 5; ++i) step();
  const size_t allocated = base::allocations().value_or(0);
  const exec::Stats before = exec::stats();
  for (auto _ : state) step();
  report(state, allocated, before);
}
BENCHMARK(uncaptured_mlp_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

void captured_mlp_inference(benchmark::State& state) {
  Mlp mlp;
  auto forward = compile([&](const Tensor& x) {
    const NoGrad inference;
    return mlp.forward(x);
  });
  const Tensor x = rand({1, 16}).eval();
  for (int i = 0; i < 5; ++i) wait({forward(x)});
  const size_t allocated = base::allocations().value_or(0);
  const exec::Stats before = exec::stats();
  for (auto _ : state) wait({forward(x)});
  report(state, allocated, before);
}
BENCHMARK(captured_mlp_inference)->UseRealTime()->Unit(benchmark::kMicrosecond);

testing::Gpt2 distilgpt2_on_null() {
  testing::Gpt2Config config;
  config.layers = 6;
  config.batch = 4;
  config.context = 128;
  config.dropout = 0.1;
  return testing::Gpt2(config, Device("null"));
}

// Every command is visited and checked, none is run.
void replayed_distilgpt2_step_on_null(benchmark::State& state) {
  const testing::Gpt2 model = distilgpt2_on_null();
  auto step = compile([&] { return testing::step(model)[0]; });
  for (int i = 0; i < 5; ++i) step();
  const size_t allocated = base::allocations().value_or(0);
  const exec::Stats before = exec::stats();
  for (auto _ : state) benchmark::DoNotOptimize(step());
  report(state, allocated, before);
}
BENCHMARK(replayed_distilgpt2_step_on_null)->UseRealTime()->Unit(benchmark::kMicrosecond);

void checked_distilgpt2_step_on_null(benchmark::State& state) {
  const testing::Gpt2 model = distilgpt2_on_null();
  auto step = compile([&] { return testing::step(model)[0]; }, {.verify_every = 1});
  for (int i = 0; i < 5; ++i) step();
  for (auto _ : state) benchmark::DoNotOptimize(step());
}
BENCHMARK(checked_distilgpt2_step_on_null)->UseRealTime()->Unit(benchmark::kMicrosecond);

void view(benchmark::State& state, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor x = rand({64, 32}).eval();
  const size_t allocated = base::allocations().value_or(0);
  const exec::Stats before = exec::stats();
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  report(state, allocated, before);
}
BENCHMARK_CAPTURE(view, reshape, [](const Tensor& x) { return x.reshape({32, 64}); })->UseRealTime();
BENCHMARK_CAPTURE(view, transpose, [](const Tensor& x) { return x.t(); })->UseRealTime();
BENCHMARK_CAPTURE(view, slice, [](const Tensor& x) { return x.slice(0, 8, 24); })->UseRealTime();

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  tenon::base::count_allocations();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
