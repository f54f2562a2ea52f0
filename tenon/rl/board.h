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

/// Where the tiles are pushed.
enum class Move : uint8_t { up, right, down, left };
/// How many moves there are.
inline constexpr int kMoves = 4;
/// "up", "right", "down", "left".
///   rl::name(rl::Move::left);  // left
std::string_view name(Move move);

/// Moves as bits: bit m stands for Move m.
using MoveSet = uint8_t;
/// Whether a move is among these.
///   rl::contains(0b0001, rl::Move::up);  // true
inline bool contains(MoveSet moves, Move move) {
  return static_cast<int>(move) < kMoves && ((moves >> static_cast<int>(move)) & 1) != 0;
}
/// "up, left"; "none".
///   rl::to_string(rl::MoveSet(0b1001));  // up, left
std::string to_string(MoveSet moves);

/// Cells of a board, and the exponent of the largest tile.
inline constexpr int kCells = 16, kLargestExponent = 15;

[[noreturn]] void refuse_cell(int cell);

/// A board of 4 by 4 cells.
///   rl::Board empty_board;
///   empty_board.tile(0);  // 0
struct Board {
  uint64_t cells = 0;  // four bits each, row by row

  /// The exponent of the tile in a cell, 0 for none. Fails where there is no such cell.
  int exponent(int cell) const {
    if (cell < 0 || cell >= kCells) refuse_cell(cell);
    return static_cast<int>((cells >> (4 * cell)) & 15);
  }
  /// The tile itself: 0, 2, 4, ...
  int tile(int cell) const { return exponent(cell) == 0 ? 0 : 1 << exponent(cell); }
  /// The exponent of the largest tile.
  int largest_exponent() const;
  bool operator==(const Board&) const = default;
};

/// A board of these tiles, row by row. Fails where one is not 0 or a power of two from 2 to 32768.
///   const std::vector<int64_t> tiles = {2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
///   rl::board_of(tiles).tile(1);  // 2
Board board_of(std::span<const int64_t> tiles);
/// Fails unless a game can come to stand so before a move: two tiles or more, of which the last one to appear is a 2 or
/// a 4.
///   rl::require_possible(board);
void require_possible(const Board& board);
/// Four lines of tiles.
///   std::cout << rl::to_string(board);
std::string to_string(const Board& board);

/// What a move makes of a board.
struct Slide {
  Board board;    // the afterstate: no new tile has appeared yet
  int score = 0;  // the sum of the tiles that were made by merging
};
/// All tiles pushed one way. A move that changes nothing is not legal. Like all below, fails with one line where it is
/// given what the comment excludes.
///   const std::vector<int64_t> tiles = {2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
///   rl::slid(rl::board_of(tiles), rl::Move::left).score;  // 4
Slide slid(const Board& board, Move move);
/// The moves that change something; none when the game is over.
///   const rl::MoveSet legal = rl::legal_moves(board);
MoveSet legal_moves(const Board& board);

/// A new tile in an empty cell, any of which are equally likely: a 2, or a 4 once in ten. At least one cell is empty.
///   rl::Board next = rl::with_new_tile(board, random);
Board with_new_tile(const Board& board, Random& random);
/// A whole turn, all of the above at once: what slid, a new tile, and what is legal then. The move is legal.
struct Turn {
  Board board;
  int score = 0;
  MoveSet legal = 0;  // moves on the new board
};
/// The new board with its tile, what the move scored, and the moves that are legal then.
///   const rl::Move move = rl::any_of(rl::legal_moves(board), random);
///   board = rl::turn(board, move, random).board;
Turn turn(const Board& board, Move move, Random& random);
/// An empty board with two new tiles.
///   rl::Board first = rl::first_board(random);
Board first_board(Random& random);
/// One of these moves, any of which are equally likely. There is at least one.
///   const rl::Move move = rl::any_of(rl::legal_moves(board), random);
Move any_of(MoveSet moves, Random& random);

/// The legal move that is worth most, the first of several; one whose worth is no number comes last. There is at least
/// one.
///   const std::array<float, 4> worth = {1, 3, 2, 0};
///   rl::name(rl::best_of(worth, 0b1111));  // right
Move best_of(std::span<const float, kMoves> worth, MoveSet legal);

/// Rows become columns.
///   rl::transposed(rl::transposed(board)) == board;  // true
Board transposed(const Board& board);
/// Each row from right to left.
///   rl::mirrored(rl::mirrored(board)) == board;  // true
Board mirrored(const Board& board);

}  // namespace tenon::rl
