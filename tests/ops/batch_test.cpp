// vmap() of every row of the op table: what it gives is what each example gives alone, whichever operands have
// examples; ops without a rule are refused by name.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tenon/device/registry.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/vmap.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using ir::Op;
using Tensors = std::vector<Tensor>;

constexpr int64_t kExamples = 3;

std::vector<Op> ops_of_rows() {
  std::vector<Op> ops;
  for (const Row& row : rows()) ops.push_back(row.op);
  return ops;
}

class Batch : public testing::TestWithParam<Op> {
 protected:
  const ir::DeviceId device = device::find("cpu");

  static DType dtype() {
    const std::vector<DType> dtypes = dtypes_of(GetParam());
    return std::ranges::find(dtypes, DType::f64) != dtypes.end() ? DType::f64 : dtypes.front();
  }

  Tensors recorded(const Sample& sample, std::span<const Tensor> operands) const {
    std::vector<ir::Value> in;
    for (const Tensor& operand : operands) in.push_back(value_of(operand));
    Tensors made;
    for (const ir::Value& result : sample.record({in, dtype(), device})) made.push_back(tensor_of(result));
    return made;
  }

  Tensors example(const Sample& sample, uint64_t seed) const {
    Tensors operands;
    for (const Host& host : values_for(sample, dtype(), seed)) operands.push_back(tensor_of(upload(host, device)));
    return operands;
  }

  /// Which operands have examples: all, and each alone. The state of random numbers is always shared.
  static std::set<std::vector<bool>> patterns(const Sample& sample) {
    std::vector<bool> all;
    for (const OperandSpec& operand : sample.operands) all.push_back(operand.role != Role::state);
    std::set<std::vector<bool>> made{all};
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<bool> one(all.size());
      one[i] = all[i];
      made.insert(one);
    }
    made.erase(std::vector<bool>(all.size()));
    return made;
  }
};

void expect_equal(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.shape(), wanted.shape());
  ASSERT_EQ(got.dtype(), wanted.dtype());
  const auto a = got.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_close = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                          std::abs(a[i] - b[i]) <= 1e-9 * std::max(1.0, std::abs(b[i]));
    ASSERT_TRUE(is_close) << "element " << i << ": " << a[i] << ", alone " << b[i];
  }
}

TEST_P(Batch, GivesWhatEachExampleGives) {
  const std::set<Op> refused{Op::recurrent, Op::recurrent_backward};
  for (const Sample& sample : find_row(GetParam())->samples) {
    if (sample.large || sample.operands.empty()) continue;
    std::vector<Tensors> examples;
    for (uint64_t seed = 1; seed <= kExamples; ++seed) examples.push_back(example(sample, seed));
    for (const std::vector<bool>& pattern : patterns(sample)) {
      SCOPED_TRACE(fmt::format("{}, examples in operands {}", sample.name, fmt::join(pattern, " ")));
      Tensors inputs;
      VmapOptions options;
      std::vector<Tensors> alone(kExamples, examples[0]);
      for (size_t i = 0; i < pattern.size(); ++i) {
        Tensors column;
        for (size_t k = 0; k < examples.size(); ++k) {
          column.push_back(examples[k][i]);
          if (pattern[i]) alone[k][i] = examples[k][i];
        }
        inputs.push_back(pattern[i] ? stack(column) : examples[0][i]);
        options.in_dims.push_back(pattern[i] ? std::optional<int64_t>(0) : std::nullopt);
      }
      const TensorFunction f = [&](std::span<const Tensor> in) { return recorded(sample, in); };
      Tensors together;
      try {
        together = vmap(f, inputs, options);
      } catch (const Error& error) {
        const std::string text = error.what();
        const bool is_known = refused.contains(GetParam()) || text.find("attention with dropout") != std::string::npos;
        EXPECT_TRUE(is_known && text.starts_with("[vmap] there is no rule for ")) << text;
        continue;
      }
      EXPECT_FALSE(refused.contains(GetParam()));
      for (size_t k = 0; k < examples.size(); ++k) {
        const Tensors wanted = recorded(sample, alone[k]);
        ASSERT_EQ(together.size(), wanted.size());
        for (size_t r = 0; r < wanted.size(); ++r)
          expect_equal(together[r].select(0, static_cast<int64_t>(k)), wanted[r]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Batch, testing::ValuesIn(ops_of_rows()),
                         [](const auto& tested) { return std::string(ir::name(tested.param)); });

}  // namespace
}  // namespace tenon::ops_test
