// What the kernels of attention on matrix tiles are made of, for numbers of 16 bits that are summed in f32.
//
// A subgroup keeps 16 rows, or twice as many, of a matrix as left tiles in registers, and rows of others pass by
// through shared memory. Their products stay where they are computed: a thread knows its places in an accumulator,
// makes weights of its scores, and packs these as a left tile of the next product (Dao 2023). Strips of shared memory
// are held twice, so that the next one is on its way while this one is multiplied.

#pragma once

#include <functional>
#include <optional>
#include <span>

#include "tenon/kernels/attention_kernel.h"

namespace tenon::kernels {

/// How a block shares out its work.
struct MatrixShape {
  uint32_t row_tiles = 1;  // of a subgroup, 16 rows each
  uint32_t subgroups = 4;
  uint32_t columns = 32;  // that pass by at a time
  uint32_t panel = 0;     // columns of sums that a block computes; a multiple of 16
  uint32_t threads() const { return subgroups * codegen::TilePlace::kThreads; }
  uint32_t subgroup_rows() const { return row_tiles * codegen::kTileSize; }
  uint32_t rows() const { return subgroups * subgroup_rows(); }
};

/// Widths of the matrices of a kernel: those kept as left tiles, those that pass by, those that are summed up.
struct MatrixWidths {
  std::vector<int64_t> left, passing, summed;
  uint32_t products = 1;  // tiles of scores that a thread holds at once
  bool has_row_values = false;
};

/// The width in whole tiles.
uint32_t whole_tiles(int64_t width);

/// Whether the device multiplies such numbers by tiles in which threads know their places.
bool has_matrix_attention(const AttentionProblem& p, const ir::Limits& limits);
/// The shape for `rows` rows, `blocks` of them at once; nothing where tiles do not fit. By sizes and device alone.
std::optional<MatrixShape> choose_matrix_shape(const MatrixWidths& widths, int64_t rows, int64_t blocks,
                                               const ir::Limits& limits);
/// Panels in which sums of this width are computed, each in blocks of its own.
uint32_t matrix_panels(int64_t width, const MatrixShape& shape);

/// The kernels, where tiles fit: attention, and the gradients of keys and values and of queries, which read deltas in
/// the scratch memory.
std::optional<codegen::Dispatch> matrix_attention(const AttentionProblem& p, const ir::Limits& limits);
std::optional<codegen::Dispatch> matrix_key_gradients(const AttentionProblem& p, uint32_t scratch,
                                                      const ir::Limits& limits);
std::optional<codegen::Dispatch> matrix_query_gradients(const AttentionProblem& p, uint32_t scratch,
                                                        const ir::Limits& limits);

class AttentionMatrix : public AttentionKernel {
 public:
  AttentionMatrix(std::string name, const AttentionProblem& p, const MatrixShape& shape, const MatrixWidths& widths);

  /// The rows of an operand's heads, as many at a time as the shape says, in shared memory.
  struct Strip {
    const AttentionOperand* operand = nullptr;
    uint32_t buffer = 0;
    bool has_words = false;  // whether memory is read in words of two numbers, four at a time
    uint32_t columns = 0;    // held of a row: a multiple of 16, beyond its end 0
    uint32_t base = 0;       // words
    uint32_t pitch() const { return columns + kPadding; }
  };
  /// Rows of one head.
  struct Rows {
    const Strip* strip = nullptr;
    Id batch = 0, head = 0;
  };
  using Loaded = std::vector<std::vector<Id>>;  // of each group of neighbours that a thread copies, its words

  /// An operand that is kept as left tiles, and one that passes by.
  Strip left_strip(const AttentionOperand& operand);
  Strip passing_strip(const AttentionOperand& operand, uint32_t columns);

  /// Rows from first_row on as left tiles of this subgroup, row tile by row tile; each number times `factor`, a power
  /// of two.
  std::vector<Id> left_tiles(const Rows& rows, Id first_row, double factor);

  /// Rows from first_row to below end, columns from first_column on, on their way to shared memory.
  Loaded fetch(const Rows& rows, Id first_row, Id end, Id first_column);
  /// `cleans`: what is infinite or NaN becomes 0 and is noted, see mend.
  void store(const Strip& strip, const Loaded& loaded, Id stage, Id cleans);

  std::vector<Id> accumulators(uint32_t columns);
  /// products += left tiles times the rows that pass by, turned.
  void multiply(std::span<const Id> products, std::span<const Id> left, const Strip& strip, Id stage);
  /// sums += weights times the rows that pass by, whose columns begin at first_column.
  void add_weighted(std::span<const Id> sums, std::span<const Id> weights, const Strip& strip, Id stage,
                    Id first_column);
  /// The weights that are now in accumulators of the products, as left tiles.
  std::vector<Id> packed(std::span<const Id> products);

  /// A thread's places in tiles of so many columns.
  struct Place {
    uint32_t tile, number;
    uint32_t own_row;  // among the thread's rows
    Id row, column;    // of the subgroup's rows, of all columns
  };
  std::vector<Place> places(uint32_t columns);
  uint32_t own_rows() const { return 2 * shape.row_tiles; }
  Id row(uint32_t own_row);  // of the subgroup's rows
  /// Folds one value of each of a thread's rows over the four threads of the row.
  std::vector<Id> fold_rows(std::vector<Id> values, const std::function<Id(Id, Id)>& join);

  /// What the weights at the thread's places of a tile of scores are multiplied with; rows are queries, or keys. One
  /// block of the random stream holds four keys of a query, so a thread draws for its neighbours and they for it.
  std::vector<Id> kept(Id batch, Id head, Id first_row, Id first_column, bool rows_are_queries);

  /// Weights of 0 let nothing through but what is infinite or NaN. Where rows may be hidden from one another, such
  /// numbers were therefore left out of the strips; here they reach the sums that see them. `sees`: row (of the
  /// subgroup's) and other row; `spoils`: a number that is not finite makes NaN, not itself.
  void mend(std::span<const Id> sums, const Rows& rows, Id begin, Id end, Id first_column, bool spoils,
            const std::function<Id(Id, Id)>& sees);
  /// Whether any thread of the block left something out; for all of them alike.
  Id has_left_out();

  /// Sums of the subgroup's rows, times a factor, to a result whose row begins at line(row).
  void write(uint32_t buffer, std::span<const Id> sums, int64_t width, Id first_row, int64_t rows, Id first_column,
             const std::function<Id(Id)>& line, const std::function<Id(Id)>& finished);

  static constexpr uint32_t kPadding = 8;  // numbers behind a row: rows then begin 4 banks apart, or 12 or 20

  const MatrixShape shape;
  const bool is_bf16;
  Id subgroup = 0, lane = 0;
  uint32_t shared = 0;
  uint32_t row_values = 0;  // words of shared memory where row values of passing rows begin, two stages
  double power = 1;         // of two: left tiles of queries, or of keys, are multiplied by it, so that no sum overflows
  double rest = 1;          // by which products are scaled then, as powers of two; above 0

 private:
  Strip strip_of(const AttentionOperand& operand, uint32_t columns);
  std::vector<Id> group(const Rows& rows, Id number, Id first_row, Id end, Id first_column, uint32_t lines);
  Id group_place(const Strip& strip, Id number);
  uint32_t groups_of(const Strip& strip, uint32_t lines) const;
  Id number_at(const Rows& rows, Id row, Id column);
  Id cleaned(Id word);
  std::array<Id, 4> kept_of_row_pair(Id batch, Id head, Id query, Id key);
  std::array<Id, 4> kept_of_row(Id batch, Id head, Id query, Id key);

  uint32_t stage_words_ = 0, next_word_ = 0;
  Id left_out_ = 0;
};

}  // namespace tenon::kernels
