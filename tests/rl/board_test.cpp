// The rules of 2048: every row by table against a slow and obvious slide, whole boards likewise.

#include "tenon/rl/board.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "tenon/rl/games.h"
#include "tenon/rl/saved.h"
#include "tests/error_text.h"

namespace tenon::rl {
namespace {

using Grid = std::array<std::array<int, 4>, 4>;

// One line pushed towards its front: drop the gaps, merge from the front, fill up with gaps.
std::array<int, 4> pushed(const std::array<int, 4>& line, int& score) {
  std::vector<int> tiles;
  for (const int tile : line) {
    if (tile != 0) tiles.push_back(tile);
  }
  std::array<int, 4> made{};
  size_t at = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (i + 1 < tiles.size() && tiles[i] == tiles[i + 1] && tiles[i] < 32768) {
      made[at++] = 2 * tiles[i];
      score += 2 * tiles[i];
      ++i;
    } else {
      made[at++] = tiles[i];
    }
  }
  return made;
}

Grid grid_of(const Board& board) {
  Grid grid{};
  for (int cell = 0; cell < kCells; ++cell) grid[cell / 4][cell % 4] = board.tile(cell);
  return grid;
}

Grid slid_slowly(const Grid& grid, Move move, int& score) {
  Grid made{};
  for (int line = 0; line < 4; ++line) {
    std::array<int, 4> along{};
    const auto cell = [&](Grid& of, int i) -> int& {
      const int place = move == Move::right || move == Move::down ? 3 - i : i;
      return move == Move::left || move == Move::right ? of[line][place] : of[place][line];
    };
    Grid from = grid;
    for (int i = 0; i < 4; ++i) along[i] = cell(from, i);
    const std::array<int, 4> after = pushed(along, score);
    for (int i = 0; i < 4; ++i) cell(made, i) = after[i];
  }
  return made;
}

void expect_same_as_slow(const Board& board) {
  const Grid grid = grid_of(board);
  MoveSet legal = 0;
  for (int m = 0; m < kMoves; ++m) {
    int score = 0;
    const Grid slow = slid_slowly(grid, static_cast<Move>(m), score);
    const Slide fast = slid(board, static_cast<Move>(m));
    ASSERT_EQ(grid_of(fast.board), slow) << name(static_cast<Move>(m)) << " of\n" << to_string(board);
    ASSERT_EQ(fast.score, score) << name(static_cast<Move>(m)) << " of\n" << to_string(board);
    if (slow != grid) legal |= static_cast<MoveSet>(1 << m);
  }
  ASSERT_EQ(legal_moves(board), legal) << to_string(board);
}

Board any_board(Random& random, uint32_t exponents) {
  Board board;
  for (int cell = 0; cell < kCells; ++cell) board.cells |= static_cast<uint64_t>(random.below(exponents)) << (4 * cell);
  return board;
}

TEST(Board, EveryRowAndColumnSlidesAsTheRulesSay) {
  for (uint64_t row = 0; row < 65536; ++row) {
    Board lone{row};
    int score = 0;
    const Grid slow = slid_slowly(grid_of(lone), Move::left, score);
    const Slide fast = slid(lone, Move::left);
    ASSERT_EQ(grid_of(fast.board), slow) << row;
    ASSERT_EQ(fast.score, score) << row;
    int other = 0;
    ASSERT_EQ(grid_of(slid(lone, Move::right).board), slid_slowly(grid_of(lone), Move::right, other)) << row;
    ASSERT_EQ(slid(lone, Move::right).score, other) << row;
    const Board column = transposed(lone);
    int up = 0, down = 0;
    ASSERT_EQ(grid_of(slid(column, Move::up).board), slid_slowly(grid_of(column), Move::up, up)) << row;
    ASSERT_EQ(slid(column, Move::up).score, up) << row;
    ASSERT_EQ(grid_of(slid(column, Move::down).board), slid_slowly(grid_of(column), Move::down, down)) << row;
    ASSERT_EQ(slid(column, Move::down).score, down) << row;
    ASSERT_EQ(contains(legal_moves(lone), Move::left), grid_of(lone) != slow) << row;
  }
}

TEST(Board, AnyBoardSlidesAsTheRulesSay) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) expect_same_as_slow(any_board(random, 16));
  for (int i = 0; i < 3000; ++i) expect_same_as_slow(any_board(random, 3));  // many merges
}

TEST(Board, ThreeEqualTilesMergeAtTheFrontAndOnlyOnce) {
  EXPECT_EQ(slid({0x0111}, Move::left).board, (Board{0x0012}));
  EXPECT_EQ(slid({0x0111}, Move::right).board, (Board{0x2100}));
  EXPECT_EQ(slid({0x2211}, Move::left).board, (Board{0x0032}));  // 2 2 4 4 becomes 4 8, not 16
  EXPECT_EQ(slid({0x2211}, Move::left).score, 12);
}

TEST(Board, TheLargestTilesDoNotMerge) {
  EXPECT_EQ(slid({0x00FF}, Move::left).board, (Board{0x00FF}));
  EXPECT_FALSE(contains(legal_moves({0x00FF}), Move::left));
}

TEST(Board, IsOverWhenNothingMoves) {
  EXPECT_EQ(legal_moves({0x1212212112122121}), 0);
  EXPECT_EQ(to_string(legal_moves({0x1212212112122121})), "none");
}

TEST(Board, SymmetriesAreWhatTheyAreCalled) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const Board board = any_board(random, 16);
    const Grid grid = grid_of(board), turned = grid_of(transposed(board)), mirror = grid_of(mirrored(board));
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 4; ++column) {
        ASSERT_EQ(turned[column][row], grid[row][column]);
        ASSERT_EQ(mirror[row][3 - column], grid[row][column]);
      }
    }
  }
}

TEST(Board, NewTilesAppearInEmptyCellsAndAreFoursOnceInTen) {
  Random random(5);
  const Board board{0x1010101010101010};
  std::map<uint64_t, int> counts;
  int fours = 0;
  constexpr int kTimes = 8000;
  for (int i = 0; i < kTimes; ++i) {
    const uint64_t added = with_new_tile(board, random).cells ^ board.cells;
    ASSERT_EQ(std::popcount(added), 1);
    const int cell = std::countr_zero(added) / 4;
    ASSERT_EQ(board.exponent(cell), 0);
    fours += std::countr_zero(added) % 4 == 1;
    ++counts[static_cast<uint64_t>(cell)];
  }
  EXPECT_EQ(counts.size(), 8U);
  for (const auto& [cell, count] : counts) EXPECT_NEAR(count, kTimes / 8, 150) << cell;
  EXPECT_NEAR(fours, kTimes / 10, 120);
}

TEST(Board, AnyLegalMoveIsAsLikely) {
  Random random(6);
  std::map<Move, int> counts;
  for (int i = 0; i < 3000; ++i) ++counts[any_of(0b1011, random)];
  EXPECT_EQ(counts.count(Move::down), 0U);
  for (const auto& [move, count] : counts) EXPECT_NEAR(count, 1000, 120) << name(move);
}

TEST(Board, BoardsThatCannotBeAreRefused) {
  const auto with = [](int64_t tile) {
    std::vector<int64_t> tiles(16, 2);
    tiles[5] = tile;
    return tiles;
  };
  const std::string tail = ", which is no tile; tiles are 0 (none) and powers of two from 2 to 32768";
  EXPECT_EQ(text_of([&] { board_of(with(3)); }), "[2048] cell 5 of a board is 3" + tail);
  EXPECT_EQ(text_of([&] { board_of(with(1)); }), "[2048] cell 5 of a board is 1" + tail);
  EXPECT_EQ(text_of([&] { board_of(with(65536)); }), "[2048] cell 5 of a board is 65536" + tail);
  EXPECT_EQ(text_of([&] { board_of(with(-2)); }), "[2048] cell 5 of a board is -2" + tail);
  EXPECT_EQ(text_of([&] { board_of(std::vector<int64_t>(9, 2)); }), "[2048] a board has 16 cells, not 9");
  EXPECT_EQ(text_of([&] { require_possible({0x1}); }), "[2048] a board has two tiles or more; this one has 1");
  EXPECT_EQ(text_of([&] { require_possible({0x333}); }),
            "[2048] this board cannot be: the tile that appeared last is a 2 or a 4, and it has neither");
  EXPECT_EQ(board_of(with(2)).cells, 0x1111111111111111U);
}

TEST(Games, EachGameGoesItsOwnWayWhateverTheOthersDo) {
  const auto played = [](size_t count, size_t watched) {
    Games games(count, 11);
    Random random(1);
    while (!games.is_over(watched)) games.play(watched, any_of(games.legal(watched), random));
    return std::pair(games.board(watched), games.score(watched));
  };
  EXPECT_EQ(played(1, 0), played(8, 0));
  EXPECT_NE(played(8, 0), played(8, 1));
}

TEST(Games, PlayingAllIsPlayingEach) {
  Games together(4, 3), apart(4, 3);
  Random random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<Move> moves;
    for (size_t i = 0; i < 4; ++i) moves.push_back(any_of(together.legal(i), random));
    together.play(moves);
    for (size_t i = 0; i < 4; ++i) apart.play(i, moves[i]);
    for (size_t i = 0; i < 4; ++i) ASSERT_EQ(together.board(i), apart.board(i));
  }
}

TEST(Games, IllegalMovesAreRefusedBeforeAnythingMoves) {
  Games games(2, 1);
  games.set(0, {0x1212212112122121 & ~uint64_t{0xF}});  // only the first cell is empty
  games.set(1, {0x0012});
  const Board before = games.board(0);
  EXPECT_EQ(text_of([&] { games.play(0, Move::right); }),
            "[2048] right is not a legal move in game 0; legal moves: up, left");
  const Move both[] = {Move::up, Move::left};
  EXPECT_EQ(text_of([&] { games.play(both); }), "[2048] left is not a legal move in game 1; legal moves: right, down");
  EXPECT_EQ(games.board(0), before);
  EXPECT_EQ(text_of([&] { games.play(std::span(both, 1)); }), "[2048] 1 moves for 2 games");
  EXPECT_EQ(text_of([&] { games.set(0, {}); }), "[2048] a board has two tiles or more; this one has 0");
}

TEST(Games, GoOnFromASavedStateAsIfNothingHadHappened) {
  Games games(3, 9);
  Random random(4);
  const auto play = [](Games& all, Random chance, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (size_t g = 0; g < all.size(); ++g) {
        if (all.is_over(g)) all.restart(g);
        all.play(g, any_of(all.legal(g), chance));
      }
    }
  };
  play(games, random, 60);
  Games other(3, 1);
  other.load(games.state());
  play(games, random, 300);
  play(other, random, 300);
  for (size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(games.board(g), other.board(g));
    EXPECT_EQ(games.score(g), other.score(g));
    EXPECT_EQ(games.moves(g), other.moves(g));
  }
}

TEST(Board, WhatIsNoMoveAndNoCellIsRefused) {
  const Move none = static_cast<Move>(200), beyond = static_cast<Move>(4);
  const Board board{0x0012}, over{0x1212212112122121};
  Random random(1);
  EXPECT_EQ(text_of([&] { name(none); }), "[2048] 200 is no move; moves are 0 (up) to 3 (left)");
  EXPECT_EQ(text_of([&] { slid(board, beyond); }), "[2048] 4 is no move; moves are 0 (up) to 3 (left)");
  EXPECT_FALSE(contains(0xFF, none));
  EXPECT_FALSE(contains(0xFF, beyond));
  EXPECT_EQ(text_of([&] { (void)board.exponent(16); }), "[2048] there is no cell 16; cells are 0 to 15");
  EXPECT_EQ(text_of([&] { (void)board.tile(-1); }), "[2048] there is no cell -1; cells are 0 to 15");
  EXPECT_EQ(text_of([&] { with_new_tile(over, random); }), "[2048] no cell is empty: a new tile has no place");
  EXPECT_EQ(text_of([&] { turn(board, Move::left, random); }),
            "[2048] left is not a legal move; legal moves: right, down");
  EXPECT_EQ(text_of([&] { turn(over, Move::up, random); }), "[2048] up is not a legal move; legal moves: none");
  EXPECT_EQ(text_of([&] { any_of(0, random); }), "[2048] there is no move to choose from: the game is over");
  const std::array<float, kMoves> worth{}, partly{NAN, -3, NAN, -2};
  EXPECT_EQ(best_of(partly, 0xF), Move::left);
  EXPECT_EQ(best_of(std::array<float, kMoves>{NAN, NAN, NAN, NAN}, 0b1010), Move::right);
  EXPECT_EQ(text_of([&] { best_of(worth, 0); }), "[2048] there is no move to choose from: the game is over");
  EXPECT_EQ(text_of([&] { random.below(0); }),
            "[random] there is no number below 0 to draw; give a count of 1 or more");
}

TEST(Games, AGameThatIsNotThereIsRefused) {
  Games games(2, 1);
  const std::string expected = "[2048] there is no game 2; there are 2";
  EXPECT_EQ(text_of([&] { (void)games.board(2); }), expected);
  EXPECT_EQ(text_of([&] { (void)games.legal(2); }), expected);
  EXPECT_EQ(text_of([&] { (void)games.is_over(2); }), expected);
  EXPECT_EQ(text_of([&] { (void)games.score(2); }), expected);
  EXPECT_EQ(text_of([&] { (void)games.moves(2); }), expected);
  EXPECT_EQ(text_of([&] { games.play(2, Move::up); }), expected);
  EXPECT_EQ(text_of([&] { games.restart(2); }), expected);
  EXPECT_EQ(text_of([&] { games.set(2, {0x12}); }), expected);
  EXPECT_EQ(text_of([&] { games.play(0, static_cast<Move>(200)); }),
            "[2048] 200 is no move; moves are 0 (up) to 3 (left)");
  EXPECT_EQ(text_of([] { Games(SIZE_MAX, 1); }),
            "[2048] at most 268435456 games run beside each other, not 18446744073709551615");
}

TEST(Games, ADamagedStateIsRefused) {
  Games games(2, 9);
  NamedTensors state = games.state();
  state.erase("random");
  EXPECT_EQ(text_of([&] { games.load(state); }), "[2048] the saved state has no random");
  state = games.state();
  state["moves"] = saved(std::vector<int64_t>{1, -5});
  EXPECT_EQ(text_of([&] { games.load(state); }), "[2048] moves of the saved state holds -5, which is no count");
  state = games.state();
  state["boards"] = saved(std::vector<int64_t>{1, 0x12});
  EXPECT_EQ(text_of([&] { games.load(state); }), "[2048] a board has two tiles or more; this one has 1");
  EXPECT_EQ(text_of([&] { Games(3, 1).load(games.state()); }),
            "[2048] boards of the saved state is i64 (2,), not i64 (3,)");
}

}  // namespace
}  // namespace tenon::rl
