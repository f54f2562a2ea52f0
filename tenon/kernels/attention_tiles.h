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

#include "tenon/kernels/attention_kernel.h"

namespace tenon::kernels {

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

class AttentionTiles : public AttentionKernel {
 public:
  AttentionTiles(std::string name, const AttentionProblem& p, const AttentionTile& tile, const ir::Limits& limits);

  /// The rows of one head.
  struct Matrix {
    const AttentionOperand* operand = nullptr;
    uint32_t buffer = 0;
    Id batch = 0, head = 0;
    int64_t rows = 0, width = 0;
    double factor = 1;  // of its elements in products
  };

  /// The places of a thread's rows and columns within the tile; its columns of sums.
  Id row(uint32_t i);
  Id column(uint32_t j);
  Id sum_column(uint32_t i, int64_t width);
  /// How many of a thread's places lie one after another.
  static uint32_t run_of(uint32_t own) { return own % 4 == 0 ? 4 : own == 2 ? 2 : 1; }
  uint32_t own_columns(int64_t width) const;  // of sums of this width

  Matrix matrix(const AttentionOperand& operand, uint32_t buffer, Id batch, Id head) const;
  /// Scaled for the product with keys: one of the sums could overflow though its score does not.
  Matrix scaled(Matrix queries) const {
    queries.factor = p.attrs.scale;
    return queries;
  }

  /// Variables that are 0.
  std::vector<Id> zeros(size_t count);
  /// products[i, j] = row i of one matrix times row j of the other.
  void multiply(const Matrix& rows, Id first_row, const Matrix& columns, Id first_column, std::span<const Id> products);
  /// The tile's weights, row by row of this thread, where others see them once they pass a barrier.
  void share_weights(std::span<const Id> weights);
  /// sums += weights times the rows of a matrix that belong to the tile's columns; its columns from first_column on.
  /// `may_hide`: whether weights may be 0 because the row is hidden; then it adds nothing, be it infinite or NaN.
  void add_weighted(std::span<const Id> sums, const Matrix& values, Id first, Id first_column, Id may_hide);
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

  struct Score {
    Id value, hidden;
  };
  /// The product of a query, scaled already, and a key with its mask, and whether it is hidden: is_hidden, or by the
  /// mask.
  Score score(Id product, Id hidden, uint32_t mask, Id batch, Id head, Id query, Id key);
  /// Whether there is no such query or key, or it is in the query's future.
  Id is_hidden(Id query, Id key, uint32_t queries, uint32_t keys);

  const AttentionTile tile;
  Id across_at = 0, down_at = 0;  // where the thread stands

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
};

}  // namespace tenon::kernels
