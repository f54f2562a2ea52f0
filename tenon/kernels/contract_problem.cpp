#include "tenon/kernels/contract_problem.h"

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"

namespace tenon::kernels {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

namespace {

ContractSide side_of(const ir::Operand& operand) {
  ContractSide made{operand.dtype, operand.map, {}, 0, 0, 0, operand.map.is_strided()};
  if (!made.is_strided) return made;
  const ir::View& view = operand.map.views()[0];
  const size_t rank = view.shape.size();
  made.batch_strides = Dims(view.strides.begin(), view.strides.end() - 2);
  made.offset = view.offset;
  made.row = view.strides[rank - 2];
  made.column = view.strides[rank - 1];
  return made;
}

// A batch that the right matrix does not change along is more rows of the left one.
void join_batches_with_rows(ContractProblem& p) {
  if (!p.a.is_strided || !p.b.is_strided) return;
  while (!p.batch.empty()) {
    const int64_t size = p.batch.back(), step = p.a.batch_strides.back();
    const bool joins = size == 1 || (p.b.batch_strides.back() == 0 && (p.rows == 1 || step == p.rows * p.a.row));
    if (!joins) return;
    if (size != 1) {
      if (p.rows == 1) p.a.row = step;
      p.rows *= size;
    }
    p.batch.pop_back();
    p.a.batch_strides.pop_back();
    p.b.batch_strides.pop_back();
  }
}

// ---- activations, of f32 ----

using Activation = ir::Epilogue::Activation;
constexpr double kGeluCube = 0.044715, kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)

Id times(Builder& b, Id x, Id y) { return b.math(Op::mul, Scalar::f32, {x, y}); }
Id plus(Builder& b, Id x, Id y) { return b.math(Op::add, Scalar::f32, {x, y}); }

// tanh(sqrt(2 / pi) (x + 0.044715 x^3))
Id gelu_bend(Builder& b, Id x) {
  const Id inside = b.fma(times(b, x, x), b.f32(kGeluScale * kGeluCube), b.f32(kGeluScale));
  return codegen::apply(b, Op::tanh, DType::f32, DType::f32, std::array{times(b, x, inside)});
}
Id gelu(Builder& b, Id x) { return times(b, times(b, b.f32(0.5), x), plus(b, b.f32(1), gelu_bend(b, x))); }

// (1 + t) / 2 + x (1 - t^2) / 2 * the slope of what t is taken of
Id gelu_slope(Builder& b, Id x) {
  const Id t = gelu_bend(b, x), half = b.f32(0.5);
  const Id inner = b.fma(times(b, x, x), b.f32(3 * kGeluScale * kGeluCube), b.f32(kGeluScale));
  const Id rest = b.fma(b.math(Op::neg, Scalar::f32, {t}), t, b.f32(1));
  return b.fma(times(b, times(b, half, x), rest), inner, b.fma(half, t, half));
}

bool goes_down_first(const ContractProblem& p) { return p.rows <= p.columns; }

}  // namespace

ContractProblem contract_problem(const ir::Call& call) {
  ContractProblem p;
  const Dims &a = call.inputs[0].map.shape(), &b = call.inputs[1].map.shape();
  const size_t rank = a.size();
  p.batch = Dims(a.begin(), a.end() - 2);
  p.rows = a[rank - 2];
  p.depth = a[rank - 1];
  p.columns = b[rank - 1];
  p.a = side_of(call.inputs[0]);
  p.b = side_of(call.inputs[1]);
  p.out = call.outputs[0].dtype;
  const auto& attrs = std::get<ir::ContractAttrs>(call.attrs);
  p.sums = accumulator(attrs.result);
  p.has_bias = call.epilogue.bias;
  p.has_residual = call.epilogue.residual;
  p.activation = call.epilogue.activation;
  p.keeps_before = call.outputs.size() > 1;
  if (p.has_bias) {
    p.bias = call.inputs[2].dtype;
    p.bias_offset = call.inputs[2].map.views()[0].offset;
  }
  join_batches_with_rows(p);
  return p;
}

Scalar index_type(const ContractProblem& p) {
  const bool is_wide =
      !codegen::fits_32(p.a.map) || !codegen::fits_32(p.b.map) ||
      static_cast<double>(p.elements()) * static_cast<double>(std::max(p.sums_pixels ? kMostPartsOfPixels : kMostParts,
                                                                       ceil_div(p.depth, kLongestPart))) >=
          2147483648.0;
  return is_wide ? Scalar::u64 : Scalar::u32;
}

ContractSizes::ContractSizes(Builder& builder, const ContractProblem& p, const ContractTile& tile, int64_t part_count,
                             Scalar index) {
  const auto size = [&](Scalar type, int64_t value, bool is_given = true) {
    if (!is_given) return builder.whole(type, value);
    return p.windows && type == Scalar::u32 ? builder.half_size(value) : builder.size(type, value);
  };
  const int64_t down = ceil_div(p.rows, tile.block_m), across = ceil_div(p.columns, tile.block_n);
  rows = size(index, p.rows);
  columns = size(index, p.columns);
  depth = size(Scalar::u32, p.depth, p.depth > 0);
  const bool has_parts = part_count > 1;
  elements = size(index, p.elements(), has_parts);
  part = has_parts ? size(Scalar::u32, part_length(p, part_count)) : depth;
  parts = size(Scalar::u32, part_count, has_parts);
  blocks = size(Scalar::u32, down * across, has_parts || p.batches() > 1);
  quick_blocks = size(Scalar::u32, goes_down_first(p) ? down : across);
  goes_down = size(Scalar::u32, goes_down_first(p) ? 1 : 0);
  const auto side = [&](bool is_left) -> Side {
    const ContractStrip strip = contract_strip(p, is_left);
    if (!strip.side->is_strided) return {};
    return {size(index, strip.side->offset, strip.side->offset != 0), size(index, strip.stride, strip.stride != 1),
            size(index, strip.depth_stride, strip.depth_stride != 1)};
  };
  a = side(true);
  b = side(false);
  bias_offset = size(index, p.bias_offset, p.bias_offset != 0);
}

ContractBuffers add_contract_buffers(Builder& b, const ContractProblem& p, Scalar element_a, Scalar element_b) {
  ContractBuffers made{};
  made.a = b.add_buffer(element_a, false);
  made.b = b.add_buffer(element_b, false);
  if (p.has_bias) made.bias = b.add_buffer(codegen::in_memory(p.bias), false);
  if (p.has_residual) made.residual = b.add_buffer(codegen::in_memory(p.sums), false, true);
  if (p.multiplies_by_slope()) made.slope_at = b.add_buffer(codegen::in_memory(p.out), false);
  made.out = b.add_buffer(codegen::in_memory(p.out), true, p.has_residual);
  if (p.keeps_before) made.before = b.add_buffer(codegen::in_memory(p.out), true);
  return made;
}

std::vector<Dispatch::Binding> contract_bindings(const ContractProblem& p) {
  std::vector<Dispatch::Binding> made;
  const uint32_t args = 3 + (p.has_bias ? 1 : 0) + (p.has_residual ? 1 : 0) + (p.multiplies_by_slope() ? 1 : 0) +
                        (p.keeps_before ? 1 : 0);
  for (uint32_t i = 0; i < args; ++i) made.push_back({i, 0});
  if (p.has_right_first) std::swap(made[0], made[1]);
  return made;
}

Id finished_sum(Builder& b, const ContractProblem& p, const ContractBuffers& buffers, Id bias_offset, Id sum, Id at,
                Id column) {
  if (p.has_bias) {
    const Id place = b.add(column, bias_offset);
    const Id bias = codegen::from_memory(b, p.bias, b.load(buffers.bias, place));
    sum = codegen::apply(b, Op::add, p.sums, p.sums, std::array{sum, codegen::cast(b, p.bias, p.sums, bias)});
  }
  if (p.has_residual) {
    const Id residual = codegen::from_memory(b, p.sums, b.load(buffers.residual, at));
    sum = codegen::apply(b, Op::add, p.sums, p.sums, std::array{sum, residual});
  }
  const auto written = [&](Id value) {
    return codegen::to_memory(b, p.out, codegen::cast(b, p.sums, p.out, codegen::rounded(b, p.sums, value)));
  };
  if (p.keeps_before) b.store(buffers.before, at, written(sum));
  if (p.activation == Activation::gelu) sum = gelu(b, sum);
  if (p.multiplies_by_slope()) {
    const Id place = codegen::cast(b, p.out, DType::f32, codegen::from_memory(b, p.out, b.load(buffers.slope_at, at)));
    sum = b.math(Op::mul, Scalar::f32, {sum, gelu_slope(b, place)});
  }
  return written(sum);
}

// ---- operands ----

ContractStrip contract_strip(const ContractProblem& p, bool is_left) {
  ContractStrip made;
  made.side = is_left ? &p.a : &p.b;
  made.is_left = is_left;
  made.size = is_left ? p.rows : p.columns;
  made.stride = is_left ? made.side->row : made.side->column;
  made.depth_stride = is_left ? made.side->column : made.side->row;
  made.along_depth =
      made.side->is_strided ? made.depth_stride == 1 || (made.stride != 1 && made.depth_stride < made.stride) : is_left;
  return made;
}

bool ContractStrip::reads_by(const ContractProblem& p, int64_t width) const {
  const auto is_multiple = [&](int64_t elements) { return elements % width == 0; };
  if (side->order == ContractSide::Order::weights || side->order == ContractSide::Order::places)
    return side->steps[3] == 1 && is_multiple(size) && is_multiple(side->steps[0]) && is_multiple(side->steps[1]) &&
           is_multiple(side->steps[2]) && is_multiple(side->offset) && is_multiple(side->group);
  if (side->order != ContractSide::Order::matrix)
    return side->steps[3] == 1 && is_multiple(p.windows->channels) && is_multiple(side->steps[0]) &&
           is_multiple(side->steps[1]) && is_multiple(side->steps[2]) && is_multiple(side->offset) &&
           is_multiple(side->group);
  if (!side->is_strided || (along_depth ? depth_stride : stride) != 1) return false;
  if ((along_depth ? p.depth : size) % width != 0) return false;
  if ((along_depth ? stride : depth_stride) % width != 0 || side->offset % width != 0) return false;
  for (const int64_t step : side->batch_strides) {
    if (step % width != 0) return false;
  }
  return true;
}

ContractPlaces::ContractPlaces(Builder& b, const ContractProblem& p, const ContractSizes& sizes, Scalar index, Id batch)
    : b_(b),
      p_(p),
      sizes_(sizes),
      index_(index),
      batch_indices_(codegen::unravel(b, batch, {p.batch.data(), p.batch.size()})) {
  const auto base_of = [&](const ContractSide& side, Id offset) {
    if (!side.is_strided) return kNoValue;
    Id at = offset;
    for (size_t i = 0; i < p_.batch.size(); ++i)
      at = b_.add(at, b_.mul(batch_indices_[i], b_.whole(index_, side.batch_strides[i])));
    return at;
  };
  base_a_ = base_of(p.a, sizes.a.offset);
  base_b_ = base_of(p.b, sizes.b.offset);
}

Located ContractPlaces::locate(const ContractStrip& strip, Id place, Id k) const {
  if (strip.side->is_strided) {
    const Id base = strip.is_left ? base_a_ : base_b_;
    const ContractSizes::Side& side = strip.is_left ? sizes_.a : sizes_.b;
    return {b_.add(base, b_.add(b_.mul(place, side.stride), b_.mul(k, side.depth_stride))), kNoValue};
  }
  std::vector<Id> indices = batch_indices_;
  indices.push_back(strip.is_left ? place : k);
  indices.push_back(strip.is_left ? k : place);
  return codegen::locate(b_, index_, strip.side->map, indices);
}

// ---- blocks ----

int64_t part_length(const ContractProblem& p, int64_t parts) {
  return parts == 1 ? p.depth : ceil_div(ceil_div(p.depth, parts), kDepthUnit) * kDepthUnit;
}

ContractBlock::ContractBlock(Builder& b, const ContractProblem& p, const ContractSizes& sizes, const ContractTile& tile,
                             int64_t parts, Scalar index) {
  const int64_t planes = p.batches() * parts;
  const Id plane = planes > 1 ? b.div(b.block(), sizes.blocks) : b.u32(0);
  const Id within = planes > 1 ? b.mod(b.block(), sizes.blocks) : b.block();
  const Id fast = b.mod(within, sizes.quick_blocks), slow = b.div(within, sizes.quick_blocks);
  const Id goes_down = b.equal(sizes.goes_down, b.u32(1));
  first_row = b.convert(b.mul(b.select(goes_down, fast, slow), b.u32(tile.block_m)), index);
  first_column = b.convert(b.mul(b.select(goes_down, slow, fast), b.u32(tile.block_n)), index);
  batch = b.convert(parts > 1 ? b.div(plane, sizes.parts) : plane, index);
  part = parts > 1 ? b.mod(plane, sizes.parts) : b.u32(0);
  begin = b.mul(part, sizes.part);
  end = parts > 1 ? b.min(b.add(begin, sizes.part), sizes.depth) : sizes.depth;
}

std::array<uint64_t, 3> ContractBlock::grid(const ContractProblem& p, const ContractTile& tile, int64_t parts) {
  const int64_t blocks = ceil_div(p.rows, tile.block_m) * ceil_div(p.columns, tile.block_n) * p.batches() * parts;
  return {static_cast<uint64_t>(blocks), 1, 1};
}

}  // namespace tenon::kernels
