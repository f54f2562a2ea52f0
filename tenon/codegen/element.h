// Writes single instructions of a loop nest into a kernel: where its maps lead, what is read there, what is computed.

#pragma once

#include <vector>

#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::codegen {

/// Places of the space that one thread works on at once: one row, and `lanes` positions in it.
struct Place {
  std::vector<Id> row;                   // one index for each row axis
  std::vector<std::vector<Id>> element;  // for each lane one index for each element axis
  /// The lanes are neighbours along the last axis, and the first is a multiple of their number.
  bool is_run = false;
};

class ElementWriter {
 public:
  ElementWriter(Builder& b, const ir::LoopNest& nest);

  /// u32, or u64 where positions or addresses need it.
  Scalar index_type() const { return index_; }
  /// A value of the builder as an index.
  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  /// The indices along axes of these sizes of a position in row-major order.
  std::vector<Id> unravel(Id position, std::span<const int64_t> sizes) { return codegen::unravel(b_, position, sizes); }

  /// The instruction's value at a place, one for each lane; one for all where nothing it reads differs between them.
  /// `operand(arg, lane)` gives its operands.
  using Operand = std::function<Id(uint32_t arg, uint32_t lane)>;
  std::vector<Id> values(uint32_t i, const Place& place, const Operand& operand);
  /// What memory holds where a load reads, at one index for each axis of the space and `lanes` - 1 that follow it in
  /// memory (is_run); 0 where that is padding.
  std::vector<Id> elements(uint32_t i, std::span<const Id> indices, uint32_t lanes);
  /// Whether neighbours along the last axis are neighbours in memory as well, so that `lanes` can be had at once.
  bool takes_runs(uint32_t i, uint32_t lanes) const;
  /// One index for each axis of the instruction's map.
  std::vector<Id> indices_of(const ir::Instr& instr, const Place& place, uint32_t lane) const;
  /// Writes what a store stores; `masks`: for each lane, or one for all, or none.
  void store(uint32_t i, const Place& place, const Operand& operand, std::span<const Id> masks);

 private:
  bool can_take_run(const ir::Instr& instr, const Place& place, uint32_t lanes) const;
  Id load(const ir::Instr& instr, const Located& at);
  Id checked_index(const ir::Instr& instr, Id index, Id valid);
  Id gathered(const ir::Instr& instr, Located at, Id index);
  Id position_as(DType dtype, const Located& at);
  std::vector<Id> random(const ir::Instr& instr, Id position, uint32_t count);
  Id compute(const ir::Instr& instr, std::span<const Id> args);

  Builder& b_;
  const ir::LoopNest& nest_;
  Scalar index_;
};

}  // namespace tenon::codegen
