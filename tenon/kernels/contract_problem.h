// What the kernels of a product share: the product as sizes and strides, its buffers, and what follows its sums.

#pragma once

#include <optional>

#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/kernels/contract.h"
#include "tenon/kernels/convolution_windows.h"

namespace tenon::kernels {

inline constexpr int64_t kLeastPart = 128;  // of the inner dimension
inline constexpr int64_t kMostParts = 32;   // but where they would be longer than
inline constexpr int64_t kMostPartsOfPixels = 128;
inline constexpr int64_t kLongestPart = 1 << 16;  // a longer sum would lose digits
inline constexpr int64_t kDepthUnit = 64;         // parts begin at whole strips of every tile

/// One operand: a batch of matrices, as strides where the map allows.
struct ContractSide {
  /// What lies along the inner dimension, and across it, where no strides tell (convolution_windows.h).
  enum class Order : uint8_t {
    matrix,
    windows,  // taps and channels, across windows
    taps,     // windows, across taps and channels
    places,   // the windows' own places, across channels
    weights,  // taps and channels of a kernel, across its other channels
  };
  DType dtype = DType::f32;
  ir::IndexMap map;
  Dims batch_strides;
  int64_t offset = 0, row = 0, column = 0;  // strides
  bool is_strided = false;
  Order order = Order::matrix;
  Dims steps;         // of any other order: see WindowReader::place
  int64_t group = 0;  // from one group's elements to the next one's
};

struct ContractProblem {
  Dims batch;
  int64_t rows = 0, columns = 0, depth = 0;
  ContractSide a, b;
  DType sums = DType::f32, out = DType::f32;
  bool has_bias = false, has_residual = false;
  DType bias = DType::f32;
  int64_t bias_offset = 0;
  ir::Epilogue::Activation activation = ir::Epilogue::Activation::none;
  bool keeps_before = false;       // what an activation is taken of
  std::optional<Windows> windows;  // of a convolution; the batch is its groups, each with its phases
  bool has_natural_rows = false;   // whether the results of its groups lie behind each other
  bool has_right_first = false;    // whether the right operand comes before the left one
  bool sums_pixels = false;        // whether the inner dimension is all pixels of a batch

  bool multiplies_by_slope() const { return activation == ir::Epilogue::Activation::gelu_slope; }
  int64_t batches() const { return ir::count(batch); }
  int64_t elements() const { return batches() * rows * columns; }
};

ContractProblem contract_problem(const ir::Call& call);

/// The type of indices: most products get along with 32 bits.
codegen::Scalar index_type(const ContractProblem& p);

int64_t part_length(const ContractProblem& p, int64_t parts);

/// The sizes of a product as the kernel sees them. They come with the dispatch, so that products which differ by them
/// alone are one kernel; what decides how it is written (a stride of 1, one batch, one part) is known in it.
struct ContractSizes {
  ContractSizes(codegen::Builder& b, const ContractProblem& p, const ContractTile& tile, int64_t parts,
                codegen::Scalar index);

  codegen::Id rows, columns, elements;  // of type index
  codegen::Id depth, part, parts;       // u32; part: its length
  codegen::Id blocks, quick_blocks;     // u32: of one batch and part; along its quick axis
  codegen::Id goes_down;                // u32: 1 if that goes along a column, 0 if it goes along a row
  struct Side {
    codegen::Id offset, stride, depth_stride;  // of type index, where it is strided
  };
  Side a, b;
  codegen::Id bias_offset;  // of type index
};

/// The buffers of all kernels of a product: operands, what follows the sums, results.
struct ContractBuffers {
  uint32_t a, b, bias = 0, residual = 0, slope_at = 0, out, before = 0;
};
/// Elements of a and b as the kernel reads them: as they are, or words of several.
ContractBuffers add_contract_buffers(codegen::Builder& b, const ContractProblem& p, codegen::Scalar element_a,
                                     codegen::Scalar element_b);
std::vector<codegen::Dispatch::Binding> contract_bindings(const ContractProblem& p);

/// What follows a sum: bias, then residual or an activation, then rounding. `at`: of the result; `column`: of the
/// matrix. What an activation is taken of is written here; the result is for the caller to write.
codegen::Id finished_sum(codegen::Builder& b, const ContractProblem& p, const ContractBuffers& buffers,
                         codegen::Id bias_offset, codegen::Id sum, codegen::Id at, codegen::Id column);

/// One operand as a block sees it: its strip runs along `across` (rows of the left matrix, columns of the right one)
/// and along the inner dimension.
struct ContractStrip {
  const ContractSide* side = nullptr;
  bool is_left = true;
  int64_t size = 0;                      // of the matrix along `across`
  int64_t stride = 0, depth_stride = 0;  // where it is strided
  bool along_depth = true;               // whether neighbours in memory follow each other along the inner dimension

  /// Whether memory can be read in vectors of this many elements that lie wholly inside or wholly outside.
  bool reads_by(const ContractProblem& p, int64_t width) const;
};
ContractStrip contract_strip(const ContractProblem& p, bool is_left);

/// Where the matrices of one batch begin, and where their elements are.
class ContractPlaces {
 public:
  ContractPlaces(codegen::Builder& b, const ContractProblem& p, const ContractSizes& sizes, codegen::Scalar index,
                 codegen::Id batch);
  /// Of element `place` along `across` and `k` along the inner dimension.
  codegen::Located locate(const ContractStrip& strip, codegen::Id place, codegen::Id k) const;

 private:
  codegen::Builder& b_;
  const ContractProblem& p_;
  const ContractSizes& sizes_;
  const codegen::Scalar index_;
  std::vector<codegen::Id> batch_indices_;
  codegen::Id base_a_, base_b_;
};

/// Which part of the work a block has: its rows and columns, its batch, and its part of the inner dimension.
///
/// Blocks with neighbouring numbers run at once. They go along the matrix that is smaller, which then stays in the
/// caches, and read the larger one once. The grid has one axis, as the others are short on some devices.
class ContractBlock {
 public:
  ContractBlock(codegen::Builder& b, const ContractProblem& p, const ContractSizes& sizes, const ContractTile& tile,
                int64_t parts, codegen::Scalar index);
  /// Phases of a convolution have inner dimensions of their own.
  void end_at(codegen::Builder& b, codegen::Id depth) { end = b.min(end, depth); }
  static std::array<uint64_t, 3> grid(const ContractProblem& p, const ContractTile& tile, int64_t parts);

  codegen::Id first_row, first_column;  // of the tile, of type index
  codegen::Id batch, part;              // index, u32
  codegen::Id begin, end;               // of the part, u32
};

/// The kernels of a product, with the usual tile unless there is another one.
codegen::Module lower_product(const ContractProblem& p, const ir::Limits& limits,
                              const std::optional<ContractTile>& tile = std::nullopt);
/// Adds up so many parts, which lie in scratch memory.
codegen::Dispatch product_sum(const ContractProblem& p, int64_t parts, const ir::Limits& limits);
std::vector<ir::Way> product_ways(const ContractProblem& p, const ir::Limits& limits);

/// Products by fma, and by matrix tiles; parts beyond one are left in the buffer behind the others.
codegen::Dispatch lane_product(const ContractProblem& p, const ContractTile& tile, int64_t parts,
                               const ir::Limits& limits);
codegen::Dispatch tile_product(const ContractProblem& p, const ContractTile& tile, int64_t parts,
                               const ir::Limits& limits);
/// Bytes of shared memory that they take.
size_t lane_product_bytes(const ContractProblem& p, const ContractTile& tile);
size_t tile_product_bytes(const ContractProblem& p, const ContractTile& tile, const ir::Limits& limits);

}  // namespace tenon::kernels
