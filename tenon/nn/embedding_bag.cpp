// A bag is a row of a matrix of positions, or a stretch of a vector of them, whose elements find their bag among the
// offsets.

#include "tenon/nn/embedding_bag.h"

#include <limits>
#include <vector>

#include "tenon/nn/class_targets.h"
#include "tenon/nn/functional.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon::nn {
namespace {

using base::fail;

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// rows (B, L, D), with what is left out as 0, or -inf for maxima; counts (B, L, 1): 1 where a row counts.
Tensor of_matrix(const Tensor& rows, const Tensor& counts, BagMode mode) {
  if (rows.size(1) == 0) return zeros({rows.size(0), rows.size(2)}, Options(rows.dtype(), rows.device()));
  if (mode == BagMode::max) return max(rows, 1).first;
  const Tensor total = sum(rows, {1});
  return mode == BagMode::sum ? total : div(total, clamp(sum(counts, {1}), 1.0, {}));
}

// rows (n, D), in `bags` bags.
Tensor of_vector(const Tensor& rows, const Tensor& counts, const Tensor& bag, int64_t bags, BagMode mode) {
  const Options options(rows.dtype(), rows.device());
  const Tensor none = zeros({bags, rows.size(1)}, options);
  if (rows.size(0) == 0) return none;
  if (mode == BagMode::max) return index_reduce(none, 0, bag, rows, "amax", false);
  const Tensor total = index_add(none, 0, bag, rows);
  if (mode == BagMode::sum) return total;
  return div(total, clamp(index_add(zeros({bags, 1}, options), 0, bag, counts), 1.0, {}));
}

// Bags whose rows are all left out have nothing.
Tensor without_lowest(const Tensor& made, bool has_padding) {
  return has_padding ? where(eq(made.detach(), kLowest), 0.0, made) : made;
}

void require_offsets(const std::vector<int64_t>& offsets, int64_t count) {
  int64_t before = 0;
  if (!offsets.empty() && offsets[0] != 0) fail("embedding_bag", "the first offset is 0, not {}", offsets[0]);
  for (const int64_t offset : offsets) {
    if (offset < before) fail("embedding_bag", "offsets do not decrease, but {} follows {}", offset, before);
    if (offset > count) fail("embedding_bag", "offset {} lies behind an index of {} elements", offset, count);
    before = offset;
  }
}

// The offsets as i64. What is there is looked at here; of what is still to be computed, a bad one becomes a position
// that the device finds out of range.
Tensor checked_offsets(const Tensor& given, int64_t count) {
  const Tensor offsets = given.to(DType::i64);
  if (given.numel() == 0) return offsets;
  if (given.is_evaluated() && !Trace::current()) {
    require_offsets(given.detach().to(DType::i64).to_vector<int64_t>(), count);
    return offsets;
  }
  const Tensor before = pad(offsets.narrow(0, 0, offsets.numel() - 1), {1, 0}, 0);
  const Tensor first = pad(offsets.narrow(0, 0, 1), {0, offsets.numel() - 1}, 0);
  return checked(ir::LookUp::of_op, where(logical_or(lt(offsets, before), ne(first, 0)), -1, offsets), count + 1);
}

}  // namespace

Tensor embedding_bag(const Tensor& weight, const Tensor& index, const EmbeddingBagOptions& options) {
  if (index.dim() != 1 && index.dim() != 2)
    fail("embedding_bag", "takes an index of one or two dims, got {}", ir::to_string(index.shape()));
  const bool is_matrix = index.dim() == 2;
  if (is_matrix && options.offsets.defined()) fail("embedding_bag", "offsets are for an index of one dim");
  if (!is_matrix && !options.offsets.defined()) fail("embedding_bag", "an index of one dim needs offsets");
  const Tensor& each = options.per_sample_weights;
  if (each.defined() && options.mode != BagMode::sum) fail("embedding_bag", "per_sample_weights are for sums");
  if (each.defined() && each.shape() != index.shape())
    fail("embedding_bag", "per_sample_weights {} do not fit an index of {}", ir::to_string(each.shape()),
         ir::to_string(index.shape()));
  Tensor rows = embedding(weight, index).to(accumulator(weight.dtype()));  // 16-bit types are rounded once
  Tensor counts = ones({1}, Options(rows.dtype(), rows.device())).expand(index.shape()).unsqueeze(-1);
  if (each.defined()) rows = mul(rows, each.to(rows.dtype()).unsqueeze(-1));
  if (options.padding_idx) {
    const int64_t padding = *options.padding_idx < 0 ? *options.padding_idx + weight.size(0) : *options.padding_idx;
    if (padding < 0 || padding >= weight.size(0))
      fail("embedding_bag", "padding_idx {} is none of {} rows", *options.padding_idx, weight.size(0));
    const Tensor is_left_out = eq(index, padding).unsqueeze(-1);
    rows = where(is_left_out, options.mode == BagMode::max ? kLowest : 0.0, rows);
    counts = where(is_left_out, 0.0, counts);
  }
  const bool has_padding = options.mode == BagMode::max && options.padding_idx.has_value();
  const auto finished = [&](const Tensor& made) {  // without an index, too, a gradient of zeros
    const Tensor whole = index.numel() == 0 ? record::with_flat_part(made, weight) : made;
    return record::apart(without_lowest(whole, has_padding).to(weight.dtype()));
  };
  if (is_matrix) return finished(of_matrix(rows, counts, options.mode));
  const Tensor& offsets = options.offsets;
  if (offsets.dim() != 1 || (offsets.dtype() != DType::i64 && offsets.dtype() != DType::i32))
    fail("embedding_bag", "offsets are a vector of integers, got {}{}", name(offsets.dtype()),
         ir::to_string(offsets.shape()));
  if (options.include_last_offset && offsets.numel() == 0)
    fail("embedding_bag", "include_last_offset needs an offset at least");
  const int64_t bags = offsets.numel() - (options.include_last_offset ? 1 : 0), count = index.numel();
  const Tensor all_begins = checked_offsets(offsets, count), begins = all_begins.narrow(0, 0, bags);
  if (bags == 0) return zeros({0, weight.size(1)}, Options(weight.dtype(), rows.device()));
  const Tensor place = arange(count, Options(DType::i64, index.device()));
  // Behind the last offset is one more bag, which nobody gets; maxima take it into the last one, as PyTorch's do.
  const bool ends = options.include_last_offset && options.mode != BagMode::max;
  const Tensor bag = sub(searchsorted(ends ? all_begins : begins, place, false, true), 1);
  const Tensor made = of_vector(rows, counts, bag, bags + (ends ? 1 : 0), options.mode).narrow(0, 0, bags);
  return finished(made);
}

}  // namespace tenon::nn
