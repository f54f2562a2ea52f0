// The number of threads changes no bit: rows, column sums, products, attention and indexing of sizes that are shared
// out.

#include <gtest/gtest.h>

#include "tenon/base/parallel.h"
#include "tenon/exec/eval.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

using Bytes = std::vector<std::byte>;

class Threads {
 public:
  explicit Threads(int count) : before_(base::num_threads()) { base::set_num_threads(count); }
  ~Threads() { base::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// What a function makes of the same random numbers, with its gradient, on so many threads.
std::vector<Bytes> run_on(int threads, const Dims& shape, const std::function<Tensor(const Tensor&)>& f) {
  const Threads limited(threads);
  manual_seed(3);
  const Tensor x = randn(shape, Device("cpu")).eval().requires_grad_();
  const Tensor y = f(x);
  const Tensor slope = grad(sum(y * randn(y.shape(), Device("cpu"))), x);
  return {exec::read(value_of(y.detach())), exec::read(value_of(slope))};
}

struct Work {
  std::string name;
  Dims shape;
  std::function<Tensor(const Tensor&)> f;
};
void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }  // NOLINT: GoogleTest's name

class ThreadCount : public testing::TestWithParam<Work> {};

TEST_P(ThreadCount, ChangesNoBit) {
  const auto& [name, shape, f] = GetParam();
  const std::vector<Bytes> one = run_on(1, shape, f);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(run_on(threads, shape, f), one) << threads << " threads";
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, ThreadCount,
    testing::Values(
        Work{"chain", {300, 700}, [](const Tensor& x) { return sigmoid(tanh(x * 2.0 + 1.0) * x) * x; }},
        Work{"softmax", {200, 900}, [](const Tensor& x) { return softmax(x, -1); }},
        Work{"softmax_of_long_rows", {7, 20000}, [](const Tensor& x) { return softmax(x, -1); }},
        Work{"layer_norm",
             {900, 100},
             [](const Tensor& x) { return nn::layer_norm(x, {100}, x.slice(0, 0, 1).reshape({100}), x.select(0, 1)); }},
        Work{"column_sums", {3000, 130}, [](const Tensor& x) { return sum(x * x, {0}); }},
        Work{"few_long_columns", {3, 60000}, [](const Tensor& x) { return sum(x * x, {0}); }},
        Work{"sum_of_an_inner_axis", {20, 300, 30}, [](const Tensor& x) { return sum(x * x, {1}); }},
        Work{"product", {150, 260}, [](const Tensor& x) { return matmul(x, x.t()); }},
        Work{"product_with_a_bias", {150, 150}, [](const Tensor& x) { return matmul(x, x) + x.select(0, 3); }},
        Work{"attention",
             {1, 6, 150, 32},
             [](const Tensor& x) { return nn::scaled_dot_product_attention(x, x, x, {.mask = {}, .causal = true}); }},
        Work{"gather", {400, 300}, [](const Tensor& x) { return index_select(x, 0, arange(3000) % 400); }},
        Work{"sort", {40, 3000}, [](const Tensor& x) { return sort(x, -1).first; }},
        Work{"cumsum", {60, 2000}, [](const Tensor& x) { return cumsum(x, 1); }}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tenon
