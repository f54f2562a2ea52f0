#include "tenon/kernels/attention_query.h"

#include <algorithm>
#include <bit>

#include "tenon/codegen/fold.h"
#include "tenon/kernels/block_lines.h"

namespace tenon::kernels {
namespace {

using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

constexpr uint32_t kBytesAtOnce = 16;
constexpr uint32_t kMostThreads = 256;
constexpr uint32_t kAtOnce = 4;  // keys that a thread has asked for before it looks at the first
constexpr double kLowest = -std::numeric_limits<double>::infinity();

uint32_t vector_of(const AttentionProblem& p) { return kBytesAtOnce / static_cast<uint32_t>(size_of(p.dtype)); }
uint32_t threads_of(const ir::Limits& limits) { return std::bit_floor(std::min(kMostThreads, limits.max_threads)); }

class QueryAttention {
 public:
  QueryAttention(const AttentionProblem& p, const ir::Limits& limits)
      : p_(p),
        vector_(vector_of(p)),
        subgroup_(limits.subgroup),
        threads_(threads_of(limits)),
        // A query sees the first key alone where it must not look ahead.
        keys_(p.attrs.causal ? 1 : p.keys),
        k_("attention_of_a_query", p, threads_),
        b_(k_.b) {}

  Dispatch run() {
    const uint32_t q = k_.add_input(p_.q), k = k_.add_input(p_.k), v = k_.add_input(p_.v);
    const uint32_t mask = p_.attrs.has_mask ? k_.add_input(p_.mask) : 0;
    const uint32_t out = k_.add_buffer(p_.first_result, codegen::in_memory(p_.dtype), true);
    const uint32_t lse = k_.add_buffer(p_.first_result + 1, Scalar::f32, true);
    head_ = b_.block(1);
    batch_ = b_.block(2);
    group_ = b_.div(head_, k_.count_of(p_.heads_per_group()));
    scores_ = b_.add_shared(Scalar::f32, static_cast<uint32_t>(keys_));
    find_scores(q, k, mask);
    b_.barrier();
    const auto [top, total] = make_weights();
    const Id is_empty = b_.equal(total, b_.f32(0));
    add_values(v, out, b_.select(is_empty, b_.f32(0), b_.div(b_.f32(1), total)));
    b_.branch(b_.equal(b_.thread(), b_.u32(0)), [&] {
      const Id log = b_.add(top, b_.math(Op::log, Scalar::f32, {total}));
      b_.store(lse, row(), b_.select(is_empty, b_.f32(0), log));
    });
    return k_.finish({1, static_cast<uint64_t>(p_.heads), static_cast<uint64_t>(p_.batches)});
  }

 private:
  // As many threads on each key as its line has vectors.
  void find_scores(uint32_t q, uint32_t k, uint32_t mask) {
    const uint32_t lanes = static_cast<uint32_t>(p_.width) / vector_;
    const Id lane = b_.mod(b_.thread(), b_.u32(lanes)), own = b_.div(b_.thread(), b_.u32(lanes));
    std::vector<Id> query = load(p_.q, q, head_, b_.u32(0), lane, b_.boolean(true));
    for (Id& each : query) each = b_.mul(each, b_.f32(p_.attrs.scale));
    walk_lines(
        b_, keys_, threads_ / lanes, own, kAtOnce,
        [&](Id key, Id is_there) { return load(p_.k, k, group_, key, lane, is_there); },
        [&](Id key, Id is_there, const std::vector<Id>& numbers) {
          Id product = b_.mul(query[0], numbers[0]);
          for (uint32_t i = 1; i < vector_; ++i) product = b_.fma(query[i], numbers[i], product);
          product = sum_of_subgroup(b_, lanes, 1, product);
          b_.branch(b_.both(b_.equal(lane, b_.u32(0)), is_there), [&] {
            Id score = product;
            if (p_.attrs.has_mask) {
              const Id masked = k_.mask_of(mask, batch_, head_, b_.u32(0), key);
              score = b_.select(k_.hides(masked), b_.f32(kLowest), b_.add(score, masked));
            }
            b_.shared_store(scores_, key, score);
          });
        });
  }

  // The highest score, and the sum of the weights that take the places of the scores.
  std::pair<Id, Id> make_weights() {
    codegen::RowSchedule all;
    all.threads = threads_;
    all.subgroup = std::min(subgroup_, threads_);
    const auto each_key = [&](const auto& visit) {
      b_.loop(b_.u32(0), k_.count_of(keys_), b_.u32(threads_), [&](Id begin) {
        const Id key = b_.add(begin, b_.thread());
        b_.branch(b_.less(key, k_.count_of(keys_)), [&] { visit(key); });
      });
    };
    const Id highest = b_.variable(b_.f32(kLowest));
    each_key([&](Id key) {
      const Id score = b_.shared_load(scores_, key);
      b_.set(highest, codegen::join(b_, Op::max, DType::f32, b_.get(highest), score));
    });
    const Id top = codegen::fold_threads(b_, all, Op::max, DType::f32, b_.get(highest));
    const Id base = b_.select(b_.equal(top, b_.f32(kLowest)), b_.f32(0), top);
    const Id sum = b_.variable(b_.f32(0));
    each_key([&](Id key) {
      const Id weight = b_.math(Op::exp, Scalar::f32, {b_.sub(b_.shared_load(scores_, key), base)});
      b_.shared_store(scores_, key, weight);
      b_.set(sum, b_.add(b_.get(sum), weight));
    });
    return {top, codegen::fold_threads(b_, all, Op::sum, DType::f32, b_.get(sum))};
  }

  // As many threads on each value as its line has vectors; what does not weigh is not looked at.
  void add_values(uint32_t v, uint32_t out, Id share) {
    const uint32_t lanes = static_cast<uint32_t>(p_.value_width) / vector_;
    const Id lane = b_.mod(b_.thread(), b_.u32(lanes)), own = b_.div(b_.thread(), b_.u32(lanes));
    std::vector<Id> totals;
    for (uint32_t i = 0; i < vector_; ++i) totals.push_back(b_.variable(b_.f32(0)));
    const auto weight_of = [&](Id key, Id is_there) {
      return b_.select(is_there, b_.shared_load(scores_, b_.min(key, k_.count_of(keys_ - 1))), b_.f32(0));
    };
    walk_lines(
        b_, keys_, threads_ / lanes, own, kAtOnce,
        [&](Id key, Id is_there) {
          const Id weighs = b_.is_not(b_.equal(weight_of(key, is_there), b_.f32(0)));
          return load(p_.v, v, group_, key, lane, weighs);
        },
        [&](Id key, Id is_there, const std::vector<Id>& numbers) {
          const Id weight = weight_of(key, is_there);
          for (uint32_t i = 0; i < vector_; ++i) b_.set(totals[i], b_.fma(weight, numbers[i], b_.get(totals[i])));
        });
    std::vector<Id> values;
    for (const Id total : totals) values.push_back(b_.get(total));
    const ColumnSums sums(b_, threads_, subgroup_, lanes, values);
    const auto width = static_cast<uint32_t>(p_.value_width);
    b_.loop(b_.u32(0), b_.u32(width), b_.u32(threads_), [&](Id begin) {
      const Id column = b_.add(begin, b_.thread());
      b_.branch(b_.less(column, b_.u32(width)), [&] {
        const Id result = codegen::cast(b_, DType::f32, p_.dtype, b_.mul(sums.total(column), share));
        const Id at = b_.add(b_.mul(row(), k_.index_of(p_.value_width)), k_.as_index(column));
        b_.store(out, at, codegen::to_memory(b_, p_.dtype, result));
      });
    });
  }

  // One vector of a line as f32, 0 where it is not wanted.
  std::vector<Id> load(const AttentionOperand& operand, uint32_t buffer, Id head, Id token, Id lane, Id is_wanted) {
    const ir::View& view = operand.map.views()[0];
    const auto term = [&](Id i, size_t axis) { return b_.mul(k_.as_index(i), k_.index_of(view.strides[axis])); };
    const Id line = b_.add(b_.add(term(batch_, 0), term(head, 1)), b_.add(term(token, 2), k_.index_of(view.offset)));
    const Id at = b_.add(line, k_.as_index(b_.mul(lane, b_.u32(vector_))));
    std::vector<Id> made;
    for (const Id each : b_.load_several(buffer, at, vector_, is_wanted))
      made.push_back(codegen::cast(b_, p_.dtype, DType::f32, codegen::from_memory(b_, p_.dtype, each)));
    return made;
  }

  Id row() { return b_.add(b_.mul(k_.as_index(batch_), k_.index_of(p_.heads)), k_.as_index(head_)); }

  const AttentionProblem& p_;
  const uint32_t vector_, subgroup_, threads_;
  const int64_t keys_;
  AttentionKernel k_;
  codegen::Builder& b_;
  uint32_t scores_ = 0;
  Id head_ = 0, batch_ = 0, group_ = 0;
};

bool lies_in_vectors(const AttentionOperand& operand, int64_t vector) {
  if (!operand.map.is_strided()) return false;
  const ir::View& view = operand.map.views()[0];
  return view.strides[3] == 1 && view.offset % vector == 0 &&
         std::all_of(view.strides.begin(), view.strides.end() - 1, [&](int64_t s) { return s % vector == 0; });
}

// Whether a subgroup is a whole number of lines.
bool divides_subgroup(int64_t width, int64_t vector, const ir::Limits& limits) {
  return width % vector == 0 && width > 0 && std::has_single_bit(static_cast<uint64_t>(width / vector)) &&
         width / vector <= int64_t{limits.subgroup};
}

}  // namespace

std::optional<Dispatch> query_attention(const AttentionProblem& p, const ir::Limits& limits) {
  constexpr uint32_t kBytesLeft = 4096;  // of shared memory, for all but the scores
  if (p.queries != 1 || p.keys == 0 || p.attrs.dropout > 0 || p.sums != DType::f32 || !limits.has_fma) return {};
  if (limits.subgroup < 16 || limits.vector < 4 || threads_of(limits) <= limits.subgroup) return {};
  const uint64_t groups = threads_of(limits) / limits.subgroup;
  const uint64_t bytes = (static_cast<uint64_t>(p.keys) + groups * static_cast<uint64_t>(p.value_width)) * 4;
  if (bytes + kBytesLeft > std::min(limits.shared_bytes, 48u << 10)) return {};
  const int64_t vector = vector_of(p);
  if (!divides_subgroup(p.width, vector, limits) || !divides_subgroup(p.value_width, vector, limits)) return {};
  for (const AttentionOperand* one : {&p.q, &p.k, &p.v}) {
    if (!lies_in_vectors(*one, vector)) return {};
  }
  return QueryAttention(p, limits).run();
}

}  // namespace tenon::kernels
