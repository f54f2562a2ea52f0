// The gradients of attention, from the logarithms of sums that the forward kept: the scores are computed again, tile by
// tile, once for the gradients of keys and values and once for those of queries. So each sum belongs to one block,
// which adds up in a fixed order, and there are no atomics.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/address.h"
#include "tenon/codegen/fold.h"
#include "tenon/kernels/attention.h"
#include "tenon/kernels/attention_matrix.h"
#include "tenon/kernels/attention_tiles.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

uint32_t panels_of(int64_t width) {
  return static_cast<uint32_t>(std::max<int64_t>(1, ceil_div(width, kAttentionPanel)));
}

// delta = sum of o o_grad for each row, which is what the gradient of the scores is lowered by.
Dispatch write_deltas(const AttentionProblem& p, uint32_t scratch, const ir::Limits& limits) {
  const codegen::RowSchedule schedule = codegen::schedule_rows(p.value_width, limits);
  codegen::Builder b("attention_deltas", schedule.block());
  const Scalar index = p.needs_64_bits ? Scalar::u64 : Scalar::u32, type = codegen::in_register(p.sums);
  const uint32_t o = b.add_buffer(codegen::in_memory(p.o.dtype), false),
                 grad = b.add_buffer(codegen::in_memory(p.o_grad.dtype), false),
                 deltas = b.add_buffer(codegen::in_memory(p.sums), true);
  const Id lane = b.div(b.thread(), b.u32(schedule.threads)), inside = b.mod(b.thread(), b.u32(schedule.threads));
  const auto whole = [&](int64_t value) { return b.whole(index, value); };
  const Id row = b.add(b.mul(b.convert(b.block(), index), whole(schedule.lanes)), b.convert(lane, index));
  const Id is_row = p.score_rows() % schedule.lanes == 0 ? b.boolean(true) : b.less(row, whole(p.score_rows()));
  const int64_t sizes[] = {p.batches, p.heads, p.queries};
  std::vector<Id> indices = codegen::unravel(b, b.select(is_row, row, whole(0)), sizes);
  indices.push_back(whole(0));
  const auto load = [&](const AttentionOperand& operand, uint32_t buffer) {
    const codegen::Located at = codegen::locate(b, index, operand.map, indices);
    return codegen::cast(b, operand.dtype, p.sums,
                         codegen::from_memory(b, operand.dtype, b.load(buffer, at.at, at.valid)));
  };
  const Id total = b.variable(b.whole(type, 0));
  b.loop(0, schedule.steps, [&](Id step) {
    for (uint32_t i = 0; i < schedule.vector; ++i) {
      const Id thread_first = b.add(b.mul(inside, b.u32(schedule.vector)), b.u32(i));
      const Id column = b.add(b.mul(step, b.u32(schedule.width())), thread_first);
      const Id is_there = b.less(column, b.u32(static_cast<uint64_t>(p.value_width)));
      indices.back() = b.convert(b.select(is_there, column, b.u32(0)), index);
      const Id product = b.mul(load(p.o, o), load(p.o_grad, grad));
      b.set(total, b.add(b.get(total), b.select(is_there, product, b.whole(type, 0))));
    }
  });
  const Id delta = codegen::fold_threads(b, schedule, Op::sum, p.sums, b.get(total));
  b.branch(b.both(is_row, b.equal(inside, b.u32(0))), [&] { b.store(deltas, row, delta); });
  return {b.finish(),
          {static_cast<uint32_t>(ceil_div(p.score_rows(), schedule.lanes)), 1, 1},
          {{p.o.arg, 0}, {p.o_grad.arg, 0}, {scratch, 0}},
          false};
}

// What both passes do: weights and gradients of the scores of a tile.
class Backward {
 public:
  Backward(std::string name, const AttentionProblem& p, const AttentionTile& tile, const ir::Limits& limits)
      : p_(p), t_(std::move(name), p, tile, limits), b_(t_.b) {}

 protected:
  void add_inputs(uint32_t scratch) {
    q_ = t_.add_input(p_.q);
    k_ = t_.add_input(p_.k);
    v_ = t_.add_input(p_.v);
    if (p_.attrs.has_mask) mask_ = t_.add_input(p_.mask);
    t_.open_random();
    lse_ = t_.add_input(p_.lse);
    o_grad_ = t_.add_input(p_.o_grad);
    deltas_ = t_.add_buffer(scratch, codegen::in_memory(p_.sums), false);
    batch_ = b_.block(2);
    products_ = t_.zeros(t_.tile.thread_rows() * t_.tile.thread_columns());
    value_products_ = t_.zeros(products_.size());
  }

  // Of the query: the logarithm of its sum, and delta.
  std::pair<Id, Id> row_of(Id head, Id query) {
    const Id safe = b_.min(query, b_.u32(static_cast<uint64_t>(p_.queries - 1)));
    const Id line = b_.add(b_.mul(t_.as_index(batch_), t_.index_of(p_.heads)), t_.as_index(head));
    const Id at = b_.add(b_.mul(line, t_.index_of(p_.queries)), t_.as_index(safe));
    return {t_.element(p_.lse, lse_, {batch_, head, safe}), b_.load(deltas_, at)};
  }

  struct Gradients {
    Id kept_weight, score_gradient;
  };
  // Of the products of a query and a key with each other and of gradient and value. `kept`: nothing without dropout.
  Gradients gradients(Id product, Id value_product, Id is_hidden, Id head, Id query, Id key, std::pair<Id, Id> row,
                      Id kept) {
    const Id zero = t_.real(0);
    const auto [score, hidden] = t_.score(product, is_hidden, mask_, batch_, head, query, key);
    const Id weight = b_.select(hidden, zero, b_.math(Op::exp, t_.type, {b_.sub(score, row.first)}));
    const bool drops = p_.attrs.dropout > 0;
    const Id change = b_.sub(drops ? b_.mul(kept, value_product) : value_product, row.second);
    return {drops ? b_.mul(weight, kept) : weight, b_.select(hidden, zero, b_.mul(weight, change))};
  }

  void write(uint32_t buffer, const AttentionTarget& to, std::span<const Id> sums, Id head, Id first_row,
             Id first_column, double factor) {
    const auto line = [&](Id row) { return t_.line_of(to, batch_, head, row); };
    // A sum is never -0, whatever the sign of its factor.
    t_.write(buffer, p_.dtype, sums, to.width, first_row, to.tokens, first_column, to.width, line,
             [&](uint32_t, Id sum) { return factor == 1 ? sum : b_.add(b_.mul(sum, t_.real(factor)), t_.real(0)); });
  }

  Id count_of(int64_t value) { return t_.count_of(value); }

  // Whether one of so many queries does not see one of so many keys.
  Id may_hide(Id first_query, Id first_key, uint32_t keys) {
    if (p_.attrs.has_mask || !p_.attrs.causal) return b_.boolean(p_.attrs.has_mask);
    return b_.less(first_query, b_.add(first_key, b_.u32(keys - 1)));
  }

  const AttentionProblem& p_;
  AttentionTiles t_;
  codegen::Builder& b_;
  uint32_t q_ = 0, k_ = 0, v_ = 0, mask_ = 0, lse_ = 0, o_grad_ = 0, deltas_ = 0;
  Id batch_ = 0;
  std::vector<Id> products_, value_products_;
};

// Gradients of keys and values: rows of a tile are keys, columns the queries of all heads of the group.
class KeyGradients : public Backward {
 public:
  KeyGradients(const AttentionProblem& p, const AttentionTile& tile, const ir::Limits& limits)
      : Backward("attention_keys", p, tile, limits) {}

  Dispatch run(uint32_t scratch) {
    add_inputs(scratch);
    const AttentionTargets to(p_);
    const Scalar element = codegen::in_memory(p_.dtype);
    const uint32_t dk = t_.add_buffer(to.k.arg, element, true),
                   dv = p_.attrs.joined ? dk : t_.add_buffer(to.v.arg, element, true);
    const uint32_t panels = std::max(panels_of(p_.width), panels_of(p_.value_width));
    const auto tiles = static_cast<uint32_t>(ceil_div(p_.keys, t_.tile.rows));
    const Id group = b_.block(1);
    first_key_ = b_.mul(b_.div(b_.block(0), b_.u32(panels)), b_.u32(t_.tile.rows));
    const Id first_column = b_.mul(b_.mod(b_.block(0), b_.u32(panels)), b_.u32(kAttentionPanel));
    const std::vector<Id> key_sums = t_.zeros(t_.tile.thread_rows() * t_.own_columns(p_.width)),
                          value_sums = t_.zeros(t_.tile.thread_rows() * t_.own_columns(p_.value_width));
    const auto keys = t_.matrix(p_.k, k_, batch_, group), values = t_.matrix(p_.v, v_, batch_, group);
    if (p_.queries > 0) {
      b_.loop(0, static_cast<uint64_t>(p_.heads_per_group()), [&](Id i) {
        const Id head = b_.add(b_.mul(group, count_of(p_.heads_per_group())), i);
        const auto queries = t_.matrix(p_.q, q_, batch_, head), o_grad = t_.matrix(p_.o_grad, o_grad_, batch_, head);
        const Id tile = b_.u32(t_.tile.columns);
        const Id begin = p_.attrs.causal ? b_.mul(b_.div(first_key_, tile), tile) : b_.u32(0);
        b_.loop(begin, count_of(p_.queries), tile, [&](Id first_query) {
          t_.multiply(keys, first_key_, t_.scaled(queries), first_query, products_);
          t_.multiply(values, first_key_, o_grad, first_query, value_products_);
          soften(head, first_query);
          const Id hides = may_hide(first_query, first_key_, t_.tile.rows);
          t_.add_weighted(value_sums, o_grad, first_query, first_column, hides);
          t_.share_weights(score_gradients_);
          t_.add_weighted(key_sums, queries, first_query, first_column, hides);
        });
      });
    }
    write(dk, to.k, key_sums, group, first_key_, first_column, p_.attrs.scale);
    write(dv, to.v, value_sums, group, first_key_, first_column, 1);
    return t_.finish({tiles * panels, static_cast<uint32_t>(p_.groups), static_cast<uint32_t>(p_.batches)});
  }

 private:
  void soften(Id head, Id first_query) {
    const uint32_t rows = t_.tile.thread_rows(), columns = t_.tile.thread_columns();
    const uint32_t run = AttentionTiles::run_of(rows);
    std::vector<Id> weights(products_.size());
    score_gradients_.assign(products_.size(), 0);
    for (uint32_t j = 0; j < columns; ++j) {
      const Id query = b_.add(first_query, t_.column(j));
      const std::pair<Id, Id> row = row_of(head, query);
      std::vector<Id> kept;
      for (uint32_t i = 0; i < rows; ++i) {
        const Id key = b_.add(first_key_, t_.row(i));
        if (p_.attrs.dropout > 0 && i % run == 0) kept = t_.kept_shares(batch_, head, query, key, run);
        const size_t at = i * columns + j;
        const Gradients made = gradients(b_.get(products_[at]), b_.get(value_products_[at]),
                                         t_.is_hidden(query, key, t_.tile.columns, t_.tile.rows), head, query, key, row,
                                         kept.empty() ? codegen::kNoValue : kept[i % run]);
        weights[at] = made.kept_weight;
        score_gradients_[at] = made.score_gradient;
      }
    }
    t_.share_weights(weights);
  }

  Id first_key_ = 0;
  std::vector<Id> score_gradients_;
};

// Gradients of queries, and of the mask: rows of a tile are queries, columns keys.
class QueryGradients : public Backward {
 public:
  QueryGradients(const AttentionProblem& p, const AttentionTile& tile, const ir::Limits& limits)
      : Backward("attention_queries", p, tile, limits) {}

  Dispatch run(uint32_t scratch) {
    add_inputs(scratch);
    const AttentionTargets to(p_);
    const uint32_t dq = t_.add_buffer(to.q.arg, codegen::in_memory(p_.dtype), true);
    if (p_.attrs.has_mask) dmask_ = t_.add_buffer(p_.first_result + 3, codegen::in_memory(p_.mask.dtype), true);
    const uint32_t panels = panels_of(p_.width);
    const auto tiles = static_cast<uint32_t>(ceil_div(p_.queries, t_.tile.rows));
    head_ = b_.block(1);
    panel_ = b_.mod(b_.block(0), b_.u32(panels));
    // The last queries see most keys: they go first.
    first_query_ = b_.mul(b_.sub(b_.u32(tiles - 1), b_.div(b_.block(0), b_.u32(panels))), b_.u32(t_.tile.rows));
    const Id first_column = b_.mul(panel_, b_.u32(kAttentionPanel));
    const Id group = b_.div(head_, count_of(p_.heads_per_group()));
    const std::vector<Id> sums = t_.zeros(t_.tile.thread_rows() * t_.own_columns(p_.width));
    const auto queries = t_.scaled(t_.matrix(p_.q, q_, batch_, head_)),
               o_grad = t_.matrix(p_.o_grad, o_grad_, batch_, head_), keys = t_.matrix(p_.k, k_, batch_, group),
               values = t_.matrix(p_.v, v_, batch_, group);
    for (uint32_t i = 0; i < t_.tile.thread_rows(); ++i)
      rows_.push_back(row_of(head_, b_.add(first_query_, t_.row(i))));
    if (p_.keys > 0) {
      // A mask has gradients of hidden scores too, which are 0.
      Id end = count_of(p_.keys);
      if (p_.attrs.causal && !p_.attrs.has_mask) end = b_.min(end, b_.add(first_query_, b_.u32(t_.tile.rows)));
      b_.loop(b_.u32(0), end, b_.u32(t_.tile.columns), [&](Id first_key) {
        t_.multiply(queries, first_query_, keys, first_key, products_);
        t_.multiply(o_grad, first_query_, values, first_key, value_products_);
        soften(first_key);
        t_.add_weighted(sums, keys, first_key, first_column, may_hide(first_query_, first_key, t_.tile.columns));
      });
    }
    write(dq, to.q, sums, head_, first_query_, first_column, p_.attrs.scale);
    return t_.finish({tiles * panels, static_cast<uint32_t>(p_.heads), static_cast<uint32_t>(p_.batches)});
  }

 private:
  void soften(Id first_key) {
    const uint32_t rows = t_.tile.thread_rows(), columns = t_.tile.thread_columns();
    const uint32_t run = AttentionTiles::run_of(columns);
    std::vector<Id> score_gradients;
    for (uint32_t i = 0; i < rows; ++i) {
      const Id query = b_.add(first_query_, t_.row(i));
      std::vector<Id> kept;
      for (uint32_t j = 0; j < columns; ++j) {
        const Id key = b_.add(first_key, t_.column(j));
        if (p_.attrs.dropout > 0 && j % run == 0) kept = t_.kept_shares(batch_, head_, query, key, run);
        const size_t at = i * columns + j;
        const Gradients made = gradients(b_.get(products_[at]), b_.get(value_products_[at]),
                                         t_.is_hidden(query, key, t_.tile.rows, t_.tile.columns), head_, query, key,
                                         rows_[i], kept.empty() ? codegen::kNoValue : kept[j % run]);
        score_gradients.push_back(made.score_gradient);
      }
    }
    t_.share_weights(score_gradients);
    if (p_.attrs.has_mask) write_mask(first_key);
  }

  void write_mask(Id first_key) {
    const Id line = b_.add(b_.mul(t_.as_index(batch_), t_.index_of(p_.heads)), t_.as_index(head_));
    t_.copy_weights_out(dmask_, p_.mask.dtype, b_.equal(panel_, b_.u32(0)), first_query_, p_.queries, first_key,
                        p_.keys, [&](Id query, Id key) {
                          const Id row = b_.add(b_.mul(line, t_.index_of(p_.queries)), t_.as_index(query));
                          return b_.add(b_.mul(row, t_.index_of(p_.keys)), t_.as_index(key));
                        });
  }

  uint32_t dmask_ = 0;
  Id head_ = 0, panel_ = 0, first_query_ = 0;
  std::vector<std::pair<Id, Id>> rows_;
};

}  // namespace

codegen::Module lower_attention_backward(const ir::Call& call, const ir::Limits& limits) {
  AttentionProblem p = attention_problem(call);
  codegen::Module made;
  if (p.batches == 0) return made;
  const auto scratch = p.first_result + static_cast<uint32_t>(call.outputs.size());
  made.scratch_bytes =
      static_cast<size_t>(std::max<int64_t>(1, p.score_rows())) * size_of(p.sums);  // bound in any case
  if (p.score_rows() > 0) made.dispatches.push_back(write_deltas(p, scratch, limits));
  const int64_t key_widths[] = {p.width, p.value_width}, query_widths[] = {p.width};
  if (auto tiles = matrix_key_gradients(p, scratch, limits)) {
    made.dispatches.push_back(std::move(*tiles));
  } else if (p.keys > 0) {
    const AttentionTile tile = choose_attention_tile(p, p.keys, p.batches * p.groups, key_widths, limits);
    made.dispatches.push_back(KeyGradients(p, tile, limits).run(scratch));
  }
  if (auto tiles = matrix_query_gradients(p, scratch, limits)) {
    made.dispatches.push_back(std::move(*tiles));
  } else if (p.score_rows() > 0) {
    const AttentionTile tile = choose_attention_tile(p, p.queries, p.batches * p.heads, query_widths, limits);
    made.dispatches.push_back(QueryGradients(p, tile, limits).run(scratch));
  }
  return made;
}

}  // namespace tenon::kernels
