// The rows cover the op table, and the op table refuses what its dtype rules exclude.

#include <gtest/gtest.h>

#include <set>

#include "tenon/backends/reference/reference_device.h"
#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/grad/rules.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using ir::Op;
using ir::Value;

Op op_at(size_t i) { return static_cast<Op>(i); }

ir::DeviceId reference() { return device::find("reference"); }

TEST(OpTable, EveryOpHasARow) {
  for (size_t i = 0; i < ir::op_table().size(); ++i) {
    EXPECT_NE(find_row(op_at(i)), nullptr) << "op '" << ir::name(op_at(i)) << "' has no row in tests/ops/rows.cpp";
  }
}

TEST(OpTable, NoOpHasTwoRows) {
  std::set<Op> seen;
  for (const Row& row : rows()) EXPECT_TRUE(seen.insert(row.op).second) << ir::name(row.op);
}

TEST(OpTable, EveryDifferentiableOpIsGradientTested) {
  for (const Row& row : rows()) {
    EXPECT_EQ(row.slope != Slope::none, ir::info(row.op).is(ir::kDifferentiable)) << ir::name(row.op);
  }
}

TEST(OpTable, ExactlyTheDifferentiableOpsHaveAGradientRule) {
  for (size_t i = 0; i < ir::op_table().size(); ++i) {
    EXPECT_EQ(autodiff::rule_of(op_at(i)) != nullptr, ir::info(op_at(i)).is(ir::kDifferentiable)) << ir::name(op_at(i));
  }
}

TEST(OpTable, EverySampleOfARowRecordsItsOp) {
  for (const Row& row : rows()) {
    for (const Sample& sample : row.samples) {
      const DType element = dtypes_of(row.op)[0];
      // Conversions to the dtype itself and copies to the device itself are no ops at all.
      if (row.op == Op::cast && sample.name == "to_f32") continue;
      std::vector<Value> in;
      for (const Host& array : values_for(sample, element)) in.push_back(upload(array, reference()));
      if (row.op == Op::cast) in = {ir::exp(ir::cast(in[0], DType::f64))};
      if (row.op == Op::cast && sample.name == "to_f64") in = {upload(values_for(sample, DType::f32)[0], reference())};
      const std::vector<Value> results = sample.record({in, element, reference()});
      bool recorded = false;
      for (const ir::NodeRef& node : ir::topological_order(results)) recorded = recorded || node->op() == row.op;
      EXPECT_TRUE(recorded) << ir::name(row.op) << " " << sample.name;
    }
  }
}

TEST(OpTable, DTypesOutsideTheRuleAreRefused) {
  for (const Row& row : rows()) {
    const std::vector<DType> allowed = dtypes_of(row.op);
    const Sample& sample = row.samples[0];
    for (DType dtype : kAllDTypes) {
      if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end() || row.op == Op::random_bits) continue;
      std::vector<Value> in;
      for (const Host& array : values_for(sample, dtype)) in.push_back(upload(array, reference()));
      EXPECT_THROW(sample.record({in, dtype, reference()}), Error) << ir::name(row.op) << " on " << tenon::name(dtype);
    }
  }
}

// The checks at recording are the last line before kernels that trust them.
class Refusals : public testing::Test {
 protected:
  static Value made(DType dtype, const Dims& shape) { return upload(Host({dtype, shape}), reference()); }
  static Value f32(const Dims& shape) { return made(DType::f32, shape); }
  static void expect_refused(Op op, ir::Operands operands, ir::Attrs attrs) {
    EXPECT_THROW(ir::Node::make(op, std::move(operands), std::move(attrs)), Error) << ir::name(op);
  }
};

TEST_F(Refusals, OperandsOfDifferentShapes) { expect_refused(Op::add, {f32({2, 3}), f32({3, 2})}, ir::NoAttrs{}); }
TEST_F(Refusals, OperandsOfDifferentDTypes) {
  expect_refused(Op::add, {f32({2}), made(DType::f64, {2})}, ir::NoAttrs{});
}
TEST_F(Refusals, TooFewOperands) { expect_refused(Op::add, {f32({2})}, ir::NoAttrs{}); }
TEST_F(Refusals, ARandomStateThatIsNone) {
  expect_refused(Op::random_bits, {made(DType::i32, {2})}, ir::RandomAttrs{4, 0});
  expect_refused(Op::random_bits, {made(DType::i64, {3})}, ir::RandomAttrs{4, 0});
}
TEST_F(Refusals, IndicesThatAreNotIntegers) { expect_refused(Op::gather, {f32({3}), f32({2})}, ir::AxisAttrs{0}); }
TEST_F(Refusals, AConditionThatIsNotBool) { expect_refused(Op::where, {f32({2}), f32({2}), f32({2})}, ir::NoAttrs{}); }
TEST_F(Refusals, AnAxisOutsideOfTheRank) {
  expect_refused(Op::sum, {f32({2, 3})}, ir::AxesAttrs{{2}});
  expect_refused(Op::sort, {f32({2, 3})}, ir::SortAttrs{2, false});
  expect_refused(Op::scan, {f32({2, 3})}, ir::ScanAttrs{-1, ir::ScanKind::sum});
}
TEST_F(Refusals, AMaximumOfNothing) { expect_refused(Op::max, {f32({0, 3})}, ir::AxesAttrs{{0}}); }
TEST_F(Refusals, MatricesWhoseInnerSizesDiffer) {
  expect_refused(Op::contract, {f32({2, 3}), f32({4, 2})}, ir::ContractAttrs{DType::f32});
}
TEST_F(Refusals, AnIntegerProductOfRealMatrices) {
  expect_refused(Op::contract, {f32({2, 3}), f32({3, 2})}, ir::ContractAttrs{DType::i32});
}
TEST_F(Refusals, BitsOfAnotherWidth) { expect_refused(Op::bitcast, {f32({2})}, ir::CastAttrs{DType::f16}); }
TEST_F(Refusals, AStoreThatDoesNotFitItsTarget) {
  expect_refused(Op::store, {f32({2, 3}), f32({3, 2})}, ir::StoreAttrs{});
}
TEST_F(Refusals, AnAttentionMaskThatIsNotReal) {
  const Dims heads{1, 1, 2, 3};
  expect_refused(Op::attention, {f32(heads), f32(heads), f32(heads), made(DType::boolean, {1, 1, 2, 2})},
                 ir::AttentionAttrs{1, false, true});
}
TEST_F(Refusals, AnAttentionGradientOfTheWrongShape) {
  const Dims heads{1, 1, 2, 3}, rows{1, 1, 2}, smaller{1, 1, 2, 2};
  const ir::AttentionAttrs plain{1, false, false};
  expect_refused(Op::attention_backward, {f32(heads), f32(heads), f32(heads), f32(heads), f32(rows), f32(smaller)},
                 plain);
  expect_refused(Op::attention_backward, {f32(heads), f32(heads), f32(heads), f32(smaller), f32(rows), f32(heads)},
                 plain);
  expect_refused(Op::attention_backward, {f32(heads), f32(heads), f32(heads), f32(heads), f32({1, 1, 1}), f32(heads)},
                 plain);
}
TEST_F(Refusals, AnAttentionGradientOfAnotherDType) {
  const Dims heads{1, 1, 2, 3}, rows{1, 1, 2};
  expect_refused(Op::attention_backward,
                 {f32(heads), f32(heads), f32(heads), f32(heads), f32(rows), made(DType::i32, heads)},
                 ir::AttentionAttrs{1, false, false});
}
TEST_F(Refusals, ALayerWhoseStateDoesNotFit) {
  const ir::RecurrentAttrs gru{.cell = ir::Cell::gru};
  const Value inputs = f32({3, 5, 2, 4}), weights = f32({3, 4, 4});
  expect_refused(Op::recurrent, {inputs, weights, f32({2, 5})}, gru);
  expect_refused(Op::recurrent, {inputs, weights, made(DType::f16, {2, 4})}, gru);
  expect_refused(Op::recurrent, {inputs, weights}, gru);
}
TEST_F(Refusals, ALayerOfAnotherNumberOfGates) {
  expect_refused(Op::recurrent, {f32({3, 5, 2, 4}), f32({3, 4, 4}), f32({2, 4}), f32({2, 4})},
                 ir::RecurrentAttrs{.cell = ir::Cell::lstm});
}
TEST_F(Refusals, OperandsOnDifferentDevices) {
  const Value here = f32({2}), there = upload(Host({DType::f32, {2}}), device::find("null"));
  expect_refused(Op::add, {here, there}, ir::NoAttrs{});
}

}  // namespace
}  // namespace tenon::ops_test
