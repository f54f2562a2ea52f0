// What becomes a launch and what does not, and that planned memory is never read after it was given to someone else.
// Counts hold for a device that runs one op a kernel; the checks of memory hold for every kind.

#include "tenon/plan/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tenon/ir/build.h"
#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::Op;
using ir::Value;

constexpr ir::DeviceId kHere{0, "here"};

Value leaf(uint64_t id, const Dims& shape = {4, 4}, DType dtype = DType::f32) {
  return ir::buffer({(uint64_t{1} << 50) + id, 0, kHere, {dtype, shape}});
}

// A leaf of its own that has bytes, as exec::upload makes them.
Value evaluated_leaf(const Dims& shape = {4, 4}) {
  static uint64_t next = 1000;
  Value made = leaf(next++, shape);
  made.node->set_data(0, std::make_shared<ir::Data>());
  return made;
}

ir::Limits one_op_a_kernel() {
  ir::Limits limits;
  limits.one_op_per_kernel = true;
  return limits;
}

Plan plan_of(std::vector<Value> outputs, const ir::Limits& limits = one_op_a_kernel()) {
  return make_plan({std::move(outputs), limits, {}});
}

std::vector<Op> ops_of(const Plan& plan) {
  std::vector<Op> ops;
  for (const Launch& launch : plan.launches) ops.push_back(std::get<ir::Call>(plan.kernels[launch.kernel]).op);
  return ops;
}

size_t count_slots(const Plan& plan, Slot::Place place) {
  return static_cast<size_t>(
      std::count_if(plan.slots.begin(), plan.slots.end(), [&](const Slot& s) { return s.place == place; }));
}

// ---- what launches ----

TEST(Plan, ViewsOfALeafLaunchNothing) {
  const Value x = leaf(1);
  const Plan plan = plan_of({ir::permute(x, {1, 0}), ir::flip(ir::reshape(x, {16}), {0}), ir::pad(x, {1, 1}, {1, 1}),
                             ir::expand(ir::shrink(x, {0, 0}, {1, 4}, {1, 1}), {9, 4})});
  EXPECT_TRUE(plan.launches.empty());
  EXPECT_EQ(plan.arena_bytes, 0u);
}

TEST(Plan, ViewsBetweenOpsAreSeenThrough) {
  const Value x = leaf(1);
  const Plan plan = plan_of({ir::neg(ir::permute(ir::exp(ir::flip(x, {0})), {1, 0}))});
  EXPECT_EQ(ops_of(plan), (std::vector{Op::exp, Op::neg}));
  EXPECT_EQ(std::get<ir::Call>(plan.kernels[1]).inputs[0].map.to_string(), "(4, 4) strides (1, 4) offset 0");
}

TEST(Plan, AViewOfAComputedValueKeepsTheValueItself) {
  const Value y = ir::exp(leaf(1));
  const Plan plan = plan_of({ir::permute(y, {1, 0}), ir::reshape(y, {16})});
  EXPECT_EQ(ops_of(plan), std::vector{Op::exp});
  ASSERT_EQ(plan.results.size(), 1u);
  EXPECT_EQ(plan.results[0], y);
}

TEST(Plan, MarksLaunchNothing) {
  const Value x = leaf(1);
  const auto slot = std::make_shared<ir::Param>();
  const Value w = ir::param(x, slot), y = ir::detach(ir::exp(w));
  EXPECT_EQ(ops_of(plan_of({ir::neg(y)})), (std::vector{Op::exp, Op::neg}));
}

TEST(Plan, WhatComesBeforeAValueIsLaunchedToo) {
  const Value x = leaf(1), y = leaf(2);
  const std::vector<Value> first{ir::exp(y)};
  EXPECT_EQ(ops_of(plan_of({ir::neg(ir::after(x, first))})), (std::vector{Op::exp, Op::neg}));
}

TEST(Plan, ACommonSubexpressionIsLaunchedOnce) {
  const Value x = leaf(1), y = leaf(2);
  const Value sum = ir::mul(ir::exp(ir::add(x, y)), ir::neg(ir::add(x, y)));
  EXPECT_EQ(ops_of(plan_of({sum, ir::add(x, y)})), (std::vector{Op::add, Op::exp, Op::neg, Op::mul}));
}

TEST(Plan, WhereRandomNumbersBeginComesWithTheLaunch) {
  const Value state = leaf(1, {2}, DType::i64), x = leaf(2);
  const auto drawn = [&](uint64_t offset) {
    const Value words = ir::reshape(ir::random_bits(state, 16, offset), {4, 4});
    return ir::contract(ir::cast(words, DType::f32), x, DType::f32);
  };
  for (const ir::Limits& limits : {one_op_a_kernel(), ir::Limits()}) {
    const Plan plan = plan_of({drawn(0), drawn(40), drawn(16)}, limits);
    std::multiset<uint64_t> begins;
    for (const Launch& launch : plan.launches) begins.insert(launch.numbers.begin(), launch.numbers.end());
    EXPECT_EQ(begins, (std::multiset<uint64_t>{0, 16, 40}));
    EXPECT_EQ(plan.kernels.size() * 3, plan.launches.size());
  }
}

TEST(Plan, TheSameOutputTwiceIsComputedOnce) {
  const Value y = ir::exp(leaf(1));
  const Plan plan = plan_of({y, y});
  EXPECT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.results.size(), 1u);
}

TEST(Plan, EvaluatedValuesAreLeaves) {
  const Value x = leaf(1), y = ir::exp(x);
  y.node->set_data(0, std::make_shared<ir::Data>());
  const Plan plan = plan_of({ir::neg(ir::permute(y, {1, 0}))});
  EXPECT_EQ(ops_of(plan), std::vector{Op::neg});
  ASSERT_EQ(plan.leaves.size(), 1u);
  EXPECT_EQ(plan.leaves[0], y);
  EXPECT_TRUE(plan_of({ir::permute(y, {1, 0})}).launches.empty());
}

TEST(Plan, EveryResultOfAnOpHasItsSlot) {
  const auto [values, indices] = ir::sort(leaf(1), 1, false);
  const Plan plan = plan_of({indices});
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].args.size(), 3u);
  EXPECT_EQ(plan.results, (std::vector{values, indices}));
}

// A custom function carries the operands of its gradient rule; its value does not need them.
TEST(Plan, WhatOnlyAGradientRuleReadsIsNotComputed) {
  const Value result = ir::exp(leaf(1)), unused = ir::neg(leaf(2));
  const ir::NodeRef custom =
      ir::Node::make(Op::custom, {result, unused}, ir::CustomAttrs{std::make_shared<ir::CustomRule>(), 1});
  EXPECT_EQ(ops_of(plan_of({{custom, 0}})), std::vector{Op::exp});
}

TEST(Plan, NothingIsPlannedForNothing) {
  const Plan plan = plan_of({});
  EXPECT_TRUE(plan.launches.empty());
  EXPECT_TRUE(plan.slots.empty());
  EXPECT_EQ(plan.print(), "");
}

// ---- kernels ----

TEST(Plan, EqualKernelsAreKeptOnce) {
  const Value a = leaf(1), b = leaf(2);
  const Plan plan = plan_of({ir::exp(a), ir::exp(b), ir::exp(ir::exp(b))});
  EXPECT_EQ(plan.launches.size(), 3u);
  EXPECT_EQ(plan.kernels.size(), 1u);
}

TEST(Plan, KernelsDifferByOpDTypeShapeAndView) {
  const Value x = leaf(1);
  const Plan plan =
      plan_of({ir::exp(x), ir::neg(x), ir::exp(leaf(2, {4, 4}, DType::f64)), ir::exp(leaf(3, {16})),
               ir::exp(ir::permute(x, {1, 0})), ir::reduce(Op::sum, x, {0}), ir::reduce(Op::sum, x, {1})});
  EXPECT_EQ(plan.kernels.size(), 7u);
}

// ---- memory ----

TEST(Plan, ALeafHasOneSlotHoweverOftenItIsRead) {
  const Value x = leaf(1);
  const Plan plan = plan_of({ir::add(x, x), ir::mul(x, ir::permute(x, {1, 0})), ir::exp(x)});
  EXPECT_EQ(count_slots(plan, Slot::Place::leaf), 1u);
  EXPECT_EQ(plan.leaves, std::vector{x});
}

TEST(Plan, TemporariesOfAChainAreReused) {
  Value x = leaf(1, {100});
  for (int i = 0; i < 50; ++i) x = ir::exp(x);
  const Plan plan = plan_of({x});
  EXPECT_EQ(count_slots(plan, Slot::Place::temporary), 49u);
  EXPECT_EQ(count_slots(plan, Slot::Place::result), 1u);
  EXPECT_EQ(plan.arena_bytes, 2 * 448u);  // 400 bytes, aligned to 64
  EXPECT_EQ(plan.peak_live_bytes, plan.arena_bytes);
}

TEST(Plan, ResultsAreNotInTheArena) {
  const Value y = ir::exp(leaf(1)), z = ir::neg(y);
  const Plan plan = plan_of({y, z});
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(plan.results, (std::vector{y, z}));
  EXPECT_EQ(plan.overwritten, (std::vector{Plan::kNone, Plan::kNone}));
}

TEST(Plan, OffsetsKeepTheAlignmentOfTheDevice) {
  Value x = leaf(1, {3});
  for (int i = 0; i < 5; ++i) x = ir::add(ir::exp(x), ir::neg(x));
  ir::Limits limits = one_op_a_kernel();
  limits.alignment = 256;
  for (const Slot& slot : plan_of({x}, limits).slots) {
    if (slot.place == Slot::Place::temporary) {
      EXPECT_EQ(slot.offset % 256, 0u);
    }
  }
}

TEST(Plan, ValuesOfNoElementsArePlanned) {
  const Value x = leaf(1, {0, 4});
  const Plan plan = plan_of({ir::exp(ir::neg(x)), ir::reduce(Op::sum, ir::exp(x), {0})});
  EXPECT_EQ(plan.launches.size(), 4u);
}

// Whether a launch may write output `o` where its input `i` lies: element by element, or onto what a product is added
// to.
bool takes_over(const Kernel& kernel, size_t i, size_t o) {
  if (const auto* nest = std::get_if<ir::LoopNest>(&kernel)) {
    if (nest->in_place.empty() || nest->in_place[o] != i) return false;
    const auto store = std::find_if(nest->code.begin(), nest->code.end(), [&](const ir::Instr& instr) {
      return instr.kind == ir::Instr::Kind::store && instr.buffer == nest->inputs + o;
    });
    return std::all_of(nest->code.begin(), nest->code.end(), [&](const ir::Instr& instr) {
      return instr.kind != ir::Instr::Kind::load || instr.buffer != i || instr.map == store->map;
    });
  }
  const auto& call = std::get<ir::Call>(kernel);
  return call.epilogue.residual && i + 1 == call.inputs.size();
}

// Runs the plan on a model of memory: who wrote each byte of the arena last.
void expect_values_survive(const Plan& plan) {
  std::map<size_t, uint32_t> owner;  // byte of the arena, in steps of 64, to slot
  std::set<uint32_t> written;
  for (size_t at = 0; at < plan.launches.size(); ++at) {
    const Launch& launch = plan.launches[at];
    const Kernel& kernel = plan.kernels[launch.kernel];
    const size_t inputs = launch.inputs;
    ASSERT_GT(launch.args.size(), inputs) << "launch " << at << " writes nothing";
    const auto bytes_of = [&](const Slot& slot, auto&& f) {
      for (size_t byte = slot.offset; byte < slot.offset + slot.bytes; byte += 64) f(byte);
    };
    for (size_t i = 0; i < inputs; ++i) {
      const Slot& slot = plan.slots[launch.args[i].slot];
      if (slot.place == Slot::Place::leaf) continue;
      ASSERT_TRUE(written.contains(launch.args[i].slot)) << "launch " << at << " reads what is not written yet";
      if (slot.place != Slot::Place::temporary) continue;
      bytes_of(slot, [&](size_t byte) {
        ASSERT_EQ(owner[byte], launch.args[i].slot) << "launch " << at << " reads overwritten bytes";
      });
      for (size_t o = inputs; o < launch.args.size(); ++o) {
        const Slot& out = plan.slots[launch.args[o].slot];
        const bool overlap = out.place == Slot::Place::temporary && out.offset < slot.offset + slot.bytes &&
                             slot.offset < out.offset + out.bytes;
        if (overlap && slot.bytes > 0 && out.bytes > 0) {
          EXPECT_TRUE(takes_over(kernel, i, o - inputs)) << "launch " << at << " writes over its own operand";
          EXPECT_EQ(slot.offset, out.offset);
        }
      }
    }
    for (size_t i = inputs; i < launch.args.size(); ++i) {
      const Slot& slot = plan.slots[launch.args[i].slot];
      ASSERT_NE(slot.place, Slot::Place::leaf) << "launch " << at << " writes a leaf";
      ASSERT_TRUE(written.insert(launch.args[i].slot).second) << "launch " << at << " writes a slot again";
      if (slot.place != Slot::Place::temporary) continue;
      ASSERT_LE(slot.offset + slot.bytes, plan.arena_bytes);
      bytes_of(slot, [&](size_t byte) { owner[byte] = launch.args[i].slot; });
    }
  }
  for (const Value& result : plan.results) EXPECT_TRUE(result);
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (plan.slots[i].place == Slot::Place::result) {
      EXPECT_TRUE(written.contains(static_cast<uint32_t>(i)));
    }
  }
}

std::vector<Value> random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Value> values{leaf(1, {6, 6}), leaf(2, {6, 6}), leaf(3, {6, 6})};
  for (size_t i = 0; i < 60; ++i) {
    const Value a = values[values.size() - 1 - below(std::min<size_t>(values.size(), 12))],
                b = values[below(values.size())];
    switch (below(10)) {
      case 0: values.push_back(ir::permute(a, {1, 0})); break;
      case 1: values.push_back(ir::flip(ir::reshape(ir::reshape(a, {36}), {6, 6}), {1})); break;
      case 2: values.push_back(ir::expand(ir::reduce(Op::sum, a, {1}), {6, 6})); break;
      case 3: values.push_back(ir::sub(a, ir::expand(ir::reduce(Op::max, b, {0}), {6, 6}))); break;
      case 4: values.push_back(ir::contract(a, b, DType::f32)); break;
      case 5: values.push_back(ir::sort(a, 1, false).first); break;
      case 6: values.push_back(ir::exp(a)); break;
      case 7: values.push_back(ir::shrink(ir::pad(a, {1, 0}, {0, 1}), {0, 1}, {6, 6}, {1, 1})); break;
      default: values.push_back(ir::add(a, b)); break;
    }
  }
  std::vector<Value> outputs{values.back()};
  for (size_t i = 0; i < 4; ++i) outputs.push_back(values[below(values.size())]);
  return outputs;
}

TEST(Plan, NoLaunchReadsMemoryThatWasGivenAway) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Value> outputs = random_graph(seed);
    expect_values_survive(plan_of(outputs));
    expect_values_survive(plan_of(outputs, ir::Limits()));
    if (HasFatalFailure()) return;
  }
}

// ---- same graph, same plan ----

void expect_equal(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.print(), b.print());
  EXPECT_EQ(a.memory(), b.memory());
  ASSERT_EQ(a.launches.size(), b.launches.size());
  for (size_t i = 0; i < a.launches.size(); ++i) {
    EXPECT_EQ(a.launches[i].kernel, b.launches[i].kernel);
    EXPECT_EQ(a.launches[i].args, b.launches[i].args);
  }
  ASSERT_EQ(a.slots.size(), b.slots.size());
  for (size_t i = 0; i < a.slots.size(); ++i) {
    EXPECT_EQ(a.slots[i].place, b.slots[i].place);
    EXPECT_EQ(a.slots[i].index, b.slots[i].index);
    EXPECT_EQ(a.slots[i].offset, b.slots[i].offset);
    EXPECT_EQ(a.slots[i].bytes, b.slots[i].bytes);
  }
  EXPECT_EQ(a.overwritten, b.overwritten);
}

TEST(Plan, PlansOfTheSameGraphAreEqual) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<Value> outputs = random_graph(seed);
    for (const ir::Limits& limits : {one_op_a_kernel(), ir::Limits()})
      expect_equal(plan_of(outputs, limits), plan_of(outputs, limits));
  }
}

// The same graph recorded at other addresses: whatever is ordered by address shows here.
TEST(Plan, PlansOfEqualGraphsAreEqual) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    for (const ir::Limits& limits : {one_op_a_kernel(), ir::Limits()}) {
      const Plan first = plan_of(random_graph(seed), limits);
      const std::string text = first.print(), memory = first.memory();
      std::vector<Value> in_the_way;  // takes the addresses that the nodes of the first graph had
      for (uint64_t i = 0; i < 500; ++i) in_the_way.push_back(ir::exp(leaf(500 + seed * 1000 + i)));
      std::vector<Value> outputs = random_graph(seed + 1);  // and these are freed in another order
      outputs.clear();
      const Plan again = plan_of(random_graph(seed), limits);
      EXPECT_EQ(again.print(), text);
      EXPECT_EQ(again.memory(), memory);
    }
  }
}

// ---- text ----

TEST(Plan, PrintsEachLaunchWithItsBytes) {
  const Value x = leaf(1, {2, 3});
  const Plan plan = plan_of({ir::reduce(Op::sum, ir::exp(ir::permute(x, {1, 0})), {0})});
  const std::string text = plan.print();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("exp "), std::string::npos) << text;
  EXPECT_NE(text.find("f32(3, 2) strides (1, 3) offset 0 -> f32(3, 2)  read 24 written 24\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("sum "), std::string::npos) << text;
  EXPECT_NE(text.find("f32(3, 2) -> f32(1, 2)  read 24 written 8\n"), std::string::npos) << text;
}

TEST(Plan, TellsTheArenaItsPeakAndItsLargestHolders) {
  const Value x = leaf(1, {100}), y = ir::exp(x), small = ir::exp(ir::shrink(x, {0}, {3}, {1}));
  const Plan plan = plan_of({ir::add(ir::reduce(Op::sum, ir::neg(y), {0}), ir::reduce(Op::sum, small, {0}))});
  const std::string text = plan.memory();
  EXPECT_NE(text.find(fmt::format("arena {} bytes, {} live at the peak, 5 temporaries", plan.arena_bytes,
                                  plan.peak_live_bytes)),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("400 bytes at"), text.find("12 bytes at")) << "largest first: " << text;
}

TEST(Plan, ShowsAtMostTenHolders) {
  Value x = leaf(1, {4});
  for (int i = 0; i < 40; ++i) x = ir::exp(x);
  const std::string text = plan_of({x}).memory();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11) << text;
}

TEST(LookThrough, AHundredThousandViewsNeedNoStack) {
  Value x = leaf(1, {2, 3});
  for (int i = 0; i < 100'000; ++i) x = ir::flip(ir::permute(x, {1, 0}), {0});
  EXPECT_EQ(ir::look_through(x).map.shape(), (Dims{2, 3}));
  EXPECT_EQ(plan_of({ir::exp(x)}).launches.size(), 1u);
}

// In a process of its own, because running out of stack ends it.
TEST(LookThrough, AHundredThousandViewsNeedNoStackWhereOpsAreFused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fork alone would lose what other threads hold
  const auto plan_it = [] {
    Value x = leaf(1, {2, 3});
    for (int i = 0; i < 100'000; ++i) x = ir::flip(ir::permute(x, {1, 0}), {0});
    std::exit(plan_of({ir::exp(x)}, ir::Limits()).launches.size() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(plan_it(), testing::ExitedWithCode(0), "");
}

// ---- stores in place ----

struct StorePlan {
  Plan plan;
  int asked = 0;
};

StorePlan plan_store(std::vector<Value> outputs, bool allow = true) {
  StorePlan made;
  made.plan = make_plan({std::move(outputs), one_op_a_kernel(), [&](const ir::Node&) { return ++made.asked, allow; }});
  return made;
}

TEST(StorePlan, TakesOverTheMemoryOfItsBaseWhenAllowed) {
  const Value x = evaluated_leaf(), v = leaf(2), s = ir::store(x, v, {});
  const StorePlan made = plan_store({s});
  ASSERT_EQ(made.plan.overwritten.size(), 1u);
  ASSERT_NE(made.plan.overwritten[0], Plan::kNone);
  EXPECT_EQ(made.plan.leaves[made.plan.overwritten[0]], x);
  EXPECT_EQ(made.asked, 1);
}

TEST(StorePlan, TakesNewMemoryWhenNotAllowed) {
  const Value s = ir::store(evaluated_leaf(), leaf(2), {});
  EXPECT_EQ(plan_store({s}, false).plan.overwritten, std::vector{Plan::kNone});
}

TEST(StorePlan, NeverOverwritesWhatItsValueReads) {
  const Value x = evaluated_leaf();
  EXPECT_EQ(plan_store({ir::store(x, x, {})}).plan.overwritten, std::vector{Plan::kNone});
  EXPECT_EQ(plan_store({ir::store(x, ir::permute(x, {1, 0}), {})}).plan.overwritten, std::vector{Plan::kNone});
}

TEST(StorePlan, NeverOverwritesAViewOrAComputedBase) {
  const Value x = evaluated_leaf(), v = leaf(2);
  EXPECT_EQ(plan_store({ir::store(ir::permute(x, {1, 0}), v, {})}).plan.overwritten, std::vector{Plan::kNone});
  EXPECT_EQ(plan_store({ir::store(ir::exp(x), v, {})}).plan.overwritten, std::vector{Plan::kNone});
}

bool always(const ir::Node&) { return true; }

TEST(StorePlan, WhatIsScatteredIntoAStateIsAddedWhereItLies) {
  const Value x = evaluated_leaf();
  const Value index = leaf(3, {3}, DType::i32), added = leaf(4, {3, 4});
  const Plan plan = make_plan({{ir::store(x, ir::scatter_add(x, index, added, 0), {})}, {}, always});
  EXPECT_EQ(plan.launches.size(), 1u) << plan.print();
  ASSERT_NE(plan.overwritten[0], Plan::kNone) << plan.print();
  EXPECT_EQ(plan.leaves[plan.overwritten[0]], x);
  EXPECT_TRUE(plan.launches[0].writes_state);
}

TEST(StorePlan, WhatIsScatteredTakesNewMemoryWhereTheOldIsReadToo) {
  const Value x = evaluated_leaf();
  const Value index = leaf(3, {4}, DType::i32);
  const Value doubled = ir::store(x, ir::scatter_add(x, index, x, 0), {});
  EXPECT_EQ(make_plan({{doubled}, {}, always}).overwritten, std::vector{Plan::kNone});
}

TEST(StorePlan, AStoreThatIsNotKeptOverwritesNothing) {
  const Value x = evaluated_leaf(), s = ir::store(x, leaf(2), {});
  const StorePlan made = plan_store({ir::exp(s)});
  EXPECT_EQ(made.asked, 0);
  EXPECT_EQ(made.plan.overwritten, std::vector{Plan::kNone});
}

}  // namespace
}  // namespace tenon::plan
