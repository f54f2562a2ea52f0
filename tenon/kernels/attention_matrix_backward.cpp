// The gradients of attention on matrix tiles, in the passes of attention_backward.cpp: scores are computed again, with
// keys as rows for the gradients of keys and values, and with queries as rows for those of queries.

#include <algorithm>
#include <numbers>

#include "tenon/base/divide.h"
#include "tenon/kernels/attention.h"
#include "tenon/kernels/attention_matrix.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;
using Place = AttentionMatrix::Place;
using Rows = AttentionMatrix::Rows;
using Strip = AttentionMatrix::Strip;

MatrixWidths key_widths(const AttentionProblem& p) {
  return {{p.width, p.value_width}, {p.width, p.value_width}, {p.width, p.value_width}, 2, true};
}
MatrixWidths query_widths(const AttentionProblem& p) {
  return {{p.width, p.value_width}, {p.width, p.value_width}, {p.width}, 2, false};
}

// What both passes do.
class MatrixBackward {
 public:
  MatrixBackward(std::string name, const AttentionProblem& p, const MatrixShape& shape, const MatrixWidths& widths)
      : p_(p), m_(std::move(name), p, shape, widths), b_(m_.b) {}

 protected:
  void add_inputs(uint32_t scratch) {
    if (p_.attrs.has_mask) mask_ = m_.add_input(p_.mask);
    m_.open_random();
    lse_ = m_.add_input(p_.lse);
    deltas_ = m_.add_buffer(scratch, codegen::in_memory(p_.sums), false);
  }

  // Of a query: what its scores, as powers of two, are lowered by, and delta.
  std::pair<Id, Id> row_of(Id head, Id query) {
    const Id safe = b_.min(query, m_.count_of(p_.queries - 1));
    const Id line = b_.add(b_.mul(m_.as_index(batch_), m_.index_of(p_.heads)), m_.as_index(head));
    const Id at = b_.add(b_.mul(line, m_.index_of(p_.queries)), m_.as_index(safe));
    return {b_.mul(m_.element(p_.lse, lse_, {batch_, head, safe}), b_.f32(-std::numbers::log2e)), b_.load(deltas_, at)};
  }

  Id get(std::span<const Id> tiles, const Place& at) { return b_.tile_get(tiles[at.tile], at.number); }
  void set(std::span<const Id> tiles, const Place& at, Id value) { b_.tile_set(tiles[at.tile], at.number, value); }

  // A product becomes the weight of a query and a key, a product with the value the gradient of their score. `row`: of
  // the query; `kept`: nothing without dropout, which the weight is then multiplied with.
  void soften(std::span<const Id> products, std::span<const Id> value_products, const Place& at, Id head, Id query,
              Id key, std::pair<Id, Id> row, Id kept) {
    Id base = row.first, hidden = b_.boolean(false);
    if (p_.attrs.has_mask) {
      const Id mask = m_.mask_of(mask_, batch_, head, query, key);
      base = b_.fma(mask, b_.f32(std::numbers::log2e), base);
      hidden = m_.hides(mask);
    }
    const Id weight = b_.exp2(b_.fma(get(products, at), b_.f32(m_.rest), base)), product = get(value_products, at);
    const bool drops = p_.attrs.dropout > 0;
    const Id change = b_.sub(drops ? b_.mul(kept, product) : product, row.second), zero = b_.f32(0);
    set(products, at, b_.select(hidden, zero, drops ? b_.mul(weight, kept) : weight));
    set(value_products, at, b_.select(hidden, zero, b_.mul(weight, change)));
  }

  // Both become 0 where there is no such query or key or it is in the query's future; few tiles have any.
  void hide(std::span<const Id> products, std::span<const Id> value_products, Id has_hidden,
            const std::function<Id(const Place&)>& is_hidden) {
    b_.branch(has_hidden, [&] {
      for (const Place& at : m_.places(m_.shape.columns)) {
        const Id hidden = is_hidden(at), zero = b_.f32(0);
        set(products, at, b_.select(hidden, zero, get(products, at)));
        set(value_products, at, b_.select(hidden, zero, get(value_products, at)));
      }
    });
  }

  // Whether one of so many queries does not see one of so many keys, for causality or a mask.
  Id may_hide(Id first_query, Id first_key, uint32_t keys) {
    if (p_.attrs.has_mask || !p_.attrs.causal) return b_.boolean(p_.attrs.has_mask);
    return b_.less(first_query, b_.add(first_key, b_.u32(keys - 1)));
  }
  Id sees(Id head, Id query, Id key) {
    Id hidden = p_.attrs.causal ? b_.less(query, key) : b_.boolean(false);
    if (p_.attrs.has_mask) hidden = b_.either(hidden, m_.hides(m_.mask_of(mask_, batch_, head, query, key)));
    return b_.is_not(hidden);
  }

  void write(uint32_t buffer, const AttentionTarget& to, std::span<const Id> sums, Id head, Id first_row,
             Id first_column, double factor) {
    // A sum is never -0, whatever the sign of its factor.
    m_.write(
        buffer, sums, to.width, first_row, to.tokens, first_column,
        [&](Id row) { return m_.line_of(to, batch_, head, row); },
        [&](Id sum) { return factor == 1 ? sum : b_.add(b_.mul(sum, b_.f32(factor)), b_.f32(0)); });
  }

  // Walks strips of rows from begin to end, the next on its way while one is multiplied.
  void walk(Id begin, Id end, const std::function<std::function<void(Id)>(Id)>& fetch,
            const std::function<void(Id, Id)>& body) {
    fetch(begin)(b_.u32(0));
    b_.barrier();
    const Id stage = b_.variable(b_.u32(0)), step = b_.u32(m_.shape.columns);
    b_.loop(begin, end, step, [&](Id first) {
      const Id here = b_.get(stage), there = b_.math(Op::bit_xor, Scalar::u32, {here, b_.u32(1)});
      const std::function<void(Id)> store = fetch(b_.add(first, step));
      body(first, here);
      store(there);
      b_.barrier();
      b_.set(stage, there);
    });
  }

  const AttentionProblem& p_;
  AttentionMatrix m_;
  codegen::Builder& b_;
  uint32_t mask_ = 0, lse_ = 0, deltas_ = 0;
  Id batch_ = 0, own_first_ = 0;  // own_first_: the first row of this subgroup
};

// Gradients of keys and values: rows are keys, the queries of all heads of the group pass by.
class MatrixKeyGradients : public MatrixBackward {
 public:
  MatrixKeyGradients(const AttentionProblem& p, const MatrixShape& shape)
      : MatrixBackward("attention_key_tiles", p, shape, key_widths(p)) {}

  Dispatch run(uint32_t scratch) {
    const MatrixShape& shape = m_.shape;
    const Strip k = m_.left_strip(p_.k), v = m_.left_strip(p_.v), q = m_.passing_strip(p_.q, whole_tiles(p_.width)),
                o_grad = m_.passing_strip(p_.o_grad, whole_tiles(p_.value_width));
    add_inputs(scratch);
    const AttentionTargets to(p_);
    const Scalar element = codegen::in_memory(p_.dtype);
    const uint32_t dk = m_.add_buffer(to.k.arg, element, true),
                   dv = p_.attrs.joined ? dk : m_.add_buffer(to.v.arg, element, true);
    const uint64_t panels = std::max(matrix_panels(p_.width, shape), matrix_panels(p_.value_width, shape));
    const uint64_t lines = panels * static_cast<uint64_t>(p_.groups * p_.batches);
    const auto tiles = static_cast<uint64_t>(ceil_div(p_.keys, shape.rows()));
    // The first keys are seen by most queries: those of all heads go first.
    const Id rest = b_.mod(b_.block(), b_.u32(lines)), line = b_.div(rest, b_.u32(panels));
    const Id first_key = b_.mul(b_.div(b_.block(), b_.u32(lines)), b_.u32(shape.rows()));
    const Id first_column = b_.mul(b_.mod(rest, b_.u32(panels)), b_.u32(shape.panel));
    const Id group = b_.mod(line, m_.count_of(p_.groups));
    batch_ = b_.div(line, m_.count_of(p_.groups));
    own_first_ = b_.add(first_key, b_.mul(m_.subgroup, b_.u32(shape.subgroup_rows())));
    const std::vector<Id> keys = m_.left_tiles({&k, batch_, group}, first_key, m_.power),
                          values = m_.left_tiles({&v, batch_, group}, first_key, 1);
    const std::vector<Id> key_sums = m_.accumulators(std::min(shape.panel, q.columns)),
                          value_sums = m_.accumulators(std::min(shape.panel, o_grad.columns));
    const Id begin = p_.attrs.causal ? first_key : b_.u32(0), end = m_.count_of(p_.queries);
    const auto head_of = [&](Id i) { return b_.add(b_.mul(group, m_.count_of(p_.heads_per_group())), i); };
    b_.loop(0, static_cast<uint64_t>(p_.heads_per_group()), [&](Id i) {
      const Id head = head_of(i);
      const auto fetch = [&](Id first) -> std::function<void(Id)> {
        const auto query_rows = m_.fetch({&q, batch_, head}, first, end, b_.u32(0)),
                   gradient_rows = m_.fetch({&o_grad, batch_, head}, first, end, b_.u32(0));
        const std::pair<Id, Id> row = row_of(head, b_.add(first, b_.mod(b_.thread(), b_.u32(shape.columns))));
        return [&, query_rows, gradient_rows, row, first](Id stage) {
          const Id hides = may_hide(first, first_key, shape.rows());
          m_.store(q, query_rows, stage, hides);
          m_.store(o_grad, gradient_rows, stage, hides);
          b_.branch(b_.less(b_.thread(), b_.u32(shape.columns)), [&] {
            const Id at = row_value(stage, b_.thread());
            b_.shared_store(m_.shared, at, b_.bitcast(row.first, Scalar::u32));
            b_.shared_store(m_.shared, b_.add(at, b_.u32(shape.columns)), b_.bitcast(row.second, Scalar::u32));
          });
        };
      };
      walk(begin, end, fetch, [&](Id first_query, Id stage) {
        const auto add_queries = [&] {
          const std::vector<Id> products = m_.accumulators(shape.columns),
                                value_products = m_.accumulators(shape.columns);
          m_.multiply(products, keys, q, stage);
          m_.multiply(value_products, values, o_grad, stage);
          soften_all(products, value_products, head, first_query, stage);
          m_.add_weighted(value_sums, m_.packed(products), o_grad, stage, own_column(first_column, o_grad));
          m_.add_weighted(key_sums, m_.packed(value_products), q, stage, own_column(first_column, q));
        };
        // A subgroup leaves out queries that see none of its keys.
        const Id last = b_.add(first_query, b_.u32(shape.columns));
        b_.branch(p_.attrs.causal ? b_.less(own_first_, last) : b_.boolean(true), add_queries);
      });
    });
    if (p_.attrs.has_mask || p_.attrs.causal) {
      b_.branch(m_.has_left_out(), [&] {
        const Id last = p_.attrs.has_mask ? end : b_.min(end, b_.add(first_key, b_.u32(shape.rows())));
        b_.loop(0, static_cast<uint64_t>(p_.heads_per_group()), [&](Id i) {
          const Id head = head_of(i);
          const auto is_seen = [&](Id row, Id query) { return sees(head, query, b_.add(own_first_, row)); };
          m_.mend(value_sums, {&o_grad, batch_, head}, b_.min(begin, last), last, first_column, false, is_seen);
          m_.mend(key_sums, {&q, batch_, head}, b_.min(begin, last), last, first_column, true, is_seen);
        });
      });
    }
    write(dk, to.k, key_sums, group, own_first_, first_column, p_.attrs.scale);
    write(dv, to.v, value_sums, group, own_first_, first_column, 1);
    return m_.finish({tiles * lines, 1, 1});
  }

 private:
  // Blocks of panels that a narrower matrix does not have compute its first columns and write none.
  Id own_column(Id first_column, const Strip& strip) {
    if (p_.width == p_.value_width) return first_column;
    return b_.select(b_.less(first_column, b_.u32(strip.columns)), first_column, b_.u32(0));
  }

  Id row_value(Id stage, Id column) {
    return b_.add(b_.u32(m_.row_values), b_.add(b_.mul(stage, b_.u32(2 * m_.shape.columns)), column));
  }

  void soften_all(std::span<const Id> products, std::span<const Id> value_products, Id head, Id first_query, Id stage) {
    const std::vector<Place> places = m_.places(m_.shape.columns);
    std::vector<Id> kept(places.size(), codegen::kNoValue);
    if (p_.attrs.dropout > 0) kept = m_.kept(batch_, head, own_first_, first_query, false);
    for (size_t i = 0; i < places.size(); ++i) {
      const Place& at = places[i];
      const Id query = b_.add(first_query, at.column), key = b_.add(own_first_, at.row);
      const auto value_of = [&](uint32_t further) {
        const Id found = b_.shared_load(m_.shared, b_.add(row_value(stage, at.column), b_.u32(further)));
        return b_.bitcast(found, Scalar::f32);
      };
      soften(products, value_products, at, head, query, key, {value_of(0), value_of(m_.shape.columns)}, kept[i]);
    }
    const bool has_all = p_.queries % m_.shape.columns == 0;
    if (has_all && !p_.attrs.causal) return;
    const Id behind = b_.add(first_query, b_.u32(m_.shape.columns));
    Id has_hidden = has_all ? b_.boolean(false) : b_.less(m_.count_of(p_.queries), behind);
    if (p_.attrs.causal)
      has_hidden =
          b_.either(has_hidden, b_.less(first_query, b_.add(own_first_, b_.u32(m_.shape.subgroup_rows() - 1))));
    hide(products, value_products, has_hidden, [&](const Place& at) {
      const Id query = b_.add(first_query, at.column);
      Id hidden = has_all ? b_.boolean(false) : b_.is_not(b_.less(query, m_.count_of(p_.queries)));
      if (p_.attrs.causal) hidden = b_.either(hidden, b_.less(query, b_.add(own_first_, at.row)));
      return hidden;
    });
  }
};

// Gradients of queries, and of the mask: rows are queries, keys pass by.
class MatrixQueryGradients : public MatrixBackward {
 public:
  MatrixQueryGradients(const AttentionProblem& p, const MatrixShape& shape)
      : MatrixBackward("attention_query_tiles", p, shape, query_widths(p)) {}

  Dispatch run(uint32_t scratch) {
    const MatrixShape& shape = m_.shape;
    const Strip q = m_.left_strip(p_.q), o_grad = m_.left_strip(p_.o_grad),
                k = m_.passing_strip(p_.k, whole_tiles(p_.width)),
                v = m_.passing_strip(p_.v, whole_tiles(p_.value_width));
    add_inputs(scratch);
    const AttentionTargets to(p_);
    const uint32_t dq = m_.add_buffer(to.q.arg, codegen::in_memory(p_.dtype), true);
    if (p_.attrs.has_mask) dmask_ = m_.add_buffer(p_.first_result + 3, codegen::in_memory(p_.mask.dtype), true);
    const uint64_t panels = matrix_panels(p_.width, shape);
    const uint64_t lines = panels * static_cast<uint64_t>(p_.heads * p_.batches);
    const auto tiles = static_cast<uint64_t>(ceil_div(p_.queries, shape.rows()));
    const Id rest = b_.mod(b_.block(), b_.u32(lines)), line = b_.div(rest, b_.u32(panels));
    const Id first_query = b_.mul(b_.sub(b_.u32(tiles - 1), b_.div(b_.block(), b_.u32(lines))), b_.u32(shape.rows()));
    panel_ = b_.mod(rest, b_.u32(panels));
    const Id first_column = b_.mul(panel_, b_.u32(shape.panel));
    head_ = b_.mod(line, m_.count_of(p_.heads));
    batch_ = b_.div(line, m_.count_of(p_.heads));
    const Id group = b_.div(head_, m_.count_of(p_.heads_per_group()));
    own_first_ = b_.add(first_query, b_.mul(m_.subgroup, b_.u32(shape.subgroup_rows())));
    const std::vector<Id> queries = m_.left_tiles({&q, batch_, head_}, first_query, m_.power),
                          gradients = m_.left_tiles({&o_grad, batch_, head_}, first_query, 1);
    for (uint32_t i = 0; i < m_.own_rows(); ++i) rows_.push_back(row_of(head_, b_.add(own_first_, m_.row(i))));
    const std::vector<Id> sums = m_.accumulators(shape.panel);
    // A mask has gradients of hidden scores too, which are 0.
    const bool skips = p_.attrs.causal && !p_.attrs.has_mask;
    Id end = m_.count_of(p_.keys);
    if (skips) end = b_.min(end, b_.add(first_query, b_.u32(shape.rows())));
    const Rows key_rows{&k, batch_, group}, value_rows{&v, batch_, group};
    const auto fetch = [&](Id first) -> std::function<void(Id)> {
      const auto some_keys = m_.fetch(key_rows, first, end, b_.u32(0)),
                 some_values = m_.fetch(value_rows, first, end, b_.u32(0));
      return [&, some_keys, some_values, first](Id stage) {
        m_.store(k, some_keys, stage, may_hide(first_query, first, shape.columns));
        m_.store(v, some_values, stage, b_.boolean(false));
      };
    };
    walk(b_.u32(0), end, fetch, [&](Id first_key, Id stage) {
      const auto add_keys = [&] {
        const std::vector<Id> products = m_.accumulators(shape.columns),
                              value_products = m_.accumulators(shape.columns);
        m_.multiply(products, queries, k, stage);
        m_.multiply(value_products, gradients, v, stage);
        soften_all(products, value_products, first_key);
        m_.add_weighted(sums, m_.packed(value_products), k, stage, first_column);
      };
      const Id last = b_.add(own_first_, b_.u32(shape.subgroup_rows()));
      b_.branch(skips ? b_.less(first_key, last) : b_.boolean(true), add_keys);
    });
    if (p_.attrs.has_mask || p_.attrs.causal) {
      b_.branch(m_.has_left_out(), [&] {
        const Id begin = p_.attrs.has_mask ? b_.u32(0) : b_.min(first_query, end);
        m_.mend(sums, key_rows, begin, end, first_column, true,
                [&](Id row, Id key) { return sees(head_, b_.add(own_first_, row), key); });
      });
    }
    write(dq, to.q, sums, head_, own_first_, first_column, p_.attrs.scale);
    return m_.finish({tiles * lines, 1, 1});
  }

 private:
  void soften_all(std::span<const Id> products, std::span<const Id> value_products, Id first_key) {
    const std::vector<Place> places = m_.places(m_.shape.columns);
    std::vector<Id> kept(places.size(), codegen::kNoValue);
    if (p_.attrs.dropout > 0) kept = m_.kept(batch_, head_, own_first_, first_key, true);
    for (size_t i = 0; i < places.size(); ++i) {
      const Place& at = places[i];
      const Id query = b_.add(own_first_, at.row), key = b_.add(first_key, at.column);
      soften(products, value_products, at, head_, query, key, rows_[at.own_row], kept[i]);
    }
    const bool has_all = p_.keys % m_.shape.columns == 0;
    if (!has_all || p_.attrs.causal) {
      const Id behind = b_.add(first_key, b_.u32(m_.shape.columns));
      Id has_hidden = has_all ? b_.boolean(false) : b_.less(m_.count_of(p_.keys), behind);
      if (p_.attrs.causal) has_hidden = b_.either(has_hidden, b_.less(b_.add(own_first_, b_.u32(1)), behind));
      hide(products, value_products, has_hidden, [&](const Place& at) {
        const Id key = b_.add(first_key, at.column);
        Id hidden = has_all ? b_.boolean(false) : b_.is_not(b_.less(key, m_.count_of(p_.keys)));
        if (p_.attrs.causal) hidden = b_.either(hidden, b_.less(b_.add(own_first_, at.row), key));
        return hidden;
      });
    }
    if (p_.attrs.has_mask) write_mask(value_products, first_key);
  }

  void write_mask(std::span<const Id> gradients, Id first_key) {
    const Id line = b_.add(b_.mul(m_.as_index(batch_), m_.index_of(p_.heads)), m_.as_index(head_));
    for (const Place& at : m_.places(m_.shape.columns)) {
      const Id query = b_.add(own_first_, at.row), key = b_.add(first_key, at.column);
      const Id is_there = b_.both(b_.less(query, m_.count_of(p_.queries)), b_.less(key, m_.count_of(p_.keys)));
      b_.branch(b_.both(b_.equal(panel_, b_.u32(0)), is_there), [&] {
        const Id row = b_.add(b_.mul(line, m_.index_of(p_.queries)), m_.as_index(query));
        const Id to = b_.add(b_.mul(row, m_.index_of(p_.keys)), m_.as_index(key));
        const Id value = codegen::cast(b_, DType::f32, p_.mask.dtype, get(gradients, at));
        b_.store(dmask_, to, codegen::to_memory(b_, p_.mask.dtype, value));
      });
    }
  }

  uint32_t dmask_ = 0;
  Id head_ = 0, panel_ = 0;
  std::vector<std::pair<Id, Id>> rows_;
};

}  // namespace

std::optional<Dispatch> matrix_key_gradients(const AttentionProblem& p, uint32_t scratch, const ir::Limits& limits) {
  if (!has_matrix_attention(p, limits) || p.o_grad.dtype != p.dtype) return std::nullopt;
  const auto shape = choose_matrix_shape(key_widths(p), p.keys, p.batches * p.groups, limits);
  if (!shape) return std::nullopt;
  return MatrixKeyGradients(p, *shape).run(scratch);
}

std::optional<Dispatch> matrix_query_gradients(const AttentionProblem& p, uint32_t scratch, const ir::Limits& limits) {
  if (!has_matrix_attention(p, limits) || p.o_grad.dtype != p.dtype) return std::nullopt;
  const auto shape = choose_matrix_shape(query_widths(p), p.queries, p.batches * p.heads, limits);
  if (!shape) return std::nullopt;
  return MatrixQueryGradients(p, *shape).run(scratch);
}

}  // namespace tenon::kernels
