// Rows are slid by table; which moves are legal is computed from the nibbles of the whole board at once, which takes a
// fifth of the time that four slides would.

#include "tenon/rl/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "tenon/base/error.h"

namespace tenon::rl {
namespace {

constexpr int kRows = 1 << 16;
constexpr uint64_t kOnes = 0x1111111111111111;  // a bit in each cell

// What a row becomes, and what that scores: the same to both sides, because of three equal tiles either pair makes the
// same. Together, so that a row is one load.
struct Row {
  uint16_t left, right;
  uint32_t score;
};
using Rows = std::array<Row, kRows>;

uint16_t reversed(uint16_t row) {
  return static_cast<uint16_t>((row >> 12) | ((row >> 4) & 0x00F0) | ((row << 4) & 0x0F00) | (row << 12));
}

// Tiles slide to the low end; of three equal ones the two that come first merge, and what was merged does not again.
void fill(Rows& rows, uint32_t row) {
  uint32_t made = 0, score = 0;
  int at = 0;              // where the next tile comes to lie
  bool may_merge = false;  // with the tile before
  for (int cell = 0; cell < 4; ++cell) {
    const uint32_t tile = (row >> (4 * cell)) & 15;
    if (tile == 0) continue;
    if (may_merge && ((made >> (4 * (at - 1))) & 15) == tile && tile < kLargestExponent) {
      made += 1U << (4 * (at - 1));
      score += 2U << tile;
      may_merge = false;
      continue;
    }
    made |= tile << (4 * at++);
    may_merge = true;
  }
  const auto given = static_cast<uint16_t>(row);
  rows[given].left = static_cast<uint16_t>(made);
  rows[reversed(given)].right = reversed(static_cast<uint16_t>(made));
  rows[given].score = score;
}

const Rows& rows() {
  static const std::unique_ptr<const Rows> all = [] {
    auto made = std::make_unique<Rows>();
    for (uint32_t row = 0; row < kRows; ++row) fill(*made, row);
    return made;
  }();
  return *all;
}

// A bit in each cell that is not 0.
uint64_t filled(uint64_t cells) {
  cells |= cells >> 2;
  cells |= cells >> 1;
  return cells & kOnes;
}

// Ones in cells are counted by multiplying: a program for any x86-64 processor has no instruction for it.
constexpr uint64_t kLow = 0x0F0F0F0F0F0F0F0F, kBytes = 0x0101010101010101;
uint64_t count_ones(uint64_t ones) { return (((ones + (ones >> 4)) & kLow) * kBytes) >> 56; }

// In which cell the one with this number stands, counted from 0: behind as many cells as have no more ones up to and
// with them. No loop, whose end the processor could not guess; it took a third of a random move.
int place_of_one(uint64_t ones, uint64_t number) {
  const uint64_t so_far = ones * kOnes;  // in each cell; of 16 ones the last cell has lost the carry and is left out
  const uint64_t least = (16 + number) * kBytes;
  const uint64_t even = (least - (so_far & kLow)) & (16 * kBytes);
  const uint64_t odd = (least - ((so_far >> 4) & kLow)) & (16 * (kBytes >> 8));
  return static_cast<int>((((even >> 4) + (odd >> 4)) * kBytes) >> 56);
}

int exponent_of(int64_t tile, size_t cell) {
  if (tile == 0) return 0;
  const int exponent = tile > 0 ? std::countr_zero(static_cast<uint64_t>(tile)) : 0;
  if (exponent < 1 || exponent > kLargestExponent || tile != int64_t{1} << exponent)
    base::fail("2048", "cell {} of a board is {}, which is no tile; tiles are 0 (none) and powers of two from 2 to {}",
               cell, tile, 1 << kLargestExponent);
  return exponent;
}

// Apart, so that what cannot happen in a right program takes no registers of what does.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_choice() {
  base::fail("2048", "there is no move to choose from: the game is over");
}
[[noreturn, gnu::cold, gnu::noinline]] void refuse_move(Move move) {
  base::fail("2048", "{} is no move; moves are 0 (up) to 3 (left)", static_cast<int>(move));
}

}  // namespace

void refuse_cell(int cell) { base::fail("2048", "there is no cell {}; cells are 0 to {}", cell, kCells - 1); }

std::string_view name(Move move) {
  constexpr std::string_view kNames[] = {"up", "right", "down", "left"};
  if (static_cast<int>(move) >= kMoves) refuse_move(move);
  return kNames[static_cast<int>(move)];
}

std::string to_string(MoveSet moves) {
  std::string text;
  for (int m = 0; m < kMoves; ++m) {
    if (!contains(moves, static_cast<Move>(m))) continue;
    if (!text.empty()) text += ", ";
    text += name(static_cast<Move>(m));
  }
  return text.empty() ? "none" : text;
}

int Board::largest_exponent() const {
  int largest = 0;
  for (int cell = 0; cell < kCells; ++cell) largest = std::max(largest, exponent(cell));
  return largest;
}

Board board_of(std::span<const int64_t> tiles) {
  if (tiles.size() != kCells) base::fail("2048", "a board has {} cells, not {}", kCells, tiles.size());
  Board board;
  for (size_t cell = 0; cell < kCells; ++cell)
    board.cells |= static_cast<uint64_t>(exponent_of(tiles[cell], cell)) << (4 * cell);
  return board;
}

void require_possible(const Board& board) {
  const int tiles = std::popcount(filled(board.cells));
  if (tiles < 2) base::fail("2048", "a board has two tiles or more; this one has {}", tiles);
  const uint64_t no_2 = filled(board.cells ^ kOnes), no_4 = filled(board.cells ^ (2 * kOnes));
  if ((no_2 & no_4) != kOnes) return;
  base::fail("2048", "this board cannot be: the tile that appeared last is a 2 or a 4, and it has neither");
}

std::string to_string(const Board& board) {
  std::string text;
  for (int cell = 0; cell < kCells; ++cell) text += fmt::format("{:6}{}", board.tile(cell), cell % 4 == 3 ? "\n" : "");
  return text;
}

// The 2 x 2 blocks of the board are transposed inside, then swapped.
Board transposed(const Board& board) {
  const uint64_t x = board.cells;
  const uint64_t inside =
      (x & 0xF0F00F0FF0F00F0F) | ((x & 0x0000F0F00000F0F0) << 12) | ((x & 0x0F0F00000F0F0000) >> 12);
  return {(inside & 0xFF00FF0000FF00FF) | ((inside & 0x00FF00FF00000000) >> 24) |
          ((inside & 0x00000000FF00FF00) << 24)};
}

Board mirrored(const Board& board) {
  const uint64_t x = board.cells;
  const uint64_t pairs = ((x & 0xFF00FF00FF00FF00) >> 8) | ((x & 0x00FF00FF00FF00FF) << 8);
  return {((pairs & 0xF0F0F0F0F0F0F0F0) >> 4) | ((pairs & 0x0F0F0F0F0F0F0F0F) << 4)};
}

namespace {

// Without branches, which random moves would make the processor guess wrong every other time.
inline Slide slid_unchecked(const Board& board, Move move) {
  const Rows& all = rows();
  const bool is_vertical = move == Move::up || move == Move::down, to_right = move == Move::right || move == Move::down;
  const uint64_t cells = is_vertical ? transposed(board).cells : board.cells;
  Board made;
  uint32_t score = 0;
  for (int shift = 0; shift < 64; shift += 16) {
    const Row& row = all[static_cast<uint16_t>(cells >> shift)];
    made.cells |= static_cast<uint64_t>(to_right ? row.right : row.left) << shift;
    score += row.score;
  }
  return {is_vertical ? transposed(made) : made, static_cast<int>(score)};
}

// One of these cells.
inline Board with_tile_in(const Board& board, uint64_t empty, Random& random) {
  const uint64_t bits = random.next();
  // The high half picks the cell, the low half the tile.
  const uint64_t number = ((bits >> 32) * count_ones(empty)) >> 32;
  const bool is_four = (static_cast<uint32_t>(bits) * uint64_t{10}) >> 32 == 0;
  return {board.cells | uint64_t{is_four ? 2U : 1U} << (4 * place_of_one(empty, number))};
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_turn(const Board& board, Move move) {
  base::fail("2048", "{} is not a legal move; legal moves: {}", name(move), to_string(legal_moves(board)));
}

}  // namespace

Slide slid(const Board& board, Move move) {
  if (static_cast<int>(move) >= kMoves) refuse_move(move);
  return slid_unchecked(board, move);
}

// A move is legal where a tile has an empty cell before it, or where two neighbours along the way are equal.
MoveSet legal_moves(const Board& board) {
  constexpr uint64_t kNotFirst = 0x1110111011101110, kNotLast = kNotFirst >> 4;  // columns
  const uint64_t x = board.cells, tiles = filled(x);
  // Two 32768 do not merge.
  const uint64_t merging = tiles & ~(x & (x >> 1) & (x >> 2) & (x >> 3) & kOnes);
  const bool across = (merging & ~filled(x ^ (x >> 4)) & kNotLast) != 0;
  const bool along = (merging & ~filled(x ^ (x >> 16)) & (kOnes >> 16)) != 0;
  const bool left = across || (tiles & ~(tiles << 4) & kNotFirst) != 0;
  const bool right = across || (tiles & ~(tiles >> 4) & kNotLast) != 0;
  const bool up = along || (tiles & ~(tiles << 16) & (kOnes << 16)) != 0;
  const bool down = along || (tiles & ~(tiles >> 16) & (kOnes >> 16)) != 0;
  return static_cast<MoveSet>(up | (right << 1) | (down << 2) | (left << 3));
}

Board with_new_tile(const Board& board, Random& random) {
  const uint64_t empty = ~filled(board.cells) & kOnes;
  if (empty == 0) base::fail("2048", "no cell is empty: a new tile has no place");
  return with_tile_in(board, empty, random);
}

// Behind a legal move a cell is empty.
[[gnu::flatten]] Turn turn(const Board& board, Move move, Random& random) {
  const Slide slide = slid_unchecked(board, move);
  if ((slide.board == board) | (static_cast<int>(move) >= kMoves)) [[unlikely]]
    refuse_turn(board, move);
  const Board next = with_tile_in(slide.board, ~filled(slide.board.cells) & kOnes, random);
  return {next, slide.score, legal_moves(next)};
}

Board first_board(Random& random) { return with_new_tile(with_new_tile({}, random), random); }

Move any_of(MoveSet moves, Random& random) {
  struct List {
    std::array<Move, kMoves> moves{};
    uint32_t count = 0;
  };
  // The moves of each set, one after the other.
  static constexpr auto kListed = [] {
    std::array<List, 1 << kMoves> all{};
    for (int set = 0; set < 1 << kMoves; ++set) {
      for (int m = 0; m < kMoves; ++m) {
        if ((set >> m) & 1) all[set].moves[all[set].count++] = static_cast<Move>(m);
      }
    }
    return all;
  }();
  const List& list = kListed[moves & 15];
  if (list.count == 0) [[unlikely]]
    refuse_choice();
  return list.moves[((random.next() >> 32) * list.count) >> 32];
}

Move best_of(std::span<const float, kMoves> worth, MoveSet legal) {
  int best = -1;
  for (int m = 0; m < kMoves; ++m) {
    if (!contains(legal, static_cast<Move>(m))) continue;
    if (best < 0 || worth[m] > worth[best] || (std::isnan(worth[best]) && !std::isnan(worth[m]))) best = m;
  }
  if (best < 0) refuse_choice();
  return static_cast<Move>(best);
}

}  // namespace tenon::rl
