// A block scans some lines side by side, tile by tile: every thread joins the few elements it has of a tile, the
// threads of a line are scanned through shared memory, and every thread goes through its elements once more from what
// came before them. So a sum is a sum of sums: its error grows with the number of tiles, not of elements.
//
// Products of floats are kept as a number near 1 and a power of two: those of a part may be beyond what a float holds
// where those from the line's beginning are not.
//
// Where there are too few lines for the device's processors, lines are cut into parts, whose totals are taken first.
// Where lines lie side by side in memory, so do the threads of a block; else those of one line do.

#include "tenon/kernels/scan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/schedule.h"
#include "tenon/kernels/lines.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

constexpr uint32_t kInput = 0, kOut = 1, kScratch = 2;  // arguments of the launch
constexpr int64_t kOwn = 4;                             // elements of a tile that a thread has of a line
constexpr int64_t kAbreast = 32;                        // lines that neighbouring threads read at once
constexpr int64_t kLeastTiles = 4;                      // of a part
constexpr int64_t kMostParts = 64;

struct Scan {
  Scan(const ir::Call& call, const ir::Limits& limits)
      : attrs(std::get<ir::ScanAttrs>(call.attrs)),
        input(call.inputs[0]),
        lines(call.outputs[0].shape, attrs.axis),
        threads(std::bit_floor(codegen::flat_threads(limits))) {
    if (lines.elements() == 0) return;
    const auto wanted = std::bit_ceil(static_cast<uint64_t>(ceil_div(lines.length, kOwn)));
    const auto beside = std::bit_ceil(static_cast<uint64_t>(std::min(lines.inner, kAbreast)));
    depth = static_cast<uint32_t>(std::min<uint64_t>(wanted, std::max<uint64_t>(1, threads / beside)));
    const int64_t blocks = ceil_div(lines.count(), abreast());
    const int64_t most = lines.length / (kLeastTiles * tile());
    const int64_t parts_wanted = std::min(ceil_div(2 * int64_t{limits.processors}, blocks), most);
    part = base::round_up(ceil_div(lines.length, std::clamp<int64_t>(parts_wanted, 1, kMostParts)), tile());
    parts = ceil_div(lines.length, part);
  }

  const ir::ScanAttrs& attrs;
  const ir::Operand& input;
  Lines lines;
  uint32_t threads, depth = 1;  // of a block, and of a line of it
  int64_t part = 1, parts = 1;  // elements of a part, and parts of a line
  int64_t abreast() const { return threads / depth; }
  int64_t tile() const { return depth * kOwn; }  // elements of a line
  int64_t blocks() const { return ceil_div(lines.count(), abreast()) * parts; }
  Op op() const {
    return attrs.kind == ir::ScanKind::sum ? Op::sum : attrs.kind == ir::ScanKind::prod ? Op::prod : Op::max;
  }
  bool has_powers() const { return op() == Op::prod && is_float(input.dtype); }
  /// Bytes of scratch memory of one result for each part.
  size_t total_bytes() const {
    return base::round_up(
        static_cast<size_t>(lines.count() * parts) * codegen::size_of(codegen::in_register(input.dtype)), size_t{256});
  }
  Scalar index() const { return index_type(std::max(lines.elements(), lines.count() * parts), {&input.map}); }
};

class ScanWriter {
 public:
  ScanWriter(const Scan& s, std::string name)
      : s_(s), type_(codegen::in_register(s.input.dtype)), index_(s.index()), b_(std::move(name), s.threads) {
    input_ = b_.add_buffer(codegen::in_memory(s.input.dtype), false);
    shared_ = b_.add_shared(type_, 2 * s.threads);
    if (s.has_powers()) shared_powers_ = b_.add_shared(Scalar::i32, 2 * s.threads);
    const bool lies_beside = s.lines.inner > 1;
    const Id across = b_.u32(lies_beside ? static_cast<uint64_t>(s.abreast()) : s.depth);
    const Id fast = b_.mod(b_.thread(), across), slow = b_.div(b_.thread(), across);
    lane_ = lies_beside ? fast : slow;
    level_ = lies_beside ? slow : fast;
    stride_ = lies_beside ? static_cast<uint32_t>(s.abreast()) : 1;
    part_ = b_.mod(b_.block(), whole32(s.parts));
    const Id first_line = b_.mul(index(b_.div(b_.block(), whole32(s.parts))), index_of(s.abreast()));
    const Id line = b_.add(first_line, index(lane_));
    is_line_ = s.lines.count() % s.abreast() == 0 ? b_.boolean(true) : b_.less(line, index_of(s.lines.count()));
    line_ = b_.select(is_line_, line, first_line);
    const Id inner = index_of(s.lines.inner), outer = b_.div(line_, inner);
    start_ = b_.add(b_.mul(outer, index_of(s.lines.length * s.lines.inner)), b_.mod(line_, inner));
    begin_ = b_.mul(part_, whole32(s.part));
    end_ = s.parts == 1 ? whole32(s.lines.length) : b_.min(b_.add(begin_, whole32(s.part)), whole32(s.lines.length));
  }

  // The total of every part, to scratch memory.
  Dispatch totals() {
    const Totals totals = add_totals(true);
    const Variable total = variable(identity());
    b_.loop(begin_, end_, whole32(s_.tile()),
            [&](Id tile) { each_own(tile, [&](Id row) { set(total, joined(get(total), element(row))); }); });
    const Id scanned = scan_threads(get(total));
    const Id is_writer = b_.both(is_line_, b_.equal(level_, b_.u32(s_.depth - 1)));
    const Value whole = shared_value(b_.add(scanned, b_.thread()));
    b_.store(totals.values, total_at(part_), whole.number, is_writer);
    if (s_.has_powers()) b_.store(totals.powers, total_at(part_), whole.power, is_writer);
    return finish(false);
  }

  Dispatch scan() {
    bindings_.push_back({kOut, 0});
    const uint32_t out = b_.add_buffer(codegen::in_memory(s_.input.dtype), true);
    const Variable carry = variable(identity());  // of all tiles before
    if (s_.parts > 1) {
      const Totals totals = add_totals(false);
      b_.loop(b_.u32(0), part_, b_.u32(1), [&](Id part) {
        const Id at = total_at(part);
        const Id power = s_.has_powers() ? b_.load(totals.powers, at) : codegen::kNoValue;
        set(carry, joined(get(carry), {b_.load(totals.values, at), power}));
      });
    }
    b_.loop(begin_, end_, whole32(s_.tile()), [&](Id tile) {
      const Variable total = variable(identity());
      each_own(tile, [&](Id row) { set(total, joined(get(total), element(row))); });
      const Id scanned = scan_threads(get(total));
      const Id is_first = b_.equal(level_, b_.u32(0));
      const Id neighbour = b_.select(is_first, b_.thread(), b_.sub(b_.thread(), b_.u32(stride_)));
      const Value before = shared_value(b_.add(scanned, neighbour));
      const Variable running = variable(chosen(is_first, get(carry), joined(get(carry), before)));
      each_own(tile, [&](Id row) {
        set(running, joined(get(running), element(row)));
        b_.store(out, place_of(row), codegen::to_memory(b_, s_.input.dtype, whole_of(get(running))), is_there(row));
      });
      const Id to_last = b_.mul(b_.sub(b_.u32(s_.depth - 1), level_), b_.u32(stride_));
      set(carry, joined(get(carry), shared_value(b_.add(scanned, b_.add(b_.thread(), to_last)))));
      b_.barrier();
    });
    return finish(true);
  }

 private:
  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  Id whole32(int64_t value) { return b_.u32(static_cast<uint64_t>(value)); }

  // A sum, or a product: `number` times 2 to the power of `power` steps, where there are powers.
  struct Value {
    Id number = 0, power = codegen::kNoValue;
  };
  using Variable = Value;
  // Numbers that are not 0 are kept from 2^-half to 2^half. A step is 2^(2 half).
  int half() const { return type_ == Scalar::f64 ? 256 : 32; }
  Id power_of_two(int exponent) { return b_.constant(type_, std::bit_cast<uint64_t>(std::ldexp(1.0, exponent))); }

  Value identity() {
    return {codegen::identity_of(b_, s_.op(), s_.input.dtype), s_.has_powers() ? b_.whole(Scalar::i32, 0) : codegen::kNoValue};
  }
  Value joined(const Value& a, const Value& c) {
    if (s_.op() == Op::max) return {later_extreme(a.number, c.number)};
    const Id number = b_.math(s_.op() == Op::sum ? Op::add : Op::mul, type_, {a.number, c.number});
    if (!s_.has_powers()) return {number};
    return nearer({number, b_.add(a.power, c.power)});
  }
  // The later one unless it is less; a NaN is above all.
  Id later_extreme(Id earlier, Id later) {
    const Id is_less = b_.less(later, earlier);
    if (!is_float(type_)) return b_.select(is_less, earlier, later);
    const Id keeps = b_.select(b_.equal(earlier, earlier), is_less, b_.equal(later, later));
    return b_.select(keeps, earlier, later);
  }
  // One step nearer to 1, where it is beyond half a step.
  Value nearer(const Value& x) {
    const Id size = b_.math(Op::abs, type_, {x.number});
    const Id infinity = b_.constant(type_, std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity()));
    const Id is_large = b_.both(b_.is_not(b_.less(size, power_of_two(half()))), b_.less(size, infinity));
    const Id is_small = b_.both(b_.less(b_.whole(type_, 0), size), b_.less(size, power_of_two(-half())));
    const Id factor = b_.select(is_large, power_of_two(-2 * half()),
                                b_.select(is_small, power_of_two(2 * half()), b_.whole(type_, 1)));
    const Id steps = b_.select(is_large, b_.whole(Scalar::i32, 1),
                               b_.select(is_small, b_.whole(Scalar::i32, -1), b_.whole(Scalar::i32, 0)));
    return {b_.math(Op::mul, type_, {x.number, factor}), b_.add(x.power, steps)};
  }
  // As a plain number: beyond three steps it is infinite or 0, whatever it began as.
  Id whole_of(const Value& x) {
    if (!s_.has_powers()) return x.number;
    const Id zero = b_.whole(Scalar::i32, 0), is_low = b_.less(x.power, zero);
    const Id factor = b_.select(is_low, power_of_two(-2 * half()), power_of_two(2 * half()));
    const Id steps = b_.select(is_low, b_.math(Op::neg, Scalar::i32, {x.power}), x.power);
    Id made = x.number;
    for (int64_t step = 0; step < 3; ++step) {
      const Id is_on = b_.less(b_.whole(Scalar::i32, step), steps);
      made = b_.math(Op::mul, type_, {made, b_.select(is_on, factor, b_.whole(type_, 1))});
    }
    return made;
  }

  Variable variable(const Value& first) {
    return {b_.variable(first.number), s_.has_powers() ? b_.variable(first.power) : codegen::kNoValue};
  }
  Value get(const Variable& from) {
    return {b_.get(from.number), s_.has_powers() ? b_.get(from.power) : codegen::kNoValue};
  }
  void set(const Variable& to, const Value& value) {
    b_.set(to.number, value.number);
    if (s_.has_powers()) b_.set(to.power, value.power);
  }
  Value chosen(Id condition, const Value& a, const Value& c) {
    return {b_.select(condition, a.number, c.number),
            s_.has_powers() ? b_.select(condition, a.power, c.power) : codegen::kNoValue};
  }
  Value shared_value(Id at) {
    return {b_.shared_load(shared_, at), s_.has_powers() ? b_.shared_load(shared_powers_, at) : codegen::kNoValue};
  }
  void share(Id at, const Value& value) {
    b_.shared_store(shared_, at, value.number);
    if (s_.has_powers()) b_.shared_store(shared_powers_, at, value.power);
  }

  struct Totals {
    uint32_t values = 0, powers = 0;
  };
  Totals add_totals(bool is_written) {
    Totals made;
    bindings_.push_back({kScratch, 0});
    made.values = b_.add_buffer(type_, is_written);
    if (!s_.has_powers()) return made;
    bindings_.push_back({kScratch, s_.total_bytes()});
    made.powers = b_.add_buffer(Scalar::i32, is_written);
    return made;
  }

  void each_own(Id tile, const std::function<void(Id row)>& body) {
    const Id first = b_.add(tile, b_.mul(level_, whole32(kOwn)));
    b_.loop(0, kOwn, [&](Id i) { body(b_.add(first, i)); });
  }
  Id is_there(Id row) { return b_.both(is_line_, b_.less(row, end_)); }
  Id place_of(Id row) { return b_.add(start_, b_.mul(index(row), index_of(s_.lines.inner))); }
  Value element(Id row) {
    const Id there = is_there(row), place = b_.select(there, place_of(row), start_);
    const Id loaded = load_at(b_, input_, s_.input.map, place);
    const Value found{codegen::from_memory(b_, s_.input.dtype, loaded), identity().power};
    const Value made = chosen(there, found, identity());
    return s_.has_powers() ? nearer(nearer(made)) : made;
  }
  // Of a part of this thread's line.
  Id total_at(Id part) { return b_.add(b_.mul(index(part), index_of(s_.lines.count())), line_); }

  // Joins the values of a line's threads up to each of them; where in shared memory they begin.
  Id scan_threads(const Value& value) {
    share(b_.thread(), value);
    b_.barrier();
    const auto passes = static_cast<uint32_t>(std::bit_width(s_.depth) - 1);
    b_.loop(0, passes, [&](Id pass) {
      const Id from = b_.mul(b_.math(Op::bit_and, Scalar::u32, {pass, b_.u32(1)}), b_.u32(s_.threads));
      const Id to = b_.sub(b_.u32(s_.threads), from);
      const Id distance = b_.math(Op::shl, Scalar::u32, {b_.u32(1), pass});
      const Id is_alone = b_.less(level_, distance), here = b_.add(from, b_.thread());
      const Id back = b_.select(is_alone, b_.u32(0), b_.mul(distance, b_.u32(stride_)));
      const Value mine = shared_value(here), earlier = shared_value(b_.sub(here, back));
      share(b_.add(to, b_.thread()), chosen(is_alone, mine, joined(earlier, mine)));
      b_.barrier();
    });
    return b_.u32(passes % 2 == 1 ? s_.threads : 0);
  }

  Dispatch finish(bool writes_results) {
    return {b_.finish(), {static_cast<uint32_t>(s_.blocks()), 1, 1}, bindings_, writes_results};
  }

  const Scan& s_;
  const Scalar type_, index_;
  Builder b_;
  std::vector<Dispatch::Binding> bindings_{{kInput, 0}};
  uint32_t input_ = 0, shared_ = 0, shared_powers_ = 0, stride_ = 1;  // stride_: threads between neighbours of a line
  Id lane_ = 0, level_ = 0, part_ = 0, is_line_ = 0, line_ = 0, start_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace

codegen::Module lower_scan(const ir::Call& call, const ir::Limits& limits) {
  const Scan s(call, limits);
  require_countable(call.op, s.lines.length);
  codegen::Module made;
  if (s.lines.elements() == 0) return made;
  if (s.parts > 1) {
    made.scratch_bytes = s.total_bytes() * (s.has_powers() ? 2 : 1);
    made.dispatches.push_back(ScanWriter(s, "scan_totals").totals());
  }
  made.dispatches.push_back(ScanWriter(s, "scan").scan());
  return made;
}

}  // namespace tenon::kernels
