// Softmax while the keys pass by: a row keeps the highest score so far and the sum of exponentials under it, and what
// was summed before is brought to the new one (Milakov and Gimelshein 2018; Dao 2022).
//
// Few queries leave most of a device idle, as in generation: then the keys are cut into parts, and a second dispatch
// brings these together.

#include <algorithm>
#include <bit>
#include <limits>

#include "tenon/base/divide.h"
#include "tenon/codegen/fold.h"
#include "tenon/kernels/attention.h"
#include "tenon/kernels/attention_matrix.h"
#include "tenon/kernels/attention_query.h"
#include "tenon/kernels/attention_tiles.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

constexpr int64_t kLeastPart = 256;  // keys; a multiple of every tile's
constexpr int64_t kMostParts = 64;
constexpr double kLowest = -std::numeric_limits<double>::infinity();

// How the keys are cut, by their number and the device alone.
struct Parts {
  int64_t count = 1, size = 0;
};
Parts parts_of(const AttentionProblem& p, const ir::Limits& limits) {
  if (p.queries > kFewQueries || p.keys < 2 * kLeastPart) return {1, p.keys};
  const int64_t most = std::min<int64_t>(kMostParts, limits.processors);
  const int64_t size = base::round_up(ceil_div(p.keys, std::max<int64_t>(1, most)), kLeastPart);
  return {ceil_div(p.keys, size), size};
}

// Where a part leaves its sums, and its highest score and total of each row.
struct Scratch {
  size_t tops = 0, totals = 0, bytes = 0;
  Scratch(const AttentionProblem& p, const Parts& parts) {
    const auto rows = static_cast<size_t>(parts.count * p.score_rows()), size = size_of(p.sums);
    constexpr size_t kAlign = 256;
    const auto rounded = [&](size_t n) { return (n + kAlign - 1) / kAlign * kAlign; };
    tops = rounded(rows * static_cast<size_t>(p.value_width) * size);
    totals = tops + rounded(rows * size);
    bytes = totals + rounded(rows * size);
  }
};

Id real(codegen::Builder& b, const AttentionProblem& p, double value) {
  return codegen::number_of(b, p.sums, std::bit_cast<uint64_t>(value));
}

// A row that may look at nothing, for want of keys or because all are hidden, has a sum of 0 and gives 0, as has its
// logarithm here, of which backward makes weights of 0.
Id log_sum(codegen::Builder& b, const AttentionProblem& p, Id top, Id total) {
  const Id sum = b.add(top, b.math(Op::log, b.type_of(total), {total}));
  return b.select(b.equal(total, real(b, p, 0)), real(b, p, 0), sum);
}
Id share_of_total(codegen::Builder& b, const AttentionProblem& p, Id total) {
  return b.select(b.equal(total, real(b, p, 0)), real(b, p, 0), b.div(real(b, p, 1), total));
}
// Scores count from the highest; from 0 where it is -inf, so that a row stays empty instead of becoming NaN.
Id base_of(codegen::Builder& b, const AttentionProblem& p, Id top) {
  return b.select(b.equal(top, real(b, p, kLowest)), real(b, p, 0), top);
}
Id higher(codegen::Builder& b, Id a, Id c) { return b.select(b.less(a, c), c, a); }

class Forward {
 public:
  Forward(const AttentionProblem& p, const AttentionTile& tile, const Parts& parts, const ir::Limits& limits)
      : p_(p), parts_(parts), t_("attention", p, tile, limits), b_(t_.b) {}

  Dispatch run(uint32_t scratch, const Scratch& at) {
    const uint32_t q = t_.add_input(p_.q), k = t_.add_input(p_.k), v = t_.add_input(p_.v);
    mask_ = p_.attrs.has_mask ? t_.add_input(p_.mask) : 0;
    t_.open_random();
    const Scalar element = codegen::in_memory(p_.dtype), sums = codegen::in_memory(p_.sums);
    const bool is_cut = parts_.count > 1;
    out_ = is_cut ? t_.add_buffer(scratch, sums, true) : t_.add_buffer(p_.first_result, element, true);
    tops_ = is_cut ? t_.add_buffer(scratch, sums, true, at.tops) : t_.add_buffer(p_.first_result + 1, sums, true);
    totals_ = is_cut ? t_.add_buffer(scratch, sums, true, at.totals) : 0;

    const auto tiles = static_cast<uint32_t>(ceil_div(p_.queries, t_.tile.rows));
    const auto panels = static_cast<uint32_t>(std::max<int64_t>(1, ceil_div(p_.value_width, kAttentionPanel)));
    const auto parts = static_cast<uint32_t>(parts_.count);
    head_ = b_.block(1);
    batch_ = b_.block(2);
    const Id group = b_.div(head_, b_.u32(static_cast<uint64_t>(p_.heads_per_group())));
    // The last queries see most keys: they go first.
    const Id block = b_.block(0), place = b_.div(block, b_.u32(panels * parts));
    panel_ = b_.mod(block, b_.u32(panels));
    part_ = b_.mod(b_.div(block, b_.u32(panels)), b_.u32(parts));
    first_query_ = b_.mul(b_.sub(b_.u32(tiles - 1), place), b_.u32(t_.tile.rows));
    first_column_ = b_.mul(panel_, b_.u32(kAttentionPanel));
    const auto queries = t_.scaled(t_.matrix(p_.q, q, batch_, head_)), keys = t_.matrix(p_.k, k, batch_, group),
               values = t_.matrix(p_.v, v, batch_, group);

    const uint32_t rows = t_.tile.thread_rows();
    products_ = t_.zeros(rows * t_.tile.thread_columns());
    sums_ = t_.zeros(rows * t_.own_columns(p_.value_width));
    total_ = t_.zeros(rows);
    for (uint32_t i = 0; i < rows; ++i) top_.push_back(b_.variable(t_.real(kLowest)));
    if (p_.keys > 0) {
      const Id begin = b_.mul(part_, b_.u32(static_cast<uint64_t>(parts_.size)));
      Id end = b_.u32(static_cast<uint64_t>(p_.keys));
      if (is_cut) end = b_.min(end, b_.add(begin, b_.u32(static_cast<uint64_t>(parts_.size))));
      if (p_.attrs.causal) end = b_.min(end, b_.add(first_query_, b_.u32(t_.tile.rows)));
      b_.loop(begin, end, b_.u32(t_.tile.columns), [&](Id first_key) {
        t_.multiply(queries, first_query_, keys, first_key, products_);
        soften(first_key);
        t_.add_weighted(sums_, values, first_key, first_column_, may_hide(first_key));
      });
    }
    write();
    return t_.finish({tiles * panels * parts, static_cast<uint32_t>(p_.heads), static_cast<uint32_t>(p_.batches)},
                     !is_cut);
  }

 private:
  // Whether one of the tile's queries does not see one of its keys.
  Id may_hide(Id first_key) {
    if (p_.attrs.has_mask || !p_.attrs.causal) return b_.boolean(p_.attrs.has_mask);
    return b_.less(first_query_, b_.add(first_key, b_.u32(t_.tile.columns - 1)));
  }

  // Scores become weights.
  void soften(Id first_key) {
    const uint32_t rows = t_.tile.thread_rows(), columns = t_.tile.thread_columns();
    std::vector<Id> scores, highest;
    for (uint32_t i = 0; i < rows; ++i) {
      const Id query = b_.add(first_query_, t_.row(i));
      Id top = t_.real(kLowest);
      for (uint32_t j = 0; j < columns; ++j) {
        const Id key = b_.add(first_key, t_.column(j));
        const auto [score, hidden] =
            t_.score(b_.get(products_[i * columns + j]), t_.is_hidden(query, key, 1, t_.tile.columns), mask_, batch_,
                     head_, query, key);
        scores.push_back(b_.select(hidden, t_.real(kLowest), score));
        top = higher(b_, top, scores.back());
      }
      highest.push_back(top);
    }
    highest = t_.fold_rows(std::move(highest), [&](Id a, Id c) { return higher(b_, a, c); });
    for (uint32_t i = 0; i < rows; ++i) {
      const Id before = b_.get(top_[i]), top = higher(b_, before, highest[i]);
      const Id base = base_of(b_, p_, top);
      const Id shrink = b_.math(Op::exp, t_.type, {b_.sub(before, base)});
      std::vector<Id> weights;
      for (uint32_t j = 0; j < columns; ++j) {
        Id& score = scores[i * columns + j];
        score = b_.math(Op::exp, t_.type, {b_.sub(score, base)});
        weights.push_back(score);
      }
      b_.set(top_[i], top);
      b_.set(total_[i], b_.add(b_.mul(b_.get(total_[i]), shrink), pairwise(weights)));
      const uint32_t own = t_.own_columns(p_.value_width);
      for (uint32_t e = 0; e < own; ++e) b_.set(sums_[i * own + e], b_.mul(b_.get(sums_[i * own + e]), shrink));
    }
    if (p_.attrs.dropout > 0) drop(first_key, scores);
    t_.share_weights(scores);
  }

  Id pairwise(std::vector<Id> values) { return codegen::fold_pairwise(b_, Op::sum, p_.sums, std::move(values)); }

  void drop(Id first_key, std::vector<Id>& weights) {
    const uint32_t rows = t_.tile.thread_rows(), columns = t_.tile.thread_columns();
    const uint32_t run = AttentionTiles::run_of(columns);
    for (uint32_t i = 0; i < rows; ++i) {
      const Id query = b_.add(first_query_, t_.row(i));
      for (uint32_t j = 0; j < columns; j += run) {
        const std::vector<Id> kept = t_.kept_shares(batch_, head_, query, b_.add(first_key, t_.column(j)), run);
        for (uint32_t c = 0; c < run; ++c) weights[i * columns + j + c] = b_.mul(weights[i * columns + j + c], kept[c]);
      }
    }
  }

  Id row_at(Id query) {
    const Id line = b_.add(b_.mul(t_.as_index(batch_), t_.index_of(p_.heads)), t_.as_index(head_));
    return b_.add(b_.mul(line, t_.index_of(p_.queries)), t_.as_index(query));
  }

  void write() {
    std::vector<Id> totals;
    for (const Id each : total_) totals.push_back(b_.get(each));
    totals = t_.fold_rows(std::move(totals), [&](Id a, Id c) { return b_.add(a, c); });
    const bool is_cut = parts_.count > 1;
    const Id strip = b_.mul(t_.as_index(part_), t_.index_of(p_.score_rows()));
    const Id is_first = b_.equal(panel_, b_.u32(0));
    std::vector<Id> tops, shares, sums;
    for (uint32_t i = 0; i < totals.size(); ++i) {
      tops.push_back(b_.get(top_[i]));
      shares.push_back(is_cut ? codegen::kNoValue : share_of_total(b_, p_, totals[i]));
      sums.push_back(is_cut ? tops[i] : log_sum(b_, p_, tops[i], totals[i]));
    }
    const uint32_t buffers[] = {tops_, totals_};
    const std::vector<Id> rows[] = {sums, totals};
    const size_t count = is_cut ? 2 : 1;
    t_.store_rows({buffers, count}, {rows, count}, is_first, first_query_, p_.queries,
                  [&](Id query) { return b_.add(strip, row_at(query)); });
    // Results lie by tokens, (B, T, H, E).
    const auto line = [&](Id query) {
      if (is_cut) return b_.mul(b_.add(strip, row_at(query)), t_.index_of(p_.value_width));
      const Id token = b_.add(b_.mul(t_.as_index(batch_), t_.index_of(p_.queries)), t_.as_index(query));
      const Id place = b_.add(b_.mul(token, t_.index_of(p_.heads)), t_.as_index(head_));
      return b_.mul(place, t_.index_of(p_.value_width));
    };
    t_.write(out_, is_cut ? p_.sums : p_.dtype, sums_, p_.value_width, first_query_, p_.queries, first_column_,
             p_.value_width, line, [&](uint32_t i, Id sum) { return is_cut ? sum : b_.mul(sum, shares[i]); });
  }

  const AttentionProblem& p_;
  const Parts parts_;
  AttentionTiles t_;
  codegen::Builder& b_;
  uint32_t mask_ = 0, out_ = 0, tops_ = 0, totals_ = 0;
  Id head_ = 0, batch_ = 0, panel_ = 0, part_ = 0, first_query_ = 0, first_column_ = 0;
  std::vector<Id> products_, sums_, top_, total_;
};

// Brings the parts of every row under one highest score, a thread for each element of the result.
Dispatch join_parts(const AttentionProblem& p, const Parts& parts, uint32_t scratch, const Scratch& at,
                    const ir::Limits& limits) {
  const uint32_t threads = codegen::flat_threads(limits);
  const int64_t width = std::max<int64_t>(1, p.value_width), elements = p.score_rows() * width;
  codegen::Builder b("attention_parts", threads);
  const Scalar sums = codegen::in_memory(p.sums), index = p.needs_64_bits ? Scalar::u64 : Scalar::u32;
  const uint32_t partial = b.add_buffer(sums, false), tops = b.add_buffer(sums, false),
                 totals = b.add_buffer(sums, false), out = b.add_buffer(codegen::in_memory(p.dtype), true),
                 lse = b.add_buffer(sums, true);
  const auto whole = [&](int64_t value) { return b.whole(index, value); };
  const Id place = b.add(b.mul(b.convert(b.block(), index), whole(threads)), b.convert(b.thread(), index));
  if (elements % threads != 0) b.leave_if(b.is_not(b.less(place, whole(elements))));
  const Id row = b.div(place, whole(width)), column = b.mod(place, whole(width));
  const auto part_row = [&](Id part) { return b.add(b.mul(b.convert(part, index), whole(p.score_rows())), row); };
  const auto count = static_cast<uint64_t>(parts.count);

  const Id highest = b.variable(real(b, p, kLowest));
  b.loop(0, count, [&](Id part) { b.set(highest, higher(b, b.get(highest), b.load(tops, part_row(part)))); });
  const Id top = b.get(highest), base = base_of(b, p, top);
  const Id total = b.variable(real(b, p, 0)), sum = b.variable(real(b, p, 0));
  b.loop(0, count, [&](Id part) {
    const Id from = part_row(part);
    const Id weight = b.math(Op::exp, b.type_of(top), {b.sub(b.load(tops, from), base)});
    b.set(total, b.add(b.get(total), b.mul(b.load(totals, from), weight)));
    if (p.value_width == 0) return;
    const Id own = b.load(partial, b.add(b.mul(from, whole(width)), column));
    b.set(sum, b.add(b.get(sum), b.mul(own, weight)));
  });
  const Id whole_total = b.get(total);
  b.branch(b.equal(column, whole(0)), [&] { b.store(lse, row, log_sum(b, p, top, whole_total)); });
  if (p.value_width > 0) {
    const Id query = b.mod(row, whole(p.queries)), line = b.div(row, whole(p.queries));
    const Id head = b.mod(line, whole(p.heads)), batch = b.div(line, whole(p.heads));
    const Id token = b.add(b.mul(batch, whole(p.queries)), query);
    const Id to = b.add(b.mul(b.add(b.mul(token, whole(p.heads)), head), whole(width)), column);
    const Id result = b.mul(b.get(sum), share_of_total(b, p, whole_total));
    b.store(out, to, codegen::to_memory(b, p.dtype, codegen::cast(b, p.sums, p.dtype, result)));
  }
  return {b.finish(),
          {static_cast<uint32_t>(ceil_div(elements, threads)), 1, 1},
          {{scratch, 0}, {scratch, at.tops}, {scratch, at.totals}, {p.first_result, 0}, {p.first_result + 1, 0}}};
}

}  // namespace

codegen::Module lower_attention(const ir::Call& call, const ir::Limits& limits) {
  AttentionProblem p = attention_problem(call);
  codegen::Module made;
  if (p.score_rows() == 0) return made;
  if (auto of_a_query = query_attention(p, limits)) {
    made.dispatches.push_back(std::move(*of_a_query));
    return made;
  }
  if (auto tiles = matrix_attention(p, limits)) {
    made.dispatches.push_back(std::move(*tiles));
    return made;
  }
  const Parts parts = parts_of(p, limits);
  const Scratch at(p, parts);
  const uint32_t scratch = p.first_result + 2;
  if (parts.count > 1 && at.bytes / size_of(p.sums) >= size_t{1} << 31) p.needs_64_bits = true;
  const int64_t widths[] = {p.value_width};
  const AttentionTile tile = choose_attention_tile(p, p.queries, p.batches * p.heads * parts.count, widths, limits);
  made.dispatches.push_back(Forward(p, tile, parts, limits).run(scratch, at));
  if (parts.count == 1) return made;
  made.scratch_bytes = at.bytes;
  made.dispatches.push_back(join_parts(p, parts, scratch, at, limits));
  return made;
}

}  // namespace tenon::kernels
