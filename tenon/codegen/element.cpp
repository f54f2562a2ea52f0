// Neighbouring elements are read and written at once where they lie beside each other in memory.

#include "tenon/codegen/element.h"

#include <algorithm>
#include <cstdlib>

#include "tenon/base/error.h"
#include "tenon/codegen/random.h"

namespace tenon::codegen {
namespace {

using ir::Instr;
using ir::Op;

// Whether everything that is computed on the way to an address stays below 2^31.
bool nest_fits_32(const ir::LoopNest& nest) {
  if (ir::count(nest.space) >= int64_t{1} << 31) return false;
  return std::all_of(nest.code.begin(), nest.code.end(), [](const Instr& instr) {
    const bool has_map =
        instr.kind != Instr::Kind::apply && instr.kind != Instr::Kind::number && instr.kind != Instr::Kind::reduce;
    const double table = instr.kind == Instr::Kind::gather
                             ? static_cast<double>(instr.bits) * std::abs(static_cast<double>(instr.stride))
                             : 0;
    return !has_map || fits_32(instr.map, table);
  });
}

bool is_padded(const Instr& instr) { return instr.map.has_padding(); }

}  // namespace

ElementWriter::ElementWriter(Builder& b, const ir::LoopNest& nest)
    : b_(b), nest_(nest), index_(nest_fits_32(nest) ? Scalar::u32 : Scalar::u64) {
  std::vector<Scalar> elements(nest.inputs + nest.outputs, Scalar::u8);
  for (const Instr& instr : nest.code) {
    switch (instr.kind) {
      case Instr::Kind::load:
      case Instr::Kind::gather:
      case Instr::Kind::store: elements[instr.buffer] = in_memory(instr.dtype); break;
      case Instr::Kind::random: elements[instr.buffer] = Scalar::i64; break;
      default: break;
    }
  }
  std::vector<bool> aliased(elements.size(), false);
  for (size_t i = 0; i < nest.in_place.size(); ++i) {
    if (nest.in_place[i] == ir::LoopNest::kFresh) continue;
    aliased[nest.in_place[i]] = true;
    aliased[nest.inputs + i] = true;
  }
  for (uint32_t i = 0; i < elements.size(); ++i) b.add_buffer(elements[i], i >= nest.inputs, aliased[i]);
  b.set_numbers(nest.numbers);
}

std::vector<Id> ElementWriter::indices_of(const Instr& instr, const Place& place, uint32_t lane) const {
  std::vector<Id> made;
  if (!instr.per_column) made = place.row;
  if (!instr.per_row) made.insert(made.end(), place.element[lane].begin(), place.element[lane].end());
  return made;
}

// Whether the lanes lie beside each other in memory, beginning at a multiple of their number.
bool ElementWriter::can_take_run(const Instr& instr, const Place& place, uint32_t lanes) const {
  return place.is_run && lanes > 1 && !instr.per_row && !instr.map.shape().empty() &&
         is_run(instr.map, instr.map.shape().size() - 1, lanes);
}
bool ElementWriter::takes_runs(uint32_t i, uint32_t lanes) const {
  return can_take_run(nest_.code[i], {.is_run = true}, lanes);
}

Id ElementWriter::load(const Instr& instr, const Located& at) {
  return from_memory(b_, instr.dtype, b_.load(instr.buffer, at.at, at.valid));
}

// The index, or 0 in place of one that is out of range, which is a fault.
Id ElementWriter::checked_index(const Instr& instr, Id index, Id valid) {
  const Scalar own = in_register(nest_.code[instr.args[0]].dtype);
  const Scalar plain = own == Scalar::i64 ? Scalar::u64 : Scalar::u32;
  const Id is_bad = b_.is_not(b_.less(b_.bitcast(index, plain), b_.whole(plain, static_cast<int64_t>(instr.bits))));
  b_.fault_if(Op::gather, instr.use, b_.both(valid, is_bad), b_.convert(index, Scalar::i64), instr.axis, instr.bits);
  return b_.convert(b_.select(is_bad, b_.whole(plain, 0), b_.bitcast(index, plain)), index_);
}

Id ElementWriter::gathered(const Instr& instr, Located at, Id index) {
  const Id row = checked_index(instr, index, at.valid);
  if (instr.bits == 0) return b_.whole(in_register(instr.dtype), 0);
  at.at = b_.add(at.at, b_.mul(row, index_of(instr.stride)));
  return load(instr, at);
}

Id ElementWriter::position_as(DType dtype, const Located& at) {
  const Scalar target = in_register(dtype);
  Id value = kNoValue;
  if (index_ == Scalar::u64)
    value = cast(b_, DType::i64, dtype, b_.bitcast(at.at, Scalar::i64));
  else if (target == Scalar::i64)
    value = b_.convert(at.at, Scalar::i64);
  else
    value = cast(b_, DType::i32, dtype, b_.bitcast(at.at, Scalar::i32));
  return at.valid == kNoValue ? value : b_.select(at.valid, value, b_.whole(target, 0));
}

// Words of the stream, from this position on.
std::vector<Id> ElementWriter::random(const Instr& instr, Id position, uint32_t count) {
  const RandomStream stream = random_stream(b_, b_.load(instr.buffer, index_of(0)), b_.load(instr.buffer, index_of(1)),
                                            b_.number(static_cast<uint32_t>(instr.bits)));
  std::vector<Id> made = random_words(b_, stream, b_.convert(position, Scalar::u64), count);
  for (Id& each : made) each = b_.bitcast(each, Scalar::i32);
  return made;
}

Id ElementWriter::compute(const Instr& instr, std::span<const Id> args) {
  return apply(b_, instr.op, nest_.code[instr.args.back()].dtype, instr.dtype, args);
}

std::vector<Id> ElementWriter::values(uint32_t i, const Place& place, const Operand& operand) {
  const Instr& instr = nest_.code[i];
  const auto lanes = static_cast<uint32_t>(place.element.size());
  if (instr.kind == Instr::Kind::number) return {number_of(b_, instr.dtype, instr.bits)};
  if (instr.kind == Instr::Kind::apply) {
    std::vector<Id> made;
    for (uint32_t lane = 0; lane < (instr.per_row ? 1 : lanes); ++lane) {
      base::SmallVector<Id, 3> args;
      for (const uint32_t arg : instr.args) args.push_back(operand(arg, lane));
      made.push_back(compute(instr, {args.data(), args.size()}));
    }
    return made;
  }
  if (instr.kind == Instr::Kind::load && can_take_run(instr, place, lanes)) {
    std::vector<Id> made =
        b_.load_several(instr.buffer, locate(b_, index_, instr.map, indices_of(instr, place, 0)).at, lanes);
    for (Id& each : made) each = from_memory(b_, instr.dtype, each);
    return made;
  }
  // Halves that are put side by side: what the lanes read, or whether they read at all, is decided once.
  if (place.is_run && lanes > 1 && !instr.per_row && is_padded(instr)) {
    const size_t last = instr.map.shape().size() - 1;
    const auto located = [&] { return locate(b_, index_, instr.map, indices_of(instr, place, 0)); };
    if (instr.kind == Instr::Kind::valid && is_padded_alike(instr.map, last, lanes)) {
      const Id valid = located().valid;
      return {valid == kNoValue ? b_.boolean(true) : valid};
    }
    if (instr.kind == Instr::Kind::load && is_padded_run(instr.map, last, lanes)) {
      const Located at = located();
      std::vector<Id> made = b_.load_several(instr.buffer, at.at, lanes, at.valid);
      for (Id& each : made) each = from_memory(b_, instr.dtype, each);
      return made;
    }
  }
  if (instr.kind == Instr::Kind::gather && nest_.code[instr.args[0]].per_row && can_take_run(instr, place, lanes) &&
      instr.stride % lanes == 0 && instr.bits > 0) {
    const Id row = checked_index(instr, operand(instr.args[0], 0), kNoValue);
    const Id first =
        b_.add(locate(b_, index_, instr.map, indices_of(instr, place, 0)).at, b_.mul(row, index_of(instr.stride)));
    std::vector<Id> made = b_.load_several(instr.buffer, first, lanes);
    for (Id& each : made) each = from_memory(b_, instr.dtype, each);
    return made;
  }
  if (instr.kind == Instr::Kind::random && lanes == 4 && can_take_run(instr, place, lanes))
    return random(instr, locate(b_, index_, instr.map, indices_of(instr, place, 0)).at, lanes);

  // One for all lanes where the map stays where it is along the last axis, along which they differ.
  const bool stays = place.is_run && instr.args.empty() && !instr.per_row && !is_padded(instr) &&
                     instr.map.is_constant_along(instr.map.shape().size() - 1);
  std::vector<Id> made;
  for (uint32_t lane = 0; lane < (instr.per_row || stays ? 1 : lanes); ++lane) {
    const Located at = locate(b_, index_, instr.map, indices_of(instr, place, lane));
    switch (instr.kind) {
      case Instr::Kind::load: made.push_back(load(instr, at)); break;
      case Instr::Kind::gather: made.push_back(gathered(instr, at, operand(instr.args[0], lane))); break;
      case Instr::Kind::ramp: made.push_back(position_as(instr.dtype, at)); break;
      case Instr::Kind::valid: made.push_back(at.valid == kNoValue ? b_.boolean(true) : at.valid); break;
      default: {
        const Id word = random(instr, at.at, 1)[0];
        made.push_back(at.valid == kNoValue ? word : b_.select(at.valid, word, b_.whole(Scalar::i32, 0)));
      }
    }
  }
  return made;
}

std::vector<Id> ElementWriter::elements(uint32_t i, std::span<const Id> indices, uint32_t lanes) {
  const Instr& instr = nest_.code[i];
  const Located at = locate(b_, index_, instr.map, indices);
  if (lanes > 1) return b_.load_several(instr.buffer, at.at, lanes);
  return {b_.load(instr.buffer, at.at, at.valid)};
}

void ElementWriter::store(uint32_t i, const Place& place, const Operand& operand, std::span<const Id> masks) {
  const Instr& instr = nest_.code[i];
  const auto lanes = instr.per_row ? 1 : static_cast<uint32_t>(place.element.size());
  const auto mask_of = [&](uint32_t lane) {
    return masks.empty() ? kNoValue : masks.size() == 1 ? masks[0] : masks[lane];
  };
  std::vector<Id> stored;
  for (uint32_t lane = 0; lane < lanes; ++lane)
    stored.push_back(to_memory(b_, instr.dtype, operand(instr.args[0], lane)));
  if (masks.size() <= 1 && can_take_run(instr, place, lanes)) {
    const Id at = locate(b_, index_, instr.map, indices_of(instr, place, 0)).at;
    if (mask_of(0) == kNoValue) return b_.store_several(instr.buffer, at, stored);
    return b_.branch(mask_of(0), [&] { b_.store_several(instr.buffer, at, stored); });
  }
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const Located at = locate(b_, index_, instr.map, indices_of(instr, place, lane));
    b_.store(instr.buffer, at.at, stored[lane], b_.both(at.valid, mask_of(lane)));
  }
}

}  // namespace tenon::codegen
