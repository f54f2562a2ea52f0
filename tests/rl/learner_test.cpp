// Learners: that they learn what they should, and go on bit for bit.

#include "tenon/rl/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "tenon/rl/afterstate_learner.h"
#include "tenon/rl/dqn.h"
#include "tenon/rl/games.h"
#include "tenon/rl/table_sharing.h"
#include "tenon/rl/tuple_learner.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::rl {
namespace {

// A config of every part at once.
DqnConfig full_config() {
  DqnConfig config;
  config.encoding = "one_hot";
  config.hidden = {16};
  config.batch = 8;
  config.replay = 64;
  config.priority_exponent = 0.6;
  config.correction_exponent = 0.4;
  config.n_step = 3;
  config.target_every = 2;
  config.double_q = config.legal_targets = true;
  config.learn_every = 16;
  config.epsilon_factor = 0.5;
  return config;
}

DqnConfig afterstates_config(int64_t games) {
  DqnConfig config;
  config.learner = "afterstates";
  config.hidden = {16, 8};
  config.games = games;
  config.lr_to = 1e-4;
  return config;
}

std::vector<Episode> played(Learner& learner, size_t episodes) {
  std::vector<Episode> ended;
  while (ended.size() < episodes) learner.play(ended);
  return ended;
}

std::vector<int64_t> scores(const std::vector<Episode>& episodes) {
  std::vector<int64_t> all;
  for (const Episode& one : episodes) all.push_back(one.score);
  return all;
}

// On `remote`, whose memory the host cannot see, numbers are those of the cpu.
TEST(Learner, PlaysTheSameGamesOnAnotherDevice) {
  DqnConfig tuples;
  tuples.learner = "tuples";
  tuples.games = 4;
  for (DqnConfig config : {full_config(), tuples, afterstates_config(4)}) {
    const auto here = make_learner(config);
    const std::vector<int64_t> expected = scores(played(*here, 6));
    config.device = "remote";
    const auto there = make_learner(config);
    EXPECT_EQ(scores(played(*there, 6)), expected) << config.learner;
    EXPECT_EQ(there->loss(), here->loss()) << config.learner;
    std::vector<Board> boards(3);
    for (size_t i = 0; i < boards.size(); ++i) boards[i].cells = 0x11 << 4 * i;
    std::vector<Move> a(3), b(3);
    here->choose(boards, a);
    there->choose(boards, b);
    EXPECT_EQ(a, b) << config.learner;
  }
  EXPECT_NE(text_of([] { make_learner({.device = "abacus"}); }).find("unknown device 'abacus'"), std::string::npos);
}

// Of f32 and i64 alike.
void expect_same_bits(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_EQ(tensor.to_bytes(), b.at(name).to_bytes()) << name;
}

NamedTensors copied(const NamedTensors& state) {
  NamedTensors copies;
  for (const auto& [name, tensor] : state) copies.emplace(name, tensor.clone().eval());
  return copies;
}

TEST(DqnLearner, GoesOnFromASavedStateBitForBit) {
  for (const DqnConfig& config : {DqnConfig{}, full_config(), afterstates_config(3)}) {
    const auto first = make_learner(config);
    played(*first, 5);
    const NamedTensors saved = copied(first->state());
    const auto second = make_learner(config);
    played(*second, 1);  // something else than at the beginning
    second->load(saved);
    EXPECT_EQ(scores(played(*first, 5)), scores(played(*second, 5)));
    EXPECT_EQ(first->epsilon(), second->epsilon());
    expect_same_bits(first->state(), second->state());
  }
}

// The functions are captured without the usual checks: here every replay is compared with the function, bit for bit.
TEST(DqnLearner, ReplaysWhatItsFunctionsCompute) {
  setenv("TENON_VERIFY_CAPTURE", "1", 1);
  for (const DqnConfig& config : {DqnConfig{}, full_config(), afterstates_config(3)}) {
    const auto learner = make_learner(config);
    EXPECT_NO_THROW(played(*learner, 3));
    EXPECT_NO_THROW(play_games(learner.get(), 1, 1));
  }
  unsetenv("TENON_VERIFY_CAPTURE");
}

TEST(Dqn, LearnsTheTargetOfItsDefinition) {
  // One transition that ends the game: the value of its move goes to its reward, those of the others stay.
  Dqn dqn({.encoding = Encoding::exponents, .hidden = {32}, .lr = 1e-2});
  Replay replay({.capacity = 1});
  const Board board{0x0012};
  replay.add({board, Move::right, 5, 0, {0x1200}});
  Random random(1);
  for (int i = 0; i < 400; ++i) dqn.learn(replay, random);
  std::array<float, kMoves> values{};
  dqn.values(board, values);
  EXPECT_NEAR(values[static_cast<int>(Move::right)], 5, 1e-2);
  EXPECT_LT(dqn.loss(), 1e-4);
  EXPECT_EQ(dqn.best(board, legal_moves(board)), Move::right);
}

TEST(Dqn, TargetsAddTheDiscountedValueOfTheNextBoard) {
  const Board board{0x0012}, next{0x1200};
  for (const bool has_target : {false, true}) {
    for (const bool double_q : {false, true}) {
      manual_seed(3);
      Dqn dqn({.encoding = Encoding::exponents,
               .hidden = {8},
               .lr = 1e-2,
               .batch = 1,
               .renew_target_every = has_target ? 1000 : 0,
               .double_q = double_q && has_target,
               .legal_targets = true});
      std::array<float, kMoves> now{}, behind{};
      dqn.values(board, now);
      dqn.values(next, behind);
      const Move best = best_of(behind, legal_moves(next));
      Replay replay({.capacity = 1});
      replay.add({board, Move::right, 2, 0.5F, next});
      Random random(1);
      dqn.learn(replay, random);  // the copy is still the network
      const double wrong = now[1] - (2 + 0.5 * behind[static_cast<int>(best)]);
      EXPECT_NEAR(dqn.loss(), wrong * wrong / kMoves, 1e-5);
    }
  }
}

TEST(Dqn, ValuesOfManyBoardsAreThoseOfEach) {
  Dqn dqn({.encoding = Encoding::one_hot, .hidden = {16}});
  Random random(1);
  std::vector<Board> boards;
  for (int i = 0; i < 70; ++i) boards.push_back(first_board(random));
  const std::vector<float> all = dqn.values(boards);
  for (const size_t i : {0U, 63U, 64U, 69U}) {
    std::array<float, kMoves> one{};
    dqn.values(boards[i], one);
    for (int m = 0; m < kMoves; ++m) EXPECT_NEAR(all[i * kMoves + m], one[m], 1e-5);
  }
}

TEST(Dqn, EncodesTilesExponentsAndOneHot) {
  const Board board{0x00000000000000B1};
  std::vector<float> to(256);
  encode(board, Encoding::tiles, to);
  EXPECT_EQ(to[0], 2);
  EXPECT_EQ(to[1], 2048);
  EXPECT_EQ(to[2], 0);
  encode(board, Encoding::exponents, to);
  EXPECT_EQ(to[1], 11);
  encode(board, Encoding::one_hot, to);
  EXPECT_EQ(to[16 + 11], 1);
  EXPECT_EQ(to[32], 1);
  EXPECT_EQ(std::count(to.begin(), to.end(), 1.0F), 16);
}

TEST(Dqn, RefusesTheStateOfAnotherNetworkAndStaysAsItWas) {
  Dqn small({.hidden = {8}}), large({.hidden = {16}});
  const NamedTensors before = copied(small.state());
  const std::string error = text_of([&] { small.load(large.state()); });
  EXPECT_NE(error.find("(16, 16)"), std::string::npos) << error;
  EXPECT_NE(error.find("(8, 16)"), std::string::npos) << error;
  expect_same_bits(before, small.state());
}

TEST(DqnLearner, LearnsToBeatRandomPlay) {
  DqnConfig config = full_config();
  config.hidden = {64};
  config.batch = 32;
  config.replay = 4000;
  config.learn_every = 4;
  config.target_every = 200;
  config.epsilon_factor = 0.9;
  config.epsilon_to = 0.02;
  const auto learner = make_learner(config);
  played(*learner, 40);
  const Summary random = summary_of(play_games(nullptr, 200, 5)),
                learned = summary_of(play_games(learner.get(), 200, 5));
  EXPECT_GT(learned.mean_score, 1.3 * random.mean_score);
}

// The network in plain loops.
double value_of(const NamedTensors& state, const Board& board) {
  std::vector<int32_t> places(BoardNetwork::kPairs);
  BoardNetwork::look_up(board, places);
  const std::vector<float> table = state.at("network.table").to_vector<float>();
  const auto relu = [](double x) { return std::max(x, 0.0); };
  std::vector<double> row;
  for (const float one : state.at("network.bias").to_vector<float>()) row.push_back(one);
  const size_t width = row.size();
  for (const int32_t place : places) {
    for (size_t i = 0; i < width; ++i) row[i] += table[static_cast<size_t>(place) * width + i];
  }
  for (const std::string layer : {"network.layers.1.", "network.layers.3."}) {
    const std::vector<float> weight = state.at(layer + "weight").to_vector<float>();
    std::vector<double> next;
    for (const float one : state.at(layer + "bias").to_vector<float>()) next.push_back(one);
    for (size_t o = 0; o < next.size(); ++o) {
      for (size_t i = 0; i < row.size(); ++i) next[o] += weight[o * row.size() + i] * relu(row[i]);
    }
    row = next;
  }
  return row[0];
}

// The error that it reports is that of its definition: what the best move is worth, less what the board before was.
TEST(Afterstates, TheErrorIsThatOfTheBestMoveAfterAnAfterstate) {
  AfterstateLearner learner(afterstates_config(1));
  std::vector<Episode> ended;
  learner.move_all(ended);  // which makes a first afterstate
  const Board before = learner.games().board(0);
  const NamedTensors state = copied(learner.state());
  // The afterstate that was moved to: that of the move whose slide leads to the board but for its new tile.
  double best = -1e30;
  for (int m = 0; m < kMoves; ++m) {
    const Slide slide = slid(before, static_cast<Move>(m));
    if (slide.board != before) best = std::max(best, slide.score * 1e-3 + value_of(state, slide.board));
  }
  Board moved_to;
  for (int cell = 0; cell < kCells; ++cell) {  // the one of the board's tiles that is new
    Board without = before;
    without.cells &= ~(uint64_t{15} << (4 * cell));
    std::vector<int32_t> places(BoardNetwork::kPairs);
    BoardNetwork::look_up(without, places);
    if (state.at("before").to_vector<int64_t>() == std::vector<int64_t>(places.begin(), places.end())) moved_to = without;
  }
  ASSERT_NE(moved_to.cells, 0U);
  learner.move_all(ended);
  const double wrong = std::abs(value_of(state, moved_to) - best);
  EXPECT_NEAR(learner.loss(), wrong < 1 ? 0.5 * wrong * wrong : wrong - 0.5, 1e-5);
}

TEST(Afterstates, SymmetricBoardsLookUpTheSamePlaces) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    Board board;
    for (int cell = 0; cell < kCells; ++cell) board.cells |= static_cast<uint64_t>(random.below(12)) << (4 * cell);
    const auto places_of = [](const Board& of) {
      std::vector<int32_t> places(BoardNetwork::kPairs);
      BoardNetwork::look_up(of, places);
      return places;
    };
    const auto expected = places_of(board);
    for (const Board& same : {transposed(board), mirrored(board), mirrored(transposed(mirrored(board)))})
      EXPECT_EQ(places_of(same), expected);
    for (int32_t pair = 0; pair < BoardNetwork::kPairs; ++pair) EXPECT_EQ(expected[static_cast<size_t>(pair)] >> 8, pair);
  }
}

TEST(Afterstates, LearnsToPlayFourTimesAsWellAsChanceInAFewGames) {
  DqnConfig config = afterstates_config(32);
  config.hidden = {32, 16};
  config.lr = 4e-3;
  config.lr_to = 1e-3;
  config.episodes = 120;
  const auto learner = make_learner(config);
  played(*learner, 120);
  const Summary random = summary_of(play_games(nullptr, 200, 5)),
                learned = summary_of(play_games(learner.get(), 100, 5));
  EXPECT_GT(learned.mean_score, 4 * random.mean_score);
}

TEST(Tuples, SymmetricBoardsHaveOneValue) {
  Random random(2);
  Board board;
  for (int cell = 0; cell < kCells; ++cell) board.cells |= static_cast<uint64_t>(random.below(12)) << (4 * cell);
  const auto sorted_places = [](const Board& of) {
    std::vector<int32_t> places(TupleNetwork::kLookups);
    TupleNetwork::look_up(of, places);
    std::sort(places.begin(), places.end());
    return places;
  };
  const auto expected = sorted_places(board);
  EXPECT_EQ(sorted_places(transposed(board)), expected);
  EXPECT_EQ(sorted_places(mirrored(board)), expected);
  EXPECT_EQ(sorted_places(mirrored(transposed(mirrored(board)))), expected);
}

TEST(Tuples, APlaceIsTheGroupAndItsSixCells) {
  std::vector<int32_t> places(TupleNetwork::kLookups);
  TupleNetwork::look_up({0xFEDCBA9876543210}, places);
  EXPECT_EQ(places[0], 0x543210);
  EXPECT_EQ(places[1], 0x1000000 | 0x987654);
  EXPECT_EQ(places[2], 0x2000000 | 0x654210);
  EXPECT_EQ(places[3], 0x3000000 | 0xA98654);
}

DqnConfig tuples_config(int64_t games) {
  DqnConfig config;
  config.learner = "tuples";
  config.games = games;
  config.episodes = 400;
  return config;
}

// A table in plain loops follows the moves of the learner: each is the best, and both come to the same values.
TEST(TupleLearner, LearnsByTheRuleOfItsDefinition) {
  TupleLearner learner(tuples_config(1));
  std::map<int32_t, double> table;
  const auto places_of = [](const Board& board) {
    std::vector<int32_t> places(TupleNetwork::kLookups);
    TupleNetwork::look_up(board, places);
    return places;
  };
  const auto value = [&](const std::vector<int32_t>& places) {
    double sum = 0;
    for (const int32_t place : places) sum += table[place];
    return sum;
  };
  std::vector<int32_t> before;
  std::vector<Episode> ended;
  while (ended.size() < 3) {
    const Board board = learner.games().board(0);
    const bool is_over = learner.games().is_over(0);
    learner.move_all(ended);
    const Board next = learner.games().board(0);
    double best = -1e30, made = -1e30;  // of all moves, and of those that lead to the next board
    std::vector<int32_t> after;
    for (int m = 0; m < kMoves; ++m) {
      const Slide slide = slid(board, static_cast<Move>(m));
      if (slide.board == board) continue;
      const double worth = slide.score + value(places_of(slide.board));
      best = std::max(best, worth);
      const uint64_t added = slide.board.cells ^ next.cells;
      const bool leads_there = std::popcount(added) == 1 && (slide.board.cells & added) == 0;
      if (!leads_there || worth <= made) continue;
      made = worth;
      after = places_of(slide.board);
    }
    if (!is_over) {
      ASSERT_NEAR(made, best, 1e-2) << to_string(board);
    }
    if (!before.empty()) {
      const double change = 0.1 / TupleNetwork::kLookups * ((is_over ? 0 : best) - value(before));
      for (const int32_t place : before) table[place] += change;
    }
    before = is_over ? std::vector<int32_t>() : after;
  }
  const Tensor learned = dynamic_cast<TupleNetwork&>(learner.network()).table;
  std::vector<int32_t> places;
  for (const auto& [place, number] : table) {
    if (number != 0) places.push_back(place);
  }
  const std::vector<float> numbers =
      index_select(learned, 0, from_vector(places, {std::ssize(places)})).to_vector<float>();
  for (size_t i = 0; i < places.size(); ++i) ASSERT_NEAR(numbers[i], table[places[i]], 1e-2) << places[i];
  EXPECT_NEAR((learned != 0).sum().item<int64_t>(), std::ssize(places), 50);  // and nothing else was touched
}

TEST(TupleLearner, GoesOnFromASavedStateBitForBitAndLearns) {
  const auto first = make_learner(tuples_config(8));
  const std::vector<Episode> early = played(*first, 40);
  const NamedTensors saved = copied(first->state());
  const std::vector<Episode> later = played(*first, 360);
  EXPECT_GT(summary_of(std::span(later).last(100)).mean_score, 2 * summary_of(early).mean_score);
  const Summary learned = summary_of(play_games(first.get(), 50, 3));
  EXPECT_GT(learned.mean_score, 3 * summary_of(play_games(nullptr, 200, 3)).mean_score);
  const auto second = make_learner(tuples_config(8));
  second->load(saved);
  EXPECT_EQ(scores(played(*second, 360)), scores(later));
  expect_same_bits(first->state(), second->state());
}

TEST(TableSharing, AGameLearnsOnePartOfAsManyAsMeetAtItsPlaces) {
  TableSharing sharing(3, 4);
  const auto add = [&](size_t game, std::vector<int32_t> places) { sharing.add(game, places); };
  add(0, {1, 2, 3, 3});  // meets nobody at 1, one at 2, two at 3
  add(1, {2, 3, 8, 9});
  add(2, {3, 10, 11, 12});
  EXPECT_EQ(sharing.share(0), 4.0 / (1 + 2 + 3 + 3));
  EXPECT_EQ(sharing.share(1), 4.0 / (2 + 3 + 1 + 1));
  sharing.clear();
  add(0, {1, 2, 3, 3});
  EXPECT_EQ(sharing.share(0), 1);
  EXPECT_EQ(text_of([&] { add(3, {1, 2, 3, 4}); }), "[2048] there is no game 3; there are 3");
}

// Changes of games that stand alike add up; with 32 and more of them values once grew without end.
TEST(TupleLearner, LearnsWithManyGamesBesideEachOther) {
  DqnConfig config = tuples_config(256);
  config.episodes = 600;
  config.rate = config.rate_to = 0.5;
  const auto learner = make_learner(config);
  played(*learner, 600);
  EXPECT_LT(learner->loss(), 1e6);
  const Summary learned = summary_of(play_games(learner.get(), 50, 3));
  EXPECT_GT(learned.mean_score, 3 * summary_of(play_games(nullptr, 200, 3)).mean_score);
}

NamedTensors with_number(NamedTensors state, const std::string& name, float number) {
  std::vector<float> numbers = state.at(name).to_vector<float>();
  numbers[numbers.size() / 2] = number;
  state[name] = from_vector(numbers, state.at(name).shape());
  return state;
}

TEST(TupleLearner, ValuesWithoutEndAreTold) {
  TupleLearner learner(tuples_config(2));
  std::vector<Episode> ended;
  learner.move_all(ended);
  dynamic_cast<TupleNetwork&>(learner.network()).table.fill_(1e15F);
  EXPECT_THROW(learner.play(ended), Diverged);
  dynamic_cast<TupleNetwork&>(learner.network()).table.fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(learner.play(ended), Diverged);
  const NamedTensors state = learner.state();
  EXPECT_EQ(first_not_finite(state), "network.table");
  EXPECT_EQ(text_of([&] { TupleLearner(tuples_config(2)).load(state); }),
            "[2048] network.table of the saved state holds numbers that are not finite");
}

TEST(Learner, StaysAsItWasWhereAStateIsRefused) {
  for (const DqnConfig& config : {full_config(), tuples_config(2), afterstates_config(2)}) {
    const auto learner = make_learner(config), other = make_learner(config);
    played(*learner, 2);
    played(*other, 4);
    const NamedTensors before = copied(learner->state());
    NamedTensors damaged = copied(other->state());
    damaged.erase(std::find_if(damaged.begin(), damaged.end(),
                               [](const auto& one) { return one.first.starts_with("network."); }));
    EXPECT_THROW(learner->load(damaged), Error);
    expect_same_bits(before, learner->state());
    NamedTensors counted = copied(other->state());
    counted["games.scores"] =
        saved(std::vector<int64_t>(static_cast<size_t>(counted["games.scores"].numel()), INT64_MAX));
    EXPECT_THROW(learner->load(counted), Error);
  }
}

TEST(Dqn, WhatIsNotFiniteIsToldWhereItIsRead) {
  Dqn dqn({.hidden = {8}, .batch = 4});
  Replay replay({.capacity = 4, .priority_exponent = 1});
  replay.add(Transition{{0x0012}, Move::right, 4, 0, {0x1200}});
  {
    const NoGrad by_hand;
    dqn.network().parameters().back().fill_(std::numeric_limits<float>::quiet_NaN());
  }
  Random random(1);
  EXPECT_THROW(dqn.learn(replay, random), Diverged);
}

TEST(DqnLearner, KnowsWhetherWhatItLearnedIsFinite) {
  const auto learner = make_learner(full_config());
  EXPECT_TRUE(learner->is_finite());  // before anything was learned
  played(*learner, 2);
  EXPECT_TRUE(learner->is_finite());
  const NoGrad by_hand;
  learner->network().parameters()[0].fill_(INFINITY);
  EXPECT_FALSE(learner->is_finite());
}

TEST(Dqn, RefusesAStateThatIsNotFinite) {
  Dqn dqn({.hidden = {8}});
  const NamedTensors state = copied(dqn.state());
  EXPECT_EQ(text_of([&] { dqn.load(with_number(state, "network.0.weight", INFINITY)); }),
            "[2048] network.0.weight of the saved state holds numbers that are not finite");
  EXPECT_EQ(text_of([&] { dqn.load(with_number(state, "optimizer.0.exp_avg_sq", -1)); }),
            "[2048] 0.exp_avg_sq of the saved optimizer holds numbers below 0");
  NamedTensors counted = state;
  counted["steps"] = saved(std::vector<int64_t>{-1});
  EXPECT_EQ(text_of([&] { dqn.load(counted); }), "[2048] steps of the saved state holds -1, which is no count");
  expect_same_bits(state, dqn.state());
}

TEST(Dqn, RefusesOptionsThatCannotBe) {
  EXPECT_EQ(text_of([] { Dqn({.batch = 0}); }), "[2048] a batch is 1 to 65536, not 0");
  EXPECT_EQ(text_of([] { Dqn({.hidden = {8, -1}}); }), "[2048] the width of a hidden layer is 1 to 65536, not -1");
  EXPECT_EQ(text_of([] { Dqn({.hidden = {}}); }), "[2048] a network has one hidden layer or more, not none");
  EXPECT_EQ(text_of([] { Dqn({.lr = std::nan("")}); }), "[2048] a learning rate is above 0 and at most 1, not nan");
  EXPECT_EQ(text_of([] { Dqn({.renew_target_every = -1}); }),
            "[2048] targets are renewed after 1 step or more, or 0 for never, not -1");
  EXPECT_EQ(text_of([] { Dqn({.double_q = true}); }),
            "[2048] double_q needs a second network; set renew_target_every, too");
  EXPECT_EQ(text_of([] { Dqn({.encoding = static_cast<Encoding>(7)}); }), "[2048] there is no encoding 7");
  const std::string error = text_of([] { Dqn({.hidden = std::vector<int64_t>(16, 65536)}); });
  EXPECT_TRUE(error.starts_with("[2048] a network of 64")) << error;
  EXPECT_TRUE(error.ends_with(" MB are free; lower hidden or batch")) << error;
}

TEST(Dqn, RefusesRoomThatIsTooSmallAndABoardWithoutMoves) {
  std::vector<float> room(255);
  EXPECT_EQ(text_of([&] { encode({}, Encoding::one_hot, room); }),
            "[2048] a board is 256 numbers, and there is room for 255");
  EXPECT_EQ(text_of([&] { encode({}, static_cast<Encoding>(9), room); }), "[2048] there is no encoding 9");
  Dqn dqn({.hidden = {8}});
  EXPECT_EQ(text_of([&] { dqn.best({0x12}, 0); }), "[2048] there is no move to choose from: the game is over");
}

TEST(Learner, ChoosesOnlyWhereThereIsAMoveAndRoomForIt) {
  const Board over{0x1212212112122121}, goes_on{0x0012};
  ASSERT_EQ(legal_moves(over), 0);
  for (const DqnConfig& config : {full_config(), tuples_config(1), afterstates_config(1)}) {
    const auto learner = make_learner(config);
    std::vector<Board> boards{goes_on, over};
    std::vector<Move> moves(2);
    EXPECT_EQ(text_of([&] { learner->choose(boards, moves); }), "[2048] board 1 has no legal move: its game is over");
    boards[1] = goes_on;
    EXPECT_EQ(text_of([&] { learner->choose(boards, std::span(moves).first(1)); }),
              "[2048] there is room for 1 moves on 2 boards");
    EXPECT_EQ(text_of([&] { learner->choose(boards, moves); }), "nothing was thrown");
    EXPECT_EQ(text_of([&] { learner->load({}); }).substr(0, 28), "[2048] the saved state has n");
  }
}

TEST(Learner, AConfigOfTheProgramIsCheckedAsOneOfAFileIs) {
  const auto error = [](const auto& change) {
    DqnConfig config;
    change(config);
    return text_of([&] { make_learner(config); });
  };
  EXPECT_EQ(error([](DqnConfig& c) { c.lr = std::nan(""); }),
            "[config] config: lr is nan; it must be a number from 0 to 1");
  EXPECT_EQ(error([](DqnConfig& c) { c.lr = 0; }),
            "[config] config: lr is 0, with which nothing is learned; set it above 0");
  EXPECT_EQ(error([](DqnConfig& c) { c.batch = -1; }),
            "[config] config: batch is -1; it must be a whole number from 1 to 65536");
  EXPECT_EQ(error([](DqnConfig& c) { c.hidden = {0}; }),
            "[config] config: hidden is 0; it must be a whole number from 1 to 65536");
  EXPECT_EQ(error([](DqnConfig& c) { c.encoding = "x"; }),
            "[config] config: encoding is \"x\"; it must be one of tiles, exponents, one_hot");
  const auto of_tuples = [&](const auto& change) {
    return error([&](DqnConfig& c) {
      c.learner = "tuples";
      change(c);
    });
  };
  EXPECT_EQ(of_tuples([](DqnConfig& c) { c.games = -1; }),
            "[config] config: games is -1; it must be a whole number from 1 to 65536");
  EXPECT_EQ(of_tuples([](DqnConfig& c) { c.rate = c.rate_to = 0; }),
            "[config] config: rate and rate_to are 0, with which nothing is learned; set one above 0");
  EXPECT_EQ(text_of([] { TupleLearner{DqnConfig{}}; }),
            "[config] this is a learner of the kind tuples, and the config asks for dqn");
}

TEST(PlayGames, StopsWhenAsked) {
  int asked = 0;
  EXPECT_TRUE(play_games(nullptr, 20, 6, [&] { return ++asked > 3; }).empty());
  EXPECT_EQ(asked, 4);
}

TEST(Summary, RefusesATileThatIsNone) {
  const Episode high[] = {{100, 10, 16}}, low[] = {{100, 10, -1}};
  EXPECT_EQ(text_of([&] { summary_of(high); }), "[2048] a game ended with the tile 2^16; tiles are 2^0 to 2^15");
  EXPECT_EQ(text_of([&] { summary_of(low); }), "[2048] a game ended with the tile 2^-1; tiles are 2^0 to 2^15");
  Summary sum;
  sum.by_tile.assign(100, 1);
  EXPECT_EQ(sum.reached(2), 0.99);
}

TEST(Tuples, RefusesPlacesOfAnotherNumberAndWorthWithoutEnd) {
  std::vector<int32_t> places(31);
  EXPECT_EQ(text_of([&] { TupleNetwork::look_up({}, places); }), "[2048] a board has 32 places in the table, not 31");
  EXPECT_EQ(text_of([] { TupleNetwork network(INFINITY); }),
            "[2048] boards cannot be worth inf at first; give a number");
  const TupleNetwork network;
  EXPECT_EQ(text_of([&] {
              network.forward(zeros({2, 31}, Options(DType::i32)));
            }),
            "[2048] places are (..., 32), not (2, 31)");
}

TEST(PlayGames, AGameIsTheSameAmongOthers) {
  const std::vector<Episode> few = play_games(nullptr, 2, 6), many = play_games(nullptr, 20, 6);
  EXPECT_EQ(few[1].score, many[1].score);
  EXPECT_NE(many[0].score, many[1].score);
  EXPECT_EQ(text_of([] { play_games(nullptr, 0, 1); }), "[2048] play 1 game or more, not 0");
}

TEST(Summary, CountsTilesFromBelow) {
  const Episode games[] = {{100, 10, 9}, {300, 30, 11}, {200, 20, 10}};
  const Summary sum = summary_of(games);
  EXPECT_EQ(sum.mean_score, 200);
  EXPECT_EQ(sum.mean_moves, 20);
  EXPECT_EQ(sum.best_score, 300);
  EXPECT_NEAR(sum.reached(1024), 2.0 / 3, 1e-12);
  EXPECT_NEAR(sum.reached(2048), 1.0 / 3, 1e-12);
  EXPECT_EQ(sum.reached(4096), 0);
}

TEST(DqnConfig, PresetsAreWhatTheyAreCalled) {
  ASSERT_EQ(dqn_presets().size(), 3U);
  const DqnConfig reference = parse_dqn_config(find_dqn_preset("dqn2048_reference")->json, "dqn2048_reference");
  EXPECT_EQ(reference.learner, "dqn");
  EXPECT_EQ(reference.hidden, (std::vector<int64_t>{64, 64}));
  EXPECT_EQ(reference.replay, 1000);
  EXPECT_EQ(reference.target_every, 0);
  EXPECT_EQ(parse_dqn_config(find_dqn_preset("dqn2048")->json, "dqn2048").learner, "afterstates");
  EXPECT_EQ(parse_dqn_config(find_dqn_preset("tuples2048")->json, "tuples2048").learner, "tuples");
  EXPECT_EQ(find_dqn_preset("dqn"), nullptr);
}

TEST(DqnConfig, KeysAreInTheDocs) {
  std::ifstream file(TENON_SOURCE_DIR "/docs/2048.md");
  const std::string docs((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(docs.find(dqn_config_markdown()), std::string::npos) << dqn_config_markdown();
}

TEST(DqnConfig, ReadsWhatItPrints) {
  const DqnConfig config = full_config();
  EXPECT_EQ(parse_dqn_config(to_json(config), "again"), config);
}

TEST(DqnConfig, RefusesWhatDoesNotFit) {
  const auto error = [](const char* json) { return text_of([&] { parse_dqn_config(json, "my.json"); }); };
  EXPECT_EQ(error(R"({"episode": 3})"), "[config] my.json: there is no key episode; did you mean episodes?");
  EXPECT_EQ(error(R"({"learner": "sarsa"})"), "[config] my.json: learner is \"sarsa\"; it must be one of dqn, afterstates, tuples");
  EXPECT_EQ(error(R"({"batch": 0})"), "[config] my.json: batch is 0; it must be a whole number from 1 to 65536");
  EXPECT_EQ(error(R"({"double_q": true})"), "[config] my.json: double_q needs a second network; set target_every, too");
  EXPECT_EQ(error(R"({"games": 4})"), "[config] my.json: games has no effect where learner is dqn; leave it away");
  EXPECT_EQ(error(R"({"rate": 0.1})"), "[config] my.json: rate has no effect where learner is dqn; leave it away");
  EXPECT_EQ(error(R"({"lr": 0.1, "batch": 4, "lr": 0.2})"), "[config] my.json: lr stands there twice; leave one away");
  EXPECT_EQ(error(R"({"epsilon_from": 0.05})"),
            "[config] my.json: epsilon_from is 0.05, below epsilon_to, which is 0.1, and epsilon never rises; lower "
            "epsilon_to");
  EXPECT_EQ(error(R"({"batch": 2000})"), "[config] my.json: a batch of 2000 does not fit a replay of 1000");
  EXPECT_EQ(error(R"([1])"), "[config] my.json: is no JSON object of keys");
  DqnConfig config;
  set(config, "hidden=32,16");
  EXPECT_EQ(config.hidden, (std::vector<int64_t>{32, 16}));
  EXPECT_EQ(text_of([&] { set(config, "lr=fast"); }),
            "[config] --set: lr is \"fast\"; it must be a number from 0 to 1");
  EXPECT_EQ(text_of([&] { set(config, "lr"); }), "[config] --set lr: write KEY=VALUE");
  EXPECT_EQ(text_of([&] { set(config, "description=\xff"); }),
            "[config] --set: description is \"\\xff\"; it must be a text in UTF-8");
  DqnConfig other = config;
  other.seed = 2;
  other.episodes = 5;
  EXPECT_EQ(difference(config, other), "seed (1, now 2)");
}

}  // namespace
}  // namespace tenon::rl
