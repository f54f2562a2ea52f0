// Forward and backward go chunk by chunk, and what they have in common is recorded as the same nodes: where both are
// computed together, the loss and the gradient of a chunk come from one pass over its logits, and nothing is multiplied
// twice. The gradient of the weight is summed in the order of the chunks, so that each sum can take the place of the
// one before; the gradients of the chunks' rows lie side by side.

#include "tenon/nn/linear_cross_entropy.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tenon/ir/decompose.h"
#include "tenon/nn/class_targets.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

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

Tensor product(const Tensor& a, const Tensor& b, DType result) {
  return tensor_of(record::product(record::in(a), record::in(b), result));
}

// Columns of padding get the lowest finite number and so neither probability nor gradient.
Tensor logits_of(const Tensor& x, const Tensor& weight, int64_t classes) {
  const Tensor logits = product(x, weight.t(), x.dtype());
  const int64_t columns = weight.size(0);
  if (classes == columns) return logits;
  return masked_fill(logits, arange(columns, Options(DType::i32, x.device())) > classes - 1, lowest(logits.dtype()));
}

// Rows of zeros below the weight, in memory, where the device multiplies quicker so. They are no classes.
Tensor with_quick_rows(const Tensor& weight) {
  const int64_t missing = record::quick_size(weight, weight.size(0)) - weight.size(0);
  if (missing == 0) return weight;
  const ir::Value padded = ir::pad(record::in(weight), {0, 0}, {missing, 0});
  return tensor_of(ir::decompose(ir::Op::contiguous, {&padded, 1}, ir::NoAttrs())[0]);
}

struct Chunk {
  int64_t first, count;
  Tensor of(const Tensor& all) const { return all.narrow(0, first, count); }
};
std::vector<Chunk> chunks_of(int64_t rows, int64_t size) {
  std::vector<Chunk> chunks;
  for (int64_t first = 0; first < rows; first += size) chunks.push_back({first, std::min(size, rows - first)});
  return chunks;
}

void add_to(Tensor& total, const Tensor& part) { total = total.defined() ? total + part : part; }

// Softmax less 1 at the target.
Tensor slope_of_logits(const Tensor& logits, const Tensor& targets, const Tensor& gradient, int64_t ignore_index) {
  const Tensor wide = logits.to(accumulator(logits.dtype()));
  const Tensor numbers = arange(logits.size(1), Options(DType::i32, targets.device()));
  const Tensor column = targets.to(DType::i32).unsqueeze(1);
  const Tensor slope = exp(log_softmax(wide, 1)) - eq(numbers, column).to(wide.dtype());
  return where(ne(column, ignore_index), slope * gradient.to(wide.dtype()), 0.0).to(logits.dtype());
}

// Rows of several matrices one below the other, as a sum of flat pads: each is written where it belongs.
Tensor stacked(const std::vector<Tensor>& parts, const Dims& shape) {
  const int64_t total = ir::count(shape);
  int64_t begin = 0;
  ir::Value sum;
  for (const Tensor& part : parts) {
    const int64_t size = part.numel();
    const ir::Value padded = ir::pad(ir::reshape(record::in(part), {size}), {begin}, {total - begin - size});
    sum = sum ? ir::add(sum, padded) : padded;
    begin += size;
  }
  return tensor_of(ir::reshape(sum, shape));
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& given,
                            const LinearCrossEntropyOptions& options) {
  check(x, weight, given, options);
  record::require_same_device("linear_cross_entropy", x, weight);
  const std::optional<DType> low = autocast_dtype();
  const Tensor rows_of_x = low ? autocast(x) : x, low_weight = low ? autocast_values(weight) : weight;
  if (rows_of_x.dtype() != low_weight.dtype())
    fail("linear_cross_entropy", "dtypes {} and {} differ; convert one with to()", name(x.dtype()),
         name(weight.dtype()));
  CrossEntropyOptions of_part;
  of_part.ignore_index = options.ignore_index;
  if (x.size(0) == 0) return cross_entropy(linear(x, weight), given, of_part);
  of_part.reduction = Reduction::sum;
  // A row of padding is no class, though there is a logit for it.
  const int64_t classes = options.classes > 0 ? options.classes : weight.size(0);
  const bool is_padded = classes < record::quick_size(low_weight, weight.size(0));
  if (is_padded) require_classes("cross_entropy", given, classes, options.ignore_index);
  const Tensor targets = is_padded ? checked(ir::LookUp::cross_entropy, given, classes, options.ignore_index) : given;
  const DType wide = accumulator(rows_of_x.dtype());
  const int64_t chunk = std::min(options.chunk, std::max<int64_t>(1, x.size(0)));
  const CustomFunction function{
      "linear_cross_entropy",
      [&](std::span<const Tensor> in) {
        Tensor total;
        const Tensor factor = with_quick_rows(low_weight);
        for (const Chunk& rows : chunks_of(in[0].size(0), chunk)) {
          const Tensor logits = logits_of(rows.of(in[0]), factor, classes);
          add_to(total, cross_entropy(logits.to(wide), rows.of(targets), of_part));
        }
        return std::vector<Tensor>{total};
      },
      [options, classes, low, chunk, wide, tf32 = tf32_allowed()](std::span<const Tensor> in,
                                                                  std::span<const Tensor> grads) {
        const AllowTf32 as_before(tf32);
        const Tensor factor = with_quick_rows(low ? with_history_of(in[1], in[2]) : in[1]);
        std::vector<Tensor> slopes_of_x;
        Tensor slope_of_weight;
        for (const Chunk& rows : chunks_of(in[0].size(0), chunk)) {
          const Tensor part = rows.of(in[0]);
          const Tensor slope =
              slope_of_logits(logits_of(part, factor, classes), rows.of(in[3]), grads[0], options.ignore_index);
          slopes_of_x.push_back(product(slope, factor, part.dtype()));
          add_to(slope_of_weight, product(slope.t(), part, wide));
        }
        slope_of_weight = slope_of_weight.narrow(0, 0, in[1].size(0));
        return std::vector<Tensor>{stacked(slopes_of_x, in[0].shape()), slope_of_weight, Tensor(), Tensor()};
      }};
  const std::vector<Tensor> operands{rows_of_x, weight, low_weight.detach(), targets.detach()};
  const Tensor total = tenon::apply(function, operands)[0];
  // As a matrix: counted beside the losses of all rows it would have to wait for them, and the gradients wait for it.
  const Tensor counted = sum(ne(targets.unsqueeze(0), options.ignore_index).to(wide), {0, 1});
  const Tensor mean = total / counted;
  return low ? mean : mean.to(x.dtype());
}

}  // namespace tenon::nn
