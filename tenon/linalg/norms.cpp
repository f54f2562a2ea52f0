// Norms and condition numbers, powers, the exponential, and products of several matrices.

#include <array>
#include <cmath>

#include "tenon/linalg/host.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/record.h"

namespace tenon::linalg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The last two dims are the matrix.
Tensor norm_of_matrices(const char* op, const Tensor& A, const Order& ord) {
  if (const auto* name = std::get_if<std::string_view>(&ord)) {
    if (*name == "fro") return tenon::norm(A, 2, {-2, -1});
    if (*name == "nuc") return svdvals(A).sum(-1);
    base::fail(op, "there is no norm '{}' of matrices; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf", *name);
  }
  const double p = std::get<double>(ord);
  const bool is_largest = p > 0;
  if (std::abs(p) == 2) {
    const Tensor S = svdvals(A);
    return is_largest ? S.amax(-1) : S.amin(-1);
  }
  if (std::abs(p) != 1 && std::abs(p) != kInfinity)
    base::fail(op, "there is no norm {} of matrices; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf", p);
  const Tensor sums = A.abs().sum(std::abs(p) == 1 ? -2 : -1);
  return is_largest ? sums.amax(-1) : sums.amin(-1);
}

// ---- the exponential ----

/// How often a norm has to be halved until the series below is exact to the dtype's last bit.
Tensor halvings(const Tensor& A) {
  const double limit = A.dtype() == DType::f32 ? 3.0 : 1.0;
  const Tensor size = A.detach().abs().sum(-2).amax(-1);
  return (size / limit).clamp_min(1).log2().ceil();
}

/// The first 19 terms, by powers up to the sixth: seven products.
Tensor series(const Tensor& A) {
  const int64_t n = A.size(-1);
  std::array<Tensor, 7> powers{identity(n, A), A};
  for (size_t i = 2; i < powers.size(); ++i) powers[i] = matmul(powers[i / 2], powers[i - i / 2]);
  std::array<double, 19> factor{1};
  for (size_t i = 1; i < factor.size(); ++i) factor[i] = factor[i - 1] / static_cast<double>(i);
  const auto block = [&](size_t from) {
    Tensor sum = powers[0] * factor[from];
    for (size_t i = 1; i < 6; ++i) sum = sum + powers[i] * factor[from + i];
    return sum;
  };
  const Tensor last = powers[6] * factor[18] + block(12);
  return matmul(matmul(last, powers[6]) + block(6), powers[6]) + block(0);
}

// ---- chains ----

/// The cheapest order to multiply matrices of sizes[i] by sizes[i + 1] in: where to split i ... j.
std::vector<std::vector<size_t>> splits_of(const std::vector<int64_t>& sizes) {
  const size_t count = sizes.size() - 1;
  std::vector<std::vector<double>> cost(count, std::vector<double>(count, 0));
  std::vector<std::vector<size_t>> split(count, std::vector<size_t>(count, 0));
  for (size_t length = 1; length < count; ++length) {
    for (size_t i = 0; i + length < count; ++i) {
      const size_t j = i + length;
      cost[i][j] = kInfinity;
      for (size_t k = i; k < j; ++k) {
        const double product =
            static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) * static_cast<double>(sizes[j + 1]);
        const double all = cost[i][k] + cost[k + 1][j] + product;
        if (all < cost[i][j]) {
          cost[i][j] = all;
          split[i][j] = k;
        }
      }
    }
  }
  return split;
}

Tensor product_of_chain(const std::vector<Tensor>& chain, const std::vector<std::vector<size_t>>& splits, size_t i,
                        size_t j) {
  if (i == j) return chain[i];
  const size_t k = splits[i][j];
  return matmul(product_of_chain(chain, splits, i, k), product_of_chain(chain, splits, k + 1, j));
}

}  // namespace

Tensor vector_norm(const Tensor& x, double ord, const Axes& dim, bool keepdim) {
  return tenon::norm(x, ord, dim, keepdim);
}

Tensor matrix_norm(const Tensor& A, const Order& ord, const Dims& dim, bool keepdim) {
  constexpr const char* kName = "linalg.matrix_norm";
  require_matrices(kName, A);
  if (dim.size() != 2) base::fail(kName, "takes two dims, got {}", ir::to_string(dim));
  const size_t rank = A.shape().size();
  const size_t rows = record::axis(kName, dim[0], rank), columns = record::axis(kName, dim[1], rank);
  if (rows == columns) base::fail(kName, "takes two dims, got {} twice", rows);
  const auto at = [](size_t i) { return static_cast<int64_t>(i); };
  const Tensor found = norm_of_matrices(kName, movedim(A, Dims{at(rows), at(columns)}, Dims{-2, -1}), ord);
  if (!keepdim) return found;
  return found.unsqueeze(at(std::min(rows, columns))).unsqueeze(at(std::max(rows, columns)));
}

Tensor norm(const Tensor& A, const std::optional<Order>& ord, const std::optional<Axes>& dim, bool keepdim) {
  if (!ord) return vector_norm(A, 2, dim.value_or(Axes()), keepdim);
  if (dim ? dim->size() == 2 : A.dim() == 2) return matrix_norm(A, *ord, dim ? Dims(*dim) : Dims{-2, -1}, keepdim);
  const auto* number = std::get_if<double>(&*ord);
  if (!number)
    base::fail("linalg.norm", "the norm '{}' is of matrices: it takes two dims", std::get<std::string_view>(*ord));
  if (!dim && A.dim() != 1)
    base::fail("linalg.norm", "takes a vector or a matrix when dim is left out, got shape {}",
               ir::to_string(A.shape()));
  return vector_norm(A, *number, dim.value_or(Axes()), keepdim);
}

Tensor cond(const Tensor& A, const Order& p) {
  constexpr const char* kName = "linalg.cond";
  const auto* number = std::get_if<double>(&p);
  if (number && std::abs(*number) == 2) {
    const Tensor S = svdvals(A);
    return *number > 0 ? S.amax(-1) / S.amin(-1) : S.amin(-1) / S.amax(-1);
  }
  require_square(kName, A);
  if (!number && std::get<std::string_view>(p) == "nuc") {
    const Tensor S = svdvals(A);
    return S.sum(-1) * (1 / S).sum(-1);
  }
  return norm_of_matrices(kName, A, p) * norm_of_matrices(kName, inverse_or_infinite(kName, A), p);
}

Tensor matrix_power(const Tensor& A, int64_t n) {
  require_square("linalg.matrix_power", A);
  if (n == 0) return identity(A.size(-1), A).expand(A.shape()).clone();
  Tensor square = n < 0 ? inv(A) : A, product;
  for (auto left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;) {
    if (left & 1) product = product.defined() ? matmul(product, square) : square;
    left >>= 1;
    if (left == 0) return product.identity() == A.identity() ? A.clone() : product;
    square = matmul(square, square);
  }
}

Tensor matrix_exp(const Tensor& A) {
  constexpr const char* kName = "linalg.matrix_exp";
  require_square(kName, A);
  if (const char* who = without_values())
    base::fail(kName, "looks at the norms of its matrices, which {} does not have; do it outside", who);
  if (A.numel() == 0) return A.clone();
  const Tensor times = halvings(A).unsqueeze(-1).unsqueeze(-1);
  const double most = times.amax().to(Device("cpu")).item<float>();
  if (!std::isfinite(most)) return A * std::numeric_limits<double>::quiet_NaN();
  Tensor power = series(A * exp2(-times));
  for (int i = 0; i < static_cast<int>(most); ++i) power = where(times > i, matmul(power, power), power);
  return power;
}

Tensor multi_dot(std::span<const Tensor> tensors) {
  constexpr const char* kName = "linalg.multi_dot";
  if (tensors.size() < 2) base::fail(kName, "takes two tensors or more, got {}", tensors.size());
  std::vector<Tensor> chain(tensors.begin(), tensors.end());
  const bool starts_with_vector = chain.front().dim() == 1, ends_with_vector = chain.back().dim() == 1;
  if (starts_with_vector) chain.front() = chain.front().unsqueeze(0);
  if (ends_with_vector) chain.back() = chain.back().unsqueeze(-1);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].dim() != 2)
      base::fail(kName, "tensor {} of shape {} is no matrix", i, ir::to_string(tensors[i].shape()));
    if (i > 0 && chain[i].size(0) != sizes.back())
      base::fail(kName, "shapes {} and {} of tensors {} and {} do not fit", ir::to_string(tensors[i - 1].shape()),
                 ir::to_string(tensors[i].shape()), i - 1, i);
    if (i == 0) sizes.push_back(chain[i].size(0));
    sizes.push_back(chain[i].size(1));
  }
  Tensor product = product_of_chain(chain, splits_of(sizes), 0, chain.size() - 1);
  if (starts_with_vector) product = product.squeeze(0);
  return ends_with_vector ? product.squeeze(-1) : product;
}

}  // namespace tenon::linalg
