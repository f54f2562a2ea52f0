// Every row of the op table against what its kind promises; the printer; the verifier.

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/grad/rules.h"
#include "tenon/ir/build.h"
#include "tenon/ir/infer.h"
#include "tenon/ir/op.h"
#include "tenon/ir/print.h"
#include "tenon/ir/topology.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::ir {
namespace {

class Table : public testing::TestWithParam<Op> {};

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (size_t i = 0; i < op_table().size(); ++i) ops.push_back(static_cast<Op>(i));
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, Table, testing::ValuesIn(all_ops()),
                         [](const auto& row) { return std::string(name(row.param)); });

TEST(OpTable, StandsInTheOrderOfTheEnum) {
  EXPECT_EQ(info(Op::buffer).name, "buffer");
  EXPECT_EQ(info(Op::add).name, "add");
  EXPECT_EQ(info(Op::composed).name, "composed");
  EXPECT_EQ(static_cast<size_t>(Op::composed) + 1, op_table().size());
}

TEST(OpTable, HasUniqueNames) {
  std::set<std::string_view> names;
  for (const OpInfo& row : op_table()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST_P(Table, ArityMatchesTheKind) {
  const OpInfo& row = info(GetParam());
  switch (row.kind) {
    case Kind::movement:
    case Kind::unary:
    case Kind::reduce: EXPECT_EQ(row.arity, 1); break;
    case Kind::binary: EXPECT_EQ(row.arity, 2); break;
    case Kind::ternary: EXPECT_EQ(row.arity, 3); break;
    case Kind::indexed: EXPECT_TRUE(row.arity == 2 || row.arity == 3); break;
    case Kind::leaf: EXPECT_EQ(row.arity, GetParam() == Op::random_bits ? 1 : 0); break;
    case Kind::call:
    case Kind::effect: EXPECT_TRUE(row.arity == -1 || row.arity >= 1); break;
  }
}

TEST_P(Table, OnlyReductionsHaveAnIdentity) {
  const OpInfo& row = info(GetParam());
  EXPECT_EQ(row.identity != Identity::none, row.kind == Kind::reduce);
}

TEST_P(Table, RulesMatchTheKind) {
  const OpInfo& row = info(GetParam());
  EXPECT_EQ(row.kind == Kind::movement, row.shape_rule == ShapeRule::move);
  EXPECT_EQ(row.kind == Kind::reduce, row.shape_rule == ShapeRule::reduce);
  if (row.kind == Kind::unary || row.kind == Kind::binary || row.kind == Kind::ternary) {
    EXPECT_EQ(row.shape_rule, ShapeRule::same);
  }
  if (row.kind == Kind::movement) {
    EXPECT_EQ(row.dtype_rule, DTypeRule::same);
  }
  if (row.arity == 0) {
    EXPECT_EQ(row.dtype_rule, DTypeRule::attrs);
  }
}

TEST_P(Table, FlagsMatchTheKind) {
  const OpInfo& row = info(GetParam());
  if (row.is(kCommutative)) {
    EXPECT_EQ(row.kind, Kind::binary);
  }
  if (row.is(kPassThrough)) {
    EXPECT_EQ(row.kind, Kind::effect);
  }
  EXPECT_EQ(row.flags & ~(kDifferentiable | kCommutative | kPassThrough), 0);
}

TEST_P(Table, DifferentiableRowsAndOnlyThoseHaveAGradientRule) {
  EXPECT_EQ(info(GetParam()).is(kDifferentiable), autodiff::rule_of(GetParam()) != nullptr);
}

TEST_P(Table, AttributesHaveTheirName) {
  const OpInfo& row = info(GetParam());
  EXPECT_LT(row.attrs_index, std::variant_size_v<Attrs>);
  EXPECT_TRUE(row.attrs_name.ends_with("Attrs"));
  if (row.kind == Kind::binary || row.kind == Kind::ternary) {
    EXPECT_EQ(row.attrs_index, kAttrsIndex<NoAttrs>);
  }
}

TEST_P(Table, RowsRefuseForeignAttributes) {
  const OpInfo& row = info(GetParam());
  const Attrs foreign = row.attrs_index == kAttrsIndex<SortAttrs> ? Attrs(ScanAttrs()) : Attrs(SortAttrs());
  try {
    Node::make(GetParam(), {}, foreign);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), fmt::format("[{}] carries {}", row.name, row.attrs_name));
  }
}

// ---- operands that may be exchanged ----

template <typename T>
std::vector<std::byte> bits_of(Op op, const std::vector<T>& a, const std::vector<T>& b, DeviceId device) {
  const Type type{kDTypeOf<T>, {static_cast<int64_t>(a.size())}};
  const Value x = exec::upload(std::as_bytes(std::span(a)), type, device),
              y = exec::upload(std::as_bytes(std::span(b)), type, device);
  return exec::read(binary(op, x, y));
}

class CommutativeOps : public testing::TestWithParam<Op> {};

std::vector<Op> commutative_ops() {
  std::vector<Op> ops = all_ops();
  std::erase_if(ops, [](Op op) { return !info(op).is(kCommutative); });
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, CommutativeOps, testing::ValuesIn(commutative_ops()),
                         [](const auto& row) { return std::string(name(row.param)); });

TEST_P(CommutativeOps, GiveTheSameBitsEitherWay) {
  const DeviceId device = device::find("reference");
  if (info(GetParam()).dtype_rule != DTypeRule::bits) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const std::vector<float> values{0.0f, -0.0f, 1.5f, -1.5f, kInf, -kInf, 1e-40f, 3e38f};
    for (float x : values) {
      for (float y : values)
        EXPECT_EQ(bits_of<float>(GetParam(), {x}, {y}, device), bits_of<float>(GetParam(), {y}, {x}, device))
            << x << " " << y;
    }
  }
  const std::vector<int64_t> values{
      0, 1, -1, 7, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  for (int64_t x : values) {
    for (int64_t y : values)
      EXPECT_EQ(bits_of<int64_t>(GetParam(), {x}, {y}, device), bits_of<int64_t>(GetParam(), {y}, {x}, device))
          << x << " " << y;
  }
}

// ---- the printer ----

constexpr DeviceId kHere{0, "here"};

TEST(Printer, WritesOneNumberedNodeALine) {
  const Value x = buffer({(uint64_t{1} << 48) + 7, 2, kHere, {DType::f32, {2, 3}}});
  const Value y = mul(add(x, full({2, 3}, 0.5, DType::f32, kHere)), x);
  const Value outputs[] = {reduce(Op::sum, permute(y, {1, 0}), {0})};
  EXPECT_EQ(to_string(std::span<const Value>(outputs)),
            "%0 = buffer id=281474976710663 version=2 : f32(2, 3)\n"
            "%1 = constant 0.5 : f32()\n"
            "%2 = reshape %1 shape=(1, 1) : f32(1, 1)\n"
            "%3 = expand %2 shape=(2, 3) : f32(2, 3)\n"
            "%4 = add %0 %3 : f32(2, 3)\n"
            "%5 = mul %4 %0 : f32(2, 3)\n"
            "%6 = permute %5 axes=(1, 0) : f32(3, 2)\n"
            "%7 = sum %6 axes=(0,) : f32(1, 2)\n");
}

TEST(Printer, NamesTheResultThatIsRead) {
  const Value x = buffer({(uint64_t{1} << 48) + 7, 0, kHere, {DType::f16, {4}}});
  const auto [values, indices] = sort(x, 0, true);
  const Value outputs[] = {gather(values, indices, 0)};
  EXPECT_EQ(to_string(std::span<const Value>(outputs)),
            "%0 = buffer id=281474976710663 version=0 : f16(4,)\n"
            "%1 = sort %0 axis=0 descending=true : f16(4,) i64(4,)\n"
            "%2 = gather %1.0 %1.1 axis=0 : f16(4,)\n");
}

TEST(Printer, ShowsTheTargetOfAStore) {
  const Value x = buffer({(uint64_t{1} << 48) + 7, 0, kHere, {DType::i64, {4}}});
  const Value outputs[] = {store(x, constant_int(-3, DType::i64, kHere),
                                 {{Op::shrink, ShrinkAttrs{{1}, {1}, {1}}}, {Op::reshape, ShapeAttrs{{}}}})};
  EXPECT_EQ(to_string(std::span<const Value>(outputs)),
            "%0 = buffer id=281474976710663 version=0 : i64(4,)\n"
            "%1 = constant -3 : i64()\n"
            "%2 = store %0 %1 target=[shrink start=(1,) size=(1,) step=(1,); reshape shape=()] : i64(4,)\n");
}

TEST(Printer, GivesEqualGraphsEqualText) {
  const auto text = [] {
    const Value x = buffer({(uint64_t{1} << 48) + 7, 0, kHere, {DType::f32, {4}}});
    const Value outputs[] = {add(exp(x), neg(x)), exp(x)};
    return to_string(std::span<const Value>(outputs));
  };
  const std::string first = text();
  EXPECT_EQ(text(), first);
}

TEST(Printer, DescribesOneNode) {
  const Value x = buffer({(uint64_t{1} << 48) + 7, 0, kHere, {DType::f32, {2, 2}}});
  EXPECT_EQ(describe(*exp(x).node), "exp : f32(2, 2)");
  EXPECT_EQ(describe(*sort(x, 1, false).first.node), "sort axis=1 descending=false : f32(2, 2) i64(2, 2)");
}

// ---- the verifier ----

TEST(Verifier, PassesRecordedGraphs) {
  Tensor x = arange(24, DType::f32).reshape({2, 3, 4}).requires_grad_();
  const Tensor y = softmax(matmul(x, x.transpose(1, 2)), -1), z = sort(y, -1).first, w = cumsum(z, 0);
  Tensor loss = (w * w).mean() + var(x) + x.slice(1, 0, 2).sum() + gelu(x).sum() + prod(x, {1}).sum();
  loss.backward(Tensor(), true);
  const Value outputs[] = {value_of(loss), value_of(x.grad()), value_of(z)};
  EXPECT_GT(topological_order(outputs).size(), 100u);
  EXPECT_NO_THROW(verify(outputs));
}

}  // namespace
}  // namespace tenon::ir
