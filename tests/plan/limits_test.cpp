// Plans keep to what a device can do: buffers per kernel, calls, dtypes. Planned for devices that do not exist.

#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/tensor/access.h"
#include "tests/plan/gpt2.h"

namespace tenon {
namespace {

using ir::Op;

plan::Plan plan_of(const std::vector<Tensor>& outputs, const ir::Limits& limits) {
  plan::Request request;
  for (const Tensor& output : outputs) request.outputs.push_back(value_of(output));
  request.limits = limits;
  request.may_overwrite = [](const ir::Node&) { return true; };
  return plan::make_plan(request);
}

plan::Plan gpt2_for(const ir::Limits& limits, bool autocast = true) {
  testing::Gpt2Config config;
  config.layers = 2;
  config.width = 96;
  config.context = 64;
  config.vocabulary = 256;
  config.batch = 2;
  config.dropout = 0.1;
  config.clips = true;
  config.autocast = autocast;
  return plan_of(testing::step(testing::Gpt2(config, Device("null"))), limits);
}

Tensor leaf(const Dims& shape, DType dtype = DType::f32) {
  const Options options(dtype, Device("null"));
  return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
}

size_t most_buffers(const plan::Plan& plan) {
  size_t most = 0;
  for (const plan::Kernel& kernel : plan.kernels) {
    if (const auto* nest = std::get_if<ir::LoopNest>(&kernel))
      most = std::max<size_t>(most, nest->inputs + nest->outputs);
  }
  return most;
}

bool has_call(const plan::Plan& plan, Op op) {
  for (const plan::Kernel& kernel : plan.kernels) {
    const auto* call = std::get_if<ir::Call>(&kernel);
    if (call && call->op == op) return true;
  }
  return false;
}

ir::Limits with_buffers(uint32_t most) {
  ir::Limits limits;
  limits.max_buffers = most;
  return limits;
}

TEST(PlanLimits, KernelsBindNoMoreBuffersThanTheDeviceHas) {
  EXPECT_GT(most_buffers(gpt2_for({})), 8u) << "or this shows nothing";
  for (const uint32_t most : {4u, 6u, 8u}) {
    for (const bool autocast : {false, true}) EXPECT_LE(most_buffers(gpt2_for(with_buffers(most), autocast)), most);
  }
}

TEST(PlanLimits, AnExpressionOfManyTensorsIsCutIntoKernels) {
  Tensor sum = leaf({64});
  for (int i = 0; i < 20; ++i) sum = sum * leaf({64}) + leaf({64});
  for (const uint32_t most : {4u, 8u}) {
    const plan::Plan plan = plan_of({sum}, with_buffers(most));
    EXPECT_LE(most_buffers(plan), most);
    EXPECT_LE(plan.launches.size(), 41 / (most - 2) + 2);  // a kernel reads most - 1, one of them from the one before
  }
}

TEST(PlanLimits, CallsThatTheDeviceLacksAreTakenApart) {
  ir::Limits limits = with_buffers(8);
  limits.missing_calls = {Op::attention, Op::attention_backward, Op::sort};
  const plan::Plan plan = gpt2_for(limits);
  EXPECT_FALSE(has_call(plan, Op::attention));
  EXPECT_FALSE(has_call(plan, Op::attention_backward));
  EXPECT_TRUE(has_call(plan, Op::contract));
  EXPECT_LE(most_buffers(plan), 8u);
}

TEST(PlanLimits, ADeviceWithoutAnyCallRunsLoopNestsAlone) {
  ir::Limits limits = with_buffers(4);
  limits.missing_calls = {Op::contract, Op::gather,    Op::scatter,   Op::scatter_add,
                          Op::scan,     Op::sort,      Op::attention, Op::attention_backward,
                          Op::store,    Op::contiguous};
  for (const plan::Plan& plan :
       {gpt2_for(limits), plan_of({sort(leaf({3, 100})).first, cumsum(leaf({7, 5}), 0)}, limits)}) {
    for (const plan::Kernel& kernel : plan.kernels) EXPECT_TRUE(std::holds_alternative<ir::LoopNest>(kernel));
    EXPECT_LE(most_buffers(plan), 4u);
  }
}

TEST(PlanLimits, WhatATakenApartCallGivesIsWhatWasAskedFor) {
  ir::Limits limits;
  limits.missing_calls = {Op::sort};
  const auto [values, indices] = sort(leaf({3, 10}), 1);
  const plan::Plan plan = plan_of({values, indices}, limits);
  ASSERT_EQ(plan.results.size(), 2u);
  for (const ir::Value& result : plan.results) EXPECT_EQ(result.node, value_of(values).node);
}

TEST(PlanLimits, F64IsRefusedByNameWhereThereIsNone) {
  ir::Limits limits;
  limits.missing_dtypes = {DType::f64};
  try {
    plan_of({leaf({4}, DType::f64) + 1}, limits);
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[add] null has no f64; use f32, or another device");
  }
}

TEST(PlanLimits, F64IsRefusedWhereItIsOnlyRead) {
  ir::Limits limits;
  limits.missing_dtypes = {DType::f64};
  try {
    plan_of({leaf({4}, DType::f64).to(DType::f32)}, limits);
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[cast] null has no f64; use f32, or another device");
  }
}

TEST(PlanLimits, F64IsRefusedWhereItIsOnlyWritten) {
  ir::Limits limits;
  limits.missing_dtypes = {DType::f64};
  const Device device("null");
  for (const Tensor& made : {full({4}, 0.5, Options(DType::f64, device)), arange(4, Options(DType::f64, device))})
    EXPECT_THROW(plan_of({made}, limits), Error);
}

// Where there are no 64-bit integers, a code generator makes them of halves: token ids are compared and looked up,
// never computed with.
TEST(PlanLimits, Gpt2NeedsNeitherF64NorI64Arithmetic) {
  ir::Limits limits = with_buffers(8);
  limits.missing_dtypes = {DType::f64, DType::i64};
  limits.missing_calls = {Op::gather};
  const plan::Plan plan = gpt2_for(limits);
  for (const plan::Kernel& kernel : plan.kernels) {
    const auto* nest = std::get_if<ir::LoopNest>(&kernel);
    for (const ir::Instr& instr : nest ? nest->code : std::vector<ir::Instr>()) {
      EXPECT_NE(instr.dtype, DType::f64);
      EXPECT_FALSE(instr.kind == ir::Instr::Kind::apply && instr.dtype == DType::i64) << ir::to_string(*nest);
    }
  }
}

TEST(PlanLimits, ADeviceWithoutGatherLooksUpInAnyViewOfATable) {
  ir::Limits limits = with_buffers(4);
  limits.missing_calls = {Op::gather};
  const Tensor ids = leaf({32}, DType::i64);
  for (const Tensor& table :
       {leaf({8, 6}).t().reshape({8, 6}), pad(leaf({7, 6}), {0, 0, 1, 0}), leaf({8, 6}) * 2.0,
        cat({leaf({4, 6}), leaf({4, 6})}), leaf({8, 0}), leaf({6, 8}).t(), flip(leaf({8, 6}), {0})}) {
    const plan::Plan plan = plan_of({index_select(table, 0, ids)}, limits);
    EXPECT_FALSE(has_call(plan, Op::gather)) << plan.print();
    EXPECT_LE(most_buffers(plan), 4u);
  }
}

bool looks_up(const plan::Kernel& kernel) {
  if (const auto* call = std::get_if<ir::Call>(&kernel)) return call->op == Op::gather;
  const std::vector<ir::Instr>& code = std::get<ir::LoopNest>(kernel).code;
  return std::any_of(code.begin(), code.end(),
                     [](const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::gather; });
}

// A bad index is found halfway, when part of the result has been written.
TEST(PlanLimits, AKernelThatLooksUpWritesOverNoState) {
  ir::Limits limits;
  limits.gathers_inside = true;
  const Tensor table = leaf({100, 64}), ids = leaf({32}, DType::i64);
  Tensor sums = leaf({32, 64}), means = leaf({32});
  const Tensor picked = nn::embedding(table, ids);
  sums.add_(picked);
  means.copy_(mean(picked, {-1}));
  const plan::Plan plan = plan_of({sums, means}, limits);
  size_t over_states = 0;
  for (const plan::Launch& launch : plan.launches) {
    EXPECT_FALSE(looks_up(plan.kernels[launch.kernel]) && launch.writes_state) << plan.print();
    over_states += launch.writes_state;
  }
  EXPECT_GT(over_states, 0u) << "the sums are added where they lie, by a kernel behind";
}

// Behind a state that has been overwritten, a bad index would be found too late to leave it as it was.
TEST(PlanLimits, EverythingIsLookedUpBeforeAStateIsOverwritten) {
  ir::Limits limits;
  limits.gathers_inside = true;
  const Tensor table = leaf({100, 64}), ids = leaf({32}, DType::i64);
  Tensor state = leaf({32, 64});
  state.add_(leaf({32, 64}) * 2.0);
  const Tensor sum_of_both = state + nn::embedding(table, ids) * 3.0;
  const plan::Plan plan = plan_of({state, sum_of_both}, limits);
  bool is_overwritten = false;
  for (const plan::Launch& launch : plan.launches) {
    EXPECT_FALSE(is_overwritten && looks_up(plan.kernels[launch.kernel])) << plan.print();
    is_overwritten = is_overwritten || launch.writes_state;
  }
  EXPECT_TRUE(is_overwritten) << plan.print();
}

TEST(PlanLimits, ALookupThatIsTheNewStateIsACall) {
  ir::Limits limits;
  limits.gathers_inside = true;
  Tensor state = leaf({32, 64});
  state.copy_(nn::embedding(leaf({100, 64}), leaf({32}, DType::i64) + 1));
  const plan::Plan plan = plan_of({state}, limits);
  ASSERT_EQ(plan.launches.size(), 2u) << plan.print();
  EXPECT_TRUE(plan.launches[1].writes_state);
  EXPECT_TRUE(has_call(plan, Op::gather));
}

TEST(PlanLimits, AnEmbeddingIsLookedUpByTheKernelThatNormalisesIt) {
  const ir::Limits& limits = device::open(Device("cpu").id).limits();
  const Tensor table = leaf({100, 64}), positions = leaf({32, 64}), ids = leaf({4, 32}, DType::i64);
  const Tensor x = nn::layer_norm(nn::embedding(table, ids) + positions, {64}, leaf({64}), leaf({64}));
  EXPECT_EQ(plan_of({x}, limits).launches.size(), 1u);
}

TEST(PlanLimits, ALookupWithNothingToComputeIsACall) {
  const ir::Limits& limits = device::open(Device("cpu").id).limits();
  const Tensor table = leaf({100, 64}), ids = leaf({4, 32}, DType::i64);
  const Tensor rows = nn::embedding(table, ids);
  EXPECT_TRUE(has_call(plan_of({rows}, limits), Op::gather));
  EXPECT_TRUE(has_call(plan_of({matmul(rows, leaf({64, 8}))}, limits), Op::gather));
  EXPECT_FALSE(has_call(plan_of({rows * 2.0}, limits), Op::gather));
  EXPECT_FALSE(has_call(plan_of({nn::embedding(table, ids + 1)}, limits), Op::gather)) << "the index is computed";
}

}  // namespace
}  // namespace tenon
