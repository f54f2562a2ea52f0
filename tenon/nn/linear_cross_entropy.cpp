// Chunks are plain compositions: what is left to do is to add them up.
//
// The gradient of a mean does not depend on the value of the loss, so nothing makes one chunk's gradient wait for the
// next chunk's logits, and a planner that keeps lives short runs chunk after chunk.

#include "tenon/nn/linear_cross_entropy.h"

#include <algorithm>
#include <limits>

#include "tenon/nn/functional.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {
namespace {

using base::fail;

void check(const Tensor& x, const Tensor& weight, const Tensor& targets, const LinearCrossEntropyOptions& options) {
  constexpr std::string_view kOp = "linear_cross_entropy";
  if (x.dim() != 2 || weight.dim() != 2 || x.size(1) != weight.size(1) || targets.shape() != Dims{x.size(0)}) {
    fail(kOp, "takes x (N, width), weight (classes, width) and targets (N), got {}, {} and {}",
         ir::to_string(x.shape()), ir::to_string(weight.shape()), ir::to_string(targets.shape()));
  }
  if (options.chunk <= 0) fail(kOp, "the number of rows in a chunk must be positive, got {}", options.chunk);
  if (options.classes < 0 || options.classes > weight.size(0))
    fail(kOp, "{} classes are more than the {} rows of the weight", options.classes, weight.size(0));
}

double lowest(DType dtype) {
  if (dtype == DType::f16) return -65504;
  if (dtype == DType::bf16) return -3.3895313892515355e38;
  return std::numeric_limits<float>::lowest();
}

// Columns of padding get the lowest finite number and so neither probability nor gradient.
Tensor logits_of(const Tensor& x, const Tensor& weight, int64_t classes) {
  const Tensor logits = linear(x, weight);
  const int64_t columns = weight.size(0);
  if (classes == 0 || classes == columns) return logits;
  return masked_fill(logits, arange(columns, Options(DType::i64, x.device())) >= classes, lowest(logits.dtype()));
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options) {
  check(x, weight, targets, options);
  CrossEntropyOptions of_part;
  of_part.ignore_index = options.ignore_index;
  const int64_t rows = x.size(0);
  if (options.chunk >= rows) return cross_entropy(logits_of(x, weight, options.classes), targets, of_part);
  of_part.reduction = Reduction::sum;
  Tensor total;
  for (int64_t first = 0; first < rows; first += options.chunk) {
    const int64_t count = std::min(options.chunk, rows - first);
    const Tensor logits = logits_of(x.narrow(0, first, count), weight, options.classes);
    const Tensor part = cross_entropy(logits, targets.narrow(0, first, count), of_part);
    total = total.defined() ? total + part : part;
  }
  return total / sum(ne(targets, options.ignore_index).to(total.dtype()));
}

}  // namespace tenon::nn
