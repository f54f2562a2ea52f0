// Deep Q-learning (Mnih et al. 2015): a network that says what each move is worth, learned from replayed transitions.
//
// The value of a move is what it scores and what the best move after it is worth: target = reward + discount * Q(next).
// Q(next) is that of the same network, or of a copy that is renewed now and then; with `double_q` the network chooses
// the next move and the copy says its worth (van Hasselt et al. 2016).
//
//   Dqn dqn({.hidden = {64, 64}});
//   const Move move = dqn.best(board, legal_moves(board));
//   dqn.learn(replay, random);
//
// Both are captured functions: a move and a step of learning cost a replay each.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/nn/containers.h"
#include "tenon/optim/optimizers.h"
#include "tenon/rl/replay.h"
#include "tenon/tensor/compile.h"

namespace tenon::rl {

/// How a board becomes numbers.
enum class Encoding : uint8_t {
  tiles,      // 16: the tiles themselves, 0 where empty
  exponents,  // 16: their exponents
  one_hot,    // 256: which of 16 exponents each cell has
};
/// Numbers of an encoded board.
///   rl::width(rl::Encoding::one_hot);  // 256
size_t width(Encoding encoding);
/// Fails unless there is room for width(encoding) numbers.
///   std::vector<float> numbers(16);
///   rl::encode(board, rl::Encoding::exponents, numbers);
void encode(const Board& board, Encoding encoding, std::span<float> to);

/// What the network sees and how it learns.
struct DqnOptions {
  Encoding encoding = Encoding::tiles;     // of boards
  std::vector<int64_t> hidden = {64, 64};  // widths of the hidden layers
  double lr = 1e-3;                        // learning rate of Adam
  int64_t batch = 32;                      // transitions of a step of learning
  int64_t renew_target_every = 0;          // steps of learning; 0: there is no second network
  bool double_q = false;                   // the network chooses the next move, and its copy says its worth
  bool legal_targets = false;              // moves that are not legal in the next board are no target
  Device device;                           // where the network lies
};

/// The network, and its learning.
class Dqn {
 public:
  /// Fails with one line where options are out of range or the network does not fit into memory.
  explicit Dqn(const DqnOptions& options);

  /// The legal move of the highest value. There is at least one.
  Move best(const Board& board, MoveSet legal);
  /// The values of the four moves.
  void values(const Board& board, std::span<float, kMoves> into);
  /// The values of the moves of many boards, one row a board.
  std::vector<float> values(std::span<const Board> boards);

  /// One step on a batch of the replay. With priorities, whose errors are read, throws Diverged where one is not
  /// finite.
  void learn(Replay& replay, Random& random);
  /// The loss of the last step.
  double loss() const;
  int64_t learning_steps() const { return steps_; }

  /// Weights, moments and counters; they share memory with this object where they can.
  NamedTensors state() const;
  /// Fails, having changed nothing, where these are of another network.
  void load(const NamedTensors& state);
  /// The network itself.
  nn::Sequential& network() { return network_; }

 private:
  /// Where the parts of a batch stand in the one stretch of numbers that is sent.
  struct Layout {
    int64_t boards, next, moves, rewards, discounts, weights, barred, size;
  };
  static Layout layout_of(const DqnOptions& options);
  std::vector<Tensor> step(const Tensor& sent);
  Tensor target_values(const Tensor& next, const Tensor& barred) const;
  void renew_target();

  DqnOptions options_;
  Layout layout_;
  nn::Sequential network_, target_;
  std::unique_ptr<optim::Adam> adam_;
  Compiled<Tensor, 1> values_;
  Compiled<std::vector<Tensor>, 1> step_;
  std::vector<float> board_, sent_;
  Tensor board_there_, sent_there_;  // on the device
  Drawn drawn_;
  std::vector<Tensor> last_;  // loss, errors
  int64_t steps_ = 0;
};

}  // namespace tenon::rl
