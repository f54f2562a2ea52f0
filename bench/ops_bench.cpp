// The op table of the project's figures, under the names that the PyTorch script prints, so that bench/compare can put
// both side by side. Every iteration records the work again and evaluates it, as an uncaptured program does.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tenon/base/parallel.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

Tensor made(const Dims& shape, DType dtype = DType::f32) {
  const Tensor x = randn(shape).to(dtype);
  wait({x});  // what is still being made would be timed with the first iteration
  return x;
}

void bench_matmul(benchmark::State& state, int64_t m, int64_t k, int64_t n, DType dtype) {
  const Tensor a = made({m, k}, dtype), b = made({k, n}, dtype);
  for (auto _ : state) wait({matmul(a, b)});
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * k * n), benchmark::Counter::kIsIterationInvariantRate);
}

void bench_add(benchmark::State& state) {
  const Tensor x = made({16 << 20}), y = made({16 << 20});
  for (auto _ : state) wait({x + y});
}

// The bound of add16M: the same bytes with nothing around them, written past the caches where the machine can.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void stream_add(const float* x, const float* y, float* z, int64_t n) {
  for (int64_t i = 0; i < n; i += 16)
    _mm512_stream_ps(z + i, _mm512_add_ps(_mm512_load_ps(x + i), _mm512_load_ps(y + i)));
  _mm_sfence();
}
#else
void stream_add(const float* x, const float* y, float* z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}
#endif

void bench_stream_add(benchmark::State& state) {
  constexpr int64_t kCount = 16 << 20;
  const auto made = [](float value) {
    auto* memory = static_cast<float*>(std::aligned_alloc(2 << 20, kCount * sizeof(float)));
    std::fill_n(memory, kCount, value);
    return std::unique_ptr<float, decltype(&std::free)>(memory, &std::free);
  };
  const auto x = made(1), y = made(2), z = made(0);
  for (auto _ : state) {
    base::parallel_for(kCount / 16, 1 << 12, [&](int64_t begin, int64_t end) {
      stream_add(x.get() + 16 * begin, y.get() + 16 * begin, z.get() + 16 * begin, 16 * (end - begin));
    });
    benchmark::ClobberMemory();
  }
}

template <typename F>
void bench_square(benchmark::State& state, F f) {
  const Tensor x = made({2048, 2048});
  for (auto _ : state) wait({f(x)});
}

Tensor chain(const Tensor& x) { return sigmoid(tanh(x * 2.0 + 1.0) * x) * x - exp(x) * 0.5; }

void bench_layer_norm(benchmark::State& state) {
  const Tensor x = made({4096, 768}).requires_grad_(), w = made({768}).requires_grad_(),
               b = made({768}).requires_grad_();
  const Tensor g = made({4096, 768});
  for (auto _ : state) {
    const std::vector<Tensor> y{nn::layer_norm(x, {768}, w, b)};
    wait(grad(y, std::vector<Tensor>{x, w, b}, {{g}}));
  }
}

void bench_cross_entropy(benchmark::State& state) {
  const Tensor logits = made({512, 50257}).requires_grad_();
  const Tensor target = randint(0, 50257, {512});
  wait({target});
  for (auto _ : state) {
    const Tensor loss = nn::cross_entropy(logits, target);
    wait({loss, grad(loss, logits)});
  }
}

void bench_attention(benchmark::State& state, int64_t length) {
  const Dims shape{4, 12, length, 64};
  const Tensor q = made(shape).requires_grad_(), k = made(shape).requires_grad_(), v = made(shape).requires_grad_();
  const Tensor g = made(shape);
  for (auto _ : state) {
    const std::vector<Tensor> o{nn::scaled_dot_product_attention(q, k, v, {.mask = {}, .causal = true})};
    wait(grad(o, std::vector<Tensor>{q, k, v}, {{g}}));
  }
}

void bench_reshape(benchmark::State& state) {
  const Tensor x = made({2048, 2048});
  for (auto _ : state) benchmark::DoNotOptimize(x.reshape({-1, 64}));
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& name, auto f) {
    benchmark::RegisterBenchmark(name.c_str(), f)->UseRealTime()->Unit(benchmark::kMicrosecond);
  };
  for (const auto& [suffix, dtype] : {std::pair{"f32", DType::f32}, std::pair{"bf16", DType::bf16}}) {
    for (int64_t n : {128, 512, 1024, 2048}) {
      add(fmt::format("matmul{}_{}", n, suffix), [=, d = dtype](benchmark::State& s) { bench_matmul(s, n, n, n, d); });
    }
    for (int64_t n : {768, 2304, 3072, 50257}) {
      add(fmt::format("matmul_512x768x{}_{}", n, suffix),
          [=, d = dtype](benchmark::State& s) { bench_matmul(s, 512, 768, n, d); });
    }
  }
  add("add16M", bench_add);
  add("stream_add16M", bench_stream_add);
  add("transpose", [](benchmark::State& s) { bench_square(s, [](const Tensor& x) { return x.t().contiguous(); }); });
  add("softmax", [](benchmark::State& s) { bench_square(s, [](const Tensor& x) { return softmax(x, -1); }); });
  add("gelu", [](benchmark::State& s) { bench_square(s, [](const Tensor& x) { return gelu(x, "tanh"); }); });
  add("atan", [](benchmark::State& s) { bench_square(s, [](const Tensor& x) { return atan(x); }); });
  add("chain", [](benchmark::State& s) { bench_square(s, chain); });
  add("layer_norm_fwdbwd", bench_layer_norm);
  add("cross_entropy_fwdbwd", bench_cross_entropy);
  for (int64_t length : {128, 1024}) {
    add(fmt::format("attention{}_fwdbwd", length), [=](benchmark::State& s) { bench_attention(s, length); });
  }
  add("reshape_view_host", bench_reshape);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
