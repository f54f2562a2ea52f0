// Checks a kernel before anything is made of it: a mistake in a generator is named here, at its instruction, and not
// by a driver's compiler or a hanging device.
//
// Barriers are checked by what differs between the threads of a block. A value differs if it is made of one that does,
// or read from a place that does; a variable, if it is ever set to such a value, or set where not all threads come. As
// a loop's later instructions reach its earlier ones, this is computed until nothing changes. Matrix tiles are checked
// in the same way, by what differs between the threads of a subgroup: the number of a thread divided by a multiple of
// the subgroup's size does not.

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/codegen/kernel_ir.h"

namespace tenon::codegen {
namespace {

using ir::Op;
using Kind = Inst::Kind;

constexpr Scalar widened(Scalar element) {
  return element == Scalar::u8 || element == Scalar::u16 ? Scalar::u32 : element;
}
constexpr bool is_integer(Scalar type) {
  return type == Scalar::i32 || type == Scalar::u32 || type == Scalar::i64 || type == Scalar::u64;
}

bool is_tile(Kind kind) { return kind == Kind::tile_zero || kind == Kind::tile_load || kind == Kind::tile_pack; }

template <typename... Args>
[[noreturn]] void fail_at(const KernelIr& kernel, size_t at, fmt::format_string<Args...> format, Args&&... args) {
  base::fail("codegen", "{}, instruction {} ({}): {}", kernel.name, at, to_string(kernel.code[at]),
             fmt::format(format, std::forward<Args>(args)...));
}

// Types, operands and the matching of ends.
class Types {
 public:
  explicit Types(const KernelIr& kernel) : kernel_(kernel), is_known_(kernel.code.size()) {}

  void check() {
    for (at_ = 0; at_ < kernel_.code.size(); ++at_) check(kernel_.code[at_]);
    if (!open_.empty()) fail_at(kernel_, open_.back().at, "has no end");
  }

 private:
  struct Open {
    size_t at;
    bool is_loop, has_otherwise;
    std::vector<Id> known;  // what was made inside
  };

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(kernel_, at_, format, std::forward<Args>(args)...);
  }

  const Inst& arg(const Inst& inst, size_t i) const {
    const Id id = inst.args[i];
    if (id >= at_ || !is_known_[id]) fail("%{} is not known here", id);
    return kernel_.code[id];
  }
  /// The type of an operand that is one number.
  Scalar type_of(const Inst& inst, size_t i) const {
    const Inst& made = arg(inst, i);
    if (made.kind == Kind::variable) fail("%{} is a variable: only get and set take it", inst.args[i]);
    if (made.width != 1) fail("%{} has {} components", inst.args[i], made.width);
    if (is_tile(made.kind)) fail("%{} is a tile", inst.args[i]);
    return made.type;
  }
  void expect_type(const Inst& inst, size_t i, Scalar type) const {
    const Scalar has = type_of(inst, i);
    if (has != type) fail("%{} is {}, not {}", inst.args[i], name(has), name(type));
  }
  void expect_value(const Inst& inst, Scalar type) const {
    if (inst.type != type) fail("gives {}, not {}", name(inst.type), name(type));
  }
  void expect_integer(const Inst& inst, size_t i) const {
    const Scalar has = type_of(inst, i);
    if (!is_integer(has)) fail("%{} is {}, not a whole number", inst.args[i], name(has));
  }
  void expect_args(const Inst& inst, size_t least, size_t most) const {
    if (inst.args.size() < least || inst.args.size() > most)
      fail("takes {} operands, not {}", least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most),
           inst.args.size());
  }
  void expect_args(const Inst& inst, size_t count) const { expect_args(inst, count, count); }
  void expect_slot(const Inst& inst, size_t count, std::string_view what) const {
    if (inst.slot >= count) fail("there is no {} {}", what, inst.slot);
  }
  void expect_register(Scalar type) const {
    if (type != widened(type)) fail("{} exists in memory alone", name(type));
  }
  void expect_width(const Inst& inst) const {
    if (inst.width != 1 && inst.width != 2 && inst.width != 4 && inst.width != 8)
      fail("has the width {}; there are 1, 2, 4 and 8", inst.width);
  }

  void check_math(const Inst& inst) const {
    const ir::OpInfo& op = ir::info(inst.op);
    if (op.kind != ir::Kind::unary && op.kind != ir::Kind::binary && op.kind != ir::Kind::ternary)
      fail("is no elementwise op");
    if (inst.op == Op::sigmoid) fail("is to be written by exp");
    expect_args(inst, static_cast<size_t>(op.arity));
    expect_register(inst.type);
    if (inst.op == Op::where) expect_type(inst, 0, Scalar::boolean);
    const size_t first = inst.op == Op::where ? 1 : 0;
    const Scalar from = type_of(inst, first);
    for (size_t i = first; i < inst.args.size(); ++i) expect_type(inst, i, from);
    const bool is_bool = from == Scalar::boolean;
    switch (op.dtype_rule) {
      case ir::DTypeRule::cast: return;
      case ir::DTypeRule::bitcast:
        if (is_bool || inst.type == Scalar::boolean || size_of(from) != size_of(inst.type))
          fail("{} and {} differ in size", name(from), name(inst.type));
        return;
      case ir::DTypeRule::compare: return expect_value(inst, Scalar::boolean);
      case ir::DTypeRule::number:
        if (is_bool) fail("has no meaning for truths");
        break;
      case ir::DTypeRule::real:  // and div of unsigned integers, which have no other one
        if (!is_float(from) && inst.op != Op::div) fail("{} is no float type", name(from));
        if (is_bool) fail("has no meaning for truths");
        break;
      case ir::DTypeRule::integer:
        if (!is_integer(from)) fail("{} is no integer type", name(from));
        break;
      case ir::DTypeRule::bits:
        if (is_float(from)) fail("has no meaning for {}", name(from));
        break;
      default: break;
    }
    expect_value(inst, from);
  }

  void check_memory(const Inst& inst, bool is_load) const {
    expect_slot(inst, kernel_.buffers.size(), "buffer");
    expect_width(inst);
    const KernelBuffer& buffer = kernel_.buffers[inst.slot];
    const Scalar type = widened(buffer.element);
    const size_t without_mask = is_load ? 1 : size_t{1} + inst.width;
    expect_args(inst, without_mask, without_mask + 1);
    expect_integer(inst, 0);
    if (is_load) expect_value(inst, type);
    if (!is_load && !buffer.is_written) fail("buffer {} is not written", inst.slot);
    for (size_t i = 1; i < without_mask; ++i) expect_type(inst, i, type);
    if (inst.args.size() > without_mask) expect_type(inst, without_mask, Scalar::boolean);
  }

  void check_bits(const Inst& inst) const {
    expect_slot(inst, kernel_.buffers.size(), "buffer");
    const KernelBuffer& buffer = kernel_.buffers[inst.slot];
    if (buffer.element != Scalar::u32) fail("buffer {} holds {}, not u32", inst.slot, name(buffer.element));
    if (!buffer.is_written) fail("buffer {} is not written", inst.slot);
    expect_args(inst, 3, 4);
    expect_integer(inst, 0);
    for (size_t i = 1; i < 3; ++i) expect_type(inst, i, Scalar::u32);
    if (inst.args.size() == 4) expect_type(inst, 3, Scalar::boolean);
  }

  void check_array(const Inst& inst, const std::vector<KernelArray>& arrays, std::string_view what,
                   bool is_load) const {
    expect_slot(inst, arrays.size(), what);
    const KernelArray& array = arrays[inst.slot];
    expect_width(inst);
    if (inst.width > 1) {
      const size_t size = size_of(array.element);
      if (inst.kind != Kind::shared_load && inst.kind != Kind::shared_store) fail("takes one element at a time");
      if (size < 4 || size * inst.width > 16) fail("{} elements of {} at once", inst.width, name(array.element));
      if (array.count % inst.width != 0) fail("{} {} are no whole number of {}", what, inst.slot, inst.width);
    }
    expect_args(inst, is_load ? 1 : size_t{1} + inst.width);
    expect_integer(inst, 0);
    const Inst& index = arg(inst, 0);
    if (index.kind == Kind::constant && (index.bits >= array.count || array.count - index.bits < inst.width))
      fail("element {} of {}", static_cast<int64_t>(index.bits + inst.width - 1), array.count);
    if (is_load) return expect_value(inst, widened(array.element));
    for (size_t i = 1; i <= inst.width; ++i) expect_type(inst, i, widened(array.element));
  }

  void expect_accumulator(const Inst& inst, size_t i) const {
    if (arg(inst, i).kind != Kind::tile_zero) fail("%{} is no accumulator", inst.args[i]);
  }
  void expect_factor(const Inst& inst, size_t i, uint64_t right) const {
    const Inst& made = arg(inst, i);
    if (made.kind != Kind::tile_load && made.kind != Kind::tile_pack) fail("%{} is no loaded tile", inst.args[i]);
    if ((made.bits & TileBits::kRight) != right)
      fail("%{} is the {} tile of a product", inst.args[i], right ? "left" : "right");
  }

  // The array of a tile's memory, and the operands `first` (where it begins) and the one behind (between its rows).
  void check_tile_memory(const Inst& inst, size_t first) const {
    expect_slot(inst, kernel_.shared.size(), "shared array");
    const Scalar element = kernel_.shared[inst.slot].element;
    if (element != Scalar::u32) fail("tiles lie in arrays of u32, not of {}", name(element));
    expect_type(inst, first, Scalar::u32);
    expect_type(inst, first + 1, Scalar::u32);
  }

  void check_tile(const Inst& inst) const {
    if (kernel_.subgroup == 0 || kernel_.threads % kernel_.subgroup != 0)
      fail("a block of {} threads has no whole subgroups of {}", kernel_.threads, kernel_.subgroup);
    switch (inst.kind) {
      case Kind::tile_zero: expect_args(inst, 0); return expect_value(inst, Scalar::f32);
      case Kind::tile_load:
        expect_args(inst, 2);
        expect_value(inst, Scalar::u32);
        return check_tile_memory(inst, 0);
      case Kind::tile_mma:
        expect_args(inst, 3);
        expect_accumulator(inst, 0);
        expect_factor(inst, 1, 0);
        expect_factor(inst, 2, TileBits::kRight);
        if ((arg(inst, 1).bits ^ arg(inst, 2).bits) & TileBits::kBf16) fail("its tiles are of two dtypes");
        return;
      case Kind::tile_store:
        expect_args(inst, 3);
        expect_accumulator(inst, 0);
        return check_tile_memory(inst, 1);
      default: check_places(inst);
    }
  }

  // What a thread has of a tile.
  void check_places(const Inst& inst) const {
    if (kernel_.subgroup != TilePlace::kThreads) fail("in a tile of {} threads nobody knows a place", kernel_.subgroup);
    if (inst.kind == Kind::tile_pack) {
      expect_args(inst, TilePlace::kCount);
      expect_value(inst, Scalar::u32);
      if (inst.bits & ~TileBits::kBf16) fail("a packed tile is a left one");
    } else {
      expect_args(inst, inst.kind == Kind::tile_get ? 1 : 2);
      expect_value(inst, Scalar::f32);
      expect_accumulator(inst, 0);
      if (inst.slot >= TilePlace::kCount) fail("a thread has {} numbers of a tile", TilePlace::kCount);
    }
    for (size_t i = inst.kind == Kind::tile_pack ? 0 : 1; i < inst.args.size(); ++i) expect_type(inst, i, Scalar::f32);
  }

  void check_variable(const Inst& inst) const {
    const Inst& variable = arg(inst, 0);
    if (variable.kind != Kind::variable) fail("%{} is no variable", inst.args[0]);
    if (inst.kind == Kind::get) return expect_value(inst, variable.type);
    expect_type(inst, 1, variable.type);
  }

  void check_extract(const Inst& inst) const {
    const Inst& whole = arg(inst, 0);
    if (whole.width == 1 || (whole.kind != Kind::load && whole.kind != Kind::philox && whole.kind != Kind::shared_load))
      fail("%{} has no components", inst.args[0]);
    if (inst.slot >= whole.width) fail("component {} of {}", inst.slot, whole.width);
    expect_value(inst, whole.type);
  }

  void leave_block() {
    for (const Id id : open_.back().known) is_known_[id] = false;
    open_.back().known.clear();
  }

  void check_control(const Inst& inst) {
    switch (inst.kind) {
      case Kind::loop:
        expect_args(inst, 3);
        expect_value(inst, Scalar::u32);
        for (size_t i = 0; i < 3; ++i) expect_type(inst, i, Scalar::u32);
        open_.push_back({at_, true, false, {}});
        return;
      case Kind::branch:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::boolean);
        open_.push_back({at_, false, false, {}});
        return;
      case Kind::otherwise:
        if (open_.empty() || open_.back().is_loop || open_.back().has_otherwise) fail("belongs to no branch");
        leave_block();
        open_.back().has_otherwise = true;
        return;
      default:
        if (open_.empty()) fail("ends nothing");
        leave_block();
        open_.pop_back();
        return;
    }
  }

  void check(const Inst& inst) {
    switch (inst.kind) {
      case Kind::constant: expect_register(inst.type); break;
      case Kind::number:
        expect_slot(inst, kernel_.numbers, "number");
        if (inst.type != Scalar::u32 || inst.bits > 1) expect_value(inst, Scalar::u64);
        break;
      case Kind::thread: expect_value(inst, Scalar::u32); break;
      case Kind::block:
        expect_slot(inst, 3, "axis");
        expect_value(inst, Scalar::u32);
        break;
      case Kind::math: check_math(inst); break;
      case Kind::fma:
        expect_args(inst, 3);
        if (!is_float(inst.type)) fail("{} is no float type", name(inst.type));
        for (size_t i = 0; i < 3; ++i) expect_type(inst, i, inst.type);
        break;
      case Kind::exp2:
      case Kind::reciprocal:
      case Kind::saturate:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::f32);
        expect_value(inst, Scalar::f32);
        break;
      case Kind::mul_high:
        expect_args(inst, 2);
        expect_value(inst, Scalar::u32);
        for (size_t i = 0; i < 2; ++i) expect_type(inst, i, Scalar::u32);
        break;
      case Kind::larger:
        expect_args(inst, 2);
        expect_value(inst, Scalar::f32);
        for (size_t i = 0; i < 2; ++i) expect_type(inst, i, Scalar::f32);
        break;
      case Kind::pack_half:
      case Kind::pack_bf16:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::f32);
        expect_value(inst, Scalar::u32);
        break;
      case Kind::unpack_half:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::u32);
        expect_value(inst, Scalar::f32);
        break;
      case Kind::f64_word:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::f64);
        expect_value(inst, Scalar::u32);
        if (inst.slot > 1) fail("an f64 has two halves");
        break;
      case Kind::f64_of:
        expect_args(inst, 2);
        for (size_t i = 0; i < 2; ++i) expect_type(inst, i, Scalar::u32);
        expect_value(inst, Scalar::f64);
        break;
      case Kind::philox:
        expect_args(inst, 4);
        expect_value(inst, Scalar::u32);
        for (size_t i = 0; i < 4; ++i) expect_type(inst, i, Scalar::u32);
        if (inst.width != 4) fail("gives 4 components, not {}", inst.width);
        break;
      case Kind::extract:
        expect_args(inst, 1);
        check_extract(inst);
        break;
      case Kind::shuffle:
        expect_args(inst, 1);
        if (inst.type != Scalar::f32 && inst.type != Scalar::i32 && inst.type != Scalar::u32)
          fail("{} is not shuffled", name(inst.type));
        expect_type(inst, 0, inst.type);
        break;
      case Kind::load: check_memory(inst, true); break;
      case Kind::store: check_memory(inst, false); break;
      case Kind::store_bits: check_bits(inst); break;
      case Kind::shared_load: check_array(inst, kernel_.shared, "shared array", true); break;
      case Kind::shared_store: check_array(inst, kernel_.shared, "shared array", false); break;
      case Kind::array_load: check_array(inst, kernel_.arrays, "array", true); break;
      case Kind::array_store: check_array(inst, kernel_.arrays, "array", false); break;
      case Kind::variable:
        expect_args(inst, 1);
        expect_type(inst, 0, inst.type);
        break;
      case Kind::get:
      case Kind::set:
        expect_args(inst, inst.kind == Kind::get ? 1 : 2);
        check_variable(inst);
        break;
      case Kind::barrier: break;
      case Kind::loop:
      case Kind::branch:
      case Kind::otherwise:
      case Kind::end: check_control(inst); break;
      case Kind::leave_if:
        expect_args(inst, 1);
        expect_type(inst, 0, Scalar::boolean);
        break;
      case Kind::fault_if:
        expect_args(inst, 2, 3);
        expect_type(inst, 0, Scalar::boolean);
        for (size_t i = 1; i < inst.args.size(); ++i)
          expect_type(inst, i, inst.args.size() == 2 ? Scalar::i64 : Scalar::u32);
        if (!kernel_.may_fault) fail("the kernel may not fault");
        break;
      case Kind::tile_zero:
      case Kind::tile_load:
      case Kind::tile_mma:
      case Kind::tile_store:
      case Kind::tile_get:
      case Kind::tile_set:
      case Kind::tile_pack: check_tile(inst); break;
    }
    make_known(inst.kind);
  }

  void make_known(Kind kind) {
    if (!gives_value(kind)) return;
    is_known_[at_] = true;
    if (!open_.empty()) open_.back().known.push_back(static_cast<Id>(at_));
  }

  const KernelIr& kernel_;
  std::vector<bool> is_known_;
  std::vector<Open> open_;
  size_t at_ = 0;
};

// Which values differ between the threads of a group, and where not all of its threads come. The group is a block, or a
// subgroup.
class Differences {
 public:
  explicit Differences(const KernelIr& kernel, uint32_t group)
      : kernel_(kernel), group_(group), differs_(kernel.code.size()), array_differs_(kernel.arrays.size()) {
    writes_ = std::ranges::any_of(kernel.buffers, &KernelBuffer::is_written);
    do {
      has_changed_ = false;
      walk(false);
    } while (has_changed_);
  }

  void check_barriers() { walk(true); }
  void check_tiles() {
    checks_tiles_ = true;
    walk(true);
  }

 private:
  void mark(size_t id, bool differs) {
    if (!differs || differs_[id]) return;
    differs_[id] = true;
    has_changed_ = true;
  }
  bool any_differs(const Inst& inst) const {
    return std::ranges::any_of(inst.args, [&](Id id) { return differs_[id]; });
  }
  /// Whether all threads of the group are needed at once.
  bool waits(Kind kind) const {
    if (!checks_tiles_) return kind == Kind::barrier;
    return is_tile(kind) || kind == Kind::tile_mma || kind == Kind::tile_store;
  }
  std::string_view group_name() const { return checks_tiles_ ? "subgroup" : "block"; }
  bool is_group_number(const Inst& inst) const {
    if (inst.kind != Kind::math || inst.op != Op::idiv) return false;
    const Inst &of = kernel_.code[inst.args[0]], &by = kernel_.code[inst.args[1]];
    return of.kind == Kind::thread && by.kind == Kind::constant && by.bits % group_ == 0;
  }
  bool is_divided() const { return std::ranges::find(open_, true) != open_.end(); }

  void walk(bool checks) {
    open_.clear();
    size_t left = kernel_.code.size();  // where a part of the threads may have left
    for (size_t at = 0; at < kernel_.code.size(); ++at) {
      const Inst& inst = kernel_.code[at];
      step(at, inst);
      if (!checks) continue;
      if (waits(inst.kind)) {
        if (is_divided()) fail_at(kernel_, at, "not all threads of the {} come here", group_name());
        if (left < at) fail_at(kernel_, at, "threads may have left at instruction {}", left);
        if (checks_tiles_ && inst.kind != Kind::tile_pack && any_differs(inst))
          fail_at(kernel_, at, "its operands differ within a subgroup");
      }
      if (inst.kind == Kind::leave_if && (is_divided() || differs_[inst.args[0]])) {
        left = std::min(left, at);
        if (const size_t barrier = barrier_around(at); barrier != 0)
          fail_at(kernel_, barrier, "threads may have left at instruction {}, a turn of the loop before", at);
      }
    }
  }

  /// A barrier of the outermost loop around an instruction, or 0.
  size_t barrier_around(size_t at) const {
    std::vector<size_t> around;  // loops and branches
    for (size_t i = 0; i <= at; ++i) {
      const Kind kind = kernel_.code[i].kind;
      if (kind == Kind::loop || kind == Kind::branch) around.push_back(i);
      if (kind == Kind::end) around.pop_back();
    }
    const auto outermost = std::ranges::find_if(around, [&](size_t i) { return kernel_.code[i].kind == Kind::loop; });
    if (outermost == around.end()) return 0;
    size_t depth = 0;
    for (size_t i = *outermost; i < kernel_.code.size(); ++i) {
      const Kind kind = kernel_.code[i].kind;
      if (kind == Kind::loop || kind == Kind::branch) ++depth;
      if (kind == Kind::end && --depth == 0) return 0;
      if (waits(kind)) return i;
    }
    return 0;
  }

  void step(size_t at, const Inst& inst) {
    switch (inst.kind) {
      case Kind::thread:
      case Kind::shuffle:
      case Kind::tile_get: return mark(at, true);
      case Kind::load: {
        const KernelBuffer& buffer = kernel_.buffers[inst.slot];
        return mark(at, any_differs(inst) || buffer.is_written || (buffer.is_aliased && writes_));
      }
      case Kind::array_load: return mark(at, any_differs(inst) || array_differs_[inst.slot]);
      case Kind::array_store:
        if (!array_differs_[inst.slot] && (any_differs(inst) || is_divided())) {
          array_differs_[inst.slot] = true;
          has_changed_ = true;
        }
        return;
      case Kind::set: return mark(inst.args[0], differs_[inst.args[1]] || is_divided());
      case Kind::loop:
        mark(at, any_differs(inst));
        open_.push_back(any_differs(inst));
        return;
      case Kind::branch: open_.push_back(any_differs(inst)); return;
      case Kind::end: open_.pop_back(); return;
      case Kind::math:
        if (is_group_number(inst)) return;
        return mark(at, any_differs(inst));
      case Kind::tile_load:
      case Kind::tile_pack: return;  // a tile is its subgroup's, whatever its threads hold of it
      default: return mark(at, any_differs(inst));
    }
  }

  const KernelIr& kernel_;
  const uint32_t group_;
  std::vector<bool> differs_, array_differs_;
  std::vector<bool> open_;  // for each loop and branch whether threads differ in it
  bool writes_ = false, has_changed_ = false, checks_tiles_ = false;
};

}  // namespace

void verify(const KernelIr& kernel) {
  if (kernel.threads == 0) base::fail("codegen", "{}: a block has no threads", kernel.name);
  Types(kernel).check();
  Differences(kernel, kernel.threads).check_barriers();
  if (kernel.subgroup != 0) Differences(kernel, kernel.subgroup).check_tiles();
}

}  // namespace tenon::codegen
