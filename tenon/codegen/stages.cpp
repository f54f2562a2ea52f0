// Finds the stages of a loop nest in three passes over its code: forward for what a value depends on (its scope, and
// how many reductions lie behind it), backward once for what is needed at all and once per stage for what that stage
// needs, and forward again for who reads last.

#include "tenon/codegen/stages.h"

#include <algorithm>

namespace tenon::codegen {
namespace {

using ir::Instr;

bool is_row_fold(const Instr& instr) { return instr.kind == Instr::Kind::reduce && !instr.per_column; }
bool is_column_fold(const Instr& instr) { return instr.kind == Instr::Kind::reduce && instr.per_column; }
bool is_store(const Instr& instr) { return instr.kind == Instr::Kind::store; }

// Whether the map leads to the same place from every row.
bool is_same_in_all_rows(const ir::LoopNest& nest, const ir::IndexMap& map) {
  for (size_t axis = 0; axis < nest.row_rank; ++axis) {
    if (!map.is_constant_along(axis)) return false;
  }
  return true;
}

class Cutter {
 public:
  explicit Cutter(const ir::LoopNest& nest) : nest_(nest) { made_.values.resize(nest.code.size()); }

  Stages run() {
    find_scopes();
    find_needed();
    find_known();
    for (uint32_t stage = 0; stage < made_.stages.size(); ++stage) fill(stage);
    find_last_readers();
    return std::move(made_);
  }

 private:
  void find_scopes() {
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      const Instr& instr = nest_.code[i];
      Scope& scope = made_.values[i].scope;
      switch (instr.kind) {
        case Instr::Kind::number: scope = Scope::constant; break;
        case Instr::Kind::apply:
          scope = Scope::constant;
          for (const uint32_t arg : instr.args) scope = scope | made_.values[arg].scope;
          break;
        case Instr::Kind::reduce:
        case Instr::Kind::store:
          scope = instr.per_row ? Scope::row : instr.per_column ? Scope::column : Scope::element;
          break;
        default:
          scope = instr.per_row ? Scope::constant : Scope::column;
          if (!is_same_in_all_rows(nest_, instr.map)) scope = scope | Scope::row;
          for (const uint32_t arg : instr.args) scope = scope | made_.values[arg].scope;  // what a gather is moved by
      }
    }
  }

  void find_needed() {
    needed_.resize(nest_.code.size());
    for (size_t i = nest_.code.size(); i-- > 0;) {
      if (is_store(nest_.code[i])) needed_[i] = true;
      if (!needed_[i]) continue;
      for (const uint32_t arg : nest_.code[i].args) needed_[arg] = true;
    }
  }

  void find_known() {
    uint32_t last = 0;
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      if (!needed_[i]) continue;
      uint32_t known = 0;
      for (const uint32_t arg : nest_.code[i].args) known = std::max(known, made_.values[arg].known);
      if (is_row_fold(nest_.code[i])) ++known;
      made_.values[i].known = known;
      last = std::max(last, known);
    }
    made_.stages.resize(last + 1);
  }

  // The stage that exists for the sake of this store or reduction; kNone for what is done only where others need it.
  uint32_t stage_of_target(size_t i) const {
    const Instr& instr = nest_.code[i];
    const uint32_t known = made_.values[i].known;
    if (is_row_fold(instr)) return known - 1;
    if (is_column_fold(instr)) return known;
    if (!is_store(instr) || instr.per_row || instr.per_column) return kNone;
    // Where an output is written over an input, earlier stages may still read the input again.
    return nest_.in_place.empty() ? known : static_cast<uint32_t>(made_.stages.size() - 1);
  }

  // What is done once for all rows or once per row is not done per element; a row reduction is, whatever its result.
  bool is_done_per_element(size_t i) const {
    const Instr& instr = nest_.code[i];
    return !(is_store(instr) && instr.per_column) && (is_row_fold(instr) || made_.values[i].scope >= Scope::column);
  }

  void fill(uint32_t stage) {
    Stage& to = made_.stages[stage];
    std::vector<bool> needed(nest_.code.size());
    for (size_t i = nest_.code.size(); i-- > 0;) {
      if (!needed_[i] || !is_done_per_element(i)) continue;
      const uint32_t target = stage_of_target(i);
      needed[i] = target == stage || (needed[i] && target == kNone);
      if (!needed[i]) continue;
      for (const uint32_t arg : nest_.code[i].args) needed[arg] = true;
    }
    for (uint32_t i = 0; i < nest_.code.size(); ++i) {
      if (!needed_[i]) continue;
      if (is_done_per_element(i)) {
        if (needed[i]) add_element(stage, i, to);
      } else if (made_.values[i].known == stage) {
        made_.values[i].made = stage;
        const bool stores_column = is_store(nest_.code[i]) && nest_.code[i].per_column;
        const bool is_constant = made_.values[i].scope == Scope::constant;
        (stores_column ? made_.column_stores : is_constant ? made_.constants : to.per_row).push_back(i);
      }
    }
  }

  void add_element(uint32_t stage, uint32_t i, Stage& to) {
    to.per_element.push_back(i);
    if (is_row_fold(nest_.code[i])) to.row_folds.push_back(i);
    if (is_column_fold(nest_.code[i])) to.column_folds.push_back(i);
    if (made_.values[i].made != kNone) return;
    made_.values[i].made = stage;
    to.first_time.push_back(i);
  }

  void find_last_readers() {
    for (uint32_t stage = 0; stage < made_.stages.size(); ++stage) {
      Stage& in = made_.stages[stage];
      in.last_reader.assign(nest_.code.size(), kNone);
      for (const auto* code : {&in.per_row, &in.per_element}) {
        for (const uint32_t i : *code) {
          for (const uint32_t arg : nest_.code[i].args) in.last_reader[arg] = i;
        }
      }
      for (const auto* code : {&in.per_row, &in.first_time}) {
        for (const uint32_t i : *code) {
          for (const uint32_t arg : nest_.code[i].args) {
            made_.values[arg].last_stage = stage;
            made_.values[arg].last_reader = i;
          }
        }
      }
    }
  }

  const ir::LoopNest& nest_;
  Stages made_;
  std::vector<bool> needed_;  // by some store
};

}  // namespace

Stages stages(const ir::LoopNest& nest) { return Cutter(nest).run(); }

}  // namespace tenon::codegen
