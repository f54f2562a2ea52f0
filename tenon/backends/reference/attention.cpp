// Attention and its gradient, row by row over the whole score matrix.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/backends/reference/ops.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::reference {
namespace {

struct Sizes {
  int64_t batch, heads, groups, rows, columns, width, value_width;
  Sizes(const Dims& q, const Dims& k, const Dims& v)
      : batch(q[0]), heads(q[1]), groups(k[1]), rows(q[2]), columns(k[2]), width(q[3]), value_width(v[3]) {}
  int64_t group_of(int64_t head) const { return head / (heads / groups); }
  size_t q(int64_t b, int64_t h, int64_t t) const { return static_cast<size_t>(((b * heads + h) * rows + t) * width); }
  size_t k(int64_t b, int64_t h, int64_t s) const {
    return static_cast<size_t>(((b * groups + group_of(h)) * columns + s) * width);
  }
  size_t v(int64_t b, int64_t h, int64_t s) const {
    return static_cast<size_t>(((b * groups + group_of(h)) * columns + s) * value_width);
  }
  size_t o(int64_t b, int64_t h, int64_t t) const {
    return static_cast<size_t>(((b * heads + h) * rows + t) * value_width);
  }
  // Where results lie: by tokens.
  size_t q_out(int64_t b, int64_t h, int64_t t) const {
    return static_cast<size_t>(((b * rows + t) * heads + h) * width);
  }
  size_t k_out(int64_t b, int64_t h, int64_t s) const {
    return static_cast<size_t>(((b * columns + s) * groups + group_of(h)) * width);
  }
  size_t v_out(int64_t b, int64_t h, int64_t s) const {
    return static_cast<size_t>(((b * columns + s) * groups + group_of(h)) * value_width);
  }
  size_t o_out(int64_t b, int64_t h, int64_t t) const {
    return static_cast<size_t>(((b * rows + t) * heads + h) * value_width);
  }
  size_t row(int64_t b, int64_t h, int64_t t) const { return static_cast<size_t>((b * heads + h) * rows + t); }
  size_t mask(int64_t b, int64_t h, int64_t t) const { return row(b, h, t) * static_cast<size_t>(columns); }
};

double dot(const std::vector<double>& a, size_t i, const std::vector<double>& b, size_t j, int64_t n,
           double scale = 1) {
  double total = 0;
  for (size_t d = 0; d < static_cast<size_t>(n); ++d) total += scale * a[i + d] * b[j + d];
  return total;
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// scores[s] of one row. Hidden ones, by causality or a mask of -inf, are -inf, and whoever takes their weights leaves
// them out: what stands at such a key, be it NaN, reaches nothing.
std::vector<double> row_scores(const ir::AttentionAttrs& attrs, const Sizes& z, const Arrays& in, int64_t b, int64_t h,
                               int64_t t) {
  std::vector<double> scores(static_cast<size_t>(z.columns));
  for (int64_t s = 0; s < z.columns; ++s) {
    double& score = scores[static_cast<size_t>(s)];
    const double mask = attrs.has_mask ? in[3].real[z.mask(b, h, t) + static_cast<size_t>(s)] : 0;
    score = dot(in[0].real, z.q(b, h, t), in[1].real, z.k(b, h, s), z.width, attrs.scale) + mask;
    if (mask == kHidden || (attrs.causal && s > t)) score = kHidden;
  }
  return scores;
}

// What the weight of column s is multiplied with.
double kept_share(const ir::AttentionAttrs& attrs, const Sizes& z, const Arrays& in, int64_t b, int64_t h, int64_t t,
                  int64_t s) {
  if (attrs.dropout == 0) return 1;
  const Array& state = in[3 + attrs.masks()];
  const uint64_t position =
      static_cast<uint64_t>(state.whole[1]) + attrs.offset + z.mask(b, h, t) + static_cast<uint64_t>(s);
  const uint32_t word = ir::philox_word(static_cast<uint64_t>(state.whole[0]), position);
  const float uniform = static_cast<float>(word >> 8) * 0x1p-24f;
  return uniform < static_cast<float>(attrs.dropout) ? 0 : static_cast<float>(1 / (1 - attrs.dropout));
}

template <typename F>
void for_each_row(const Sizes& z, F&& f) {
  for (int64_t b = 0; b < z.batch; ++b) {
    for (int64_t h = 0; h < z.heads; ++h) {
      for (int64_t t = 0; t < z.rows; ++t) f(b, h, t);
    }
  }
}

}  // namespace

void run_attention(const ir::AttentionAttrs& attrs, const Arrays& in, Arrays& out) {
  const Sizes z(in[0].type.shape, in[1].type.shape, in[2].type.shape);
  for_each_row(z, [&](int64_t b, int64_t h, int64_t t) {
    const std::vector<double> scores = row_scores(attrs, z, in, b, h, t);
    double top = kHidden, total = 0;
    for (double score : scores) top = std::max(top, score);
    for (double score : scores) total += std::exp(score - top);
    // A row that sees nothing has no weights: the result is 0, and so are all gradients, where e^(-inf - 0) is 0.
    const bool sees_nothing = std::all_of(scores.begin(), scores.end(), [](double score) { return score == kHidden; });
    const double lse = sees_nothing ? 0 : top + std::log(total);
    for (int64_t s = 0; s < z.columns; ++s) {
      if (scores[static_cast<size_t>(s)] == kHidden) continue;
      const double p = std::exp(scores[static_cast<size_t>(s)] - lse) * kept_share(attrs, z, in, b, h, t, s);
      for (size_t d = 0; d < static_cast<size_t>(z.value_width); ++d) {
        out[0].real[z.o_out(b, h, t) + d] += p * in[2].real[z.v(b, h, s) + d];
      }
    }
    out[1].real[z.row(b, h, t)] = lse;
  });
}

void run_attention_backward(const ir::AttentionAttrs& attrs, const Arrays& in, Arrays& out) {
  const Sizes z(in[0].type.shape, in[1].type.shape, in[2].type.shape);
  const size_t extra = attrs.masks() + attrs.states();
  const auto &q = in[0].real, &k = in[1].real, &v = in[2].real;
  const auto &o = in[3 + extra].real, &lse = in[4 + extra].real, &grad = in[5 + extra].real;
  for_each_row(z, [&](int64_t b, int64_t h, int64_t t) {
    const std::vector<double> scores = row_scores(attrs, z, in, b, h, t);
    const double delta = dot(grad, z.o(b, h, t), o, z.o(b, h, t), z.value_width);
    for (int64_t s = 0; s < z.columns; ++s) {
      if (scores[static_cast<size_t>(s)] == kHidden) continue;
      const double p = std::exp(scores[static_cast<size_t>(s)] - lse[z.row(b, h, t)]);
      const double kept = kept_share(attrs, z, in, b, h, t, s);
      const double ds = p * (kept * dot(grad, z.o(b, h, t), v, z.v(b, h, s), z.value_width) - delta);
      for (size_t d = 0; d < static_cast<size_t>(z.width); ++d) {
        out[0].real[z.q_out(b, h, t) + d] += attrs.scale * ds * k[z.k(b, h, s) + d];
        out[1].real[z.k_out(b, h, s) + d] += attrs.scale * ds * q[z.q(b, h, t) + d];
      }
      for (size_t d = 0; d < static_cast<size_t>(z.value_width); ++d) {
        out[2].real[z.v_out(b, h, s) + d] += p * kept * grad[z.o(b, h, t) + d];
      }
      if (attrs.has_mask) out[3].real[z.mask(b, h, t) + static_cast<size_t>(s)] = ds;
    }
  });
}

}  // namespace tenon::backends::reference
