#include "tenon/kernels/contract_row.h"

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"
#include "tenon/kernels/block_lines.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::Scalar;

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
    walk_lines(
        b_, p_.depth, lines, line, kAtOnce,
        [&](Id depth, Id is_there) {
          return load(buffers_.b, p_.b.dtype, place_of_right(depth, column), vector_, b_.both(is_there, is_inside));
        },
        [&](Id depth, Id is_there, const std::vector<Id>& numbers) {
          const Id left = load(buffers_.a, p_.a.dtype, place_of_left(depth), 1, is_there)[0];
          for (uint32_t i = 0; i < vector_; ++i) add_product(totals[i], left, numbers[i]);
        });
    std::vector<Id> values;
    for (const Id total : totals) values.push_back(b_.get(total));
    const ColumnSums sums(b_, threads_, subgroup_, kAcross, values);
    const Id own = b_.add(b_.mul(b_.block(), b_.u32(columns)), b_.thread());
    b_.branch(b_.both(b_.less(b_.thread(), b_.u32(columns)), b_.less(own, whole(p_.columns))),
              [&] { finish(own, sums.total(b_.thread())); });
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
    walk_lines(
        b_, p_.depth / vector_, subgroup_, lane, kAtOnce,
        [&](Id vector, Id is_there) {
          const Id depth = b_.mul(vector, b_.u32(vector_));
          return load(buffers_.b, p_.b.dtype, place_of_right(depth, column), vector_, b_.both(is_there, is_inside));
        },
        [&](Id vector, Id is_there, const std::vector<Id>& numbers) {
          const Id depth = b_.mul(vector, b_.u32(vector_));
          const std::vector<Id> left = load(buffers_.a, p_.a.dtype, place_of_left(depth), vector_, is_there);
          for (uint32_t i = 0; i < vector_; ++i) add_product(total, left[i], numbers[i]);
        });
    const Id sum = sum_of_subgroup(b_, subgroup_, 1, b_.get(total));
    b_.branch(b_.both(b_.equal(lane, b_.u32(0)), is_inside), [&] { finish(column, sum); });
    return static_cast<uint64_t>(ceil_div(p_.columns, int64_t{columns}));
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
    b_.set(total, has_fma_ ? b_.fma(x, y, before) : b_.add(before, b_.mul(x, y)));
  }
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
