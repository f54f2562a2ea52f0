// Elements become unsigned keys in the same order, so that one sort of whole numbers serves every dtype. The sorted
// values are read again from where they were: no key needs to lead back to its element, and every NaN keeps its bits.

#include "tenon/kernels/sort.h"

#include "tenon/codegen/numbers.h"
#include "tenon/kernels/lines.h"
#include "tenon/kernels/merge_sort.h"

namespace tenon::kernels {
namespace {

using codegen::Builder;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

// Arguments of the launch.
constexpr uint32_t kInput = 0, kValues = 1, kIndices = 2, kScratch = 3;

Scalar key_type(DType dtype) { return size_of(dtype) == 8 ? Scalar::u64 : Scalar::u32; }

// The bits of a float in the order of its values: negative ones reversed, below the positive; zeros equal; NaN on top.
Id float_key(Builder& b, Scalar type, Id bits, uint64_t sign, uint64_t infinity) {
  const auto number = [&](uint64_t value) { return b.constant(type, value); };
  const uint64_t all = sign | (sign - 1);
  const Id magnitude = b.math(Op::bit_and, type, {bits, number(sign - 1)});
  const Id is_negative = b.is_not(b.equal(magnitude, bits));
  const Id flipped = b.math(Op::bit_xor, type, {bits, b.select(is_negative, number(all), number(sign))});
  const Id key = b.select(b.equal(magnitude, number(0)), number(sign), flipped);
  return b.select(b.less(number(infinity), magnitude), number(all), key);
}

// A key of what lies in memory.
Id key_of(Builder& b, DType dtype, Id loaded) {
  const Scalar type = key_type(dtype);
  switch (dtype) {
    case DType::f16: return float_key(b, type, loaded, 0x8000, 0x7C00);
    case DType::bf16: return float_key(b, type, loaded, 0x8000, 0x7F80);
    case DType::f32: return float_key(b, type, b.bitcast(loaded, type), uint64_t{1} << 31, 0x7F800000);
    case DType::f64: return float_key(b, type, b.bitcast(loaded, type), uint64_t{1} << 63, uint64_t{0x7FF} << 52);
    case DType::i32: return b.math(Op::bit_xor, type, {b.bitcast(loaded, type), b.whole(type, int64_t{1} << 31)});
    case DType::i64: return b.math(Op::bit_xor, type, {b.bitcast(loaded, type), b.whole(type, INT64_MIN)});
    case DType::boolean: return b.convert(codegen::from_memory(b, dtype, loaded), type);
    case DType::u8: return loaded;
  }
  return loaded;
}

}  // namespace

codegen::Module lower_sort(const ir::Call& call, const ir::Limits& limits) {
  const auto& attrs = std::get<ir::SortAttrs>(call.attrs);
  const ir::Operand& input = call.inputs[0];
  const Lines lines(call.outputs[0].shape, attrs.axis);
  require_countable(call.op, lines.length);
  codegen::Module made;
  if (lines.elements() == 0) return made;

  LineSort sort;
  sort.name = "sort";
  sort.lines = lines.count();
  sort.length = lines.length;
  sort.key = key_type(input.dtype);
  sort.index = index_type(lines.elements(), {&input.map});
  sort.scratch = kScratch;
  const Scalar memory = codegen::in_memory(input.dtype);
  sort.reads = {{memory, {kInput, 0}}};
  sort.writes = {{memory, {kValues, 0}}, {Scalar::i64, {kIndices, 0}}};
  const auto place_of = [&](Builder& b, Id line, Id in_line) {
    const Id inner = b.whole(sort.index, lines.inner), length = b.whole(sort.index, lines.length);
    const Id row = b.add(b.mul(b.div(line, inner), length), b.convert(in_line, sort.index));
    return b.add(b.mul(row, inner), b.mod(line, inner));
  };
  // Descending is ascending by the complement; equal elements keep their order in both.
  sort.key_at = [&](Builder& b, Id line, Id in_line) {
    const Id key = key_of(b, input.dtype, load_at(b, 0, input.map, place_of(b, line, in_line)));
    return attrs.descending ? b.math(Op::bit_xor, sort.key, {key, b.whole(sort.key, -1)}) : key;
  };
  sort.put = [&](Builder& b, Id line, Id in_line, Id position) {
    const Id to = place_of(b, line, in_line);
    b.store(1, to, load_at(b, 0, input.map, place_of(b, line, position)));
    b.store(2, to, b.convert(position, Scalar::i64));
  };
  add_sort(made, sort, limits);
  return made;
}

}  // namespace tenon::kernels
