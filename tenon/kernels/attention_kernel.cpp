// See the header.

#include "tenon/kernels/attention_kernel.h"

#include <bit>

#include "tenon/codegen/address.h"

namespace tenon::kernels {

using codegen::Id;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

AttentionProblem attention_problem(const ir::Call& call) {
  AttentionProblem p;
  p.attrs = std::get<ir::AttentionAttrs>(call.attrs);
  uint32_t next = 0;
  const auto take = [&] {
    const ir::Operand& operand = call.inputs[next];
    p.needs_64_bits = p.needs_64_bits || !codegen::fits_32(operand.map);
    return AttentionOperand{next++, operand.dtype, operand.map};
  };
  p.q = take();
  p.k = take();
  p.v = take();
  if (p.attrs.has_mask) p.mask = take();
  if (p.attrs.dropout > 0) p.state = take();
  if (call.op == Op::attention_backward) {
    p.o = take();
    p.lse = take();
    p.o_grad = take();
  }
  p.first_result = next;
  for (const ir::Type& type : call.outputs)
    p.needs_64_bits = p.needs_64_bits || ir::count(type.shape) >= int64_t{1} << 31;
  const Dims &q = p.q.map.shape(), &k = p.k.map.shape();
  p.batches = q[0];
  p.heads = q[1];
  p.groups = k[1];
  p.queries = q[2];
  p.keys = k[2];
  p.width = q[3];
  p.value_width = p.v.map.shape()[3];
  p.dtype = p.q.dtype;
  p.sums = accumulator(p.dtype);
  return p;
}

AttentionTargets::AttentionTargets(const AttentionProblem& p) {
  const int64_t h = p.heads, g = p.groups;
  const uint32_t first = p.first_result;
  if (p.attrs.joined) {
    q = {first, p.queries, h + 2 * g, 0, p.width};
    k = {first, p.keys, h + 2 * g, h, p.width};
    v = {first, p.keys, h + 2 * g, h + g, p.value_width};
  } else {
    q = {first, p.queries, h, 0, p.width};
    k = {first + 1, p.keys, g, 0, p.width};
    v = {first + 2, p.keys, g, 0, p.value_width};
  }
}

AttentionKernel::AttentionKernel(std::string name, const AttentionProblem& problem, uint32_t threads)
    : p(problem),
      b(std::move(name), threads),
      index(problem.needs_64_bits ? Scalar::u64 : Scalar::u32),
      type(codegen::in_register(problem.sums)) {}

uint32_t AttentionKernel::add_input(const AttentionOperand& operand) {
  return add_buffer(operand.arg, codegen::in_memory(operand.dtype), false);
}

uint32_t AttentionKernel::add_buffer(uint32_t arg, Scalar element, bool is_written, size_t offset) {
  bindings_.push_back({arg, offset});
  return b.add_buffer(element, is_written);
}

codegen::Dispatch AttentionKernel::finish(std::array<uint64_t, 3> blocks, bool writes_results) {
  return {b.finish(), blocks, bindings_, writes_results};
}

Id AttentionKernel::real(double value) { return codegen::number_of(b, p.sums, std::bit_cast<uint64_t>(value)); }
Id AttentionKernel::element(const AttentionOperand& operand, uint32_t buffer, std::initializer_list<Id> indices) {
  std::vector<Id> wide;
  for (const Id each : indices) wide.push_back(as_index(each));
  const Located at = codegen::locate(b, index, operand.map, wide);
  const Id value = codegen::from_memory(b, operand.dtype, b.load(buffer, at.at, at.valid));
  return codegen::cast(b, operand.dtype, p.sums, value);
}

Id AttentionKernel::mask_of(uint32_t mask, Id batch, Id head, Id query, Id key) {
  return element(p.mask, mask, {batch, head, b.min(query, count_of(p.queries - 1)), b.min(key, count_of(p.keys - 1))});
}

Id AttentionKernel::line_of(const AttentionTarget& to, Id batch, Id head, Id token) {
  const Id place = b.add(b.mul(as_index(batch), index_of(to.tokens)), as_index(token));
  const Id line = b.add(b.mul(place, index_of(to.heads)), b.add(as_index(head), index_of(to.head)));
  return b.mul(line, index_of(to.width));
}

void AttentionKernel::open_random() {
  if (p.attrs.dropout == 0) return;
  b.set_numbers(1);
  const uint32_t buffer = add_input(p.state);
  const auto word = [&](int64_t i) {
    const Id indices[] = {index_of(i)};
    const Located at = codegen::locate(b, index, p.state.map, indices);
    return b.load(buffer, at.at, at.valid);
  };
  stream_ = codegen::random_stream(b, word(0), word(1), b.number(0));
}

std::vector<Id> AttentionKernel::kept_shares(Id batch, Id head, Id query, Id key, uint32_t count) {
  const auto wide = [&](Id value) { return b.convert(value, Scalar::u64); };
  const auto times = [&](Id value, int64_t factor) { return b.mul(value, b.whole(Scalar::u64, factor)); };
  const Id line = b.add(times(b.add(times(wide(batch), p.heads), wide(head)), p.queries), wide(query));
  const Id first = b.add(times(line, p.keys), wide(key));
  const Id bound = b.f32(static_cast<double>(static_cast<float>(p.attrs.dropout)));
  const Id share = real(static_cast<double>(static_cast<float>(1 / (1 - p.attrs.dropout))));
  std::vector<Id> made = codegen::random_words(b, stream_, first, count);
  for (Id& word : made) {
    const Id bits = b.math(Op::shr, Scalar::u32, {word, b.u32(8)});
    const Id uniform = b.mul(b.convert(bits, Scalar::f32), b.f32(0x1p-24));
    word = b.select(b.less(uniform, bound), b.whole(type, 0), share);
  }
  return made;
}

}  // namespace tenon::kernels
