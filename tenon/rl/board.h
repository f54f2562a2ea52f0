// A board of 2048 in 64 bits, and the rules of the game on it.
//
// Four bits a cell hold the exponent of its tile, 0 for none: row by row from the top left, the first cell in the
// lowest bits. A move looks each row up in a table of all 65,536. The largest tile is 32768; two of them do not merge.
//
//   Random random(1);
//   Board board = first_board(random);
//   const Slide slide = slid(board, Move::left);
//   if (slide.board != board) board = with_new_tile(slide.board, random);  // slide.score was gained

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/rl/random.h"

namespace tenon::rl {

enum class Move : uint8_t { up, right, down, left };
inline constexpr int kMoves = 4;
std::string_view name(Move move);

/// Moves as bits: bit m stands for Move m.
using MoveSet = uint8_t;
inline bool contains(MoveSet moves, Move move) {
  return static_cast<int>(move) < kMoves && ((moves >> static_cast<int>(move)) & 1) != 0;
}
/// "up, left"; "none".
std::string to_string(MoveSet moves);

inline constexpr int kCells = 16, kLargestExponent = 15;

[[noreturn]] void refuse_cell(int cell);

struct Board {
  uint64_t cells = 0;

  /// The exponent of the tile in a cell, 0 for none. Fails where there is no such cell.
  int exponent(int cell) const {
    if (cell < 0 || cell >= kCells) refuse_cell(cell);
    return static_cast<int>((cells >> (4 * cell)) & 15);
  }
  /// The tile itself: 0, 2, 4, ...
  int tile(int cell) const { return exponent(cell) == 0 ? 0 : 1 << exponent(cell); }
  int largest_exponent() const;
  bool operator==(const Board&) const = default;
};

/// A board of these tiles, row by row. Fails where one is not 0 or a power of two from 2 to 32768.
Board board_of(std::span<const int64_t> tiles);
/// Fails unless a game can come to stand so before a move: two tiles or more, of which the last one to appear is a 2 or
/// a 4.
void require_possible(const Board& board);
/// Four lines of tiles.
std::string to_string(const Board& board);

struct Slide {
  Board board;    // the afterstate: no new tile has appeared yet
  int score = 0;  // the sum of the tiles that were made by merging
};
/// All tiles pushed one way. A move that changes nothing is not legal. Like all below, fails with one line where it is
/// given what the comment excludes.
Slide slid(const Board& board, Move move);
/// The moves that change something; none when the game is over.
MoveSet legal_moves(const Board& board);

/// A new tile in an empty cell, any of which are equally likely: a 2, or a 4 once in ten. At least one cell is empty.
Board with_new_tile(const Board& board, Random& random);
/// A whole turn, all of the above at once: what slid, a new tile, and what is legal then. The move is legal.
struct Turn {
  Board board;
  int score = 0;
  MoveSet legal = 0;
};
Turn turn(const Board& board, Move move, Random& random);
/// An empty board with two new tiles.
Board first_board(Random& random);
/// One of these moves, any of which are equally likely. There is at least one.
Move any_of(MoveSet moves, Random& random);

/// The legal move that is worth most, the first of several; one whose worth is no number comes last. There is at least
/// one.
Move best_of(std::span<const float, kMoves> worth, MoveSet legal);

/// Rows become columns.
Board transposed(const Board& board);
/// Each row from right to left.
Board mirrored(const Board& board);

}  // namespace tenon::rl
