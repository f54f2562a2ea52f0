// Matrix products and einsum, all through one primitive: batched (M, K) times (K, N).

#include <algorithm>
#include <array>
#include <cmath>

#include "tenon/device/registry.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

void require_matching(std::string_view op, const Tensor& a, const Tensor& b) {
  record::require_same_device(op, a, b);
  if (a.dtype() != b.dtype()) {
    base::fail(op, "dtypes {} and {} differ; convert one with to()", name(a.dtype()), name(b.dtype()));
  }
  if (a.dtype() == DType::boolean) base::fail(op, "is not defined on bool");
}

// The batches that both have, each of which may be 1 or missing on one side.
Dims common_batch(std::string_view op, const Tensor& a, const Tensor& b) {
  const auto batch_of = [](const Tensor& t,
                           size_t back) {  // back counts from the end of the shape, the matrix is 1 and 2
    return back <= t.shape().size() ? t.shape()[t.shape().size() - back] : 1;
  };
  const size_t rank = std::max<size_t>(std::max(a.shape().size(), b.shape().size()), 2);
  Dims batch(rank - 2);
  for (size_t back = 3; back <= rank; ++back) {
    const int64_t x = batch_of(a, back), y = batch_of(b, back);
    if (x != y && x != 1 && y != 1) {
      base::fail(op, "shapes {} and {} do not fit: batch sizes {} and {} differ at dim -{}", ir::to_string(a.shape()),
                 ir::to_string(b.shape()), x, y, back);
    }
    batch[rank - back] = x == 1 ? y : x;
  }
  return batch;
}

Tensor product_of(std::string_view op, const Tensor& a, const Tensor& b, std::optional<DType> wanted = {});

// A tensor that was expanded: the sum over the dims that were added or were of size 1.
Tensor summed_to(const Tensor& x, const Dims& shape) {
  const size_t added = x.shape().size() - shape.size();
  Axes axes;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    if (i < added || (shape[i - added] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  }
  return axes.empty() ? x : sum(x, axes, true).reshape(shape);
}

// Matrices of 16 bits, one of which counts for several of the other's batch: its gradient is summed before it is
// rounded.
Tensor product_with_wide_sums(std::string_view op, const Tensor& a, const Tensor& b, DType result) {
  const CustomFunction function{
      std::string(op),
      [name = std::string(op), result](std::span<const Tensor> in) {
        return std::vector{product_of(name, in[0], in[1], result)};
      },
      [name = std::string(op)](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const DType own = in[0].dtype(), wide = accumulator(own);
        const Tensor g = grads[0].to(own);
        const auto gradient = [&](const Tensor& left, const Tensor& right, const Tensor& of) {
          return summed_to(product_of(name, left, right, wide), of.shape()).to(own);
        };
        return std::vector{gradient(g, in[1].transpose(-1, -2), in[0]), gradient(in[0].transpose(-1, -2), g, in[1])};
      }};
  return apply(function, std::vector{a, b})[0];
}

// `op` is what the user called; `wanted` is the dtype of the result where that is not the operands'.
Tensor product_of(std::string_view op, const Tensor& a, const Tensor& b, std::optional<DType> wanted) {
  const DType result = wanted.value_or(a.dtype());
  const std::optional<DType> low = autocast_dtype();
  if (low && is_autocast(a.dtype()) && is_autocast(b.dtype()) && (a.dtype() != *low || b.dtype() != *low)) {
    if (a.dim() >= 1 && b.dim() == 2 && a.size(-1) == b.size(0)) {
      record::require_same_device(op, a, b);
      return autocast_product(a, b, Tensor(), *low);
    }
    return product_of(op, a.to(*low), b.to(*low));
  }
  require_matching(op, a, b);
  const Dims &sa = a.shape(), &sb = b.shape();
  if (sa.empty() || sb.empty())
    base::fail(op, "shapes {} and {}: single numbers are multiplied with *", ir::to_string(sa), ir::to_string(sb));
  const int64_t inner_a = sa.back(), inner_b = sb.size() == 1 ? sb[0] : sb[sb.size() - 2];
  if (inner_a != inner_b) {
    base::fail(op, "shapes {} and {} do not fit: inner dimensions {} and {} differ", ir::to_string(sa),
               ir::to_string(sb), inner_a, inner_b);
  }
  // Vectors become a row on the left and a column on the right, and lose that axis again in the result.
  ir::Value x = record::in(a), y = record::in(b);
  if (sa.size() == 1) x = ir::reshape(x, {1, sa[0]});
  if (sb.size() == 1) y = ir::reshape(y, {sb[0], 1});
  const int64_t rows = x.shape()[x.rank() - 2], columns = y.shape().back();
  const Dims batch_a(x.shape().begin(), x.shape().end() - 2), batch_b(y.shape().begin(), y.shape().end() - 2);
  const Dims batch = common_batch(op, a, b);
  Dims shape = batch;
  if (sa.size() > 1) shape.push_back(rows);
  if (sb.size() > 1) shape.push_back(columns);
  ir::require_shape(op, shape);
  const bool is_tall = batch_b.empty() && !batch_a.empty();
  const bool sums_gradients = (a.requires_grad() && batch_a != batch) || (b.requires_grad() && batch_b != batch);
  if (!is_tall && sums_gradients && grad_enabled() && accumulator(a.dtype()) != a.dtype())
    return product_with_wide_sums(op, tensor_of(x), tensor_of(y), result).reshape(shape);
  ir::Value product;
  if (is_tall) {
    // One matrix for all batches: a single tall product.
    const int64_t tall = ir::count(batch_a) * rows;
    product = record::product(ir::reshape(x, {tall, inner_a}), y, result);
  } else {
    const auto with_batch = [&](const ir::Value& v) {
      Dims whole = batch;
      whole.push_back(v.shape()[v.rank() - 2]);
      whole.push_back(v.shape().back());
      return record::expanded(op, v, whole);
    };
    product = record::product(with_batch(x), with_batch(y), result);
  }
  return tensor_of(ir::reshape(product, shape));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) { return product_of("matmul", a, b); }

Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) {
    base::fail("dot", "takes two vectors, got shapes {} and {}", ir::to_string(a.shape()), ir::to_string(b.shape()));
  }
  if (a.shape() != b.shape()) {
    base::fail("dot", "shapes {} and {} do not fit: inner dimensions {} and {} differ", ir::to_string(a.shape()),
               ir::to_string(b.shape()), a.numel(), b.numel());
  }
  return product_of("dot", a, b);
}

namespace {

void require_rank(std::string_view op, const Tensor& a, int64_t rank_a, const Tensor& b, int64_t rank_b,
                  std::string_view what) {
  if (a.dim() == rank_a && b.dim() == rank_b) return;
  base::fail(op, "takes {}, got shapes {} and {}", what, ir::to_string(a.shape()), ir::to_string(b.shape()));
}

// Batches of matrices, which are not broadcast here.
void require_same_batch(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.size(0) == b.size(0)) return;
  base::fail(op, "shapes {} and {} do not fit: batch sizes {} and {} differ", ir::to_string(a.shape()),
             ir::to_string(b.shape()), a.size(0), b.size(0));
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  require_rank("mm", a, 2, b, 2, "two matrices");
  return product_of("mm", a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  require_rank("bmm", a, 3, b, 3, "two batches of matrices");
  require_same_batch("bmm", a, b);
  return product_of("bmm", a, b);
}

Tensor mv(const Tensor& a, const Tensor& b) {
  require_rank("mv", a, 2, b, 1, "a matrix and a vector");
  return product_of("mv", a, b);
}

namespace {

// beta * x + alpha * product; of integers, factors are integers.
Tensor with_product(std::string_view op, const Tensor& x, const Tensor& made, Number beta, Number alpha) {
  const auto times = [](const Tensor& t, const Number& factor) {
    if (t.dtype() == DType::boolean) return factor.as_double() != 0 ? t : zeros_like(t);
    return factor.as_double() == 1 ? t : mul(t, factor.is_real() && !is_float(t.dtype()) ? factor.as_int() : factor);
  };
  const Tensor product = times(made, alpha);
  const Tensor added = tensor_of(record::expanded(op, record::in(x), product.shape()));  // x may not widen the product
  if (beta.as_double() == 0) return record::with_flat_part(product, x);                  // NaN in x does not count then
  return add(times(added, beta), product);
}

// alpha * (a @ b) of matrices of 16 bits, made wide. Gradients are multiplied by alpha after their products: before
// them, it would cost digits.
Tensor scaled_product(std::string_view op, const Tensor& a, const Tensor& b, Number alpha) {
  const DType wide = accumulator(a.dtype());
  const auto scaled = [=, name = std::string(op)](const Tensor& left, const Tensor& right) {
    return mul(product_of(name, left, right, wide), alpha);
  };
  const CustomFunction function{std::string(op),
                                [scaled](std::span<const Tensor> in) { return std::vector{scaled(in[0], in[1])}; },
                                [scaled](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                  const Tensor g = grads[0].to(in[0].dtype());
                                  return std::vector{scaled(g, in[1].transpose(-1, -2)).to(in[0].dtype()),
                                                     scaled(in[0].transpose(-1, -2), g).to(in[1].dtype())};
                                }};
  return apply(function, std::vector{a, b})[0];
}

// beta * x + alpha * (a @ b); 16-bit types are rounded once, after the sum.
Tensor with_product_of(std::string_view op, const Tensor& x, const Tensor& a, const Tensor& b, Number beta,
                       Number alpha) {
  const DType wide = accumulator(a.dtype());
  if (autocast_dtype() || wide == a.dtype() || x.dtype() != a.dtype())
    return with_product(op, x, product_of(op, a, b), beta, alpha);
  if (alpha.as_double() == 1) return with_product(op, x.to(wide), product_of(op, a, b, wide), beta, 1).to(a.dtype());
  const bool is_vector = b.dim() == 1;
  const Tensor product = scaled_product(op, a, is_vector ? b.unsqueeze(1) : b, alpha);
  return with_product(op, x.to(wide), is_vector ? product.squeeze(-1) : product, beta, 1).to(a.dtype());
}

}  // namespace

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  require_rank("addmm", a, 2, b, 2, "two matrices");
  return with_product_of("addmm", x, a, b, beta, alpha);
}

Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  require_rank("addmv", a, 2, b, 1, "a matrix and a vector");
  return with_product_of("addmv", x, a, b, beta, alpha);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  require_rank("baddbmm", a, 3, b, 3, "two batches of matrices");
  require_same_batch("baddbmm", a, b);
  return with_product_of("baddbmm", x, a, b, beta, alpha);
}

Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  const DType dtype = promote(x.dtype(), promote(a.dtype(), b.dtype())), wide = accumulator(dtype);
  if (wide == dtype) return with_product("addr", x.to(dtype), outer(a, b), beta, alpha);
  return with_product("addr", x.to(wide), outer(a.to(wide), b.to(wide)), beta, alpha).to(dtype);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims) {
  if (dims < 0 || dims > a.dim() || dims > b.dim()) {
    base::fail("tensordot", "{} dims do not fit shapes {} and {}", dims, ir::to_string(a.shape()),
               ir::to_string(b.shape()));
  }
  Dims last, first;
  for (int64_t i = 0; i < dims; ++i) {
    last.push_back(a.dim() - dims + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  if (dims_a.size() != dims_b.size())
    base::fail("tensordot", "{} dims of one and {} of the other", dims_a.size(), dims_b.size());
  Dims order_a, order_b, shape;
  int64_t inner = 1;
  std::vector<bool> summed_a(a.shape().size(), false), summed_b(b.shape().size(), false);
  Dims axes_a, axes_b;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const size_t p = record::axis("tensordot", dims_a[i], a.shape().size()),
                 q = record::axis("tensordot", dims_b[i], b.shape().size());
    if (summed_a[p] || summed_b[q]) base::fail("tensordot", "a dim appears more than once");
    if (a.shape()[p] != b.shape()[q]) {
      base::fail("tensordot", "shapes {} and {} do not fit: sizes {} and {} of dims {} and {} differ",
                 ir::to_string(a.shape()), ir::to_string(b.shape()), a.shape()[p], b.shape()[q], p, q);
    }
    summed_a[p] = summed_b[q] = true;
    axes_a.push_back(static_cast<int64_t>(p));
    axes_b.push_back(static_cast<int64_t>(q));
    inner *= a.shape()[p];
  }
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < a.shape().size(); ++i) {
    if (summed_a[i]) continue;
    order_a.push_back(static_cast<int64_t>(i));
    shape.push_back(a.shape()[i]);
    rows *= a.shape()[i];
  }
  order_b = axes_b;
  for (size_t i = 0; i < b.shape().size(); ++i) {
    if (summed_b[i]) continue;
    order_b.push_back(static_cast<int64_t>(i));
    shape.push_back(b.shape()[i]);
    columns *= b.shape()[i];
  }
  for (int64_t axis : axes_a) order_a.push_back(axis);
  const Tensor left = a.permute(order_a).reshape({rows, inner}), right = b.permute(order_b).reshape({inner, columns});
  return matmul(left, right).reshape(shape);
}

namespace {

// The largest of the distances along single coordinates. All that are as large have its whole slope, as in PyTorch:
// shared among them it would be that of a norm.
Tensor largest_step(const Tensor& difference) {
  static const CustomFunction function{
      "cdist", [](std::span<const Tensor> in) { return std::vector{amax(abs(in[0]), -1)}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor size = abs(in[0]), is_less = lt(size, amax(size, -1, true));
        return std::vector{where(is_less, 0.0, mul(grads[0].unsqueeze(-1), sign(in[0])))};
      }};
  return apply(function, difference);
}

// As norm(), but the gradient of a distance is computed once, and not again for every coordinate.
Tensor straight_line(const Tensor& difference) {
  static const CustomFunction once{
      "cdist", [](std::span<const Tensor> in) { return std::vector{in[0].detach()}; },
      [](std::span<const Tensor>, std::span<const Tensor> grads) { return std::vector{grads[0].clone()}; }};
  const Tensor squares = sum(square(difference), -1);
  const Tensor total = grad_enabled() && squares.requires_grad() ? apply(once, squares) : squares;
  const Tensor zero = eq(total, 0.0);
  return where(zero, 0.0, sqrt(where(zero, 1.0, total)));
}

bool on_host(Device device) { return device::open(device.id).limits().max_threads == 1; }

// Where products of f64 are as quick as on a CPU; GPUs take them at a small part of their speed, or lack them.
bool has_quick_f64(Device device) {
  return on_host(device) && !device::open(device.id).limits().missing_dtypes.contains(DType::f64);
}

// The distances (..., P, R) of points (..., P, M) and (..., R, M). On the host each coordinate of all points lies in
// one piece then, so that vectors run along the points: 1024 x 1024 points of 64 coordinates take an eighth of the
// time.
Tensor distances_between(const Tensor& a, const Tensor& b) {
  constexpr int64_t kFewPoints = 16;
  const bool by_coordinates = on_host(a.device()) && b.size(-2) >= kFewPoints;
  const auto laid_out = [&](const Tensor& x) {
    return by_coordinates ? x.transpose(-2, -1).clone().transpose(-2, -1) : x;
  };
  const Tensor difference = sub(laid_out(a).unsqueeze(-2), laid_out(b).unsqueeze(-3));
  return record::in_wide(autocast_wide(difference), straight_line);
}

// Of f32 points, with gradients by products of matrices: with w = grad / distance, that of a point p is
// sum(w) p - sum(w q) over the others q. Where points lie close together both sums are much larger than what is left of
// them, by at most the 24 bits that tell two f32 numbers apart, which f64 has to spare.
Tensor straight_lines(const Tensor& a, const Tensor& b) {
  static const CustomFunction function{
      "cdist", [](std::span<const Tensor> in) { return std::vector{distances_between(in[0], in[1])}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor distance = distances_between(in[0], in[1]), zero = eq(distance, 0.0);
        const Tensor weight =
            where(zero, 0.0, div(grads[0].to(DType::f64), where(zero, 1.0, distance).to(DType::f64))).clone();
        const auto side = [](const Tensor& w, const Tensor& points, const Tensor& others) {
          const Tensor p = points.to(DType::f64), q = others.to(DType::f64);
          const Tensor pulled = tensor_of(record::product(record::in(w), record::in(q), DType::f64));
          return sub(mul(sum(w, {-1}, true), p), pulled).to(DType::f32);
        };
        return std::vector{side(weight, in[0], in[1]), side(weight.transpose(-2, -1), in[1], in[0])};
      }};
  return apply(function, std::vector{a, b})[0];
}

// Whether they are the points of as many batches.
bool has_same_batches(const Tensor& a, const Tensor& b) {
  return a.dim() == b.dim() && std::equal(a.shape().begin(), a.shape().end() - 2, b.shape().begin());
}

}  // namespace

// Pairs as the upper triangle has them, row by row.
Tensor pdist(const Tensor& x, double p) {
  record::require_float("pdist", x);
  if (x.dim() != 2) base::fail("pdist", "takes a matrix, got shape {}", ir::to_string(x.shape()));
  if (!(p >= 0)) base::fail("pdist", "p must not be negative, got {}", p);
  const int64_t rows = x.size(0), count = rows * (rows - 1) / 2;
  std::vector<int64_t> first, second;
  first.reserve(static_cast<size_t>(count));
  second.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  }
  const auto rows_at = [&](const std::vector<int64_t>& places) {
    return index_select(x, 0, from_vector(places, {count}, Options(DType::i64, x.device())));
  };
  return norm(sub(rows_at(first), rows_at(second)), p, {1});
}

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  record::require_float("cdist", a);
  record::require_float("cdist", b);
  if (a.dim() < 2 || b.dim() < 2 || a.size(-1) != b.size(-1)) {
    base::fail("cdist", "takes (..., P, M) and (..., R, M), got {} and {}", ir::to_string(a.shape()),
               ir::to_string(b.shape()));
  }
  if (!(p >= 0)) base::fail("cdist", "p must not be negative, got {}", p);
  const bool is_f32 = a.dtype() == DType::f32 && b.dtype() == DType::f32;
  const bool has_gradient = grad_enabled() && (a.requires_grad() || b.requires_grad());
  if (p == 2 && a.size(-1) > 0) {
    const bool by_products = is_f32 && has_gradient && has_same_batches(a, b) && has_quick_f64(a.device());
    return composed("cdist", {by_products}, std::array{a, b}, [&](std::span<const Tensor> in) {
      return std::vector{by_products ? straight_lines(in[0], in[1]) : distances_between(in[0], in[1])};
    })[0];
  }
  const Tensor difference = sub(a.unsqueeze(-2), b.unsqueeze(-3));
  if (a.size(-1) == 0) return sum(abs(difference), -1);  // no coordinates, no distance
  return std::isinf(p) ? record::in_wide(difference, largest_step) : norm(difference, p, -1);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) {
    base::fail("outer", "takes two vectors, got shapes {} and {}", ir::to_string(a.shape()), ir::to_string(b.shape()));
  }
  ir::require_shape("outer", {a.numel(), b.numel()});
  return mul(a.unsqueeze(1), b.unsqueeze(0));
}

// ---- einsum ----

namespace {

constexpr char kEllipsisBase = '\1';  // the axes of "..." get letters that no equation can contain

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

[[noreturn]] void bad_equation(std::string_view equation, std::string_view why) {
  base::fail("einsum", "equation '{}': {}", equation, why);
}

// `rank` axes, numbered so that the last ones of all operands share letters: they broadcast like shapes.
std::string expand_ellipsis(std::string_view equation, std::string_view term, size_t rank, size_t longest) {
  std::string letters;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (term.substr(i, 3) != "...") bad_equation(equation, "'.' stands only in '...'");
      for (size_t k = longest - rank; k < longest; ++k) letters += static_cast<char>(kEllipsisBase + k);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      letters += term[i];
    } else {
      bad_equation(equation, fmt::format("'{}' is not a letter", term[i]));
    }
  }
  return letters;
}

Equation parse(std::string_view equation, std::span<const Tensor> operands) {
  std::string text;
  for (char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms{""};
  for (char c : left) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != operands.size()) {
    bad_equation(equation, fmt::format("{} operands named, {} given", terms.size(), operands.size()));
  }
  size_t longest = 0;
  std::vector<size_t> ranks(terms.size(), 0);
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto letters = static_cast<size_t>(
        std::count_if(terms[i].begin(), terms[i].end(), [](unsigned char c) { return std::isalpha(c); }));
    const size_t rank = operands[i].shape().size();
    const bool open = terms[i].find("...") != std::string::npos;
    if (open ? rank < letters : rank != letters) {
      bad_equation(equation, fmt::format("'{}' does not fit operand {} of shape {}", terms[i], i,
                                         ir::to_string(operands[i].shape())));
    }
    if (open) ranks[i] = rank - letters;
    longest = std::max(longest, ranks[i]);
  }
  Equation parsed;
  for (size_t i = 0; i < terms.size(); ++i)
    parsed.inputs.push_back(expand_ellipsis(equation, terms[i], ranks[i], longest));
  if (arrow != std::string::npos) {
    parsed.output = expand_ellipsis(equation, text.substr(arrow + 2), longest, longest);
  } else {  // implicit: '...' first, then the letters that appear once, sorted
    std::array<int, 256> seen{};
    for (const std::string& term : parsed.inputs) {
      for (unsigned char c : term) ++seen[c];
    }
    for (size_t c = 0; c < seen.size(); ++c) {
      if (seen[c] == 1 || (seen[c] > 0 && c < 32)) parsed.output += static_cast<char>(c);
    }
  }
  for (size_t i = 0; i < parsed.output.size(); ++i) {
    const char c = parsed.output[i];
    if (parsed.output.find(c) != i) bad_equation(equation, fmt::format("'{}' appears twice in the output", c));
    const bool known = std::any_of(parsed.inputs.begin(), parsed.inputs.end(),
                                   [&](const std::string& t) { return t.find(c) != t.npos; });
    if (!known) bad_equation(equation, fmt::format("output letter '{}' is in no operand", c));
  }
  return parsed;
}

// An operand with its letters, each at most once.
struct Labelled {
  ir::Value value;
  std::string letters;
};

// Takes the diagonal of axes that share a letter: keep elements where both indices agree, and sum one axis away.
Labelled with_diagonals(std::string_view equation, ir::Value value, const std::string& letters) {
  Labelled x{std::move(value), letters};
  for (size_t i = 0; i < x.letters.size(); ++i) {
    size_t j;
    while ((j = x.letters.find(x.letters[i], i + 1)) != std::string::npos) {
      const Dims& shape = x.value.shape();
      if (shape[i] != shape[j])
        bad_equation(equation, fmt::format("'{}' has sizes {} and {}", x.letters[i], shape[i], shape[j]));
      const ir::Value row = ir::iota_along(shape, i, DType::i64, x.value.device());
      const ir::Value column = ir::iota_along(shape, j, DType::i64, x.value.device());
      const ir::Value kept = ir::where(ir::equal(row, column), x.value, ir::full_like(x.value, 0));
      const ir::Value summed = ir::reduce(ir::Op::sum, kept, {static_cast<int64_t>(j)});
      Dims without = shape;
      without.erase(without.begin() + j);
      x.value = ir::reshape(summed, without);
      x.letters.erase(j, 1);
    }
  }
  return x;
}

Labelled sum_away(const Labelled& x, const std::string& wanted) {
  Dims axes, shape;
  std::string letters;
  for (size_t i = 0; i < x.letters.size(); ++i) {
    if (wanted.find(x.letters[i]) == std::string::npos) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      shape.push_back(x.value.shape()[i]);
      letters += x.letters[i];
    }
  }
  const bool widens = !axes.empty() && !is_float(x.value.dtype());  // as sum() does
  const ir::Value value = widens ? ir::cast(x.value, DType::i64) : x.value;
  return {ir::reshape(ir::reduce(ir::Op::sum, value, axes), shape), letters};
}

// The operand's axes in the order of `letters`; letters it lacks become axes of size 1.
ir::Value arranged(const Labelled& x, const std::string& letters) {
  Dims axes, shape;
  for (char c : letters) {
    const size_t at = x.letters.find(c);
    if (at == std::string::npos) {
      shape.push_back(1);
      continue;
    }
    axes.push_back(static_cast<int64_t>(at));
    shape.push_back(x.value.shape()[at]);
  }
  return ir::reshape(ir::permute(x.value, axes), shape);
}

int64_t extent(const ir::Value& x, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) n *= x.shape()[i];
  return n;
}

// Contracts two operands: letters in both and in `wanted` are batch, in both but not wanted are summed.
Labelled contracted(std::string_view equation, Labelled a, Labelled b, const std::string& wanted) {
  std::string batch, shared, only_a, only_b;
  a = sum_away(a, wanted + b.letters);
  b = sum_away(b, wanted + a.letters);
  const DType dtype = promote(a.value.dtype(), b.value.dtype());
  a.value = ir::cast(a.value, dtype);
  b.value = ir::cast(b.value, dtype);
  for (char c : a.letters) {
    if (b.letters.find(c) == std::string::npos)
      only_a += c;
    else
      (wanted.find(c) != std::string::npos ? batch : shared) += c;
  }
  for (char c : b.letters) {
    if (a.letters.find(c) == std::string::npos) only_b += c;
  }
  ir::Value x = arranged(a, batch + only_a + shared), y = arranged(b, batch + shared + only_b);
  // Sizes 1 broadcast against the other operand's.
  const auto agree = [&](size_t at_x, size_t at_y, char c) {
    const int64_t size_x = x.shape()[at_x], size_y = y.shape()[at_y];
    if (size_x == size_y) return;
    if (size_x != 1 && size_y != 1) bad_equation(equation, fmt::format("'{}' has sizes {} and {}", c, size_x, size_y));
    ir::Value& small = size_x == 1 ? x : y;
    Dims shape = small.shape();
    shape[size_x == 1 ? at_x : at_y] = std::max(size_x, size_y);
    ir::require_shape("einsum", shape);
    small = ir::expand(small, shape);
  };
  for (size_t i = 0; i < batch.size(); ++i) agree(i, i, batch[i]);
  for (size_t i = 0; i < shared.size(); ++i) agree(batch.size() + only_a.size() + i, batch.size() + i, shared[i]);
  const size_t nb = batch.size(), na = only_a.size(), ns = shared.size();
  Dims shape(x.shape().begin(), x.shape().begin() + nb + na);
  for (size_t i = nb + ns; i < y.rank(); ++i) shape.push_back(y.shape()[i]);
  ir::require_shape("einsum", shape);
  const int64_t batches = extent(x, 0, nb), rows = extent(x, nb, nb + na), inner = extent(x, nb + na, x.rank());
  const int64_t columns = extent(y, nb + ns, y.rank());
  const ir::Value product =
      record::product(ir::reshape(x, {batches, rows, inner}), ir::reshape(y, {batches, inner, columns}), x.dtype());
  return {ir::reshape(product, shape), batch + only_a + only_b};
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> given) {
  if (given.empty()) base::fail("einsum", "takes at least one operand");
  std::vector<Tensor> operands(given.begin(), given.end());
  if (operands.size() > 1) {
    for (Tensor& operand : operands) operand = autocast(operand);
  }
  const Equation parsed = parse(equation, operands);
  for (const Tensor& operand : operands) require_matching("einsum", operands[0], operand);
  std::vector<Labelled> waiting;
  for (size_t i = 0; i < operands.size(); ++i) {
    waiting.push_back(with_diagonals(equation, record::in(operands[i]), parsed.inputs[i]));
  }
  Labelled total = waiting[0];
  for (size_t i = 1; i < waiting.size(); ++i) {
    std::string wanted = parsed.output;
    for (size_t later = i + 1; later < waiting.size(); ++later) wanted += waiting[later].letters;
    total = contracted(equation, total, waiting[i], wanted);
  }
  return tensor_of(arranged(sum_away(total, parsed.output), parsed.output));
}

}  // namespace tenon
