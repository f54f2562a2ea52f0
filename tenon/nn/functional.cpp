// Layers as compositions: the planner fuses them, on every device at once.

#include "tenon/nn/functional.h"

#include <cmath>
#include <limits>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using record::in_wide;

// The trailing axes that `shape` covers; fails when it does not end x's shape.
Dims normalised_axes(std::string_view op, const Tensor& x, const Dims& shape) {
  const size_t rank = x.shape().size();
  bool fits = !shape.empty() && shape.size() <= rank;
  Dims axes;
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    const size_t axis = rank - shape.size() + i;
    fits = x.shape()[axis] == shape[i];
    axes.push_back(static_cast<int64_t>(axis));
  }
  if (!fits)
    base::fail(op, "normalised shape {} does not end shape {}", ir::to_string(shape), ir::to_string(x.shape()));
  return axes;
}

void require_parameter(std::string_view op, std::string_view what, const Tensor& parameter, const Dims& shape) {
  if (!parameter.defined() || parameter.shape() == shape) return;
  base::fail(op, "{} of shape {} does not fit normalised shape {}", what, ir::to_string(parameter.shape()),
             ir::to_string(shape));
}

Tensor wide(const Tensor& x) { return x.to(accumulator(x.dtype())); }

bool is_half(DType dtype) { return accumulator(dtype) != dtype; }

// The bias is added to the sums in f32, and the result is rounded once: by the product itself, which reads the bias in
// memory. `weight` is (in, out).
Tensor half_affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  record::require_same_device("linear", x, weight);
  Dims shape = x.shape();
  shape.pop_back();
  const ir::Value rows = ir::reshape(record::in(x), {ir::count(shape), x.size(-1)});
  const Tensor sums = tensor_of(record::product(rows, record::in(weight), accumulator(x.dtype())));
  shape.push_back(weight.size(1));
  return add(sums, wide(bias)).to(promote(x.dtype(), bias.dtype())).reshape(shape);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 2) base::fail("linear", "weight must be (out, in), got {}", ir::to_string(weight.shape()));
  if (x.dim() == 0 || x.size(-1) != weight.size(1)) {
    base::fail("linear", "input {} and weight {} do not fit: the last size of the input must be {}",
               ir::to_string(x.shape()), ir::to_string(weight.shape()), weight.size(1));
  }
  const bool is_cast = autocast_dtype() && is_autocast(x.dtype()) && is_autocast(weight.dtype());
  if (x.dtype() != weight.dtype() && !is_cast) {
    base::fail("linear", "dtypes {} of the input and {} of the weight differ; convert one with to()", name(x.dtype()),
               name(weight.dtype()));
  }
  if (bias.defined() && bias.shape() != Dims{weight.size(0)}) {
    base::fail("linear", "bias {} does not fit weight {}", ir::to_string(bias.shape()), ir::to_string(weight.shape()));
  }
  return affine(x, weight.t(), bias);
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::optional<DType> low = autocast_dtype();
  const bool fits = x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(0);
  if (!bias.defined() || !fits || bias.shape() != Dims{weight.size(1)}) {
    const Tensor product = matmul(x, weight);  // or the error that says what does not fit
    return bias.defined() ? add(product, bias) : product;
  }
  record::require_same_device("linear", x, bias);
  if (low && is_autocast(x.dtype()) && is_autocast(weight.dtype()) && is_autocast(bias.dtype()))
    return autocast_product(x, weight, bias, *low);
  if (!low && is_half(x.dtype()) && x.dtype() == weight.dtype()) return half_affine(x, weight, bias);
  return add(matmul(x, weight), bias);
}

Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 3) base::fail("bilinear", "weight must be (out, m, n), got {}", ir::to_string(weight.shape()));
  const int64_t outputs = weight.size(0), rows = weight.size(1), columns = weight.size(2);
  bool fits = x.dim() > 0 && x.dim() == y.dim() && x.size(-1) == rows && y.size(-1) == columns;
  for (int64_t i = 0; fits && i + 1 < x.dim(); ++i) fits = x.size(i) == y.size(i);
  if (!fits)
    base::fail("bilinear", "inputs {} and {} do not fit a weight of {}", ir::to_string(x.shape()),
               ir::to_string(y.shape()), ir::to_string(weight.shape()));
  if (bias.defined() && bias.shape() != Dims{outputs})
    base::fail("bilinear", "bias {} does not fit {} outputs", ir::to_string(bias.shape()), outputs);
  const int64_t count = ir::count(x.shape()) / std::max<int64_t>(rows, 1);
  const Tensor left = matmul(x.reshape({count, rows}), weight.permute({1, 0, 2}).reshape({rows, outputs * columns}));
  const Tensor products = matmul(left.reshape({count, outputs, columns}), y.reshape({count, columns, 1}));
  Dims shape = x.shape();
  shape.back() = outputs;
  const Tensor made = products.reshape(shape);
  return bias.defined() ? add(made, bias) : made;
}

Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  if (weight.dim() != 2)
    base::fail("embedding", "weight must be (count, width), got {}", ir::to_string(weight.shape()));
  if (index.dtype() != DType::i64 && index.dtype() != DType::i32) {
    base::fail("embedding", "indices are i32 or i64, got {}", name(index.dtype()));
  }
  record::require_same_device("embedding", weight, index);
  record::require_range("embedding", index, 0, weight.size(0));
  const Tensor rows = tensor_of(ir::gather(record::in(weight), value_of(index), 0, ir::LookUp::embedding));
  if (!padding_idx) return rows;
  const int64_t count = weight.size(0), row = *padding_idx < 0 ? *padding_idx + count : *padding_idx;
  if (row < 0 || row >= count)
    base::fail("embedding", "padding row {} is out of range for {} rows", *padding_idx, count);
  return where((index == row).unsqueeze(-1), rows.detach(), rows);
}

Tensor layer_norm(const Tensor& given, const Dims& shape, const Tensor& weight, const Tensor& bias, double eps) {
  record::require_float("layer_norm", given);
  const Tensor x = autocast_wide(given);
  const Dims axes = normalised_axes("layer_norm", x, shape);
  require_parameter("layer_norm", "weight", weight, shape);
  require_parameter("layer_norm", "bias", bias, shape);
  return in_wide(x, [&](const Tensor& w) {
    const Tensor centred = sub(w, mean(w, axes, true));
    const Tensor variance = mean(square(centred), axes, true);
    Tensor y = mul(centred, rsqrt(add(variance, eps)));
    if (weight.defined()) y = mul(y, wide(weight));
    return bias.defined() ? add(y, wide(bias)) : y;
  });
}

Tensor rms_norm(const Tensor& given, const Dims& shape, const Tensor& weight, double eps) {
  record::require_float("rms_norm", given);
  const Tensor x = autocast_wide(given);
  const Dims axes = normalised_axes("rms_norm", x, shape);
  require_parameter("rms_norm", "weight", weight, shape);
  return in_wide(x, [&](const Tensor& w) {
    const Tensor y = mul(w, rsqrt(add(mean(square(w), axes, true), eps)));
    return weight.defined() ? mul(y, wide(weight)) : y;
  });
}

Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  record::require_float("dropout", x);
  if (!(p >= 0 && p <= 1)) base::fail("dropout", "p must lie in 0..1, got {}", p);
  if (!training || p == 0) return x;
  if (p == 1) return mul(x, 0.0);
  const Tensor kept = ge(rand(x.shape(), Options(DType::f32, x.device()), generator), p);
  return in_wide(x, [&](const Tensor& w) { return mul(mul(w, kept.to(w.dtype())), 1 / (1 - p)); });
}

namespace {

// One draw for all elements along the dims whose size is 1 in `shape`.
Tensor dropped_together(const Tensor& x, const Dims& shape, double p, bool training, Generator* generator) {
  if (!training) return x;
  const Tensor kept = dropout(ones(shape, Options(accumulator(x.dtype()), x.device())), p, true, generator);
  return in_wide(x, [&](const Tensor& w) { return mul(w, kept); });
}

}  // namespace

Tensor dropout1d(const Tensor& x, double p, bool training, Generator* generator) {
  record::require_float("dropout1d", x);
  if (x.dim() != 2 && x.dim() != 3)
    base::fail("dropout1d", "takes (batch, channels, length) or (channels, length), got {}", ir::to_string(x.shape()));
  Dims shape = x.shape();
  shape.back() = 1;
  return dropped_together(x, shape, p, training, generator);
}

Tensor dropout2d(const Tensor& x, double p, bool training, Generator* generator) {
  record::require_float("dropout2d", x);
  if (x.dim() < 2) base::fail("dropout2d", "takes (batch, channels, ...), got {}", ir::to_string(x.shape()));
  Dims shape(x.shape().size(), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return dropped_together(x, shape, p, training, generator);
}

Tensor alpha_dropout(const Tensor& x, double p, bool training, Generator* generator) {
  record::require_float("alpha_dropout", x);
  if (!(p >= 0 && p <= 1)) base::fail("alpha_dropout", "p must lie in 0..1, got {}", p);
  if (!training || p == 0) return x;
  if (p == 1) return mul(x, 0.0);
  constexpr double kSeluDepth = 1.7580993408473766;  // SELU falls to its negative
  const double scale = 1 / std::sqrt((kSeluDepth * kSeluDepth * p + 1) * (1 - p));
  const Tensor kept = ge(rand(x.shape(), Options(DType::f32, x.device()), generator), p);
  return in_wide(x, [&](const Tensor& w) {
    return where(kept, add(mul(w, scale), kSeluDepth * p * scale), kSeluDepth * (p - 1) * scale);
  });
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim, Generator* generator) {
  record::require_float("gumbel_softmax", logits);
  if (!(tau > 0)) base::fail("gumbel_softmax", "tau must be positive, got {}", tau);
  constexpr double kLeast = 1e-30;  // logarithms of draws stay finite
  return in_wide(logits, [&](const Tensor& w) {
    const Tensor waiting = neg(log(clamp_min(rand_like(w, generator), kLeast)));
    const Tensor soft = softmax(div(sub(w, log(clamp_min(waiting, kLeast))), tau), dim);
    if (!hard) return soft;
    const Tensor drawn = scatter(zeros_like(soft), dim, argmax(soft.detach(), dim, true), 1.0);
    return add(sub(drawn, soft.detach()), soft);
  });
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  constexpr std::string_view kOp = "attention";
  if (autocast_dtype() && (query.dtype() == DType::f32 || key.dtype() == DType::f32 || value.dtype() == DType::f32))
    return scaled_dot_product_attention(autocast(query), autocast(key), autocast(value), options);
  for (const Tensor* t : {&query, &key, &value}) {
    record::require_float(kOp, *t);
    record::require_same_device(kOp, query, *t);
    if (t->dtype() != query.dtype()) base::fail(kOp, "dtypes {} and {} differ", name(query.dtype()), name(t->dtype()));
    if (t->dim() < 2 || t->dim() != query.dim()) {
      base::fail(kOp, "query {}, key {} and value {} must have the same rank, at least 2", ir::to_string(query.shape()),
                 ir::to_string(key.shape()), ir::to_string(value.shape()));
    }
  }
  const auto misfit = [&](std::string_view why) {
    base::fail(kOp, "query {}, key {} and value {} do not fit: {}", ir::to_string(query.shape()),
               ir::to_string(key.shape()), ir::to_string(value.shape()), why);
  };
  if (query.size(-1) != key.size(-1)) misfit("query and key widths differ");
  if (key.size(-2) != value.size(-2)) misfit("key and value lengths differ");
  const int64_t heads = query.dim() > 2 ? query.size(-3) : 1, groups = key.dim() > 2 ? key.size(-3) : 1;
  if (key.dim() > 2 && groups != value.size(-3)) misfit("key and value heads differ");
  if (heads != groups && !options.gqa) misfit("the numbers of heads differ; set gqa to share key/value heads");
  if (heads != groups && (groups == 0 || heads % groups != 0)) misfit("query heads must be a multiple of key/value heads");
  Dims batch(query.shape().begin(), query.shape().begin() + std::max<int64_t>(0, query.dim() - 3));
  for (size_t i = 0; i < batch.size(); ++i) {
    if (key.shape()[i] != batch[i] || value.shape()[i] != batch[i]) misfit("batch sizes differ");
  }
  if (heads == 0) return matmul(matmul(query, key.transpose(-1, -2)), value);  // nothing, in the shape of the result
  const int64_t batches = ir::count(batch), rows = query.size(-2), columns = key.size(-2);
  const auto four = [&](const Tensor& t, int64_t h) { return t.reshape({batches, h, t.size(-2), t.size(-1)}); };

  ir::AttentionAttrs attrs;
  attrs.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  attrs.causal = options.causal;
  attrs.has_mask = options.mask.defined();
  ir::Operands operands{record::in(four(query, heads)), record::in(four(key, groups)), record::in(four(value, groups))};
  if (attrs.has_mask) {
    Tensor mask = options.mask;
    record::require_mask(kOp, "mask", mask);
    if (mask.dtype() == DType::boolean) {
      const double hidden = -std::numeric_limits<double>::infinity();
      mask = where(mask, 0.0, full({}, hidden, Options(accumulator(query.dtype()), query.device())));
    }
    record::require_same_device(kOp, query, mask);
    Dims scores = batch;
    if (query.dim() > 2) scores.push_back(heads);
    scores.push_back(rows);
    scores.push_back(columns);
    const ir::Value expanded = record::expanded(kOp, record::in(mask), scores);
    operands.push_back(ir::reshape(expanded, {batches, heads, rows, columns}));
  }
  if (!(options.dropout >= 0 && options.dropout < 1))
    base::fail(kOp, "dropout must lie in 0..1, got {}", options.dropout);
  if (options.dropout > 0) {
    // The generator hands out the words; attention draws them itself, weight by weight.
    Generator& generator = options.generator ? *options.generator : default_generator();
    const ir::Value words = value_of(generator.bits(batches * heads * rows * columns, query.device()));
    attrs.dropout = options.dropout;
    attrs.offset = words.node->attrs_as<ir::RandomAttrs>().offset;
    operands.push_back(words.node->input(0));
  }
  const ir::Value out = ir::attention(operands, attrs).first;
  Dims shape = query.shape();
  shape.back() = value.size(-1);
  return tensor_of(ir::reshape(out, shape));
}

}  // namespace tenon::nn
