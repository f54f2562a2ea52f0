// Attention as one call and as simpler ops must be the same function, forward and backward.

#include "tenon/ir/decompose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/ir/infer.h"

namespace tenon::ir {
namespace {

struct Case {
  const char* name;
  DType dtype;
  bool causal, masked;
  int64_t batch, heads, groups, rows, columns, width, value_width;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Attention : public testing::TestWithParam<Case> {};
class ExactAttention : public testing::TestWithParam<Case> {};

Value upload(const std::vector<double>& numbers, const Dims& shape, DType dtype) {
  std::vector<std::byte> bytes;
  dispatch(dtype, [&]<typename T>() {
    std::vector<T> stored;
    if constexpr (!std::is_same_v<T, bool>) {
      for (double x : numbers) stored.push_back(static_cast<T>(x));
      const auto raw = std::as_bytes(std::span<const T>(stored));
      bytes.assign(raw.begin(), raw.end());
    }
  });
  return exec::upload(bytes, {dtype, shape}, device::find("reference"));
}

std::vector<double> download(const Value& value) {
  const std::vector<std::byte> bytes = exec::read(cast(value, DType::f64));
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class Inputs {
 public:
  explicit Inputs(const Case& c) : case_(c), random_(11) {
    q = made({c.batch, c.heads, c.rows, c.width});
    k = made({c.batch, c.groups, c.columns, c.width});
    v = made({c.batch, c.groups, c.columns, c.value_width});
    mask = made({c.batch, c.heads, c.rows, c.columns});
    grad = made({c.batch, c.heads, c.rows, c.value_width});
    attrs = {0.37, c.causal, c.masked};
  }
  Operands forward() const { return case_.masked ? Operands{q, k, v, mask} : Operands{q, k, v}; }

  Value q, k, v, mask, grad;
  AttentionAttrs attrs;

 private:
  Value made(const Dims& shape) {
    std::normal_distribution<double> normal;
    std::vector<double> numbers(static_cast<size_t>(count(shape)));
    for (double& x : numbers) x = normal(random_);
    return upload(numbers, shape, case_.dtype);
  }
  const Case& case_;
  std::mt19937 random_;
};

void expect_near(const Value& call, const Value& written_out, double tolerance, const char* what) {
  ASSERT_EQ(call.type(), written_out.type()) << what;
  const std::vector<double> a = download(call), b = download(written_out);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(a[i]))) << what << " at " << i;
}

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-6 : 2e-2; }

TEST_P(Attention, ForwardIsItsDecomposition) {
  const Inputs in(GetParam());
  const Operands operands = in.forward();
  const auto [o, lse] = attention(operands, in.attrs);
  const std::vector<Value> simple = decompose(Op::attention, {operands.data(), operands.size()}, in.attrs);
  ASSERT_EQ(simple.size(), 2u);
  verify(simple);
  expect_near(o, swap_heads_and_tokens(simple[0]), tolerance(GetParam().dtype), "o");
  expect_near(lse, simple[1], tolerance(GetParam().dtype), "lse");
}

TEST_P(Attention, BackwardIsItsDecomposition) {
  const Inputs in(GetParam());
  Operands operands = in.forward();
  const auto [o, lse] = attention(operands, in.attrs);
  for (const Value& value : {o, lse, in.grad}) operands.push_back(value);
  const NodeRef call = Node::make(Op::attention_backward, operands, in.attrs);
  const std::vector<Value> simple = decompose(Op::attention_backward, {operands.data(), operands.size()}, in.attrs);
  ASSERT_EQ(simple.size(), GetParam().masked ? 4u : 3u);
  verify(simple);
  constexpr const char* kNames[] = {"dq", "dk", "dv", "dmask"};
  for (uint32_t i = 0; i < simple.size(); ++i)
    expect_near({call, i}, simple[i], 10 * tolerance(GetParam().dtype), kNames[i]);
}

// Two sides that share a mistake would agree; this one goes through the forward call only.
TEST_P(ExactAttention, BackwardIsTheSlopeOfForward) {
  const Inputs in(GetParam());
  Operands operands = in.forward();
  const auto [o, lse] = attention(operands, in.attrs);
  for (const Value& value : {o, lse, in.grad}) operands.push_back(value);
  const NodeRef call = Node::make(Op::attention_backward, operands, in.attrs);
  const std::vector<double> weights = download(in.grad);
  const auto weighted_sum = [&](size_t which, size_t element, double by) {
    Operands nudged = in.forward();
    std::vector<double> numbers = download(nudged[which]);
    numbers[element] += by;
    nudged[which] = upload(numbers, nudged[which].shape(), DType::f64);
    const std::vector<double> result = download(attention(nudged, in.attrs).first);
    double total = 0;
    for (size_t i = 0; i < result.size(); ++i) total += weights[i] * result[i];
    return total;
  };
  for (uint32_t which = 0; which < in.forward().size(); ++which) {
    const Value result{call, which};
    const std::vector<double> slopes = download(which < 3 ? swap_heads_and_tokens(result) : result);
    for (size_t element = 0; element < slopes.size(); element += 1 + slopes.size() / 7) {
      const double measured = (weighted_sum(which, element, 1e-5) - weighted_sum(which, element, -1e-5)) / 2e-5;
      ASSERT_NEAR(slopes[element], measured, 1e-7) << "operand " << which << " element " << element;
    }
  }
}

const Case kExactCases[] = {
    {"f64", DType::f64, false, false, 2, 2, 2, 3, 5, 4, 4},
    {"f64_causal", DType::f64, true, false, 2, 2, 2, 5, 5, 4, 4},
    {"f64_mask", DType::f64, false, true, 2, 2, 2, 3, 5, 4, 4},
    {"f64_causal_mask", DType::f64, true, true, 1, 2, 2, 4, 4, 3, 3},
    {"f64_gqa", DType::f64, false, false, 2, 6, 2, 3, 5, 4, 4},
    {"f64_mqa_causal_mask", DType::f64, true, true, 2, 4, 1, 5, 5, 4, 4},
    {"f64_wide_values", DType::f64, false, false, 1, 4, 2, 3, 5, 4, 7},
    {"f64_causal_more_columns", DType::f64, true, false, 1, 2, 2, 3, 6, 4, 4},
    {"f64_causal_more_rows", DType::f64, true, false, 1, 2, 2, 6, 3, 4, 4},
    {"f64_one_of_each", DType::f64, true, true, 1, 1, 1, 1, 1, 1, 1},
    {"f64_no_rows", DType::f64, true, false, 1, 2, 2, 0, 4, 4, 4},
    {"f64_no_batch", DType::f64, false, true, 0, 2, 2, 3, 4, 4, 4},
};
const Case kRoundedCases[] = {
    {"f32", DType::f32, false, false, 2, 2, 2, 3, 5, 4, 4},
    {"f32_causal", DType::f32, true, false, 2, 2, 2, 5, 5, 4, 4},
    {"f32_mask", DType::f32, false, true, 2, 2, 2, 3, 5, 4, 4},
    {"f32_gqa_causal_mask", DType::f32, true, true, 2, 6, 3, 5, 5, 4, 6},
    {"bf16_gqa_causal", DType::bf16, true, false, 1, 4, 2, 5, 5, 4, 4},
};
std::string case_name(const testing::TestParamInfo<Case>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(Exact, Attention, testing::ValuesIn(kExactCases), case_name);
INSTANTIATE_TEST_SUITE_P(Rounded, Attention, testing::ValuesIn(kRoundedCases), case_name);
INSTANTIATE_TEST_SUITE_P(Exact, ExactAttention, testing::ValuesIn(kExactCases), case_name);

// A left-padded batch: the first key is masked away (finite, as all masks are), and causality hides the others from the
// first row. That row must not look into the future in one form and not in the other.
TEST(AttentionDecomposition, NeverLooksIntoTheFuture) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Dims shape{1, 1, 3, 2}, scores{1, 1, 3, 3};
    const double lowest =
        dtype == DType::f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
    const Value q = upload({1, 0, 0, 1, 1, 1}, shape, dtype), k = upload({1, 2, 3, 4, 5, 6}, shape, dtype);
    const Value v = upload({1, 1, 10, 10, 100, 100}, shape, dtype);
    const Value mask = upload({lowest, 0, 0, lowest, 0, 0, lowest, 0, 0}, scores, dtype);
    const AttentionAttrs attrs{1.0, true, true};
    const Value operands[] = {q, k, v, mask};
    const auto [o, lse] = attention({q, k, v, mask}, attrs);
    const std::vector<Value> simple = decompose(Op::attention, operands, attrs);
    EXPECT_EQ(download(o)[0], 1) << "the call";
    EXPECT_EQ(download(simple[0])[0], 1) << "the decomposition";
    expect_near(o, swap_heads_and_tokens(simple[0]), tolerance(dtype), "o");
  }
}

// Row 0 is masked away, and row 1 sees nothing but the future.
TEST(AttentionDecomposition, ARowThatSeesNothingIsZero) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    const Dims shape{1, 1, 3, 2}, scores{1, 1, 3, 3};
    const Value q = upload({1, 0, 0, 1, 1, 1}, shape, dtype), k = upload({1, 2, 3, 4, 5, 6}, shape, dtype);
    const Value v = upload({1, 1, 10, 10, 100, 100}, shape, dtype), grad = upload({1, 2, 3, 4, 5, 6}, shape, dtype);
    const Value mask = upload({kHidden, kHidden, kHidden, kHidden, kHidden, 0, 0, 0, 0}, scores, dtype);
    const AttentionAttrs attrs{1.0, true, true};
    const Value operands[] = {q, k, v, mask};
    const auto [o, lse] = attention({q, k, v, mask}, attrs);
    const std::vector<Value> simple = decompose(Op::attention, operands, attrs);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(download(o)[i], 0) << i;
    expect_near(o, swap_heads_and_tokens(simple[0]), tolerance(dtype), "o");
    expect_near(lse, simple[1], tolerance(dtype), "lse");
    const Operands saved{q, k, v, mask, o, lse, grad};
    const NodeRef call = Node::make(Op::attention_backward, saved, attrs);
    const std::vector<Value> slopes = decompose(Op::attention_backward, {saved.data(), saved.size()}, attrs);
    for (uint32_t i = 0; i < 4; ++i) expect_near({call, i}, slopes[i], 10 * tolerance(dtype), "slope");
    const std::vector<double> of_queries = download({call, 0});
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(of_queries[i], 0) << i;
  }
}

TEST(Decompose, KnowsWhichOpsItKnows) {
  EXPECT_TRUE(can_decompose(Op::attention));
  EXPECT_TRUE(can_decompose(Op::attention_backward));
  EXPECT_TRUE(can_decompose(Op::contract));
  EXPECT_FALSE(can_decompose(Op::gather));
  EXPECT_THROW(decompose(Op::gather, {}, AxisAttrs()), Error);
}

}  // namespace
}  // namespace tenon::ir
