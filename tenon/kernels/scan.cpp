// A block scans some lines side by side, tile by tile: every thread joins the few elements it has of a tile, the
// threads of a line are scanned through shared memory, and every thread goes through its elements once more from what
// came before them. So a sum is a sum of sums: its error grows with the number of tiles, not of elements.
//
// Where there are too few lines for the device's processors, lines are cut into parts, whose totals are taken first.
// Where lines lie side by side in memory, so do the threads of a block; else those of one line do.

#include "tenon/kernels/scan.h"

#include <algorithm>
#include <bit>

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
  Op op() const { return attrs.kind == ir::ScanKind::sum ? Op::sum : Op::prod; }
  Scalar index() const { return index_type(std::max(lines.elements(), lines.count() * parts), {&input.map}); }
};

class ScanWriter {
 public:
  ScanWriter(const Scan& s, std::string name)
      : s_(s), type_(codegen::in_register(s.input.dtype)), index_(s.index()), b_(std::move(name), s.threads) {
    input_ = b_.add_buffer(codegen::in_memory(s.input.dtype), false);
    shared_ = b_.add_shared(type_, 2 * s.threads);
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
    const uint32_t totals = b_.add_buffer(type_, true);
    const Id total = b_.variable(identity());
    b_.loop(begin_, end_, whole32(s_.tile()),
            [&](Id tile) { each_own(tile, [&](Id row) { b_.set(total, joined(b_.get(total), element(row))); }); });
    const Id scanned = scan_threads(b_.get(total));
    const Id is_last = b_.equal(level_, b_.u32(s_.depth - 1));
    b_.store(totals, total_at(part_), b_.shared_load(shared_, b_.add(scanned, b_.thread())),
             b_.both(is_line_, is_last));
    return finish({{kInput, 0}, {kScratch, 0}}, false);
  }

  Dispatch scan() {
    const uint32_t out = b_.add_buffer(codegen::in_memory(s_.input.dtype), true);
    const Id carry = b_.variable(identity());  // of all tiles before
    std::vector<Dispatch::Binding> bindings{{kInput, 0}, {kOut, 0}};
    if (s_.parts > 1) {
      const uint32_t totals = b_.add_buffer(type_, false);
      bindings.push_back({kScratch, 0});
      b_.loop(b_.u32(0), part_, b_.u32(1),
              [&](Id part) { b_.set(carry, joined(b_.get(carry), b_.load(totals, total_at(part)))); });
    }
    b_.loop(begin_, end_, whole32(s_.tile()), [&](Id tile) {
      const Id total = b_.variable(identity());
      each_own(tile, [&](Id row) { b_.set(total, joined(b_.get(total), element(row))); });
      const Id scanned = scan_threads(b_.get(total));
      const Id is_first = b_.equal(level_, b_.u32(0));
      const Id neighbour = b_.select(is_first, b_.thread(), b_.sub(b_.thread(), b_.u32(stride_)));
      const Id before = b_.shared_load(shared_, b_.add(scanned, neighbour));
      const Id running = b_.variable(b_.select(is_first, b_.get(carry), joined(b_.get(carry), before)));
      each_own(tile, [&](Id row) {
        b_.set(running, joined(b_.get(running), element(row)));
        b_.store(out, place_of(row), codegen::to_memory(b_, s_.input.dtype, b_.get(running)), is_there(row));
      });
      const Id to_last = b_.mul(b_.sub(b_.u32(s_.depth - 1), level_), b_.u32(stride_));
      const Id whole = b_.shared_load(shared_, b_.add(scanned, b_.add(b_.thread(), to_last)));
      b_.set(carry, joined(b_.get(carry), whole));
      b_.barrier();
    });
    return finish(std::move(bindings), true);
  }

 private:
  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  Id whole32(int64_t value) { return b_.u32(static_cast<uint64_t>(value)); }
  Id identity() { return b_.whole(type_, s_.op() == Op::sum ? 0 : 1); }
  Id joined(Id a, Id c) { return b_.math(s_.op() == Op::sum ? Op::add : Op::mul, type_, {a, c}); }

  void each_own(Id tile, const std::function<void(Id row)>& body) {
    const Id first = b_.add(tile, b_.mul(level_, whole32(kOwn)));
    b_.loop(0, kOwn, [&](Id i) { body(b_.add(first, i)); });
  }
  Id is_there(Id row) { return b_.both(is_line_, b_.less(row, end_)); }
  Id place_of(Id row) { return b_.add(start_, b_.mul(index(row), index_of(s_.lines.inner))); }
  Id element(Id row) {
    const Id there = is_there(row), place = b_.select(there, place_of(row), start_);
    const Id loaded = load_at(b_, input_, s_.input.map, place);
    return b_.select(there, codegen::from_memory(b_, s_.input.dtype, loaded), identity());
  }
  // Of a part of this thread's line.
  Id total_at(Id part) { return b_.add(b_.mul(index(part), index_of(s_.lines.count())), line_); }

  // Joins the values of a line's threads up to each of them; where in shared memory they begin.
  Id scan_threads(Id value) {
    b_.shared_store(shared_, b_.thread(), value);
    b_.barrier();
    const auto passes = static_cast<uint32_t>(std::bit_width(s_.depth) - 1);
    b_.loop(0, passes, [&](Id pass) {
      const Id from = b_.mul(b_.math(Op::bit_and, Scalar::u32, {pass, b_.u32(1)}), b_.u32(s_.threads));
      const Id to = b_.sub(b_.u32(s_.threads), from);
      const Id distance = b_.math(Op::shl, Scalar::u32, {b_.u32(1), pass});
      const Id is_alone = b_.less(level_, distance), here = b_.add(from, b_.thread());
      const Id back = b_.select(is_alone, b_.u32(0), b_.mul(distance, b_.u32(stride_)));
      const Id mine = b_.shared_load(shared_, here), earlier = b_.shared_load(shared_, b_.sub(here, back));
      b_.shared_store(shared_, b_.add(to, b_.thread()), b_.select(is_alone, mine, joined(earlier, mine)));
      b_.barrier();
    });
    return b_.u32(passes % 2 == 1 ? s_.threads : 0);
  }

  Dispatch finish(std::vector<Dispatch::Binding> bindings, bool writes_results) {
    return {b_.finish(), {static_cast<uint32_t>(s_.blocks()), 1, 1}, std::move(bindings), writes_results};
  }

  const Scan& s_;
  const Scalar type_, index_;
  Builder b_;
  uint32_t input_ = 0, shared_ = 0, stride_ = 1;  // threads between neighbours of a line
  Id lane_ = 0, level_ = 0, part_ = 0, is_line_ = 0, line_ = 0, start_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace

codegen::Module lower_scan(const ir::Call& call, const ir::Limits& limits) {
  const Scan s(call, limits);
  require_countable(call.op, s.lines.length);
  codegen::Module made;
  if (s.lines.elements() == 0) return made;
  if (s.parts > 1) {
    const size_t element = codegen::size_of(codegen::in_register(s.input.dtype));
    made.scratch_bytes = static_cast<size_t>(s.lines.count() * s.parts) * element;
    made.dispatches.push_back(ScanWriter(s, "scan_totals").totals());
  }
  made.dispatches.push_back(ScanWriter(s, "scan").scan());
  return made;
}

}  // namespace tenon::kernels
