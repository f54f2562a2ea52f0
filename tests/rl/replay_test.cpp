// Replays, n-step returns and epsilon.

#include "tenon/rl/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>

#include "tests/error_text.h"

namespace tenon::rl {
namespace {

Transition numbered(int i) { return {{0x0012}, Move::right, static_cast<float>(i), 0.5F, {0x1200}}; }

TEST(Replay, KeepsTheNewestTransitions) {
  Replay replay({.capacity = 3});
  for (int i = 0; i < 5; ++i) replay.add(numbered(i));
  ASSERT_EQ(replay.size(), 3U);
  EXPECT_EQ(replay[0].reward, 3);  // in place of the oldest
  EXPECT_EQ(replay[1].reward, 4);
  EXPECT_EQ(replay[2].reward, 2);
}

TEST(Replay, DrawsEvenly) {
  Replay replay({.capacity = 10});
  for (int i = 0; i < 10; ++i) replay.add(numbered(i));
  Random random(1);
  std::vector<int> counts(10);
  Drawn drawn;
  replay.draw(10000, random, drawn);
  for (const size_t place : drawn.places) ++counts[place];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
  for (const float weight : drawn.weights) EXPECT_EQ(weight, 1);
}

TEST(Replay, DrawsByPriorityAndWeighsAgainstIt) {
  Replay replay({.capacity = 4, .priority_exponent = 1, .correction_exponent = 1});
  for (int i = 0; i < 4; ++i) replay.add(numbered(i));
  const size_t places[] = {0, 1, 2, 3};
  const float errors[] = {1, -2, 3, 4};
  replay.set_errors(places, errors);
  Random random(1);
  Drawn drawn;
  replay.draw(10000, random, drawn);
  std::vector<int> counts(4);
  for (size_t i = 0; i < drawn.places.size(); ++i) {
    ++counts[drawn.places[i]];
    EXPECT_NEAR(drawn.weights[i], 1 / std::abs(errors[drawn.places[i]]), 2e-3);
  }
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(counts[i], 1000 * (i + 1), 60);
}

TEST(Replay, NewTransitionsHaveTheLargestPriority) {
  Replay replay({.capacity = 4, .priority_exponent = 1});
  replay.add(numbered(0));
  const size_t first[] = {0};
  const float error[] = {999};
  replay.set_errors(first, error);
  replay.add(numbered(1));
  Random random(1);
  Drawn drawn;
  replay.draw(1000, random, drawn);
  EXPECT_NEAR(std::count(drawn.places.begin(), drawn.places.end(), 1U), 500, 2);
}

TEST(Replay, DrawsTheSameAfterItWasSavedAndLoaded) {
  for (const double exponent : {0.0, 0.7}) {
    Replay replay({.capacity = 20, .priority_exponent = exponent, .correction_exponent = 0.4});
    Random random(1);
    Drawn drawn;
    for (int i = 0; i < 33; ++i) {
      replay.add(numbered(i));
      replay.draw(4, random, drawn);
      const float errors[] = {static_cast<float>(i), 1, 0.1F, 7};
      replay.set_errors(drawn.places, errors);
    }
    Replay other({.capacity = 20, .priority_exponent = exponent, .correction_exponent = 0.4});
    other.load(replay.state());
    Random same = random;
    Drawn again;
    replay.draw(50, random, drawn);
    other.draw(50, same, again);
    EXPECT_EQ(drawn.places, again.places);
    EXPECT_EQ(drawn.weights, again.weights);
    replay.add(numbered(99));
    other.add(numbered(99));
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(replay[i], other[i]);
  }
}

TEST(Replay, RefusesWhatItCannotDo) {
  Random random(1);
  Drawn drawn;
  EXPECT_EQ(text_of([] { Replay({.capacity = 0}); }), "[replay] a replay of 0 transitions can hold nothing");
  EXPECT_EQ(text_of([&] { Replay({.capacity = 2}).draw(1, random, drawn); }),
            "[replay] there is nothing to draw from an empty replay");
  EXPECT_EQ(text_of([] { NStep(0, 0.9); }), "[replay] returns are over 1 move or more, not 0");
}

TEST(Replay, RefusesErrorsThatDoNotFitAndChangesNothing) {
  Replay replay({.capacity = 4, .priority_exponent = 1});
  for (int i = 0; i < 2; ++i) replay.add(numbered(i));
  const NamedTensors before = replay.state();
  const auto refused = [&](std::vector<size_t> places, std::vector<float> errors) {
    return text_of([&] { replay.set_errors(places, errors); });
  };
  EXPECT_EQ(refused({0, 2}, {9, 9}), "[replay] there is no transition 2; there are 2");
  EXPECT_EQ(refused({0, SIZE_MAX}, {9, 9}), "[replay] there is no transition 18446744073709551615; there are 2");
  EXPECT_EQ(refused({0, 1}, {9}), "[replay] 1 errors for 2 places");
  EXPECT_EQ(refused({0, 1}, {9, std::nanf("")}), "[replay] an error of nan has no priority");
  EXPECT_EQ(replay.state().at("priorities").to_bytes(), before.at("priorities").to_bytes());
  EXPECT_EQ(text_of([&] { (void)replay[2]; }), "[replay] there is no transition 2; there are 2");
}

TEST(Replay, RefusesATransitionThatCannotBe) {
  Replay replay({.capacity = 4});
  Transition one = numbered(0);
  one.move = static_cast<Move>(200);
  EXPECT_EQ(text_of([&] { replay.add(one); }), "[replay] a transition has move 200, not 0 to 3");
  one = numbered(0);
  one.reward = INFINITY;
  EXPECT_EQ(text_of([&] { replay.add(one); }),
            "[replay] a transition has reward inf; it must be a number of at most 1e+15");
  EXPECT_EQ(replay.size(), 0U);
}

TEST(Replay, RefusesSizesAndExponentsOutOfRange) {
  EXPECT_EQ(text_of([] { Replay({.capacity = SIZE_MAX, .priority_exponent = 1}); }),
            "[replay] a replay holds at most 100000000 transitions, not 18446744073709551615");
  EXPECT_EQ(text_of([] { Replay({.priority_exponent = INFINITY}); }), "[replay] exponents are 0 to 4, not inf");
  EXPECT_EQ(text_of([] { Replay({.correction_exponent = std::nan("")}); }), "[replay] exponents are 0 to 4, not nan");
  EXPECT_EQ(text_of([] { NStep(1, 1.5); }), "[replay] a discount is 0 to 1, not 1.5");
}

TEST(Replay, WeightsAreFiniteHoweverFarPrioritiesLieApart) {
  Replay replay({.capacity = 2, .priority_exponent = 4, .correction_exponent = 4});
  for (int i = 0; i < 2; ++i) replay.add(numbered(i));
  const size_t places[] = {0, 1};
  const float errors[] = {0, 1e30F};
  replay.set_errors(places, errors);
  Random random(1);
  Drawn drawn;
  replay.draw(8, random, drawn);
  for (const float weight : drawn.weights) EXPECT_TRUE(weight >= 0 && weight <= 1) << weight;
}

TEST(Replay, TakesNothingThatItWouldNotLoad) {
  Replay replay({.capacity = 3});
  EXPECT_EQ(text_of([&] {
              replay.add({{0x0012}, Move::left, 4, 0.5F, {0x1200}});
            }),
            "[replay] a transition has the move left, which is not legal on its board");
  EXPECT_EQ(text_of([&] {
              replay.add({{}, Move::left, 4, 0.5F, {0x1200}});
            }),
            "[2048] a board has two tiles or more; this one has 0");
  const Transition wild{{0x0012}, Move::right, 3e38F, 0.5F, {0x1200}};
  EXPECT_TRUE(text_of([&] { replay.add(wild); }).ends_with("; it must be a number of at most 1e+15"));
  EXPECT_EQ(text_of([&] {
              replay.add({{0x0012}, Move::right, 4, -1, {0x1200}});
            }),
            "[replay] a transition has discount -1; it must be 0 to 1");
  EXPECT_EQ(text_of([&] {
              replay.add({{0x0012}, Move::right, 4, 0.5F, {}});
            }),
            "[2048] a board has two tiles or more; this one has 0");
  EXPECT_EQ(replay.size(), 0U);
  replay.add(numbered(1));
  Random random(1);
  Drawn drawn;
  EXPECT_EQ(text_of([&] { replay.draw(SIZE_MAX, random, drawn); }),
            "[replay] at most 100000000 transitions are drawn, not 18446744073709551615");
}

TEST(NStep, KeepsNoMoveThatIsRefused) {
  Replay replay({.capacity = 10});
  NStep two(2, 0.9);
  EXPECT_EQ(text_of([&] { two.add({0x0012}, Move::left, 4, {0x1200}, false, replay); }),
            "[replay] a transition has the move left, which is not legal on its board");
  EXPECT_EQ(text_of([&] { two.add({0x0012}, Move::right, NAN, {0x1200}, false, replay); }),
            "[replay] a transition has reward nan; it must be a number of at most 1e+15");
  two.add({0x0012}, Move::right, 4, {0x1200}, true, replay);
  EXPECT_EQ(replay.size(), 1U);
}

TEST(Replay, RefusesADamagedState) {
  Replay replay({.capacity = 3, .priority_exponent = 0.5});
  for (int i = 0; i < 4; ++i) replay.add(numbered(i));
  const auto with = [&](const std::string& name, const Tensor& value) {
    NamedTensors state = replay.state();
    state[name] = value;
    return text_of([&] { Replay({.capacity = 3, .priority_exponent = 0.5}).load(state); });
  };
  EXPECT_EQ(with("moves", saved(std::vector<int64_t>{1, 4, 1})), "[replay] a transition has move 4, not 0 to 3");
  EXPECT_EQ(with("moves", saved(std::vector<int64_t>{1, 3, 1})),
            "[replay] a transition has the move left, which is not legal on its board");
  EXPECT_EQ(with("boards", saved(std::vector<int64_t>{0x12, 0x1, 0x12})),
            "[2048] a board has two tiles or more; this one has 1");
  EXPECT_EQ(with("position", saved(std::vector<int64_t>{3})),
            "[replay] the saved replay goes on at 3, which is no place of 3 transitions");
  EXPECT_EQ(with("rewards", saved(std::vector<int64_t>{1, 2, 3})),
            "[replay] rewards of the saved replay does not fit its 3 transitions");
  EXPECT_EQ(with("priorities", from_vector(std::vector<double>{1, -1, 1, 1}, {4})),
            "[replay] a priority of the saved replay is -1, not a number above 0");
  EXPECT_EQ(with("rewards", from_vector(std::vector<float>{1, INFINITY, 1}, {3})),
            "[replay] a transition has reward inf; it must be a number of at most 1e+15");
  EXPECT_EQ(text_of([&] { Replay({.capacity = 2}).load(replay.state()); }),
            "[replay] the saved replay holds 3 transitions, this one at most 2");
}

TEST(NStep, SumsRewardsAndHandsOverTheBoardBehindTheLast) {
  Replay replay({.capacity = 10});
  NStep three(3, 0.5);
  const Board boards[] = {{0x0012}, {0x0021}, {0x0112}, {0x0122}, {0x1122}};
  for (int i = 0; i < 4; ++i) three.add(boards[i], Move::right, 8 * (i + 1), boards[i + 1], i == 3, replay);
  ASSERT_EQ(replay.size(), 4U);  // at the end of a game all are whole
  EXPECT_EQ(replay[0], (Transition{boards[0], Move::right, 8 + 0.5F * 16 + 0.25F * 24, 0.125F, boards[3]}));
  EXPECT_EQ(replay[1], (Transition{boards[1], Move::right, 16 + 0.5F * 24 + 0.25F * 32, 0, boards[4]}));
  EXPECT_EQ(replay[2], (Transition{boards[2], Move::right, 24 + 0.5F * 32, 0, boards[4]}));
  EXPECT_EQ(replay[3], (Transition{boards[3], Move::right, 32, 0, boards[4]}));
}

TEST(NStep, OfOneMoveIsTheMove) {
  Replay replay({.capacity = 10});
  NStep one(1, 0.9);
  one.add({0x0012}, Move::right, 4, {0x1200}, false, replay);
  ASSERT_EQ(replay.size(), 1U);
  EXPECT_EQ(replay[0], (Transition{{0x0012}, Move::right, 4, 0.9F, {0x1200}}));
}

TEST(Exploration, FallsByAFactorOrInALineAndStaysAboveItsEnd) {
  const Exploration falling{.from = 1, .to = 0.1, .factor = 0.995};
  EXPECT_EQ(falling.at(0), 1);
  EXPECT_NEAR(falling.at(100), 0.60577, 1e-5);
  EXPECT_EQ(falling.at(100000), 0.1);
  const Exploration line{.from = 1, .to = 0, .over = 10};
  EXPECT_NEAR(line.at(5), 0.5, 1e-12);
  EXPECT_EQ(line.at(20), 0);
  EXPECT_EQ(text_of([&] { line.at(INT64_MIN); }),
            "[exploration] 0 episodes or more were played, not -9223372036854775808");
  EXPECT_EQ(text_of([&] { Exploration{.factor = 2}.at(5000); }),
            "[exploration] from, to and factor are shares from 0 to 1, not 2");
}

}  // namespace
}  // namespace tenon::rl
