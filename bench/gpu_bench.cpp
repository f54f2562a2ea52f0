// The op table of the project's figures at the sizes of a GPU, on the device named: one JSON object with microseconds,
// under the names that the PyTorch script prints.
//
// Each work is a captured function, replayed many times with one wait at the end, so that what is timed is the device.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

Tensor made(const Dims& shape, DType dtype = DType::f32) {
  const Tensor x = randn(shape).to(dtype);
  wait({x});
  return x;
}

Tensor chain(const Tensor& x) { return sigmoid(tanh(x * 2.0 + 1.0) * x) * x - exp(x) * 0.5; }

// The median of five rounds.
double microseconds(const std::function<void()>& work, int repeats) {
  for (int i = 0; i < 4; ++i) work();
  synchronize();
  std::vector<double> rounds;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    synchronize();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    rounds.push_back(took.count() / repeats);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[2];
}

class Table {
 public:
  explicit Table(std::string wanted) : wanted_(std::move(wanted)) {}
  template <typename F>
  void add(const std::string& name, F work, int repeats = 20) {
    if (!wanted_.empty() && name.find(wanted_) == std::string::npos) return;
    auto captured = compile(work, {.verify_every = 0});
    std::printf("%s\"%s\": %.2f", rows_++ ? ", " : "{", name.c_str(), microseconds([&] { captured(); }, repeats));
    std::fflush(stdout);
  }
  void finish() const { std::printf("%s\n", rows_ ? "}" : "{}"); }

 private:
  std::string wanted_;
  int rows_ = 0;
};

void add_products(Table& table) {
  for (const int64_t n : {512, 1024, 2048}) {
    for (const auto& [dtype, suffix] : {std::pair{DType::f32, "f32"}, std::pair{DType::bf16, "bf16"}}) {
      const Tensor a = made({n, n}, dtype), b = made({n, n}, dtype);
      table.add("matmul" + std::to_string(n) + "_" + suffix, [=] { return matmul(a, b); });
    }
  }
  for (const int64_t n : {768, 2304, 3072, 50257}) {
    const Tensor a = made({512, 768}), b = made({768, n});
    table.add("matmul_512x768x" + std::to_string(n) + "_f32", [=] { return matmul(a, b); });
  }
}

void add_passes(Table& table, int64_t size) {
  const Tensor x = made({16 << 20}), y = made({16 << 20});
  table.add("add16M", [=] { return x + y; });
  table.add("copy16M", [=] { return x.clone() * 1.0; });
  table.add("sum16M", [=] { return x.sum(); });
  const Tensor big = made({size, size});
  table.add("transpose", [=] { return big.t().contiguous(); });
  table.add("softmax", [=] { return softmax(big, -1); });
  table.add("gelu", [=] { return gelu(big, "tanh"); });
  table.add("chain", [=] { return chain(big); });
}

void add_layers(Table& table, int64_t rows, int64_t vocabulary) {
  const Tensor x = made({rows, 768}).requires_grad_(), w = made({768}).requires_grad_(),
               b = made({768}).requires_grad_(), g = made({rows, 768});
  table.add("layer_norm_fwd", [=] { return nn::layer_norm(x, {768}, w, b).detach(); });
  table.add("layer_norm_fwdbwd", [=] {
    const std::vector<Tensor> y{nn::layer_norm(x, {768}, w, b)};
    std::vector<Tensor> all = grad(y, std::vector<Tensor>{x, w, b}, {{g}});
    all.push_back(y[0].detach());
    return all;
  });
  const Tensor logits = made({rows, vocabulary}, DType::bf16).requires_grad_();
  const Tensor target = randint(0, vocabulary, {rows});
  table.add(
      "cross_entropy_fwdbwd",
      [=] {
        const Tensor loss = nn::cross_entropy(logits, target);
        return std::vector<Tensor>{loss.detach(), grad(loss, logits)};
      },
      10);
}

void add_attention(Table& table) {
  for (const int64_t length : {128, 1024}) {
    const Dims shape{8, 12, length, 64};
    const Tensor q = made(shape, DType::bf16).requires_grad_(), k = made(shape, DType::bf16).requires_grad_(),
                 v = made(shape, DType::bf16).requires_grad_(), g = made(shape, DType::bf16);
    const auto forward = [=] { return nn::scaled_dot_product_attention(q, k, v, {.mask = {}, .causal = true}); };
    table.add(
        "attention" + std::to_string(length) + "_fwd", [=] { return forward().detach(); }, 5);
    table.add(
        "attention" + std::to_string(length) + "_fwdbwd",
        [=] {
          return grad(std::vector<Tensor>{forward()}, std::vector<Tensor>{q, k, v}, {{g}});
        },
        5);
  }
}

}  // namespace

// usage: gpu_bench DEVICE [NAME_PART [SIZE ROWS VOCABULARY]]
int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_bench DEVICE [NAME_PART [SIZE ROWS VOCABULARY]]\n");
    return 2;
  }
  setenv("TENON_DEVICE", argv[1], 1);  // before the first tensor
  Table table(argc > 2 ? argv[2] : "");
  const auto number = [&](int i, int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  add_passes(table, number(3, 8192));
  add_products(table);
  add_layers(table, number(4, 8192), number(5, 50304));
  add_attention(table);
  table.finish();
}
