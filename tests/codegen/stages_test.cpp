// Where reductions cut a loop nest, what each stage does, and how long values live. The nests are written by hand: over
// 4 rows of 8 elements unless said.

#include "tenon/codegen/stages.h"

#include <gtest/gtest.h>

namespace tenon::codegen {
namespace {

using ir::IndexMap;
using ir::Instr;
using ir::Move;
using ir::Op;
using List = std::vector<uint32_t>;

/// Adds instructions to a nest of one row axis and one element axis; each function gives the instruction's number.
struct Nest : ir::LoopNest {
  explicit Nest(int64_t row_count = 4, int64_t elements = 8) {
    space = {row_count, elements};
    row_rank = 1;
  }

  uint32_t load() { return mapped(Instr::Kind::load, whole()); }
  uint32_t load_per_row() { return mapped(Instr::Kind::load, IndexMap({space[0]}), true); }
  uint32_t load_per_column() { return mapped(Instr::Kind::load, same_in_all_rows()); }
  uint32_t load_one() { return mapped(Instr::Kind::load, one_place({space[0]}), true); }
  /// Of a table whose rows are as long as those of the nest, or of one whose elements are picked one by one.
  uint32_t gather_row(uint32_t index) { return moved_by(index, same_in_all_rows(), false); }
  uint32_t gather_elements(uint32_t index) {
    if (code[index].per_row) return moved_by(index, one_place({space[0]}), true);
    return moved_by(index, one_place(space), false);
  }
  uint32_t random() { return mapped(Instr::Kind::random, whole()); }
  uint32_t number() { return add({.kind = Instr::Kind::number, .per_row = true}); }

  uint32_t apply(Op op, const List& args) {
    Instr instr{.kind = Instr::Kind::apply, .op = op, .per_row = true};
    for (const uint32_t arg : args) {
      instr.args.push_back(arg);
      instr.per_row = instr.per_row && code[arg].per_row;
    }
    return add(std::move(instr));
  }
  uint32_t fold(Op op, uint32_t arg) {
    Instr instr{.kind = Instr::Kind::reduce, .op = op, .per_row = true};
    instr.args.push_back(arg);
    return add(std::move(instr));
  }
  uint32_t fold_columns(uint32_t arg) {
    Instr instr{.kind = Instr::Kind::reduce, .op = Op::sum, .per_column = true};
    instr.args.push_back(arg);
    return add(std::move(instr));
  }
  uint32_t store(uint32_t arg) {
    const uint32_t made = mapped(Instr::Kind::store, whole());
    code[made].args.push_back(arg);
    return made;
  }
  uint32_t store_per_row(uint32_t arg) {
    const uint32_t made = mapped(Instr::Kind::store, IndexMap({space[0]}), true);
    code[made].args.push_back(arg);
    return made;
  }
  uint32_t store_per_column(uint32_t arg) {
    const uint32_t made = mapped(Instr::Kind::store, IndexMap({space[1]}));
    code[made].per_column = true;
    code[made].args.push_back(arg);
    return made;
  }

 private:
  IndexMap whole() const { return IndexMap(space); }
  IndexMap same_in_all_rows() const {
    IndexMap map({1, space[1]});
    map.apply(Move{Op::expand, ir::ShapeAttrs{space}});
    return map;
  }
  static IndexMap one_place(const Dims& shape) {
    IndexMap map(Dims(shape.size(), 1));
    map.apply(Move{Op::expand, ir::ShapeAttrs{shape}});
    return map;
  }
  uint32_t moved_by(uint32_t index, IndexMap map, bool per_row) {
    const uint32_t made = mapped(Instr::Kind::gather, std::move(map), per_row);
    code[made].args.push_back(index);
    return made;
  }
  uint32_t mapped(Instr::Kind kind, IndexMap map, bool per_row = false) {
    return add({.kind = kind, .per_row = per_row, .map = std::move(map)});
  }
  uint32_t add(Instr instr) {
    code.push_back(std::move(instr));
    return static_cast<uint32_t>(code.size() - 1);
  }
};

/// exp(x - max) / sum(exp(x - max))
struct Softmax : Nest {
  using Nest::Nest;
  uint32_t x = load(), most = fold(Op::max, x), shifted = apply(Op::add, {x, most}), power = apply(Op::exp, {shifted}),
           total = fold(Op::sum, power), result = apply(Op::div, {power, total}), out = store(result);
};

/// Also saves mean and rstd.
struct LayerNorm : Nest {
  uint32_t x = load(), count = number(), sum = fold(Op::sum, x), mean = apply(Op::div, {sum, count}),
           centred = apply(Op::add, {x, mean}), square = apply(Op::mul, {centred, centred}),
           squares = fold(Op::sum, square), variance = apply(Op::div, {squares, count}),
           rstd = apply(Op::sqrt, {variance}), normal = apply(Op::mul, {centred, rstd}), gamma = load_per_column(),
           scaled = apply(Op::mul, {normal, gamma}), out = store(scaled), mean_out = store_per_row(mean),
           rstd_out = store_per_row(rstd);
};

/// The gradients of x, gamma and beta; the last two are sums over all rows.
struct LayerNormBackward : Nest {
  uint32_t x = load(), slope = load(), mean = load_per_row(), rstd = load_per_row(), gamma = load_per_column(),
           centred = apply(Op::add, {x, mean}), normal = apply(Op::mul, {centred, rstd}),
           inner = apply(Op::mul, {slope, gamma}), sum = fold(Op::sum, inner), along = apply(Op::mul, {inner, normal}),
           sum_along = fold(Op::sum, along), back = apply(Op::mul, {normal, sum_along}),
           both = apply(Op::add, {sum, back}), rest = apply(Op::add, {inner, both}),
           scaled = apply(Op::mul, {rest, rstd}), out = store(scaled), beta_fold = fold_columns(slope),
           beta_out = store_per_column(beta_fold), product = apply(Op::mul, {slope, normal}),
           gamma_fold = fold_columns(product), gamma_out = store_per_column(gamma_fold);
};

TEST(Stages, AGatherChangesAlongWhatItsIndexAndItsTableDo) {
  Nest nest;
  const uint32_t constant = nest.load_one(), by_row = nest.load_per_row(), by_column = nest.load_per_column(),
                 by_element = nest.load();
  const std::vector<std::pair<uint32_t, Scope>> expected = {
      {nest.gather_row(constant), Scope::column},        {nest.gather_row(by_row), Scope::element},
      {nest.gather_row(by_column), Scope::column},       {nest.gather_row(by_element), Scope::element},
      {nest.gather_elements(constant), Scope::constant}, {nest.gather_elements(by_row), Scope::row},
      {nest.gather_elements(by_column), Scope::column},  {nest.gather_elements(by_element), Scope::element}};
  const Stages cut = stages(nest);
  for (const auto& [gather, scope] : expected) EXPECT_EQ(cut.values[gather].scope, scope) << gather;
}

TEST(Stages, AGatherWaitsForTheReductionThatItsIndexIs) {
  Nest nest;
  const uint32_t x = nest.load(), most = nest.fold(Op::max, x), row = nest.gather_row(most), out = nest.store(row);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 2u);
  EXPECT_EQ(cut.stages[0].per_element, (List{x, most}));
  EXPECT_EQ(cut.stages[1].per_element, (List{row, out}));
}

TEST(Stages, AnElementwiseNestIsOneStage) {
  Nest nest;
  const uint32_t a = nest.load(), b = nest.load(), sum = nest.apply(Op::add, {a, b}), out = nest.store(sum);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 1u);
  EXPECT_EQ(cut.stages[0].per_element, (List{a, b, sum, out}));
  EXPECT_EQ(cut.stages[0].first_time, (List{a, b, sum, out}));
  EXPECT_EQ(cut.stages[0].per_row, List{});
  EXPECT_EQ(cut.stages[0].row_folds, List{});
}

TEST(Stages, SoftmaxIsCutAtItsMaximumAndAtItsSum) {
  const Softmax nest;
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 3u);
  EXPECT_EQ(cut.stages[0].row_folds, List{nest.most});
  EXPECT_EQ(cut.stages[1].row_folds, List{nest.total});
  EXPECT_EQ(cut.stages[2].row_folds, List{});
  EXPECT_EQ(cut.values[nest.most].made, 0u);
  EXPECT_EQ(cut.values[nest.most].known, 1u);
  EXPECT_EQ(cut.values[nest.total].known, 2u);
}

TEST(Stages, AStageListsAgainWhatEarlierOnesHaveComputed) {
  const Softmax nest;
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[0].per_element, (List{nest.x, nest.most}));
  EXPECT_EQ(cut.stages[1].per_element, (List{nest.x, nest.shifted, nest.power, nest.total}));
  EXPECT_EQ(cut.stages[2].per_element, (List{nest.x, nest.shifted, nest.power, nest.result, nest.out}));
}

TEST(Stages, WhereARowIsKeptNothingIsDoneTwice) {
  const Softmax nest;
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[0].first_time, (List{nest.x, nest.most}));
  EXPECT_EQ(cut.stages[1].first_time, (List{nest.shifted, nest.power, nest.total}));
  EXPECT_EQ(cut.stages[2].first_time, (List{nest.result, nest.out}));
}

TEST(Stages, SoftmaxKeepsItsInputAndItsPowersBeyondTheirStages) {
  const Softmax nest;
  const Stages cut = stages(nest);
  EXPECT_TRUE(cut.outlives_its_stage(nest.x));
  EXPECT_TRUE(cut.outlives_its_stage(nest.power));
  EXPECT_FALSE(cut.outlives_its_stage(nest.shifted));
  EXPECT_FALSE(cut.outlives_its_stage(nest.result));
}

TEST(Stages, TheLastReaderOfAKeptValueMayStandInALaterStage) {
  const Softmax nest;
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.values[nest.x].last_stage, 1u);
  EXPECT_EQ(cut.values[nest.x].last_reader, nest.shifted);
  EXPECT_EQ(cut.values[nest.power].last_stage, 2u);
  EXPECT_EQ(cut.values[nest.power].last_reader, nest.result);
  EXPECT_EQ(cut.values[nest.out].last_reader, kNone);
}

TEST(Stages, EachStageHasALastReaderOfItsOwn) {
  const Softmax nest;
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[0].last_reader[nest.x], nest.most);
  EXPECT_EQ(cut.stages[1].last_reader[nest.x], nest.shifted);
  EXPECT_EQ(cut.stages[1].last_reader[nest.power], nest.total);
  EXPECT_EQ(cut.stages[2].last_reader[nest.power], nest.result);
  EXPECT_EQ(cut.stages[0].last_reader[nest.power], kNone);
}

TEST(Stages, LayerNormComputesItsRowValuesOncePerRowBetweenTheReductions) {
  const LayerNorm nest;
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 3u);
  EXPECT_EQ(cut.constants, List{nest.count});
  EXPECT_EQ(cut.stages[0].per_row, List{});
  EXPECT_EQ(cut.stages[1].per_row, (List{nest.mean, nest.mean_out}));
  EXPECT_EQ(cut.stages[2].per_row, (List{nest.variance, nest.rstd, nest.rstd_out}));
  EXPECT_EQ(cut.stages[2].first_time, (List{nest.normal, nest.gamma, nest.scaled, nest.out}));
}

TEST(Stages, LayerNormBackwardFoldsRowsAndColumnsInOneStage) {
  const LayerNormBackward nest;
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 2u);
  EXPECT_EQ(cut.stages[0].row_folds, (List{nest.sum, nest.sum_along}));
  EXPECT_EQ(cut.stages[0].column_folds, (List{nest.beta_fold, nest.gamma_fold}));
  EXPECT_EQ(cut.stages[1].column_folds, List{});
  EXPECT_EQ(cut.stages[1].first_time, (List{nest.back, nest.both, nest.rest, nest.scaled, nest.out}));
}

TEST(Stages, ColumnsAreStoredBehindAllRows) {
  const LayerNormBackward nest;
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.column_stores, (List{nest.beta_out, nest.gamma_out}));
  for (const Stage& stage : cut.stages) {
    EXPECT_EQ(std::count(stage.per_element.begin(), stage.per_element.end(), nest.beta_out), 0);
    EXPECT_EQ(std::count(stage.per_row.begin(), stage.per_row.end(), nest.beta_out), 0);
  }
}

TEST(Stages, AColumnFoldOfWhatNeedsAReductionStandsInTheStageBehindIt) {
  Nest nest;
  const uint32_t x = nest.load(), sum = nest.fold(Op::sum, x), share = nest.apply(Op::div, {x, sum}),
                 shares = nest.fold_columns(share);
  nest.store_per_column(shares);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 2u);
  EXPECT_EQ(cut.stages[1].column_folds, List{shares});
  EXPECT_EQ(cut.stages[1].per_element, (List{x, share, shares}));
}

TEST(Stages, DropoutDrawsPerElementAndItsRateIsAConstant) {
  Nest nest;
  const uint32_t x = nest.load(), bits = nest.random(), rate = nest.number(),
                 keeps = nest.apply(Op::less, {rate, bits}), scale = nest.number(),
                 scaled = nest.apply(Op::mul, {x, scale}), zero = nest.number(),
                 chosen = nest.apply(Op::where, {keeps, scaled, zero}), out = nest.store(chosen);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 1u);
  EXPECT_EQ(cut.constants, (List{rate, scale, zero}));
  EXPECT_EQ(cut.stages[0].per_element, (List{x, bits, keeps, scaled, chosen, out}));
  EXPECT_EQ(cut.values[bits].scope, Scope::element);
  EXPECT_EQ(cut.stages[0].last_reader[bits], keeps);
}

TEST(Stages, AReductionOfWhatIsDrawnDrawsAgainInTheNextStage) {
  Nest nest;
  const uint32_t bits = nest.random(), most = nest.fold(Op::max, bits), rest = nest.apply(Op::add, {bits, most}),
                 out = nest.store(rest);
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[1].per_element, (List{bits, rest, out}));
  EXPECT_EQ(cut.stages[1].first_time, (List{rest, out}));
}

TEST(Stages, AScopeSaysAlongWhatAValueChanges) {
  Nest nest;
  const uint32_t number = nest.number(), one = nest.load_one(), row = nest.load_per_row(),
                 column = nest.load_per_column(), element = nest.load();
  const uint32_t constants = nest.apply(Op::add, {number, one}), rows = nest.apply(Op::add, {row, one}),
                 columns = nest.apply(Op::add, {number, column}), grid = nest.apply(Op::add, {row, column}),
                 all = nest.apply(Op::add, {grid, element});
  for (const uint32_t i : {constants, rows, columns, all}) nest.store(i);
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.values[one].scope, Scope::constant);
  EXPECT_EQ(cut.values[constants].scope, Scope::constant);
  EXPECT_EQ(cut.values[row].scope, Scope::row);
  EXPECT_EQ(cut.values[rows].scope, Scope::row);
  EXPECT_EQ(cut.values[column].scope, Scope::column);
  EXPECT_EQ(cut.values[columns].scope, Scope::column);
  EXPECT_EQ(cut.values[grid].scope, Scope::element);
  EXPECT_EQ(cut.values[all].scope, Scope::element);
  EXPECT_EQ(cut.constants, (List{number, one, constants}));
}

TEST(Stages, WhatIsPaddingInSomeRowsIsNotTheSameInAll) {
  Nest nest;
  const uint32_t loaded = nest.load_per_column();
  IndexMap map({1, 8});
  map.apply(Move{Op::expand, ir::ShapeAttrs{{3, 8}}});
  map.apply(Move{Op::pad, ir::PadAttrs{{1, 0}, {0, 0}}});
  nest.code[loaded].map = map;
  nest.store(loaded);
  EXPECT_EQ(stages(nest).values[loaded].scope, Scope::element);
}

TEST(Stages, AReductionThatIsOnlyStoredEndsInAStageWithoutElements) {
  Nest nest;
  const uint32_t x = nest.load(), sum = nest.fold(Op::sum, x), out = nest.store_per_row(sum);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 2u);
  EXPECT_EQ(cut.stages[0].per_element, (List{x, sum}));
  EXPECT_EQ(cut.stages[1].per_element, List{});
  EXPECT_EQ(cut.stages[1].per_row, List{out});
}

TEST(Stages, IndependentReductionsShareAStage) {
  Nest nest;
  const uint32_t x = nest.load(), y = nest.load(), a = nest.fold(Op::sum, x), b = nest.fold(Op::max, y);
  nest.store_per_row(a);
  nest.store_per_row(b);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 2u);
  EXPECT_EQ(cut.stages[0].row_folds, (List{a, b}));
}

TEST(Stages, AnOutputThatTakesOverAnInputIsWrittenInTheLastStage) {
  Nest nest;
  const uint32_t x = nest.load(), twice = nest.apply(Op::add, {x, x}), most = nest.fold(Op::max, x),
                 out = nest.store(twice), sum_out = nest.store_per_row(most);
  EXPECT_EQ(stages(nest).stages[0].per_element, (List{x, twice, most, out}));
  nest.in_place = {0, ir::LoopNest::kFresh};
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[0].per_element, (List{x, most}));
  EXPECT_EQ(cut.stages[1].per_element, (List{x, twice, out}));
  EXPECT_EQ(cut.stages[1].per_row, List{sum_out});
}

TEST(Stages, WhatNoStoreNeedsIsNotDone) {
  Nest nest;
  const uint32_t x = nest.load(), unread = nest.apply(Op::exp, {x}), sum = nest.fold(Op::sum, unread),
                 number = nest.number(), out = nest.store(x);
  const Stages cut = stages(nest);
  ASSERT_EQ(cut.stages.size(), 1u);
  EXPECT_EQ(cut.stages[0].per_element, (List{x, out}));
  EXPECT_EQ(cut.constants, List{});
  for (const uint32_t i : {unread, sum, number}) EXPECT_EQ(cut.values[i].made, kNone);
}

TEST(Stages, ARowValueThatIsStoredForEveryElementIsReadByTheStore) {
  Nest nest;
  const uint32_t row = nest.load_per_row(), out = nest.store(row);
  const Stages cut = stages(nest);
  EXPECT_EQ(cut.stages[0].per_row, List{row});
  EXPECT_EQ(cut.stages[0].per_element, List{out});
  EXPECT_EQ(cut.values[row].last_reader, out);
  EXPECT_FALSE(cut.outlives_its_stage(row));
}

TEST(Stages, AnEmptySpaceIsCutLikeAnyOther) {
  for (const auto& [rows, elements] : {std::pair{0, 8}, std::pair{4, 0}, std::pair{0, 0}}) {
    const Softmax nest(rows, elements);
    const Stages cut = stages(nest);
    ASSERT_EQ(cut.stages.size(), 3u);
    EXPECT_EQ(cut.stages[2].first_time, (List{nest.result, nest.out}));
  }
}

TEST(Stages, ANestWithoutInstructionsHasOneEmptyStage) {
  const Stages cut = stages(Nest());
  ASSERT_EQ(cut.stages.size(), 1u);
  EXPECT_EQ(cut.stages[0].per_element, List{});
}

}  // namespace
}  // namespace tenon::codegen
