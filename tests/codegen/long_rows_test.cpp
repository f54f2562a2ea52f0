// Rows that are too long for their values to be held: they are read from memory once, steps that reach beyond the end
// are apart from the others, and a sum that is one element is looked up. And all of it gives what it should.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/codegen/lower.h"
#include "tenon/codegen/schedule.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using codegen::Inst;
using ir::Instr;
using ir::Op;

ir::Limits gpu() {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 2;
  limits.shared_bytes = 48 << 10;
  limits.vector = 4;
  return limits;
}

/// max and sum(exp(x - max)) of each row, and the sum of those elements whose position is the row's target.
struct Statistics : ir::LoopNest {
  Statistics(int64_t elements, DType dtype) {
    space = {8, elements};
    row_rank = 1;
    inputs = 2;
    const uint32_t x = load(0, ir::IndexMap(space), dtype, false);
    const uint32_t wide = apply(Op::cast, {x}, DType::f32, false);
    const uint32_t most = fold(Op::max, wide);
    const uint32_t centred = apply(Op::add, {wide, apply(Op::neg, {most}, DType::f32, true)}, DType::f32, false);
    const uint32_t sum = fold(Op::sum, apply(Op::exp, {centred}, DType::f32, false));
    Instr ramp{.kind = Instr::Kind::ramp, .dtype = DType::i64};
    ramp.map = ir::IndexMap({elements});
    ramp.map.apply({Op::reshape, ir::ShapeAttrs{{1, elements}}});
    ramp.map.apply({Op::expand, ir::ShapeAttrs{space}});
    code.push_back(ramp);
    const auto position = static_cast<uint32_t>(code.size() - 1);
    const uint32_t target = load(1, ir::IndexMap({space[0]}), DType::i64, true);
    const uint32_t hit = apply(Op::equal, {position, target}, DType::boolean, false);
    code.push_back({.kind = Instr::Kind::number, .dtype = DType::f32, .per_row = true});
    const uint32_t picked =
        fold(Op::sum, apply(Op::where, {hit, centred, static_cast<uint32_t>(code.size() - 1)}, DType::f32, false));
    store(sum);
    store(picked);
  }

 private:
  uint32_t add(Instr instr) {
    code.push_back(std::move(instr));
    return static_cast<uint32_t>(code.size() - 1);
  }
  uint32_t load(uint32_t buffer, const ir::IndexMap& map, DType dtype, bool per_row) {
    return add({.kind = Instr::Kind::load, .dtype = dtype, .per_row = per_row, .buffer = buffer, .map = map});
  }
  uint32_t apply(Op op, std::initializer_list<uint32_t> args, DType dtype, bool per_row) {
    Instr made{.kind = Instr::Kind::apply, .op = op, .dtype = dtype, .per_row = per_row};
    for (const uint32_t arg : args) made.args.push_back(arg);
    return add(made);
  }
  uint32_t fold(Op op, uint32_t arg) {
    Instr made{.kind = Instr::Kind::reduce, .op = op, .per_row = true};
    made.args.push_back(arg);
    return add(made);
  }
  void store(uint32_t arg) {
    Instr made{.kind = Instr::Kind::store, .per_row = true, .buffer = inputs + outputs++};
    made.map = ir::IndexMap({space[0]});
    made.args.push_back(arg);
    add(made);
  }
};

codegen::KernelIr kernel_of(const ir::LoopNest& nest) {
  const codegen::Module made = codegen::lower(nest, gpu());
  EXPECT_EQ(made.dispatches.size(), 1u);
  return made.dispatches[0].kernel;
}

/// Loads of neighbours from the rows: each stands once in the code of a walk, and once for the step behind it.
int wide_loads(const codegen::KernelIr& kernel) {
  int count = 0;
  for (const Inst& inst : kernel.code) count += inst.kind == Inst::Kind::load && inst.slot == 0 && inst.width == 8;
  return count;
}

TEST(LongRows, AreReadFromMemoryOnceWhereRegistersHoldThem) {
  const codegen::KernelIr kernel = kernel_of(Statistics(16384, DType::bf16));
  EXPECT_EQ(wide_loads(kernel), 1);     // in 4 full steps
  ASSERT_EQ(kernel.arrays.size(), 4u);  // four words for eight elements
  EXPECT_EQ(kernel.arrays[0].count, 4u);
}

TEST(LongRows, AreReadAgainWhereRegistersDoNotHoldThem) {
  EXPECT_EQ(wide_loads(kernel_of(Statistics(50304, DType::f32))), 4);
  EXPECT_EQ(wide_loads(kernel_of(Statistics(32000, DType::bf16))), 4);  // one block would have all registers
}

// softmax without its maximum, over its input or not.
codegen::KernelIr normalised(bool in_place) {
  ir::LoopNest nest;
  nest.space = {8, 50304};
  nest.row_rank = 1;
  nest.inputs = nest.outputs = 1;
  if (in_place) nest.in_place = {0};
  const ir::IndexMap map(nest.space);
  const auto add = [&](Instr instr, std::initializer_list<uint32_t> args) {
    for (const uint32_t arg : args) instr.args.push_back(arg);
    nest.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest.code.size() - 1);
  };
  const uint32_t x = add({.kind = Instr::Kind::load, .buffer = 0, .map = map}, {});
  const uint32_t sum = add({.kind = Instr::Kind::reduce, .op = Op::sum, .per_row = true}, {x});
  const uint32_t share = add({.kind = Instr::Kind::apply, .op = Op::div}, {x, sum});
  add({.kind = Instr::Kind::store, .buffer = 1, .map = map}, {share});
  return kernel_of(nest);
}

TEST(LongRows, WrittenOverLeaveRoomForTwoBlocks) {
  EXPECT_EQ(normalised(true).resident, 2u);
  EXPECT_EQ(normalised(false).resident, 1u);
}

TEST(LongRows, TheElementThatATargetNamesIsLookedUp) {
  const codegen::KernelIr kernel = kernel_of(Statistics(50304, DType::bf16));
  int single = 0;
  for (const Inst& inst : kernel.code) single += inst.kind == Inst::Kind::load && inst.slot == 0 && inst.width == 1;
  EXPECT_EQ(single, 1);
  EXPECT_EQ(kernel.shared.size(), 2u);  // max and sum: nothing else is folded
}

TEST(LongRows, OnlyTheLastStepHasAMask) {
  const codegen::RowSchedule shape = codegen::schedule_rows(50304, gpu());
  EXPECT_EQ(shape.steps, 13u);
  EXPECT_EQ(shape.full_steps(), 12u);
}

// A thread of a long row takes eight neighbours at a time, where the row's length allows it.
TEST(LongRows, HaveWiderSteps) {
  EXPECT_EQ(codegen::schedule_rows(50304, gpu()).vector, 8u);
  EXPECT_EQ(codegen::schedule_rows(50300, gpu()).vector, 4u);
  EXPECT_EQ(codegen::schedule_rows(8192, gpu()).vector, 4u);
}

// Mesa's compiler for CPUs ends a loop after 65,535 rounds.
TEST(LongRows, AreCutIntoPartsThatNoLoopIsTooShortFor) {
  ir::Limits limits = gpu();
  limits.subgroup = limits.vector = 1;
  const codegen::RowSchedule shape = codegen::schedule_rows(3'000'000'000, limits);
  EXPECT_LE(shape.chunk, 32768u);
  EXPECT_GE(uint64_t{shape.chunk} * shape.chunks, shape.steps);
}

/// Loss and gradient on a device.
std::pair<Tensor, Tensor> loss_of(const Tensor& logits, const Tensor& target, const char* device) {
  const Tensor x = logits.to(device).detach().requires_grad_();
  const Tensor loss = nn::cross_entropy(x, target.to(device), {.reduction = nn::Reduction::sum});
  return {loss.detach().to("cpu"), grad(loss, x).to("cpu")};
}

TEST(LongRows, LossesAreTheSameFusedOrNotAndCloseToTheCpu) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int64_t size : {3, 100, 4099, 9000, 33000, 50257, 50304}) {
      const Tensor number = arange(3 * size, Options(DType::i32, "cpu"));
      const Tensor logits = (remainder(number * 97, 1013).to(DType::f32) / 100.0).reshape({3, size}).to(dtype);
      const Tensor target = tensor({size - 1, int64_t{-100}, int64_t{1}}, Options(DType::i64, "cpu"));
      const auto [loss, slope] = loss_of(logits, target, "simulated");
      const auto [other_loss, other_slope] = loss_of(logits, target, "simulated_unfused");
      const auto [cpu_loss, cpu_slope] = loss_of(logits, target, "cpu");
      EXPECT_EQ(loss.item<double>(), other_loss.item<double>()) << size;
      EXPECT_TRUE((slope == other_slope).all().item<bool>()) << size;
      EXPECT_NEAR(loss.item<double>(), cpu_loss.item<double>(), 1e-5 * std::abs(cpu_loss.item<double>())) << size;
      EXPECT_LT((slope.to(DType::f32) - cpu_slope.to(DType::f32)).abs().max().item<double>(), 1e-5) << size;
    }
  }
}

struct LinearLoss {
  Tensor loss, of_x, of_weight;
};
// Devices with matrix tiles multiply with rows of zeros below the weight; these are no classes.
LinearLoss linear_loss(const Tensor& x, const Tensor& weight, const Tensor& target, const char* device) {
  const Tensor a = x.to(device).detach().requires_grad_(), w = weight.to(device).detach().requires_grad_();
  Tensor loss = nn::linear_cross_entropy(a, w, target.to(device));
  loss.backward();
  return {loss.detach().to("cpu"), a.grad().to("cpu"), w.grad().to("cpu")};
}

TEST(LongRows, ALossOverAnOddNumberOfClassesIsThatOfTheCpu) {
  for (const int64_t classes : {65, 9001, 33003}) {
    const auto numbers = [](const Dims& shape, int64_t factor) {
      const Tensor counted = arange(ir::count(shape), Options(DType::i32, "cpu"));
      return ((remainder(counted * factor, 1013).to(DType::f32) - 506) / 300.0).reshape(shape).to(DType::bf16);
    };
    const Tensor x = numbers({4, 16}, 97), weight = numbers({classes, 16}, 61) - 2.0;  // all logits may be negative
    const Tensor target = tensor({classes - 1, int64_t{-100}, int64_t{0}, int64_t{7}}, Options(DType::i64, "cpu"));
    const LinearLoss made = linear_loss(x, weight, target, "simulated"),
                     unfused = linear_loss(x, weight, target, "simulated_unfused"),
                     cpu = linear_loss(x, weight, target, "cpu");
    EXPECT_EQ(made.loss.item<double>(), unfused.loss.item<double>()) << classes;
    EXPECT_NEAR(made.loss.item<double>(), cpu.loss.item<double>(), 2e-2) << classes;
    EXPECT_EQ(made.of_weight.shape(), (Dims{classes, 16}));
    for (const auto& [a, b] : {std::pair{made.of_x, cpu.of_x}, std::pair{made.of_weight, cpu.of_weight}})
      EXPECT_LT((a.to(DType::f32) - b.to(DType::f32)).abs().max().item<double>(), 2e-2) << classes;
  }
}

double largest(const std::vector<float>& row) {
  return from_vector(row, {static_cast<int64_t>(row.size())}, Options(DType::f32, "simulated"))
      .amax({0})
      .item<double>();
}

TEST(LongRows, TheLargestOfARowIsThatOfTheOp) {
  std::vector<float> row(5000, -0.0f);
  EXPECT_TRUE(std::signbit(largest(row)));
  row[4321] = 0.0f;
  EXPECT_FALSE(std::signbit(largest(row)));
  row[17] = -3.0f;
  row[4999] = 2.0f;
  EXPECT_EQ(largest(row), 2.0);
  row[2500] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(largest(row)));
  row[2500] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(largest(row)));
  EXPECT_EQ(largest(std::vector<float>(5000, -std::numeric_limits<float>::infinity())),
            -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tenon
