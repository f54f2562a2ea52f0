// Equal values are made once where they are known; whole numbers that are known are computed here and now.

#include "tenon/codegen/builder.h"

#include <bit>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::codegen {
namespace {

using ir::Op;
using Kind = Inst::Kind;

uint64_t hash(const Inst& inst) {
  const uint64_t h = static_cast<uint64_t>(inst.kind) | static_cast<uint64_t>(inst.op) << 8 |
                     static_cast<uint64_t>(inst.type) << 16 | static_cast<uint64_t>(inst.width) << 24 |
                     static_cast<uint64_t>(inst.slot) << 32;
  return base::mix_all(base::mix(h, inst.bits), inst.args);
}

bool is_same(const Inst& a, const Inst& b) {
  return a.kind == b.kind && a.op == b.op && a.type == b.type && a.width == b.width && a.slot == b.slot &&
         a.bits == b.bits && a.args == b.args;
}

bool is_whole_number(Scalar type) { return !is_float(type) && type != Scalar::boolean; }

// The number as its type holds it, in the form in which constants keep it.
uint64_t wrapped(Scalar type, uint64_t bits) {
  switch (type) {
    case Scalar::u32: return static_cast<uint32_t>(bits);
    case Scalar::i32: return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    case Scalar::boolean: return bits != 0;
    default: return bits;
  }
}

}  // namespace

uint32_t Builder::add_buffer(Scalar element, bool is_written, bool is_aliased) {
  kernel_.buffers.push_back({element, is_written, is_aliased});
  return static_cast<uint32_t>(kernel_.buffers.size() - 1);
}
uint32_t Builder::add_shared(Scalar element, uint32_t count) {
  kernel_.shared.push_back({element == Scalar::boolean ? Scalar::u32 : element, count});
  shared_truths_.push_back(element == Scalar::boolean);
  return static_cast<uint32_t>(kernel_.shared.size() - 1);
}
uint32_t Builder::add_array(Scalar element, uint32_t count) {
  kernel_.arrays.push_back({element == Scalar::boolean ? Scalar::u32 : element, count});
  array_truths_.push_back(element == Scalar::boolean);
  return static_cast<uint32_t>(kernel_.arrays.size() - 1);
}

Id Builder::push(Inst inst) {
  kernel_.code.push_back(std::move(inst));
  return static_cast<Id>(kernel_.code.size() - 1);
}

Id Builder::value(Inst inst) {
  const uint64_t key = hash(inst);
  for (const auto& table : known_values_) {
    const auto [first, last] = table.equal_range(key);
    for (auto found = first; found != last; ++found) {
      if (is_same(kernel_.code[found->second], inst)) return found->second;
    }
  }
  const Id made = push(std::move(inst));
  known_values_.back().emplace(key, made);
  return made;
}

std::optional<uint64_t> Builder::known(Id id) const {
  const Inst& inst = kernel_.code[id];
  if (inst.kind != Kind::constant) return std::nullopt;
  return inst.bits;
}

// ---- values ----

Id Builder::constant(Scalar type, uint64_t bits) {
  return value({.kind = Kind::constant, .type = type, .bits = is_float(type) ? bits : wrapped(type, bits)});
}
Id Builder::f32(double number) { return constant(Scalar::f32, std::bit_cast<uint64_t>(number)); }
Id Builder::whole(Scalar type, int64_t number) {
  if (is_float(type)) return constant(type, std::bit_cast<uint64_t>(static_cast<double>(number)));
  return constant(type, static_cast<uint64_t>(number));
}
Id Builder::size(Scalar type, int64_t value) {
  sizes_.push_back(static_cast<uint64_t>(value));
  return convert(number(kernel_.numbers++), type);
}
Id Builder::half_size(int64_t value) {
  const auto half = static_cast<uint64_t>(static_cast<uint32_t>(value));
  if (!half_free_) {
    half_free_ = sizes_.size();
    const Id all = size(Scalar::u64, static_cast<int64_t>(half));
    return convert(math(Op::bit_and, Scalar::u64, {all, whole(Scalar::u64, 0xFFFFFFFF)}), Scalar::u32);
  }
  const size_t shared = *half_free_;
  half_free_.reset();
  sizes_[shared] |= half << 32;
  const auto slot = static_cast<uint32_t>(kernel_.numbers - sizes_.size() + shared);
  return convert(math(Op::shr, Scalar::u64, {number(slot), whole(Scalar::u64, 32)}), Scalar::u32);
}
Id Builder::number(uint32_t index) { return value({.kind = Kind::number, .type = Scalar::u64, .slot = index}); }
Id Builder::thread() { return value({.kind = Kind::thread, .type = Scalar::u32}); }
Id Builder::block(uint32_t axis) { return value({.kind = Kind::block, .type = Scalar::u32, .slot = axis}); }

// Signs of floats that are known, and sums with -0, which are exactly what is added to it.
std::optional<Id> Builder::folded(Op op, Scalar type, std::span<const Id> args) {
  const size_t operands = op == Op::neg ? 1 : op == Op::add ? 2 : 0;
  if (!is_float(type) || operands == 0 || args.size() != operands) return std::nullopt;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (op == Op::neg) {
    const auto x = known(args[0]);
    return x ? std::optional(constant(type, *x ^ kSign)) : std::nullopt;
  }
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (known(args[side]) == kSign) return args[1 - side];
  }
  return std::nullopt;
}

Id Builder::math(Op op, Scalar type, std::initializer_list<Id> args) {
  if (const auto made = folded(op, type, args)) return *made;
  Inst inst{.kind = Kind::math, .op = op, .type = type};
  for (const Id arg : args) inst.args.push_back(arg);
  return value(std::move(inst));
}

Id Builder::fma(Id a, Id b, Id c) { return value({.kind = Kind::fma, .type = type_of(a), .args = {a, b, c}}); }
Id Builder::exp2(Id x) { return value({.kind = Kind::exp2, .type = Scalar::f32, .args = {x}}); }
Id Builder::saturate(Id x) { return value({.kind = Kind::saturate, .type = Scalar::f32, .args = {x}}); }
Id Builder::reciprocal(Id x) { return value({.kind = Kind::reciprocal, .type = Scalar::f32, .args = {x}}); }
Id Builder::mul_high(Id a, Id b) { return value({.kind = Kind::mul_high, .type = Scalar::u32, .args = {a, b}}); }
Id Builder::pack_half(Id x) { return value({.kind = Kind::pack_half, .type = Scalar::u32, .args = {x}}); }
Id Builder::pack_bf16(Id x) { return value({.kind = Kind::pack_bf16, .type = Scalar::u32, .args = {x}}); }
Id Builder::larger(Id a, Id b) { return value({.kind = Kind::larger, .type = Scalar::f32, .args = {a, b}}); }
Id Builder::unpack_half(Id bits) { return value({.kind = Kind::unpack_half, .type = Scalar::f32, .args = {bits}}); }
Id Builder::f64_word(Id x, uint32_t half) {
  return value({.kind = Kind::f64_word, .type = Scalar::u32, .slot = half, .args = {x}});
}
Id Builder::f64_of(Id low, Id high) { return value({.kind = Kind::f64_of, .type = Scalar::f64, .args = {low, high}}); }

std::array<Id, 4> Builder::philox(Id key_low, Id key_high, Id counter_low, Id counter_high) {
  const Id words = value(
      {.kind = Kind::philox, .type = Scalar::u32, .width = 4, .args = {key_low, key_high, counter_low, counter_high}});
  std::array<Id, 4> made{};
  for (uint32_t i = 0; i < 4; ++i)
    made[i] = value({.kind = Kind::extract, .type = Scalar::u32, .slot = i, .args = {words}});
  return made;
}

Id Builder::shuffle(Id from, uint32_t distance) {
  return push({.kind = Kind::shuffle, .type = type_of(from), .bits = distance, .args = {from}});
}

// ---- arithmetic ----

Id Builder::add(Id a, Id b) {
  const Scalar type = type_of(a);
  if (is_whole_number(type)) {
    const auto x = known(a), y = known(b);
    if (x && y) return constant(type, *x + *y);
    if (x && *x == 0) return b;
    if (y && *y == 0) return a;
  }
  return math(Op::add, type, {a, b});
}
Id Builder::sub(Id a, Id b) {
  const Scalar type = type_of(a);
  if (is_whole_number(type)) {
    if (const auto y = known(b)) return add(a, constant(type, 0 - *y));
  }
  return math(Op::add, type, {a, math(Op::neg, type, {b})});
}
Id Builder::mul(Id a, Id b) {
  const Scalar type = type_of(a);
  if (is_whole_number(type)) {
    const auto x = known(a), y = known(b);
    if (x && y) return constant(type, *x * *y);
    if ((x && *x == 0) || (y && *y == 1)) return a;
    if ((y && *y == 0) || (x && *x == 1)) return b;
  }
  return math(Op::mul, type, {a, b});
}
Id Builder::div(Id a, Id b) {
  const Scalar type = type_of(a);
  if (is_float(type)) return math(Op::div, type, {a, b});
  const auto x = known(a), y = known(b);
  if (y && *y == 0) base::fail("codegen", "a kernel divides by 0");  // some drivers' compilers end the process
  if (x && y) return constant(type, *x / *y);
  if (y && *y == 1) return a;
  return math(Op::idiv, type, {a, b});
}
Id Builder::mod(Id a, Id b) {
  const Scalar type = type_of(a);
  const auto x = known(a), y = known(b);
  if (y && *y == 0) base::fail("codegen", "a kernel divides by 0");
  if (x && y) return constant(type, *x % *y);
  if (y && *y == 1) return constant(type, 0);
  return math(Op::mod, type, {a, b});
}
Id Builder::min(Id a, Id b) {
  const auto x = known(a), y = known(b);
  if (x && y) return *x < *y ? a : b;
  return select(less(a, b), a, b);
}
Id Builder::max(Id a, Id b) {
  const auto x = known(a), y = known(b);
  if (x && y) return *x < *y ? b : a;
  return select(less(a, b), b, a);
}
Id Builder::less(Id a, Id b) {
  const Scalar type = type_of(a);
  if (type == Scalar::u32 || type == Scalar::u64) {
    const auto x = known(a), y = known(b);
    if (x && y) return boolean(*x < *y);
    if (y && *y == 0) return boolean(false);
  }
  return math(Op::less, Scalar::boolean, {a, b});
}
Id Builder::equal(Id a, Id b) {
  // A position of 32 bits against an index of 64: what is above the lower half is the same for many of the former.
  for (const auto& [narrow, wide] : {std::pair{a, b}, std::pair{b, a}}) {
    const Inst& inst = kernel_.code[narrow];
    if (size_of(inst.type) != 8 || is_float(inst.type) || inst.kind != Kind::math || inst.op != Op::cast) continue;
    const Id small = inst.args[0];
    if (type_of(small) != Scalar::u32) continue;
    const Id all = bitcast(wide, Scalar::u64);
    const Id above = math(Op::shr, Scalar::u64, {all, whole(Scalar::u64, 32)});
    return both(math(Op::equal, Scalar::boolean, {above, whole(Scalar::u64, 0)}),
                math(Op::equal, Scalar::boolean, {small, convert(all, Scalar::u32)}));
  }
  if (is_whole_number(type_of(a))) {
    const auto x = known(a), y = known(b);
    if (x && y) return boolean(*x == *y);
  }
  return math(Op::equal, Scalar::boolean, {a, b});
}
Id Builder::both(Id a, Id b) {
  if (a == kNoValue || a == b) return b;
  if (b == kNoValue) return a;
  if (const auto x = known(a)) return *x ? b : a;
  if (const auto y = known(b)) return *y ? a : b;
  return math(Op::bit_and, Scalar::boolean, {a, b});
}
Id Builder::either(Id a, Id b) {
  if (const auto x = known(a)) return *x ? a : b;
  if (const auto y = known(b)) return *y ? b : a;
  return math(Op::bit_or, Scalar::boolean, {a, b});
}
Id Builder::is_not(Id a) {
  if (const auto x = known(a)) return boolean(!*x);
  return math(Op::bit_xor, Scalar::boolean, {a, boolean(true)});
}
Id Builder::select(Id condition, Id a, Id b) {
  if (a == b) return a;
  if (const auto chosen = known(condition)) return *chosen ? a : b;
  return math(Op::where, type_of(a), {condition, a, b});
}
Id Builder::convert(Id a, Scalar to) {
  const Scalar from = type_of(a);
  if (from == to) return a;
  if (const auto x = known(a); x && is_whole_number(from) && is_whole_number(to)) return constant(to, *x);
  if (const auto x = known(a); x && from == Scalar::boolean) return whole(to, *x != 0 ? 1 : 0);
  return math(Op::cast, to, {a});
}
Id Builder::bitcast(Id a, Scalar to) {
  if (type_of(a) == to) return a;
  return math(Op::bitcast, to, {a});
}

// ---- memory ----

namespace {
// What a value of this element type is in registers.
Scalar widened(Scalar element) { return element == Scalar::u8 || element == Scalar::u16 ? Scalar::u32 : element; }
}  // namespace

Id Builder::load(uint32_t buffer, Id index, Id mask) {
  if (mask != kNoValue) {
    if (const auto all = known(mask)) {
      if (!*all) return whole(widened(kernel_.buffers[buffer].element), 0);
      mask = kNoValue;
    }
  }
  Inst inst{.kind = Kind::load, .type = widened(kernel_.buffers[buffer].element), .slot = buffer, .args = {index}};
  if (mask != kNoValue) inst.args.push_back(mask);
  return push(std::move(inst));
}

std::vector<Id> Builder::components(Id all, uint32_t width) {
  std::vector<Id> made;
  for (uint32_t i = 0; i < width; ++i)
    made.push_back(value({.kind = Kind::extract, .type = type_of(all), .slot = i, .args = {all}}));
  return made;
}

std::vector<Id> Builder::load_several(uint32_t buffer, Id index, uint32_t width, Id mask) {
  const Scalar type = widened(kernel_.buffers[buffer].element);
  if (width == 1) return {load(buffer, index, mask)};
  if (mask != kNoValue) {
    if (const auto all = known(mask)) {
      if (!*all) return std::vector<Id>(width, whole(type, 0));
      mask = kNoValue;
    }
  }
  Inst inst{.kind = Kind::load, .type = type, .width = static_cast<uint8_t>(width), .slot = buffer, .args = {index}};
  if (mask != kNoValue) inst.args.push_back(mask);
  return components(push(std::move(inst)), width);
}

void Builder::store(uint32_t buffer, Id index, Id value, Id mask) {
  if (mask != kNoValue) {
    if (const auto all = known(mask)) {
      if (!*all) return;
      mask = kNoValue;
    }
  }
  Inst inst{.kind = Kind::store, .type = type_of(value), .slot = buffer, .args = {index, value}};
  if (mask != kNoValue) inst.args.push_back(mask);
  push(std::move(inst));
}

void Builder::store_several(uint32_t buffer, Id index, std::span<const Id> values) {
  Inst inst{.kind = Kind::store,
            .type = type_of(values[0]),
            .width = static_cast<uint8_t>(values.size()),
            .slot = buffer,
            .args = {index}};
  for (const Id each : values) inst.args.push_back(each);
  push(std::move(inst));
}

Id Builder::shared_load(uint32_t array, Id index) {
  const Id loaded =
      push({.kind = Kind::shared_load, .type = widened(kernel_.shared[array].element), .slot = array, .args = {index}});
  return shared_truths_[array] ? convert(loaded, Scalar::boolean) : loaded;
}
void Builder::shared_store(uint32_t array, Id index, Id value) {
  if (shared_truths_[array]) value = convert(value, Scalar::u32);
  push({.kind = Kind::shared_store, .type = type_of(value), .slot = array, .args = {index, value}});
}
std::vector<Id> Builder::shared_load_several(uint32_t array, Id index, uint32_t width) {
  if (width == 1) return {shared_load(array, index)};
  const Id all = push({.kind = Kind::shared_load,
                       .type = widened(kernel_.shared[array].element),
                       .width = static_cast<uint8_t>(width),
                       .slot = array,
                       .args = {index}});
  return components(all, width);
}
void Builder::shared_store_several(uint32_t array, Id index, std::span<const Id> values) {
  Inst inst{.kind = Kind::shared_store,
            .type = type_of(values[0]),
            .width = static_cast<uint8_t>(values.size()),
            .slot = array,
            .args = {index}};
  for (const Id each : values) inst.args.push_back(each);
  push(std::move(inst));
}
Id Builder::array_load(uint32_t array, Id index) {
  const Id loaded =
      push({.kind = Kind::array_load, .type = widened(kernel_.arrays[array].element), .slot = array, .args = {index}});
  return array_truths_[array] ? convert(loaded, Scalar::boolean) : loaded;
}
void Builder::array_store(uint32_t array, Id index, Id value) {
  if (array_truths_[array]) value = convert(value, Scalar::u32);
  push({.kind = Kind::array_store, .type = type_of(value), .slot = array, .args = {index, value}});
}
void Builder::barrier() { push({.kind = Kind::barrier}); }

// ---- matrix tiles ----

Id Builder::tile_zero() { return push({.kind = Kind::tile_zero, .type = Scalar::f32}); }
Id Builder::tile_load(uint32_t array, Id index, Id stride, uint64_t tile_bits) {
  return push(
      {.kind = Kind::tile_load, .type = Scalar::u32, .slot = array, .bits = tile_bits, .args = {index, stride}});
}
void Builder::tile_mma(Id accumulator, Id left, Id right) {
  push({.kind = Kind::tile_mma, .type = Scalar::f32, .args = {accumulator, left, right}});
}
void Builder::tile_store(uint32_t array, Id index, Id stride, Id accumulator) {
  push({.kind = Kind::tile_store, .type = Scalar::f32, .slot = array, .args = {accumulator, index, stride}});
}
Id Builder::tile_get(Id accumulator, uint32_t place) {
  return push({.kind = Kind::tile_get, .type = Scalar::f32, .slot = place, .args = {accumulator}});
}
void Builder::tile_set(Id accumulator, uint32_t place, Id value) {
  push({.kind = Kind::tile_set, .type = Scalar::f32, .slot = place, .args = {accumulator, value}});
}
Id Builder::tile_pack(std::span<const Id> values, uint64_t tile_bits) {
  Inst inst{.kind = Kind::tile_pack, .type = Scalar::u32, .bits = tile_bits};
  for (const Id each : values) inst.args.push_back(each);
  return push(std::move(inst));
}

// ---- variables and control ----

Id Builder::variable(Id first) { return push({.kind = Kind::variable, .type = type_of(first), .args = {first}}); }
Id Builder::get(Id variable) { return push({.kind = Kind::get, .type = type_of(variable), .args = {variable}}); }
void Builder::set(Id variable, Id value) {
  push({.kind = Kind::set, .type = type_of(value), .args = {variable, value}});
}

void Builder::open(Inst inst) {
  push(std::move(inst));
  known_values_.emplace_back();
}
void Builder::close() {
  known_values_.pop_back();
  push({.kind = Kind::end});
}

void Builder::loop(Id begin, Id end, Id step, const std::function<void(Id)>& body, Unroll unroll) {
  open({.kind = Kind::loop, .type = Scalar::u32, .bits = static_cast<uint64_t>(unroll), .args = {begin, end, step}});
  body(static_cast<Id>(kernel_.code.size() - 1));
  close();
}

void Builder::loop(uint64_t begin, uint64_t end, const std::function<void(Id)>& body, Unroll unroll) {
  if (begin >= end) return;
  if (begin + 1 == end) return body(u32(begin));
  loop(u32(begin), u32(end), u32(1), body, unroll);
}

void Builder::branch(Id condition, const std::function<void()>& body, const std::function<void()>& otherwise) {
  if (const auto taken = known(condition)) {
    if (*taken)
      body();
    else if (otherwise)
      otherwise();
    return;
  }
  open({.kind = Kind::branch, .args = {condition}});
  body();
  if (otherwise) {
    known_values_.pop_back();
    open({.kind = Kind::otherwise});
    otherwise();
  }
  close();
}

void Builder::leave_if(Id condition) {
  if (const auto leaves = known(condition); leaves && !*leaves) return;
  push({.kind = Kind::leave_if, .args = {condition}});
}

void Builder::fault_if(Op op, ir::LookUp use, Id condition, Id index, uint32_t axis, uint64_t size) {
  kernel_.may_fault = true;
  push({.kind = Kind::fault_if, .op = op, .use = use, .slot = axis, .bits = size, .args = {condition, index}});
}

Id Builder::append(Inst inst) {
  kernel_.may_fault |= inst.kind == Kind::fault_if;
  switch (inst.kind) {
    case Kind::constant:
    case Kind::number:
    case Kind::thread:
    case Kind::block:
    case Kind::math:
    case Kind::fma:
    case Kind::exp2:
    case Kind::reciprocal:
    case Kind::saturate:
    case Kind::mul_high:
    case Kind::pack_half:
    case Kind::unpack_half:
    case Kind::pack_bf16:
    case Kind::larger:
    case Kind::f64_word:
    case Kind::f64_of:
    case Kind::philox:
    case Kind::extract: return value(std::move(inst));
    default: return push(std::move(inst));
  }
}

KernelIr Builder::finish() {
  verify(kernel_);
  return std::move(kernel_);
}

}  // namespace tenon::codegen
