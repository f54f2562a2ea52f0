// What the kernels of attention are made of: tiles of scores in registers, and sums over them.
//
// A block computes a tile of products of rows with rows (queries with keys, say), makes weights of it, and adds up rows
// of a third matrix by these weights. The matrices pass through shared memory in strips, the weights as a whole, so
// that what a block needs of it does not grow with the width of heads.

#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/random.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

struct AttentionOperand {
  uint32_t arg = 0;  // of the launch
  DType dtype = DType::f32;
  ir::IndexMap map;
};

/// What a call asks for: q (B, H, T, D), k (B, G, S, D), v (B, G, S, E), and of the gradient what went before it.
struct AttentionProblem {
  int64_t batches = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  ir::AttentionAttrs attrs;
  DType dtype = DType::f32, sums = DType::f32;
  AttentionOperand q, k, v, mask, state, o, lse, o_grad;
  uint32_t first_result = 0;  // argument of the launch
  bool needs_64_bits = false;

  int64_t heads_per_group() const { return heads / groups; }
  int64_t score_rows() const { return batches * heads * queries; }
};
AttentionProblem attention_problem(const ir::Call& call);

/// A tile of scores, and the threads that share it.
struct AttentionTile {
  uint32_t rows = 0, columns = 0, across = 0, down = 0;

  uint32_t threads() const { return across * down; }
  uint32_t thread_rows() const { return rows / down; }
  uint32_t thread_columns() const { return columns / across; }
};

/// The tile for products of so many rows, `blocks` of them at once, whose threads keep sums of these widths. By sizes,
/// dtype and device alone.
AttentionTile choose_attention_tile(const AttentionProblem& p, int64_t rows, int64_t blocks,
                                    std::span<const int64_t> widths, const ir::Limits& limits);

/// Sums wider than this are computed panel by panel, in blocks of their own.
inline constexpr int64_t kAttentionPanel = 256;

class AttentionTiles {
 public:
  AttentionTiles(std::string name, const AttentionProblem& p, const AttentionTile& tile, const ir::Limits& limits);

  using Id = codegen::Id;

  /// The rows of one head.
  struct Matrix {
    const AttentionOperand* operand = nullptr;
    uint32_t buffer = 0;
    Id batch = 0, head = 0;
    int64_t rows = 0, width = 0;
  };

  uint32_t add_input(const AttentionOperand& operand);
  uint32_t add_buffer(uint32_t arg, codegen::Scalar element, bool is_written, size_t offset = 0);
  codegen::Dispatch finish(std::array<uint64_t, 3> blocks, bool writes_results = true);

  Id index_of(int64_t value) { return b.whole(index, value); }
  Id as_index(Id value) { return b.convert(value, index); }
  Id real(double value);
  /// The places of a thread's rows and columns within the tile; its columns of sums.
  Id row(uint32_t i);
  Id column(uint32_t j);
  Id sum_column(uint32_t i, int64_t width);
  /// How many of a thread's places lie one after another.
  static uint32_t run_of(uint32_t own) { return own % 4 == 0 ? 4 : own == 2 ? 2 : 1; }
  uint32_t own_columns(int64_t width) const;  // of sums of this width

  Matrix matrix(const AttentionOperand& operand, uint32_t buffer, Id batch, Id head) const;
  /// An element of an operand, as what sums are.
  Id element(const AttentionOperand& operand, uint32_t buffer, std::initializer_list<Id> indices);

  /// Variables that are 0.
  std::vector<Id> zeros(size_t count);
  /// products[i, j] = row i of one matrix times row j of the other.
  void multiply(const Matrix& rows, Id first_row, const Matrix& columns, Id first_column, std::span<const Id> products);
  /// The tile's weights, row by row of this thread, where others see them once they pass a barrier.
  void share_weights(std::span<const Id> weights);
  /// sums += weights times the rows of a matrix that belong to the tile's columns; its columns from first_column on.
  void add_weighted(std::span<const Id> sums, const Matrix& values, Id first, Id first_column);
  /// Folds one value of each of a thread's rows over the threads of the row.
  std::vector<Id> fold_rows(std::vector<Id> values, const std::function<Id(Id, Id)>& join);

  /// Sums of the tile's rows to a result, whose row begins at line(row). `step`: what all lines are multiples of.
  void write(uint32_t buffer, DType dtype, std::span<const Id> sums, int64_t width, Id first_row, int64_t rows,
             Id first_column, int64_t step, const std::function<Id(Id)>& line,
             const std::function<Id(uint32_t, Id)>& finished);

  /// One value of each of a thread's rows, the same in all threads of the row, to each of some buffers; where is_here.
  void store_rows(std::span<const uint32_t> buffers, std::span<const std::vector<Id>> values, Id is_here, Id first_row,
                  int64_t rows, const std::function<Id(Id)>& at);
  /// The weights that were shared last, to at(row, column) of a result; where is_here.
  void copy_weights_out(uint32_t buffer, DType dtype, Id is_here, Id first_row, int64_t rows, Id first_column,
                        int64_t columns, const std::function<Id(Id, Id)>& at);

  /// Number 0 of the launch and the state are where the stream of random numbers is.
  void open_random();
  /// The score of a product, with its mask; queries and keys that do not exist are hidden later.
  Id score(Id product, uint32_t mask, Id batch, Id head, Id query, Id key);
  /// What the weights of a query and `count` keys one after another are multiplied with.
  std::vector<Id> kept_shares(Id batch, Id head, Id query, Id key, uint32_t count);
  /// Whether there is no such query or key, or it is in the query's future.
  Id is_hidden(Id query, Id key, uint32_t queries, uint32_t keys);

  const AttentionProblem& p;
  const AttentionTile tile;
  codegen::Builder b;
  const codegen::Scalar index, type;  // of addresses and of sums
  Id across_at = 0, down_at = 0;      // where the thread stands

 private:
  Id add_product(Id a, Id c, Id sum);
  void steps(uint32_t count, const std::function<void(Id)>& body);
  void copy(const Matrix& from, Id first_row, uint32_t rows, uint32_t unit, Id first_column, uint32_t columns,
            uint32_t at, uint32_t pitch, bool turned);
  void write_staged(uint32_t buffer, DType dtype, std::span<const Id> sums, int64_t width, Id first_row, int64_t rows,
                    Id first_column, const std::function<Id(Id)>& line,
                    const std::function<Id(uint32_t, Id)>& finished);
  /// How many of `most` are left of `size` from `first` on.
  Id left(Id first, int64_t size, uint32_t most);
  void copy_out(Id rows, Id columns, const std::function<void(Id, Id)>& body);

  /// Whether no block of a kernel stands beyond the width of one of its sums.
  bool has_even_panels() const {
    return std::max(p.width, p.value_width) <= kAttentionPanel || p.width == p.value_width;
  }
  uint32_t row_pitch() const { return tile.rows + 4; }
  uint32_t column_pitch() const { return tile.columns + 4; }
  uint32_t sum_pitch(int64_t width) const { return own_columns(width) * tile.across + 4; }

  const bool uses_fma_, unrolls_;
  const uint32_t subgroup_;
  uint32_t strip_size_ = 0, strips_ = 0, weights_ = 0;
  std::optional<uint32_t> folds_;
  codegen::RandomStream stream_{};
  std::vector<codegen::Dispatch::Binding> bindings_;
};

}  // namespace tenon::kernels
