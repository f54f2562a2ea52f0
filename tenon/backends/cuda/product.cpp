#include "tenon/backends/cuda/product.h"

#include <algorithm>

#include "tenon/kernels/contract.h"
#include "tenon/kernels/contract_problem.h"
#include "tenon/kernels/contract_row.h"

namespace tenon::backends::cuda {
namespace {

using kernels::ContractProblem;
using kernels::ContractSide;

constexpr size_t kMostCalls = 32;
constexpr int64_t kGranule = 8;  // elements of 16 bits

// Elements from one row (or column) to the next, and whether those of a row lie side by side, which is what the library
// can read; none where it cannot.
struct Lay {
  int64_t leading = 0;
  bool is_row_major = true;
};
std::optional<Lay> lay_of(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  if (rows == 1 && (column == 1 || columns == 1)) return Lay{columns, true};  // whatever the other stride is
  if (columns == 1 && row == 1) return Lay{rows, false};
  if ((column == 1 || columns == 1) && row >= columns) return Lay{row, true};
  if ((row == 1 || rows == 1) && column >= rows) return Lay{column, false};
  return std::nullopt;
}

// Axes of the batch that go evenly through both operands become one; results always do.
struct Batch {
  Dims sizes, left, right;
};
Batch merged_batch(const ContractProblem& p) {
  Batch made;
  for (size_t i = 0; i < p.batch.size(); ++i) {
    if (p.batch[i] == 1) continue;
    const int64_t left = p.a.batch_strides[i], right = p.b.batch_strides[i], size = p.batch[i];
    if (!made.sizes.empty() && made.left.back() == left * size && made.right.back() == right * size) {
      made.sizes.back() *= size;
      made.left.back() = left;
      made.right.back() = right;
    } else {
      made.sizes.push_back(size);
      made.left.push_back(left);
      made.right.push_back(right);
    }
  }
  return made;
}

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool is_taken(const ir::Call& call, const ContractProblem& p) {
  if (!call.way.empty() && call.way.size() != kNumbersOfAlgorithm) return false;
  if (p.a.dtype != p.b.dtype || p.sums != DType::f32 || p.elements() == 0 || p.depth == 0) return false;
  if (p.a.dtype != DType::f32 && !is_16_bit(p.a.dtype)) return false;
  return p.a.is_strided && p.b.is_strided && (p.out == DType::f32 || p.out == p.a.dtype);
}

bool is_aligned(const ContractProblem& p, const Lay& left, const Lay& right) {
  const auto fits = [](int64_t elements) { return elements % kGranule == 0; };
  const auto all = [&](const Dims& strides) { return std::all_of(strides.begin(), strides.end(), fits); };
  return fits(p.columns) && fits(left.leading) && fits(right.leading) && fits(p.a.offset) && fits(p.b.offset) &&
         fits(p.bias_offset) && all(p.a.batch_strides) && all(p.b.batch_strides);
}

// Where the inner dimension is cut: begin and length of each part.
struct Part {
  int64_t begin, length;
};
std::vector<Part> parts_of(const ContractProblem& p, int64_t count, bool in_granules) {
  std::vector<Part> made;
  const int64_t length = kernels::part_length(p, count);
  for (int64_t begin = 0; begin < p.depth; begin += length) made.push_back({begin, std::min(length, p.depth - begin)});
  const int64_t rest = made.back().length % kGranule;
  if (!in_granules || rest == 0 || made.back().length < kGranule) return made;
  made.back().length -= rest;
  made.push_back({p.depth - rest, rest});
  return made;
}

// In how many parts the inner dimension is summed: as in our own kernels, but that the library has tiles small enough
// to keep a chip busy with a result of some 64 x 64 for every second processor, where a second pass would cost more
// than it gains.
int64_t parts_of_sums(const ir::Call& call, const ContractProblem& p, const ir::Limits& limits) {
  constexpr int64_t kSmallTile = 64, kLong = 4096;
  const auto tiles = [](int64_t size) { return (size + kSmallTile - 1) / kSmallTile; };
  const bool keeps_busy = 2 * tiles(p.rows) * tiles(p.columns) * p.batches() >= int64_t{limits.processors};
  return keeps_busy && p.depth < kLong ? 1 : kernels::contract_parts(call, limits);
}

// What the library may do beyond sums.
enum class Finish { plain, bias, residual, activation, ours };
Finish finish_of(const ContractProblem& p) {
  if (p.activation != ir::Epilogue::Activation::none) {
    const bool fits = is_16_bit(p.out) && p.a.dtype == p.out && (!p.has_bias || p.bias == p.out);
    return fits && !(p.has_bias && p.multiplies_by_slope()) ? Finish::activation : Finish::ours;
  }
  if (p.has_bias && p.has_residual) return Finish::ours;  // it would add the matrix first
  if (p.has_bias) return p.bias == p.out ? Finish::bias : Finish::ours;
  if (p.has_residual) return p.out == DType::f32 ? Finish::residual : Finish::ours;
  return Finish::plain;
}

}  // namespace

std::optional<Product> plan_product(const ir::Call& call, const ir::Limits& limits) {
  if (call.op != ir::Op::contract) return std::nullopt;
  const ContractProblem p = kernels::contract_problem(call);
  if (!is_taken(call, p) || kernels::is_row_product(p, limits)) return std::nullopt;
  const std::optional<Lay> left = lay_of(p.rows, p.depth, p.a.row, p.a.column),
                           right = lay_of(p.depth, p.columns, p.b.row, p.b.column);
  if (!left || !right) return std::nullopt;
  const bool in_granules = is_16_bit(p.a.dtype);
  if (in_granules && (!is_aligned(p, *left, *right) || p.depth < kGranule)) return std::nullopt;

  const Batch batch = merged_batch(p);
  const int64_t batches = batch.sizes.empty() ? 1 : batch.sizes.back();
  const std::vector<Part> parts = parts_of(p, parts_of_sums(call, p, limits), in_granules);
  const bool sums_apart = parts.size() > 1 || finish_of(p) == Finish::ours;

  Product made;
  const auto inputs = static_cast<uint32_t>(call.inputs.size());
  made.scratch_arg = inputs + static_cast<uint32_t>(call.outputs.size());
  const auto bytes_of = [](DType dtype) { return static_cast<int64_t>(size_of(dtype)); };

  // Rows that lie side by side in memory are cut as well.
  const bool cuts_rows = in_granules && !left->is_row_major && p.rows > kGranule && p.rows % kGranule != 0;
  const int64_t whole_rows = cuts_rows ? p.rows / kGranule * kGranule : p.rows;
  const DType written = sums_apart ? DType::f32 : p.out;

  const auto add_calls = [&](int64_t first_row, int64_t rows, const Part& part, size_t part_number, int64_t repeat,
                             int64_t left_step, int64_t right_step) {
    LtCall one;
    one.rows = rows;
    one.columns = p.columns;
    one.depth = part.length;
    one.tf32 = std::get<ir::ContractAttrs>(call.attrs).tf32;
    one.writes_results = !sums_apart;
    one.is_part = parts.size() > 1;
    // Outer axes of the batch are calls of their own.
    const int64_t outer = p.batches() / batches;
    for (int64_t i = 0; i < outer; ++i) {
      int64_t at_left = p.a.offset + first_row * p.a.row + part.begin * p.a.column;
      int64_t at_right = p.b.offset + part.begin * p.b.row;
      int64_t rest = i;
      for (size_t axis = batch.sizes.size(); axis-- > 0;) {
        if (axis + 1 == batch.sizes.size()) continue;
        const int64_t index = rest % batch.sizes[axis];
        rest /= batch.sizes[axis];
        at_left += index * batch.left[axis];
        at_right += index * batch.right[axis];
      }
      one.batches = repeat > 1 ? repeat : batches;
      one.left = {p.a.dtype,
                  0,
                  at_left * bytes_of(p.a.dtype),
                  left->leading,
                  repeat > 1 ? left_step : (batch.left.empty() ? 0 : batch.left.back()),
                  !left->is_row_major};
      one.right = {p.b.dtype,
                   1,
                   at_right * bytes_of(p.b.dtype),
                   right->leading,
                   repeat > 1 ? right_step : (batch.right.empty() ? 0 : batch.right.back()),
                   !right->is_row_major};
      const int64_t matrix = p.rows * p.columns;
      const int64_t at =
          static_cast<int64_t>(part_number) * p.elements() + i * batches * matrix + first_row * p.columns;
      one.result = {written,   sums_apart ? made.scratch_arg : inputs, at * bytes_of(written),
                    p.columns, repeat > 1 ? p.elements() : matrix,     false};
      if (!sums_apart && p.has_bias) one.bias = Matrix{p.bias, 2, p.bias_offset * bytes_of(p.bias)};
      if (!sums_apart && finish_of(p) == Finish::activation) {
        one.activation = p.activation;
        if (p.keeps_before || p.multiplies_by_slope()) {
          one.aux = one.result;
          one.aux->arg = p.keeps_before ? inputs + 1 : inputs - 1;
        }
      }
      if (!sums_apart && finish_of(p) == Finish::residual) {
        one.added = one.result;
        one.added->arg = 2;
      }
      made.calls.push_back(one);
    }
  };

  for (const auto& [first_row, rows] :
       {std::pair{int64_t{0}, whole_rows}, std::pair{whole_rows, p.rows - whole_rows}}) {
    if (rows == 0) continue;
    // Parts of one length are one call, where the batch is not needed for anything else.
    size_t alike = 1;
    if (p.batches() == 1) {
      while (alike < parts.size() && parts[alike].length == parts[0].length) ++alike;
    }
    if (alike > 1)
      add_calls(first_row, rows, parts[0], 0, static_cast<int64_t>(alike), parts[0].length * p.a.column,
                parts[0].length * p.b.row);
    for (size_t i = alike > 1 ? alike : 0; i < parts.size(); ++i) add_calls(first_row, rows, parts[i], i, 1, 0, 0);
  }
  if (made.calls.size() > kMostCalls) return std::nullopt;

  if (sums_apart) {
    made.rest.scratch_bytes = static_cast<size_t>(p.elements()) * parts.size() * sizeof(float);
    made.rest.dispatches.push_back(kernels::contract_sum(call, static_cast<int64_t>(parts.size()), limits));
  }
  return made;
}

}  // namespace tenon::backends::cuda
