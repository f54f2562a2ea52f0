// Attention on matrix tiles: as attention_forward.cpp, with the scores of a subgroup's queries in its accumulators.

#include <algorithm>
#include <numbers>

#include "tenon/base/divide.h"
#include "tenon/codegen/fold.h"
#include "tenon/kernels/attention.h"
#include "tenon/kernels/attention_matrix.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

constexpr double kLowest = -std::numeric_limits<double>::infinity();

MatrixWidths widths_of(const AttentionProblem& p) {
  return {{p.width}, {p.width, p.value_width}, {p.value_width}, 1, false};
}

class MatrixForward {
 public:
  MatrixForward(const AttentionProblem& p, const MatrixShape& shape)
      : p_(p), m_("attention_tiles", p, shape, widths_of(p)), b_(m_.b), factor_(p.attrs.has_mask ? 1 : m_.rest) {}

  Dispatch run() {
    const MatrixShape& shape = m_.shape;
    const auto q = m_.left_strip(p_.q), k = m_.passing_strip(p_.k, whole_tiles(p_.width)),
               v = m_.passing_strip(p_.v, shape.panel);
    if (p_.attrs.has_mask) mask_ = m_.add_input(p_.mask);
    m_.open_random();
    out_ = m_.add_buffer(p_.first_result, codegen::in_memory(p_.dtype), true);
    lse_ = m_.add_buffer(p_.first_result + 1, codegen::in_memory(p_.sums), true);

    const auto tiles = static_cast<uint64_t>(ceil_div(p_.queries, shape.rows()));
    const uint64_t panels = matrix_panels(p_.value_width, shape);
    const uint64_t lines = panels * static_cast<uint64_t>(p_.heads * p_.batches);
    // The last queries see most keys: those of all heads go first.
    const Id rest = b_.mod(b_.block(), b_.u32(lines)), line = b_.div(rest, b_.u32(panels));
    const Id first_query = b_.mul(b_.sub(b_.u32(tiles - 1), b_.div(b_.block(), b_.u32(lines))), b_.u32(shape.rows()));
    const Id panel = b_.mod(rest, b_.u32(panels)), first_column = b_.mul(panel, b_.u32(shape.panel));
    head_ = b_.mod(line, m_.count_of(p_.heads));
    batch_ = b_.div(line, m_.count_of(p_.heads));
    own_first_ = b_.add(first_query, b_.mul(m_.subgroup, b_.u32(shape.subgroup_rows())));
    const Id group = b_.div(head_, m_.count_of(p_.heads_per_group()));
    const AttentionMatrix::Rows keys{&k, batch_, group}, values{&v, batch_, group};

    const std::vector<Id> queries = m_.left_tiles({&q, batch_, head_}, first_query, m_.power);
    sums_ = m_.accumulators(shape.panel);
    for (uint32_t i = 0; i < m_.own_rows(); ++i) {
      top_.push_back(b_.variable(b_.f32(kLowest)));
      total_.push_back(b_.variable(b_.f32(0)));
    }
    Id end = m_.count_of(p_.keys);
    if (p_.attrs.causal) end = b_.min(end, b_.add(first_query, b_.u32(shape.rows())));
    const Id step = b_.u32(shape.columns), none = b_.boolean(false);
    // Whether a query of the block does not see a key from here on.
    const auto may_hide = [&](Id first_key) {
      if (p_.attrs.has_mask || !p_.attrs.causal) return b_.boolean(p_.attrs.has_mask);
      return b_.less(first_query, b_.add(first_key, b_.u32(shape.columns - 1)));
    };
    const auto pass = [&](Id first, const auto& meanwhile, Id stage) {
      const auto key_rows = m_.fetch(keys, first, end, b_.u32(0)),
                 value_rows = m_.fetch(values, first, end, first_column);
      meanwhile();
      m_.store(k, key_rows, stage, none);
      m_.store(v, value_rows, stage, may_hide(first));
      b_.barrier();
    };
    pass(
        b_.u32(0), [] {}, b_.u32(0));
    const Id stage = b_.variable(b_.u32(0));
    b_.loop(b_.u32(0), end, step, [&](Id first_key) {
      const Id here = b_.get(stage), there = b_.math(Op::bit_xor, Scalar::u32, {here, b_.u32(1)});
      const auto add_keys = [&] {
        const std::vector<Id> products = m_.accumulators(shape.columns);
        m_.multiply(products, queries, k, here);
        soften(products, first_key);
        m_.add_weighted(sums_, m_.packed(products), v, here, b_.u32(0));
      };
      pass(
          b_.add(first_key, step),
          [&] {
            // A subgroup leaves out keys that are in the future of all of its queries.
            const Id last = b_.add(own_first_, b_.u32(shape.subgroup_rows()));
            b_.branch(p_.attrs.causal ? b_.less(first_key, last) : b_.boolean(true), add_keys);
          },
          there);
      b_.set(stage, there);
    });

    finish_rows(b_.equal(panel, b_.u32(0)));
    if (p_.attrs.has_mask || p_.attrs.causal) {
      b_.branch(m_.has_left_out(), [&] {
        const Id begin = p_.attrs.has_mask ? b_.u32(0) : first_query;
        m_.mend(sums_, values, b_.min(begin, end), end, first_column, false,
                [&](Id row, Id key) { return sees(b_.add(own_first_, row), key); });
      });
    }
    m_.write(
        out_, sums_, p_.value_width, own_first_, p_.queries, first_column,
        [&](Id query) {
          const Id token = b_.add(b_.mul(m_.as_index(batch_), m_.index_of(p_.queries)), m_.as_index(query));
          const Id place = b_.add(b_.mul(token, m_.index_of(p_.heads)), m_.as_index(head_));
          return b_.mul(place, m_.index_of(p_.value_width));
        },
        [](Id sum) { return sum; });
    return m_.finish({tiles * lines, 1, 1});
  }

 private:
  Id sees(Id query, Id key) {
    Id hidden = p_.attrs.causal ? b_.less(query, key) : b_.boolean(false);
    if (p_.attrs.has_mask) hidden = b_.either(hidden, m_.hides(m_.mask_of(mask_, batch_, head_, query, key)));
    return b_.is_not(hidden);
  }

  // Products become weights. Scores are powers of two; without a mask they are scaled together with the highest one.
  void soften(std::span<const Id> products, Id first_key) {
    const std::vector<AttentionMatrix::Place> places = m_.places(m_.shape.columns);
    const auto get = [&](const AttentionMatrix::Place& at) { return b_.tile_get(products[at.tile], at.number); };
    const auto set = [&](const AttentionMatrix::Place& at, Id value) {
      b_.tile_set(products[at.tile], at.number, value);
    };
    const Id lowest = b_.f32(kLowest);
    if (p_.attrs.has_mask) {
      for (const auto& at : places) {
        const Id mask = m_.mask_of(mask_, batch_, head_, b_.add(own_first_, at.row), b_.add(first_key, at.column));
        const Id score = b_.fma(get(at), b_.f32(m_.rest), b_.mul(mask, b_.f32(std::numbers::log2e)));
        set(at, b_.select(m_.hides(mask), lowest, score));
      }
    }
    hide(first_key, places, get, set);

    std::vector<Id> highest(m_.own_rows(), codegen::kNoValue);
    for (const auto& at : places) {
      Id& top = highest[at.own_row];
      top = top == codegen::kNoValue ? get(at) : higher(top, get(at));
    }
    highest = m_.fold_rows(std::move(highest), [&](Id a, Id c) { return higher(a, c); });
    std::vector<Id> base, shrink;
    for (uint32_t i = 0; i < m_.own_rows(); ++i) {
      const Id before = b_.get(top_[i]), top = higher(before, highest[i]);
      // A row that has seen only -inf counts from 0, so that it stays empty instead of becoming NaN.
      base.push_back(b_.mul(b_.select(b_.equal(top, lowest), b_.f32(0), top), b_.f32(-factor_)));
      shrink.push_back(b_.exp2(b_.fma(before, b_.f32(factor_), base[i])));
      b_.set(top_[i], top);
    }
    std::vector<std::vector<Id>> weights(m_.own_rows());
    for (const auto& at : places) {
      weights[at.own_row].push_back(b_.exp2(b_.fma(get(at), b_.f32(factor_), base[at.own_row])));
      set(at, weights[at.own_row].back());
    }
    for (uint32_t i = 0; i < m_.own_rows(); ++i) {
      const Id sum = codegen::fold_pairwise(b_, Op::sum, DType::f32, std::move(weights[i]));
      b_.set(total_[i], b_.add(b_.mul(b_.get(total_[i]), shrink[i]), sum));
    }
    for (const auto& at : m_.places(m_.shape.panel)) {
      const Id before = b_.tile_get(sums_[at.tile], at.number);
      b_.tile_set(sums_[at.tile], at.number, b_.mul(before, shrink[at.own_row]));
    }
    if (p_.attrs.dropout > 0) drop(first_key, places, get, set);
  }

  // Scores of keys that do not exist or are in a query's future; only few tiles have any.
  void hide(Id first_key, const std::vector<AttentionMatrix::Place>& places, const auto& get, const auto& set) {
    const bool has_all = p_.keys % m_.shape.columns == 0;
    if (has_all && !p_.attrs.causal) return;
    const Id end = b_.add(first_key, b_.u32(m_.shape.columns));
    Id has_hidden = has_all ? b_.boolean(false) : b_.less(m_.count_of(p_.keys), end);
    if (p_.attrs.causal) has_hidden = b_.either(has_hidden, b_.less(b_.add(own_first_, b_.u32(1)), end));
    b_.branch(has_hidden, [&] {
      for (const auto& at : places) {
        const Id key = b_.add(first_key, at.column), query = b_.add(own_first_, at.row);
        Id hidden = has_all ? b_.boolean(false) : b_.is_not(b_.less(key, m_.count_of(p_.keys)));
        if (p_.attrs.causal) hidden = b_.either(hidden, b_.less(query, key));
        set(at, b_.select(hidden, b_.f32(kLowest), get(at)));
      }
    });
  }

  void drop(Id first_key, const std::vector<AttentionMatrix::Place>& places, const auto& get, const auto& set) {
    const std::vector<Id> kept = m_.kept(batch_, head_, own_first_, first_key, true);
    for (size_t i = 0; i < places.size(); ++i) set(places[i], b_.mul(get(places[i]), kept[i]));
  }

  // Sums become shares, and the logarithms of totals are written.
  void finish_rows(Id is_first_panel) {
    std::vector<Id> totals;
    for (const Id each : total_) totals.push_back(b_.get(each));
    totals = m_.fold_rows(std::move(totals), [&](Id a, Id c) { return b_.add(a, c); });
    const Id zero = b_.f32(0);
    std::vector<Id> shares;
    for (uint32_t i = 0; i < totals.size(); ++i) {
      const Id is_empty = b_.equal(totals[i], zero);
      shares.push_back(b_.select(is_empty, zero, b_.div(b_.f32(1), totals[i])));
      const Id query = b_.add(own_first_, m_.row(i));
      const Id is_writer = b_.both(is_first_panel, b_.equal(b_.mod(m_.lane, b_.u32(4)), b_.u32(0)));
      b_.branch(b_.both(is_writer, b_.less(query, m_.count_of(p_.queries))), [&] {
        const Id top = b_.mul(b_.get(top_[i]), b_.f32(factor_ * std::numbers::ln2));
        const Id sum = b_.add(top, b_.math(Op::log, Scalar::f32, {totals[i]}));
        const Id line = b_.add(b_.mul(m_.as_index(batch_), m_.index_of(p_.heads)), m_.as_index(head_));
        const Id at = b_.add(b_.mul(line, m_.index_of(p_.queries)), m_.as_index(query));
        b_.store(lse_, at, b_.select(is_empty, zero, sum));
      });
    }
    for (const auto& at : m_.places(m_.shape.panel))
      b_.tile_set(sums_[at.tile], at.number, b_.mul(b_.tile_get(sums_[at.tile], at.number), shares[at.own_row]));
  }

  Id higher(Id a, Id c) { return b_.select(b_.less(a, c), c, a); }

  const AttentionProblem& p_;
  AttentionMatrix m_;
  codegen::Builder& b_;
  const double factor_;  // of scores as they stand in accumulators
  uint32_t mask_ = 0, out_ = 0, lse_ = 0;
  Id head_ = 0, batch_ = 0, own_first_ = 0;  // own_first_: the first query of this subgroup
  std::vector<Id> sums_, top_, total_;
};

}  // namespace

std::optional<Dispatch> matrix_attention(const AttentionProblem& p, const ir::Limits& limits) {
  if (!has_matrix_attention(p, limits)) return std::nullopt;
  const auto shape = choose_matrix_shape(widths_of(p), p.queries, p.batches * p.heads, limits);
  if (!shape) return std::nullopt;
  return MatrixForward(p, *shape).run();
}

}  // namespace tenon::kernels
