// Values of 2048 looked up by groups of cells and summed (Szubert and Jaśkowski 2014), learned by temporal differences.
//
// A board is looked at in its eight symmetries; in each, four groups of six cells pick one number each from tables of
// 16^6, and the 32 numbers are summed. What is valued are afterstates, the boards between a move and the tile that
// appears: Q(board, move) = score of the move + V(afterstate), so that choosing a move needs no search. After a move,
// V(afterstate) goes a little towards the Q of the best move that follows, and all 32 numbers share the change.
//
//   TupleNetwork network;
//   std::vector<int32_t> places(TupleNetwork::kLookups);
//   TupleNetwork::look_up(slide.board, places);
//   Tensor values = network(from_vector(places, {1, TupleNetwork::kLookups}));
//
// Reading is a gather and learning a scatter_add, inside one captured function for many games at once (TupleLearner).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/rl/board.h"

namespace tenon::rl {

/// The table, as a layer.
class TupleNetwork : public nn::Layer {
 public:
  /// Groups of cells, ways to look at a board, and numbers of the table that a board is the sum of.
  static constexpr int kGroups = 4, kSymmetries = 8, kLookups = kGroups * kSymmetries;
  static constexpr int kBits = 24;  // six cells
  /// Numbers of the table.
  static constexpr int64_t kEntries = int64_t{kGroups} << kBits;

  /// Every board is worth `first_value` at first: what is high makes it try moves that it does not know.
  explicit TupleNetwork(double first_value = 0, Device device = Device());

  /// Places (..., kLookups) to values (...).
  Tensor forward(const Tensor& places) const override;

  /// The places of a board in the table, kLookups of them.
  static void look_up(const Board& board, std::span<int32_t> places);

  Tensor table;  // (kEntries,)
};

}  // namespace tenon::rl
