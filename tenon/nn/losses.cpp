// Losses as compositions. Class losses pick with a comparison against the class number instead of a gather: that fuses
// into the softmax, and its gradient is elementwise.

#include "tenon/nn/losses.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/nn/class_targets.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {

namespace {

// What the two are called in the loss, for the message.
struct Names {
  std::string_view first = "input", second = "target";
};
void require_same_shape(std::string_view op, const Tensor& x, const Tensor& target, const Names& names = {}) {
  if (x.shape() == target.shape()) return;
  base::fail(op, "{} {} and {} {} differ in shape", names.first, ir::to_string(x.shape()), names.second,
             ir::to_string(target.shape()));
}

void refuse_batchmean(std::string_view op, Reduction reduction) {
  if (reduction == Reduction::batchmean) base::fail(op, "reduction batchmean is for kl_div");
}

Tensor reduced(const Tensor& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return loss;
    case Reduction::sum: return sum(loss);
    case Reduction::batchmean: return div(sum(loss), loss.dim() == 0 ? int64_t{1} : loss.size(0));
    default: return mean(loss);
  }
}

// Computes an elementwise loss in f32 for 16-bit inputs and rounds the reduced value once.
template <typename F>
Tensor elementwise_loss(std::string_view op, const Tensor& given, const Tensor& wanted, Reduction reduction, F&& f) {
  const Tensor x = autocast_wide(given), target = autocast_wide(wanted);
  record::require_float(op, x);
  require_same_shape(op, x, target);
  if (op != "kl_div") refuse_batchmean(op, reduction);
  const DType wide = promote(accumulator(x.dtype()), accumulator(target.dtype()));
  return reduced(f(x.to(wide), target.to(wide)), reduction).to(promote(x.dtype(), target.dtype()));
}

// What the losses that are square near the target and linear far from it are made of: the difference where it is near
// (0 elsewhere, or the square of an infinite one would make the gradient NaN), and the distance. The square is not made
// of the distance, whose slope is 0 at the target: there the second derivative would be lost.
struct NearAndFar {
  Tensor far, difference, distance;
};
NearAndFar near_and_far(const Tensor& a, const Tensor& b, double border) {
  const Tensor difference = sub(a, b), distance = abs(difference), far = ge(distance, border);
  return {far, where(far, 0.0, difference), distance};
}

size_t class_axis(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

// -sum over classes of weight * target * log_probability, for targets given as probabilities.
Tensor soft_cross_entropy(const Tensor& log_p, const Tensor& target, const CrossEntropyOptions& options) {
  if (log_p.shape() != target.shape())
    base::fail(
        "cross_entropy",
        "targets of {} are probabilities of every class, of the input's shape {}, and these have shape {}; classes "
        "are i64",
        name(target.dtype()), ir::to_string(log_p.shape()), ir::to_string(target.shape()));
  const auto axis = static_cast<int64_t>(class_axis(log_p));
  const double classes = static_cast<double>(log_p.size(axis)), smoothing = options.label_smoothing;
  Tensor wanted = target.to(log_p.dtype());
  if (smoothing > 0) wanted = add(mul(wanted, 1 - smoothing), smoothing / classes);
  Tensor terms = mul(wanted, log_p);
  if (options.weight.defined()) {
    Dims shape(log_p.shape().size(), 1);
    shape[static_cast<size_t>(axis)] = log_p.size(axis);
    terms = mul(terms, options.weight.to(log_p.dtype()).reshape(shape));
  }
  const Tensor loss = neg(sum(terms, {axis}));
  return reduced(loss, options.reduction);
}

void require_class_targets(std::string_view op, const Tensor& x, const Tensor& target,
                           const CrossEntropyOptions& options) {
  if (x.dim() == 0) base::fail(op, "takes at least one dim of classes");
  if (target.dtype() != DType::i64 && target.dtype() != DType::i32) {
    base::fail(op, "class targets are i32 or i64, got {}", name(target.dtype()));
  }
  Dims wanted = x.shape();
  wanted.erase(wanted.begin() + class_axis(x));
  if (target.shape() != wanted) {
    base::fail(op, "input {} takes targets of shape {}, got {}", ir::to_string(x.shape()), ir::to_string(wanted),
               ir::to_string(target.shape()));
  }
  const int64_t classes = x.shape()[class_axis(x)];
  if (options.weight.defined() && options.weight.shape() != Dims{classes}) {
    base::fail(op, "weight {} does not fit {} classes", ir::to_string(options.weight.shape()), classes);
  }
  require_classes(op, target, classes, options.ignore_index);
  refuse_batchmean(op, options.reduction);
}

// The loss for class targets, from log-probabilities in f32 or wider; where `norm` is defined, from numbers that are
// larger than those by it, one for each place.
Tensor class_loss(ir::LookUp use, const Tensor& log_p, const Tensor& norm, const Tensor& given,
                  const CrossEntropyOptions& options) {
  const size_t axis = class_axis(log_p);
  const Tensor target = checked(use, given, log_p.shape()[axis], options.ignore_index);
  const auto dim = static_cast<int64_t>(axis);
  const int64_t classes = log_p.shape()[axis];
  const DType dtype = log_p.dtype();
  const Tensor column = target.to(DType::i32).unsqueeze(dim);
  const Tensor valid = ne(target, options.ignore_index);
  Dims along(log_p.shape().size(), 1);
  along[axis] = classes;
  const Tensor numbers = arange(classes, Options(DType::i32, target.device())).reshape(along);
  const Tensor hit = eq(numbers, column);

  const Tensor weight = options.weight.defined() ? options.weight.to(dtype).reshape(along) : Tensor();
  const Tensor weighted = weight.defined() ? mul(log_p, weight) : log_p;
  Tensor loss = neg(sum(where(hit, weighted, 0.0), {dim}));
  if (options.label_smoothing > 0) {
    const Tensor smooth = neg(sum(weighted, {dim}));
    loss = add(mul(loss, 1 - options.label_smoothing),
               mul(smooth, options.label_smoothing / static_cast<double>(classes)));
  }
  if (norm.defined()) loss = add(norm, loss);
  loss = where(valid, loss, 0.0);
  if (options.reduction != Reduction::mean) return reduced(loss, options.reduction);
  // The mean is over what counts: the weights of the targets that are not ignored.
  const Tensor counted = weight.defined() ? where(valid, sum(where(hit, weight, 0.0), {dim}), 0.0) : valid.to(dtype);
  return div(sum(loss), sum(counted));
}

}  // namespace

Tensor cross_entropy(const Tensor& given, const Tensor& target, const CrossEntropyOptions& options) {
  const Tensor logits = autocast_wide(given);
  record::require_float("cross_entropy", logits);
  record::require_same_device("cross_entropy", logits, target);
  if (logits.dim() == 0) base::fail("cross_entropy", "takes at least one dim of classes");
  if (options.label_smoothing < 0 || options.label_smoothing > 1) {
    base::fail("cross_entropy", "label_smoothing must lie in 0..1, got {}", options.label_smoothing);
  }
  refuse_batchmean("cross_entropy", options.reduction);
  const bool soft = is_float(target.dtype());
  if (!soft) require_class_targets("cross_entropy", logits, target, options);
  const auto dim = static_cast<int64_t>(class_axis(logits));
  const Tensor wide = logits.to(accumulator(logits.dtype()));
  // Where nothing but the target's class counts, the sum of exponentials stays apart from the target's logit: then no
  // gradient has to be summed over the classes.
  if (!soft && !options.weight.defined() && options.label_smoothing == 0 && wide.numel() > 0) {
    const Tensor centred = sub(wide, amax(wide, {dim}, true).detach());
    return class_loss(ir::LookUp::cross_entropy, centred, log(sum(exp(centred), {dim})), target, options)
        .to(logits.dtype());
  }
  const Tensor log_p = log_softmax(wide, dim);
  const Tensor loss = soft ? soft_cross_entropy(log_p, target, options)
                           : class_loss(ir::LookUp::cross_entropy, log_p, Tensor(), target, options);
  return loss.to(logits.dtype());
}

Tensor nll_loss(const Tensor& given, const Tensor& target, const CrossEntropyOptions& options) {
  const Tensor log_probabilities = autocast_wide(given);
  record::require_float("nll_loss", log_probabilities);
  record::require_same_device("nll_loss", log_probabilities, target);
  if (options.label_smoothing != 0)
    base::fail("nll_loss", "label_smoothing {} is for cross_entropy, which takes logits", options.label_smoothing);
  require_class_targets("nll_loss", log_probabilities, target, options);
  return class_loss(ir::LookUp::nll_loss, log_probabilities.to(accumulator(log_probabilities.dtype())), Tensor(), target,
                    options)
      .to(log_probabilities.dtype());
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return elementwise_loss("mse_loss", x, target, reduction,
                          [](const Tensor& a, const Tensor& b) { return square(sub(a, b)); });
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return elementwise_loss("l1_loss", x, target, reduction,
                          [](const Tensor& a, const Tensor& b) { return abs(sub(a, b)); });
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  if (!(delta > 0)) base::fail("huber_loss", "delta must be positive, got {}", delta);
  return elementwise_loss("huber_loss", x, target, reduction, [&](const Tensor& a, const Tensor& b) {
    const auto [far, difference, distance] = near_and_far(a, b, delta);
    return where(far, mul(sub(distance, 0.5 * delta), delta), mul(square(difference), 0.5));
  });
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  if (!(beta >= 0)) base::fail("smooth_l1_loss", "beta must not be negative, got {}", beta);
  if (beta == 0) return l1_loss(x, target, reduction);
  return elementwise_loss("smooth_l1_loss", x, target, reduction, [&](const Tensor& a, const Tensor& b) {
    const auto [far, difference, distance] = near_and_far(a, b, beta);
    return where(far, sub(distance, 0.5 * beta), mul(square(difference), 0.5 / beta));
  });
}

namespace {

// PyTorch's derivatives of binary_cross_entropy: p (1 - p) is at least 1e-12 in the first, 1e-12 is added to p and 1 -
// p in the second, and logarithms are cut at -100 in the value alone.
constexpr double kLeast = 1e-12;

Tensor spread_of(const Tensor& p, double least) {
  const Tensor spread = mul(p, sub(1.0, p));
  return where(lt(spread, least), least, spread);
}

// (p - t) / (p (1 - p)) times the gradient that arrived.
Tensor gradient_by_chance(const Tensor& chance, const Tensor& target, const Tensor& arrived) {
  static const CustomFunction function{
      "binary_cross_entropy_backward",
      [](std::span<const Tensor> in) {
        constexpr double kRounded = 1e-12F;  // PyTorch writes it in f32 here
        return std::vector{mul(in[2], div(sub(in[0], in[1]), spread_of(in[0], kRounded)))};
      },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor &p = in[0], &t = in[1], both = mul(grads[0], in[2]), spread = spread_of(p, kLeast);
        const Tensor bend = mul(add(p, kLeast), add(sub(1.0, p), kLeast));
        const Tensor above = add(sub(square(p), mul(mul(p, t), 2.0)), t);
        return std::vector{mul(both, div(div(above, bend), bend)), neg(div(both, spread)),
                           mul(grads[0], div(sub(p, t), spread))};
      }};
  return tenon::apply(function, std::vector{chance, target, arrived})[0];
}

}  // namespace

namespace {

// Where it is defined, times the loss of each element.
Tensor weighted(std::string_view op, const Tensor& loss, const Tensor& weight) {
  if (!weight.defined()) return loss;
  if (record::broadcast(op, loss.shape(), weight.shape()) != loss.shape()) {
    base::fail(op, "weight {} does not broadcast to {}", ir::to_string(weight.shape()), ir::to_string(loss.shape()));
  }
  return mul(loss, weight.to(loss.dtype()));
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, Reduction reduction) {
  return binary_cross_entropy(x, target, {.weight = {}, .pos_weight = {}, .reduction = reduction});
}
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
  return binary_cross_entropy_with_logits(logits, target, {.weight = {}, .pos_weight = {}, .reduction = reduction});
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BinaryCrossEntropyOptions& options) {
  if (options.pos_weight.defined()) base::fail("binary_cross_entropy", "pos_weight is for logits");
  static const CustomFunction function{"binary_cross_entropy",
                                       [](std::span<const Tensor> in) {
                                         // So that a certain and wrong answer costs much but not infinity.
                                         const Tensor log_p = clamp(log(in[0]), -100.0, {}),
                                                      log_q = clamp(log1p(neg(in[0])), -100.0, {});
                                         return std::vector{neg(add(mul(in[1], log_p), mul(sub(1.0, in[1]), log_q)))};
                                       },
                                       [](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                         return std::vector{gradient_by_chance(in[0], in[1], grads[0]),
                                                            mul(grads[0], sub(log1p(neg(in[0])), log(in[0])))};
                                       }};
  return elementwise_loss("binary_cross_entropy", x, target, options.reduction, [&](const Tensor& p, const Tensor& t) {
    return weighted("binary_cross_entropy", tenon::apply(function, std::vector{p, t})[0], options.weight);
  });
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options) {
  constexpr std::string_view kOp = "binary_cross_entropy_with_logits";
  return elementwise_loss(kOp, logits, target, options.reduction, [&](const Tensor& x, const Tensor& t) {
    // log(1 + e^x) - x t, with the larger exponential taken out by a choice that is one-sided at 0: abs and relu
    // have corners there, which the sum has not.
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Tensor negative = lt(x, 0.0);
    Tensor slope = where(negative, neg(t), sub(1.0, t)), curve = log1p(exp(where(negative, x, neg(x))));
    if (options.pos_weight.defined()) {
      // log(1 + e^-x) counts 1 + (pos_weight - 1) t times.
      const Tensor times = add(weighted(kOp, t, sub(options.pos_weight.to(t.dtype()), 1.0)), 1.0);
      slope = sub(sub(1.0, t), where(negative, times, 0.0));
      curve = mul(curve, times);
    }
    // PyTorch subtracts infinities there.
    const Tensor end = where(eq(x, -kInfinity), std::numeric_limits<double>::quiet_NaN(), zeros_like(x));
    return weighted(kOp, add(add(mul(x, slope), curve), end), options.weight);
  });
}

Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  return elementwise_loss("kl_div", x, target, reduction, [&](const Tensor& a, const Tensor& t) {
    if (log_target) return mul(exp(t), sub(t, a));
    const Tensor positive = gt(t, 0.0);  // t log t is 0 at 0, and NaN below
    const Tensor end = where(lt(t.detach(), 0.0), std::numeric_limits<double>::quiet_NaN(), zeros_like(t));
    return add(sub(where(positive, mul(t, log(where(positive, t, 1.0))), 0.0), mul(t, a)), end);
  });
}

// ---- margins ----

namespace {

// Operands in f32 or wider, and the dtype that the loss is rounded to.
struct Wide {
  std::vector<Tensor> tensors;
  DType dtype;
};
Wide widened(std::string_view op, std::initializer_list<Tensor> given) {
  Wide made{{}, given.begin()->dtype()};
  for (const Tensor& one : given) {
    const Tensor x = autocast_wide(one);
    record::require_float(op, x);
    record::require_same_device(op, *given.begin(), x);
    made.dtype = made.tensors.empty() ? x.dtype() : promote(made.dtype, x.dtype());
    made.tensors.push_back(x);
  }
  for (Tensor& x : made.tensors) x = x.to(accumulator(made.dtype));
  return made;
}

// max(0, x), flat at 0 as in PyTorch.
Tensor above_zero(const Tensor& x) { return clamp(x, 0.0, {}); }

Tensor finished(std::string_view op, const Tensor& loss, Reduction reduction, DType dtype) {
  refuse_batchmean(op, reduction);
  return reduced(loss, reduction).to(dtype);
}

}  // namespace

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                             Reduction reduction) {
  constexpr std::string_view kOp = "cosine_embedding_loss";
  require_same_shape(kOp, a, b, {"first input", "second input"});
  const bool fits = (a.dim() == 2 && target.shape() == Dims{a.size(0)}) || (a.dim() == 1 && target.dim() == 0);
  if (!fits) {
    base::fail(kOp, "inputs {} and target {} do not fit: (N, D) takes (N), and (D) a single number",
               ir::to_string(a.shape()), ir::to_string(target.shape()));
  }
  const auto [in, dtype] = widened(kOp, {a, b});
  constexpr double kTiny = 1e-12;
  const Tensor lengths = mul(add(sum(square(in[0]), -1), kTiny), add(sum(square(in[1]), -1), kTiny));
  const Tensor cosine = div(sum(mul(in[0], in[1]), -1), sqrt(lengths));
  const Tensor apart = where(eq(target, -1), above_zero(sub(cosine, margin)), 0.0);
  return finished(kOp, add(where(eq(target, 1), sub(1.0, cosine), 0.0), apart), reduction, dtype);
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin, Reduction reduction) {
  constexpr std::string_view kOp = "margin_ranking_loss";
  require_same_shape(kOp, a, b, {"first input", "second input"});
  require_same_shape(kOp, a, target);
  const auto [in, dtype] = widened(kOp, {a, b});
  const Tensor lead = mul(target.to(in[0].dtype()), sub(in[0], in[1]));
  return finished(kOp, above_zero(sub(margin, lead)), reduction, dtype);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin, Reduction reduction) {
  constexpr std::string_view kOp = "hinge_embedding_loss";
  require_same_shape(kOp, x, target);
  const auto [in, dtype] = widened(kOp, {x});
  const Tensor hinge = where(ne(target, 1), above_zero(sub(margin, in[0])), 0.0);
  return finished(kOp, add(hinge, where(ne(target, -1), in[0], 0.0)), reduction, dtype);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  constexpr std::string_view kOp = "soft_margin_loss";
  require_same_shape(kOp, x, target);
  const auto [in, dtype] = widened(kOp, {x});
  const Tensor wrong = neg(mul(target.to(in[0].dtype()), in[0]));
  return finished(kOp, logaddexp(wrong, 0.0), reduction, dtype);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginOptions& options) {
  constexpr std::string_view kOp = "multi_margin_loss";
  if (options.p != 1 && options.p != 2) base::fail(kOp, "p is 1 or 2, got {}", options.p);
  if (x.dim() != 1 && x.dim() != 2) base::fail(kOp, "takes (N, C) or (C), got {}", ir::to_string(x.shape()));
  record::require_same_device(kOp, x, target);
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // no target is ignored
  require_class_targets(kOp, x, target,
                        {.weight = options.weight, .ignore_index = kNone, .reduction = options.reduction});
  const auto [in, dtype] = widened(kOp, {x});
  const int64_t classes = x.size(-1);
  const Tensor wanted = checked(ir::LookUp::multi_margin_loss, target, classes, kNone);
  const Tensor hit = eq(arange(classes, Options(wanted.dtype(), x.device())), wanted.unsqueeze(-1));
  const Tensor own = sum(where(hit, in[0], 0.0), -1, true);
  Tensor terms = above_zero(add(sub(in[0], own), options.margin));
  if (options.p == 2) terms = square(terms);
  terms = where(hit, 0.0, terms);
  if (options.weight.defined()) terms = mul(terms, sum(where(hit, options.weight.to(in[0].dtype()), 0.0), -1, true));
  return finished(kOp, div(sum(terms, -1), classes), options.reduction, dtype);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options) {
  constexpr std::string_view kOp = "triplet_margin_loss";
  require_same_shape(kOp, anchor, positive, {"anchor", "positive"});
  require_same_shape(kOp, anchor, negative, {"anchor", "negative"});
  if (anchor.dim() == 0) base::fail(kOp, "takes at least one dim of features");
  if (!(options.margin > 0)) base::fail(kOp, "margin must be positive, got {}", options.margin);
  const auto [in, dtype] = widened(kOp, {anchor, positive, negative});
  const Tensor near = pairwise_distance(in[0], in[1], options.p, options.eps);
  Tensor far = pairwise_distance(in[0], in[2], options.p, options.eps);
  if (options.swap) far = minimum(far, pairwise_distance(in[1], in[2], options.p, options.eps));
  return finished(kOp, above_zero(add(sub(near, far), options.margin)), options.reduction, dtype);
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletDistanceOptions& options) {
  constexpr std::string_view kOp = "triplet_margin_with_distance_loss";
  if (!(options.margin > 0)) base::fail(kOp, "margin must be positive, got {}", options.margin);
  refuse_batchmean(kOp, options.reduction);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance ? options.distance(a, b) : pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  return reduced(above_zero(add(sub(near, far), options.margin)), options.reduction);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double eps) {
  const auto [in, dtype] = widened("cosine_similarity", {a, b});
  const Dims shape = record::broadcast("cosine_similarity", in[0].shape(), in[1].shape());
  const Tensor x = in[0].expand(shape), y = in[1].expand(shape);
  const auto unit = [&](const Tensor& v) { return div(v, clamp(norm(v, 2, dim, true), eps, {})); };
  return sum(mul(unit(x), unit(y)), dim).to(dtype);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdim) {
  const auto [in, dtype] = widened("pairwise_distance", {a, b});
  return norm(add(sub(in[0], in[1]), eps), p, -1, keepdim).to(dtype);
}

// ---- how unlikely something is ----

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllOptions& options) {
  constexpr std::string_view kOp = "poisson_nll_loss";
  const auto real = [](const Tensor& given) { return given.to(record::real_type(given.dtype())); };  // counts are whole
  const auto [in, dtype] = widened(kOp, {real(x), real(target)});
  const Tensor &w = in[0], &count = in[1];
  Tensor loss = options.log_input ? sub(exp(w), mul(count, w)) : sub(w, mul(count, log(add(w, options.eps))));
  if (options.full) {
    const Tensor is_above = gt(count, 1.0), above = where(is_above, count, 1.0);
    const Tensor circle = mul(log(mul(above, 2 * std::numbers::pi)), 0.5);
    loss = add(loss, where(is_above, add(sub(mul(above, log(above)), above), circle), 0.0));
  }
  return finished(kOp, loss, options.reduction, dtype);
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Operand& variance,
                         const GaussianNllOptions& options) {
  constexpr std::string_view kOp = "gaussian_nll_loss";
  if (!variance.is_tensor() && variance.number().as_double() < 0)
    base::fail(kOp, "a variance is 0 or more, not {}", variance.number().as_double());
  const Options options_of_x(x.dtype(), x.device());
  Tensor given = variance.is_tensor() ? variance.tensor() : full(x.shape(), variance.number(), options_of_x);
  if (given.shape() != x.shape()) {
    bool fits = given.dim() == x.dim();
    for (int64_t i = 0; fits && i < x.dim(); ++i) fits = given.size(i) == x.size(i) || given.size(i) == 1;
    const bool is_of_rows = x.dim() > 0 && given.shape() == Dims(x.shape().begin(), x.shape().end() - 1);
    if (is_of_rows)
      given = given.unsqueeze(-1);
    else if (!fits)
      base::fail(kOp, "takes variances like {}, got {}", ir::to_string(x.shape()), ir::to_string(given.shape()));
  }
  const auto [in, dtype] = widened(kOp, {x, target, given});
  // The bound takes no part in gradients.
  const Tensor known = in[2].detach();
  const Tensor least = where(lt(known, 0.0), std::numeric_limits<double>::quiet_NaN(), clamp_min(known, options.eps));
  const Tensor spread = add(in[2], sub(least, known));
  const Tensor loss = mul(add(log(spread), div(square(sub(in[0], in[1])), spread)), 0.5);
  const double constant = options.full ? 0.5 * std::log(2 * std::numbers::pi) : 0;
  return finished(kOp, options.full ? add(loss, constant) : loss, options.reduction, dtype);
}

// ---- several classes a sample ----

Tensor multilabel_margin_loss(const Tensor& given, const Tensor& given_target, Reduction reduction) {
  constexpr std::string_view kOp = "multilabel_margin_loss";
  if ((given.dim() != 1 && given.dim() != 2) || given.shape() != given_target.shape())
    base::fail(kOp, "takes (batch, classes) or (classes,) twice, got {} and {}", ir::to_string(given.shape()),
               ir::to_string(given_target.shape()));
  if (!is_integer(given_target.dtype())) base::fail(kOp, "targets are classes, got {}", name(given_target.dtype()));
  const auto [in, dtype] = widened(kOp, {given});
  const bool is_one = given.dim() == 1;
  const Tensor x = is_one ? in[0].unsqueeze(0) : in[0];
  const Tensor target = is_one ? given_target.unsqueeze(0) : given_target;
  const Tensor counts = eq(cumsum(lt(target, 0).to(DType::i64), 1), 0).to(x.dtype());
  const Tensor places = clamp_min(target.to(DType::i64), 0);
  const Tensor is_target = gt(scatter_add(zeros_like(x), 1, places, counts), 0.0);
  const Tensor distances = above_zero(sub(1.0, sub(gather(x, 1, places).unsqueeze(2), x.unsqueeze(1))));
  const Tensor others = mul(counts.unsqueeze(2), logical_not(is_target).to(x.dtype()).unsqueeze(1));
  const Tensor loss = div(sum(mul(distances, others), {1, 2}), static_cast<double>(x.size(1)));
  return finished(kOp, is_one ? loss.select(0, 0) : loss, reduction, dtype);
}

Tensor multilabel_soft_margin_loss(const Tensor& given, const Tensor& given_target, const Tensor& weight,
                                   Reduction reduction) {
  constexpr std::string_view kOp = "multilabel_soft_margin_loss";
  require_same_shape(kOp, given, given_target);
  const auto [in, dtype] = widened(kOp, {given, given_target});
  const Tensor &x = in[0], &target = in[1];
  Tensor loss = neg(add(mul(target, logsigmoid(x)), mul(sub(1.0, target), logsigmoid(neg(x)))));
  if (weight.defined()) loss = mul(loss, weight.to(loss.dtype()));
  return finished(kOp, mean(loss, -1), reduction, dtype);
}

}  // namespace tenon::nn
