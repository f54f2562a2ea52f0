#include "tenon/kernels/contract_row.h"

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::Scalar;
using ir::Op;

constexpr uint32_t kBytesAtOnce = 16;
constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kAtOnce = 8;   // vectors that a thread has asked for before it multiplies the first
constexpr int64_t kShort = 2048;  // rows for which half of the threads do

uint32_t vector_of(const ContractProblem& p) { return kBytesAtOnce / static_cast<uint32_t>(size_of(p.b.dtype)); }
bool goes_along_columns(const ContractProblem& p) { return p.b.column == 1; }

uint32_t threads_of(const ContractProblem& p, const ir::Limits& limits) {
  const uint32_t wanted = goes_along_columns(p) && p.depth >= kShort ? kMostThreads : kMostThreads / 2;
  return std::min(wanted, limits.max_threads) / limits.subgroup * limits.subgroup;
}

class RowProduct {
 public:
  RowProduct(const ContractProblem& p, const ir::Limits& limits)
      : p_(p),
        vector_(vector_of(p)),
        subgroup_(limits.subgroup),
        threads_(threads_of(p, limits)),
        has_fma_(limits.has_fma),
        index_(index_type(p)),
        b_(goes_along_columns(p) ? "row_by_columns" : "row_by_depth", threads_),
        buffers_(add_contract_buffers(b_, p, codegen::in_memory(p.a.dtype), codegen::in_memory(p.b.dtype))) {}

  Dispatch run() {
    const uint64_t blocks = goes_along_columns(p_) ? by_columns() : by_depth();
    return {b_.finish(), {blocks, 1, 1}, contract_bindings(p_), true};
  }

 private:
  // Two threads beside each other have 32 bytes of a line of the matrix, as much as memory gives at least; the next two
  // have the next line.
  uint64_t by_columns() {
    constexpr uint32_t kAcross = 2;
    const uint32_t columns = kAcross * vector_, lines = threads_ / kAcross;
    const Id across = b_.mod(b_.thread(), b_.u32(kAcross)), line = b_.div(b_.thread(), b_.u32(kAcross));
    const Id column = b_.add(b_.mul(b_.block(), b_.u32(columns)), b_.mul(across, b_.u32(vector_)));
    const Id is_inside = p_.columns % columns == 0 ? b_.boolean(true) : b_.less(column, whole(p_.columns));
    std::vector<Id> totals = zeros(vector_);
    walk(
        lines, line,
        [&](Id depth, Id is_there) {
          return load(buffers_.b, p_.b.dtype, place_of_right(depth, column), vector_, b_.both(is_there, is_inside));
        },
        [&](Id depth, Id is_there, const std::vector<Id>& numbers) {
          const Id left = load(buffers_.a, p_.a.dtype, place_of_left(depth), 1, is_there)[0];
          for (uint32_t i = 0; i < vector_; ++i) add_product(totals[i], left, numbers[i]);
        });
    // Of a subgroup, then of the block.
    std::vector<Id> sums;
    for (const Id total : totals) sums.push_back(folded(b_.get(total), kAcross));
    const uint32_t groups = threads_ / subgroup_, shared = b_.add_shared(Scalar::f32, groups * columns);
    const Id lane = b_.mod(b_.thread(), b_.u32(subgroup_)), group = b_.div(b_.thread(), b_.u32(subgroup_));
    b_.branch(b_.less(lane, b_.u32(kAcross)), [&] {
      const Id first = b_.add(b_.mul(group, b_.u32(columns)), b_.mul(lane, b_.u32(vector_)));
      for (uint32_t i = 0; i < vector_; ++i) b_.shared_store(shared, b_.add(first, b_.u32(i)), sums[i]);
    });
    b_.barrier();
    const Id own = b_.add(b_.mul(b_.block(), b_.u32(columns)), b_.thread());
    b_.branch(b_.both(b_.less(b_.thread(), b_.u32(columns)), b_.less(own, whole(p_.columns))), [&] {
      const Id total = b_.variable(b_.shared_load(shared, b_.thread()));
      b_.loop(
          1, groups,
          [&](Id i) {
            b_.set(total,
                   sum_of(b_.get(total), b_.shared_load(shared, b_.add(b_.mul(i, b_.u32(columns)), b_.thread()))));
          },
          true);
      finish(own, b_.get(total));
    });
    return static_cast<uint64_t>(ceil_div(p_.columns, int64_t{columns}));
  }

  // A subgroup has one column, whose numbers lie side by side.
  uint64_t by_depth() {
    const uint32_t columns = threads_ / subgroup_;
    const Id lane = b_.mod(b_.thread(), b_.u32(subgroup_));
    const Id column = b_.add(b_.mul(b_.block(), b_.u32(columns)), b_.div(b_.thread(), b_.u32(subgroup_)));
    const Id is_inside = p_.columns % columns == 0 ? b_.boolean(true) : b_.less(column, whole(p_.columns));
    const Id total = zeros(1)[0];
    // In units of vectors.
    walk(
        subgroup_, lane,
        [&](Id vector, Id is_there) {
          const Id depth = b_.mul(vector, b_.u32(vector_));
          return load(buffers_.b, p_.b.dtype, place_of_right(depth, column), vector_, b_.both(is_there, is_inside));
        },
        [&](Id vector, Id is_there, const std::vector<Id>& numbers) {
          const Id depth = b_.mul(vector, b_.u32(vector_));
          const std::vector<Id> left = load(buffers_.a, p_.a.dtype, place_of_left(depth), vector_, is_there);
          for (uint32_t i = 0; i < vector_; ++i) add_product(total, left[i], numbers[i]);
        });
    const Id sum = folded(b_.get(total), 1);
    b_.branch(b_.both(b_.equal(lane, b_.u32(0)), is_inside), [&] { finish(column, sum); });
    return static_cast<uint64_t>(ceil_div(p_.columns, int64_t{columns}));
  }

  // From `first` on in steps through the inner dimension; several are read before the first is multiplied.
  template <typename Read, typename Multiply>
  void walk(uint32_t step, Id first, const Read& read, const Multiply& multiply) {
    const int64_t count = goes_along_columns(p_) ? p_.depth : p_.depth / vector_;
    const int64_t rounds = ceil_div(count, int64_t{step});
    const auto several = static_cast<uint32_t>(std::min<int64_t>(rounds, kAtOnce));
    const bool is_whole = count % (int64_t{step} * several) == 0;
    b_.loop(b_.u32(0), whole(count), b_.u32(static_cast<uint64_t>(step) * several), [&](Id begin) {
      std::vector<Id> places, inside;
      std::vector<std::vector<Id>> numbers;
      for (uint32_t i = 0; i < several; ++i) {
        places.push_back(b_.add(b_.add(begin, b_.u32(static_cast<uint64_t>(step) * i)), first));
        inside.push_back(is_whole ? b_.boolean(true) : b_.less(places[i], whole(count)));
        numbers.push_back(read(places[i], inside[i]));
      }
      for (uint32_t i = 0; i < several; ++i) multiply(places[i], inside[i], numbers[i]);
    });
  }

  // The sum over all threads of a subgroup whose positions differ by multiples of `apart`.
  Id folded(Id value, uint32_t apart) {
    for (uint32_t distance = apart; distance < subgroup_; distance *= 2)
      value = sum_of(value, b_.shuffle(value, distance));
    return value;
  }

  void finish(Id column, Id sum) {
    const Id at = index(column);
    b_.store(buffers_.out, at, finished_sum(b_, p_, buffers_, b_.whole(index_, p_.bias_offset), sum, at, at));
  }

  // As f32, 0 where there is nothing.
  std::vector<Id> load(uint32_t buffer, DType dtype, Id at, uint32_t width, Id mask) {
    std::vector<Id> made;
    for (const Id each : b_.load_several(buffer, at, width, mask))
      made.push_back(codegen::cast(b_, dtype, DType::f32, codegen::from_memory(b_, dtype, each)));
    return made;
  }
  void add_product(Id total, Id x, Id y) {
    const Id before = b_.get(total);
    b_.set(total, has_fma_ ? b_.fma(x, y, before) : sum_of(before, b_.math(Op::mul, Scalar::f32, {x, y})));
  }
  Id sum_of(Id x, Id y) { return b_.math(Op::add, Scalar::f32, {x, y}); }
  std::vector<Id> zeros(uint32_t count) {
    std::vector<Id> made;
    for (uint32_t i = 0; i < count; ++i) made.push_back(b_.variable(b_.f32(0)));
    return made;
  }

  Id whole(int64_t value) { return b_.whole(Scalar::u32, value); }
  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  Id place_of_left(Id depth) { return b_.add(index(depth), index_of(p_.a.offset)); }
  Id place_of_right(Id depth, Id column) {
    const Id along = goes_along_columns(p_) ? b_.add(b_.mul(index(depth), index_of(p_.b.row)), index(column))
                                            : b_.add(index(depth), b_.mul(index(column), index_of(p_.b.column)));
    return b_.add(along, index_of(p_.b.offset));
  }

  const ContractProblem& p_;
  const uint32_t vector_, subgroup_, threads_;
  const bool has_fma_;
  const Scalar index_;
  Builder b_;
  const ContractBuffers buffers_;
};

}  // namespace

bool is_row_product(const ContractProblem& p, const ir::Limits& limits) {
  constexpr int64_t kLongest = 1 << 16;  // as in parts of other products
  const bool is_right_kind = p.rows == 1 && p.batches() == 1 && p.elements() > 0 && p.sums == DType::f32 &&
                             p.a.is_strided && p.b.is_strided && p.a.dtype == p.b.dtype && is_float(p.a.dtype) &&
                             size_of(p.a.dtype) <= 4;
  if (!is_right_kind || limits.subgroup < 16 || limits.vector < 4 || p.a.column != 1) return false;
  if (p.depth < int64_t{limits.subgroup} || p.depth > kLongest || p.columns > int64_t{1} << 31) return false;
  const int64_t vector = vector_of(p);
  const auto fits = [&](int64_t elements) { return elements % vector == 0; };
  if (goes_along_columns(p)) return fits(p.columns) && fits(p.b.row) && fits(p.b.offset);
  return p.b.row == 1 && fits(p.depth) && fits(p.b.column) && fits(p.b.offset) && fits(p.a.offset);
}

Dispatch row_product(const ContractProblem& p, const ir::Limits& limits) { return RowProduct(p, limits).run(); }

}  // namespace tenon::kernels
