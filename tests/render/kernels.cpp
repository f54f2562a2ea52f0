#include "kernels.h"

#include <fmt/format.h>

#include <bit>

namespace tenon::render {

using codegen::is_float;
using codegen::kNoValue;
using ir::Op;

std::vector<Op> ops_of(Scalar type) {
  if (type == Scalar::boolean)
    return {Op::maximum, Op::less, Op::equal, Op::bit_and, Op::bit_or, Op::bit_xor, Op::where};
  std::vector<Op> ops{Op::neg,     Op::abs, Op::add,  Op::mul,   Op::div,
                      Op::maximum, Op::mod, Op::less, Op::equal, Op::where};
  const auto add = [&](std::initializer_list<Op> more) { ops.insert(ops.end(), more); };
  if (is_float(type)) {
    add({Op::sqrt, Op::exp, Op::expm1, Op::log, Op::log2, Op::log1p, Op::sin, Op::cos, Op::tanh, Op::erf, Op::floor,
         Op::round, Op::pow});
  } else {
    add({Op::idiv, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr});
  }
  return ops;
}

KernelIr ops_kernel(Scalar type, const std::vector<Op>& ops) {
  Builder b(fmt::format("ops_{}", name(type)), 32);
  const uint32_t x = b.add_buffer(type, false), y = b.add_buffer(type, false), z = b.add_buffer(type, false);
  const uint32_t results = b.add_buffer(type, true);
  b.set_numbers(1);
  const Id n = b.convert(b.number(0), Scalar::u32);
  const Id i = b.add(b.mul(b.block(), b.u32(32)), b.thread());
  b.leave_if(b.is_not(b.less(i, n)));
  const Id a = b.load(x, i), c = b.load(y, i), count = b.load(z, i);
  for (size_t k = 0; k < ops.size(); ++k) {
    const Op op = ops[k];
    const bool is_truth = op == Op::less || op == Op::equal;
    Id result = kNoValue;
    if (op == Op::where) {
      result = b.math(op, type, {b.less(a, c), a, c});
    } else if (ir::info(op).arity == 1) {
      result = b.math(op, type, {a});
    } else {
      result = b.math(op, is_truth ? Scalar::boolean : type, {a, op == Op::shl || op == Op::shr ? count : c});
    }
    b.store(results, b.add(b.mul(b.u32(k), n), i), b.convert(result, type));
  }
  return b.finish();
}

KernelIr casts_kernel(Scalar from, const std::vector<Scalar>& to, Op op) {
  Builder b(fmt::format("{}_{}", ir::name(op), name(from)), 16);
  const uint32_t x = b.add_buffer(from, false);
  for (const Scalar type : to) b.add_buffer(type, true);
  const Id i = b.thread();
  const Id value = b.load(x, i);
  for (size_t k = 0; k < to.size(); ++k) b.store(static_cast<uint32_t>(k + 1), i, b.math(op, to[k], {value}));
  return b.finish();
}

KernelIr copy_kernel(Scalar element) {
  Builder b(fmt::format("copy_{}", name(element)), 1);
  const uint32_t x = b.add_buffer(element, false), y = b.add_buffer(element, true);
  const auto place = [&](uint32_t copy, Id i) { return b.add(i, b.u32(32 * copy)); };
  for (uint32_t copy = 0; copy < 4; ++copy) {
    const uint32_t width = 1u << copy;
    const auto body = [&](Id i) { b.store_several(y, place(copy, i), b.load_several(x, i, width)); };
    b.loop(b.u32(0), b.u32(32), b.u32(width), body, true);
  }
  b.loop(0, 32, [&](Id i) {
    const Id is_even = b.equal(b.mod(i, b.u32(2)), b.u32(0));
    b.store(y, place(4, i), b.load(x, i, is_even));
    b.store(y, place(5, i), b.load(x, i), is_even);
  });
  return b.finish();
}

KernelIr constants_kernel(Scalar type, const std::vector<uint64_t>& bits) {
  Builder b(fmt::format("constants_{}", name(type)), 1);
  const uint32_t y = b.add_buffer(type, true);
  for (size_t i = 0; i < bits.size(); ++i) b.store(y, b.u32(i), b.constant(type, bits[i]));
  return b.finish();
}

KernelIr control_kernel() {
  Builder b("control", 64);
  const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true);
  const uint32_t all = b.add_shared(Scalar::f32, 64), own = b.add_array(Scalar::f32, 4);
  const Id i = b.thread();
  b.shared_store(all, i, b.load(x, i));
  b.loop(
      0, 4, [&](Id k) { b.array_store(own, k, b.f32(0)); }, true);
  b.barrier();
  b.loop(0, 64, [&](Id k) {
    const Id part = b.mod(k, b.u32(4));
    b.branch(
        b.equal(k, i), [&] { b.array_store(own, part, b.add(b.array_load(own, part), b.f32(0))); },
        [&] { b.array_store(own, part, b.add(b.array_load(own, part), b.shared_load(all, k))); });
  });
  const Id sum = b.variable(b.f32(0));
  b.loop(0, 4, [&](Id k) { b.set(sum, b.add(b.get(sum), b.array_load(own, k))); });
  b.branch(b.less(i, b.u32(64)), [&] { b.store(y, i, b.get(sum)); });
  return b.finish();
}

KernelIr arrays_kernel(Scalar element) {
  Builder b(fmt::format("arrays_{}", name(element)), 16);
  const uint32_t x = b.add_buffer(element, false), y = b.add_buffer(element, true);
  const uint32_t shared = b.add_shared(element, 16), own = b.add_array(element, 2);
  const Id i = b.thread(), last = b.u32(15);
  b.shared_store(shared, i, b.load(x, i));
  b.barrier();
  b.array_store(own, b.u32(1), b.shared_load(shared, b.sub(last, i)));
  b.store(y, i, b.array_load(own, b.u32(1)));
  return b.finish();
}

KernelIr vectors_kernel(Scalar element, uint32_t width) {
  Builder b(fmt::format("vectors_{}_{}", name(element), width), 16);
  const uint32_t x = b.add_buffer(element, false), y = b.add_buffer(element, true);
  const uint32_t first = b.add_shared(element, 16), second = b.add_shared(element, 16);
  const Id i = b.thread(), vectors = b.u32(16 / width);
  b.shared_store(first, i, b.load(x, i));
  b.barrier();
  b.branch(b.less(i, vectors), [&] {
    const Id from = b.mul(b.sub(b.u32(16 / width - 1), i), b.u32(width));
    b.shared_store_several(second, b.mul(i, b.u32(width)), b.shared_load_several(first, from, width));
  });
  b.barrier();
  b.store(y, i, b.shared_load(second, i));
  return b.finish();
}

KernelIr tile_kernel(bool is_bf16, bool turns_left, bool turns_right) {
  using codegen::TileBits;
  Builder b(fmt::format("tile_{}{}{}", is_bf16 ? "bf16" : "f16", turns_left ? "_tn" : "", turns_right ? "_nt" : ""),
            32);
  const uint32_t x = b.add_buffer(Scalar::u32, false), z = b.add_buffer(Scalar::u32, false);
  const uint32_t y = b.add_buffer(Scalar::f32, true), shared = b.add_shared(Scalar::u32, 512);
  b.use_tiles(32);
  const Id at = b.mul(b.thread(), b.u32(4)), pitch = b.u32(16);
  b.shared_store_several(shared, at, b.load_several(x, at, 4));
  b.shared_store_several(shared, b.add(at, b.u32(128)), b.load_several(z, at, 4));
  b.barrier();
  const uint64_t dtype = is_bf16 ? TileBits::kBf16 : 0;
  const Id sum = b.tile_zero();
  const Id left = b.tile_load(shared, b.u32(0), pitch, dtype | (turns_left ? TileBits::kTransposed : 0));
  const Id right =
      b.tile_load(shared, b.u32(256), pitch, dtype | TileBits::kRight | (turns_right ? TileBits::kTransposed : 0));
  b.tile_mma(sum, left, right);
  b.tile_store(shared, b.u32(256), pitch, sum);
  b.barrier();
  b.loop(0, 8, [&](Id i) {
    const Id place = b.add(b.mul(i, b.u32(32)), b.thread());
    b.store(y, place, b.bitcast(b.shared_load(shared, b.add(place, b.u32(256))), Scalar::f32));
  });
  return b.finish();
}

KernelIr fma_kernel(Scalar type) {
  Builder b(fmt::format("fma_{}", name(type)), 1);
  const uint32_t x = b.add_buffer(type, false), y = b.add_buffer(type, true);
  const Id p = b.load(x, b.u32(0)), q = b.load(x, b.u32(1)), r = b.load(x, b.u32(2));
  b.store(y, b.u32(0), b.fma(p, q, r));
  b.store(y, b.u32(1), b.add(b.mul(p, q), r));
  return b.finish();
}

KernelIr words_kernel() {
  Builder b("words", 16);
  const uint32_t x = b.add_buffer(Scalar::u32, false), y = b.add_buffer(Scalar::u32, false);
  const uint32_t results = b.add_buffer(Scalar::u32, true);
  const Id i = b.thread(), p = b.load(x, i), q = b.load(y, i);
  const auto words = b.philox(p, q, i, b.u32(7));
  const Id part = b.mod(i, b.u32(4));
  Id word = words[3];
  for (uint32_t k = 0; k < 3; ++k) word = b.select(b.equal(part, b.u32(k)), words[k], word);
  b.store(results, b.mul(i, b.u32(2)), b.mul_high(p, q));
  b.store(results, b.add(b.mul(i, b.u32(2)), b.u32(1)), word);
  return b.finish();
}

KernelIr half_kernel() {
  Builder b("halves", 64);
  const uint32_t x = b.add_buffer(Scalar::f32, false), bits = b.add_buffer(Scalar::u32, false);
  const uint32_t packed = b.add_buffer(Scalar::u32, true), back = b.add_buffer(Scalar::f32, true);
  const Id i = b.add(b.mul(b.block(), b.u32(64)), b.thread());
  b.store(packed, i, b.pack_half(b.load(x, i)));
  b.store(back, i, b.unpack_half(b.load(bits, i)));
  return b.finish();
}

KernelIr shuffle_kernel() {
  Builder b("shuffles", 64);
  const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true);
  const uint32_t ints = b.add_buffer(Scalar::i32, true), words = b.add_buffer(Scalar::u32, true);
  const Id i = b.thread();
  const Id sum = b.variable(b.load(x, i));
  for (uint32_t distance = 16; distance > 0; distance /= 2) {
    const Id own = b.get(sum);
    b.set(sum, b.add(own, b.shuffle(own, distance)));
  }
  b.store(y, i, b.get(sum));
  b.store(ints, i, b.shuffle(b.convert(i, Scalar::i32), 1));
  b.store(words, i, b.shuffle(i, 2));
  return b.finish();
}

KernelIr fault_kernel() {
  Builder b("faults", 4);
  const uint32_t x = b.add_buffer(Scalar::f32, false), index = b.add_buffer(Scalar::i64, false);
  const uint32_t y = b.add_buffer(Scalar::f32, true);
  const Id i = b.thread(), at = b.load(index, i);
  const Id is_bad = b.either(b.less(at, b.whole(Scalar::i64, 0)), b.is_not(b.less(at, b.whole(Scalar::i64, 8))));
  b.fault_if(Op::gather, ir::LookUp::of_op, is_bad, at, 2, 8);
  const Id safe = b.select(is_bad, b.whole(Scalar::i64, 0), at);
  b.store(y, i, b.load(x, safe));
  return b.finish();
}

KernelIr grid_kernel() {
  Builder b("grid", 2);
  const uint32_t x = b.add_buffer(Scalar::i32, true, true), y = b.add_buffer(Scalar::i32, true, true);
  const Id row = b.add(b.mul(b.block(2), b.u32(2)), b.block(1));
  const Id i = b.add(b.mul(b.add(b.mul(row, b.u32(2)), b.block(0)), b.u32(2)), b.thread());
  b.store(y, i, b.add(b.load(x, i), b.whole(Scalar::i32, 1)));
  b.barrier();
  return b.finish();
}

std::vector<KernelIr> all_kernels() {
  std::vector<KernelIr> kernels{control_kernel(), words_kernel(), half_kernel(),           shuffle_kernel(),
                                fault_kernel(),   grid_kernel(),  fma_kernel(Scalar::f32), fma_kernel(Scalar::f64)};
  for (const Scalar type : kValueTypes) {
    kernels.push_back(ops_kernel(type, ops_of(type)));
    kernels.push_back(casts_kernel(type, {std::begin(kValueTypes), std::end(kValueTypes)}, Op::cast));
    kernels.push_back(constants_kernel(type, {0, 1, 1ull << 63, std::bit_cast<uint64_t>(0.1)}));
  }
  const auto add_bitcasts = [&](std::vector<Scalar> types) {
    for (const Scalar from : types) kernels.push_back(casts_kernel(from, types, Op::bitcast));
  };
  add_bitcasts({Scalar::i32, Scalar::u32, Scalar::f32});
  add_bitcasts({Scalar::i64, Scalar::u64, Scalar::f64});
  for (const Scalar element : kElementTypes) {
    kernels.push_back(copy_kernel(element));
    kernels.push_back(arrays_kernel(element));
    if (codegen::size_of(element) >= 4) kernels.push_back(vectors_kernel(element, 2));
    if (codegen::size_of(element) == 4) kernels.push_back(vectors_kernel(element, 4));
  }
  return kernels;
}

}  // namespace tenon::render
