// From the stages of a loop nest to stages of tile instructions: which register each value gets, which row values are
// spread over registers, and what is done once for all rows. Registers are reused as soon as their value is dead.

#include <algorithm>

#include "tenon/backends/cpu/tile/build_parts.h"

namespace tenon::backends::cpu {
namespace {

using codegen::Scope;
using ir::Instr;

class Registers {
 public:
  uint32_t take() {
    if (free_.empty()) return add(false);
    const uint32_t reg = free_.back();
    free_.pop_back();
    return reg;
  }
  /// One of its own, which free_all() leaves alone.
  uint32_t take_for_all_rows() { return add(true); }
  void free(uint32_t reg) {
    if (std::find(free_.begin(), free_.end(), reg) == free_.end()) free_.push_back(reg);
  }
  void free_all() {
    free_.clear();
    for (uint32_t reg = count(); reg-- > 0;) {
      if (!is_for_all_rows_[reg]) free_.push_back(reg);
    }
  }
  uint32_t count() const { return static_cast<uint32_t>(is_for_all_rows_.size()); }

 private:
  uint32_t add(bool for_all_rows) {
    is_for_all_rows_.push_back(for_all_rows);
    return count() - 1;
  }

  std::vector<bool> is_for_all_rows_;
  std::vector<uint32_t> free_;  // the last one is taken first
};

class Assembler {
 public:
  explicit Assembler(const TileSource& source)
      : source_(source),
        nest_(source.nest),
        register_of_(nest_.code.size(), kNoRegister),
        spread_for_all_rows_(nest_.code.size(), kNoRegister),
        fold_of_(nest_.code.size()) {
    code_.space = nest_.space;
    code_.row_rank = nest_.row_rank;
    code_.rows = nest_.rows();
    code_.row_size = nest_.row_size();
    code_.whole_rows = source.keeps_rows();
    code_.scalars = static_cast<uint32_t>(nest_.code.size());  // one for each, though only row values need it
  }

  TileCode run() {
    for (const uint32_t i : source_.cut.constants) code_.once.push_back(translated(i, i, nest_.code[i].args));
    for (const codegen::Stage& stage : source_.cut.stages) {
      for (const uint32_t i : stage.row_folds) fold_of_[i] = code_.folds++;
    }
    find_repeated();
    add_repeated();
    for (size_t stage = 0; stage < source_.cut.stages.size(); ++stage) add_stage(stage);
    for (const uint32_t i : source_.cut.column_stores) store_column(nest_.code[i]);
    code_.registers = registers_.count();
    return std::move(code_);
  }

 private:
  TileInstr translated(uint32_t i, uint32_t out, const Operands& args) {
    return translate(source_, i, out, args, code_);
  }

  // Elements that are the same in every row: a bias, positions, and what is made of them. A load is better left where
  // it is, unless a tile needs it several times over.
  void find_repeated() {
    is_repeated_.assign(nest_.code.size(), false);
    if (!source_.keeps_rows() || nest_.rows() <= 1) return;
    for (uint32_t i = 0; i < nest_.code.size(); ++i) {
      const Instr& instr = nest_.code[i];
      if (source_.cut.values[i].scope != Scope::column || instr.per_column) continue;
      is_repeated_[i] = (instr.kind != Instr::Kind::load || source_.shares_tiles()) &&
                        std::all_of(instr.args.begin(), instr.args.end(),
                                    [&](uint32_t arg) { return is_repeated_[arg] || source_.is_constant(arg); });
    }
  }

  // What is the same in all rows is made before all stages; what nothing else reads gives its register back.
  void add_repeated() {
    std::vector<bool> is_read(nest_.code.size(), false);
    std::vector<uint32_t> spread(nest_.code.size(), kNoRegister);
    for (size_t stage = 0; stage < source_.cut.stages.size(); ++stage) {
      for (const uint32_t i : source_.element_code(stage)) {
        for (const uint32_t arg : nest_.code[i].args) is_read[arg] = is_read[arg] || !is_repeated_[i];
        if (!is_repeated_[i]) continue;
        for (const uint32_t arg : nest_.code[i].args) {
          if (nest_.code[arg].per_row) spread[arg] = register_for_all_rows(arg);
        }
        register_of_[i] = registers_.take_for_all_rows();
        code_.once_tiles.push_back(translated(i, register_of_[i], operands_of(i, spread)));
      }
    }
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      const uint32_t reg = is_repeated_[i] ? register_of_[i] : spread[i];
      if (reg != kNoRegister && !is_read[i]) registers_.free(reg);
    }
  }

  void add_stage(size_t stage) {
    if (!source_.keeps_rows()) registers_.free_all();
    TileStage made;
    for (const uint32_t i : source_.cut.stages[stage].per_row)
      made.row_code.push_back(translated(i, i, nest_.code[i].args));
    // Row values are spread before the tiles, so their registers are taken before anything is freed.
    std::vector<uint32_t> spread(nest_.code.size(), kNoRegister);
    for (const uint32_t i : source_.element_code(stage)) {
      if (!is_repeated_[i]) spread_operands(i, spread, made.splats);
    }
    for (const uint32_t i : source_.element_code(stage)) {
      if (is_repeated_[i]) continue;
      add_element_instr(i, operands_of(i, spread), made);
      free_operands(stage, i);
    }
    for (const Splat& splat : made.splats) registers_.free(splat.reg);
    find_direct_stores(nest_, code_, made.tile_code);
    find_chains(source_, code_, stage, made);
    code_.stages.push_back(std::move(made));
  }

  void spread_operands(uint32_t i, std::vector<uint32_t>& spread, std::vector<Splat>& splats) {
    const uint32_t number = number_operand(nest_, i);
    for (uint32_t which = 0; which < nest_.code[i].args.size(); ++which) {
      const uint32_t arg = nest_.code[i].args[which];
      if (!nest_.code[arg].per_row || spread[arg] != kNoRegister || which == number) continue;
      if (source_.is_constant(arg)) {
        spread[arg] = register_for_all_rows(arg);
        continue;
      }
      spread[arg] = registers_.take();
      splats.push_back(splat_of(arg, spread[arg]));
    }
  }

  // In a tile an f16 or bf16 looks like an f32.
  Splat splat_of(uint32_t arg, uint32_t reg) const {
    const DType wide = accumulator(nest_.code[arg].dtype);
    return {arg, reg, tile_element_size(wide), tile_load(wide)};
  }

  // The register over which a constant is spread.
  uint32_t register_for_all_rows(uint32_t constant) {
    uint32_t& reg = spread_for_all_rows_[constant];
    if (reg == kNoRegister) {
      reg = registers_.take_for_all_rows();
      code_.once_splats.push_back(splat_of(constant, reg));
    }
    return reg;
  }

  // Registers, but for a number its scalar.
  Operands operands_of(uint32_t i, const std::vector<uint32_t>& spread) const {
    const Instr& instr = nest_.code[i];
    Operands operands;
    const uint32_t number = number_operand(nest_, i);
    for (uint32_t which = 0; which < instr.args.size(); ++which) {
      const uint32_t arg = instr.args[which];
      operands.push_back(which == number ? arg : nest_.code[arg].per_row ? spread[arg] : register_of_[arg]);
    }
    return operands;
  }

  void add_element_instr(uint32_t i, const Operands& args, TileStage& made) {
    const Instr& instr = nest_.code[i];
    const bool folds = instr.kind == Instr::Kind::reduce;
    if (folds && instr.per_column) {
      made.tile_code.push_back(translated(i, add_column(i), args));
    } else if (folds) {
      made.tile_code.push_back(translated(i, fold_of_[i], args));
      made.folds.push_back(made.tile_code.back());
    } else if (instr.kind == Instr::Kind::store) {
      made.tile_code.push_back(translated(i, kNoRegister, args));
    } else {
      const bool keeps_padding = is_padded_by_rows(i);
      register_of_[i] = keeps_padding ? registers_.take_for_all_rows() : registers_.take();
      made.tile_code.push_back(translated(i, register_of_[i], args));
      made.tile_code.back().keeps_padding = keeps_padding;
      if (keeps_padding) code_.padded.push_back(register_of_[i]);
    }
  }

  // A load that gives some rows elements and others padding, always the same ones along the last row axis: a part of
  // what is joined. In a register of its own the padding of one tile is the padding of the next.
  bool is_padded_by_rows(uint32_t i) const {
    const Instr& instr = nest_.code[i];
    if (!source_.begins_with_axis || instr.kind != Instr::Kind::load || instr.per_row || instr.map.views().size() != 1)
      return false;
    const ir::View& view = instr.map.views()[0];
    if (!view.masked()) return false;
    for (size_t axis = 0; axis < nest_.space.size(); ++axis) {
      const bool all = view.valid_from[axis] == 0 && view.valid_to[axis] == nest_.space[axis];
      if (axis + 1 != nest_.row_rank && !all) return false;
    }
    return true;
  }

  void free_operands(size_t stage, uint32_t i) {
    for (const uint32_t arg : nest_.code[i].args) {
      const bool is_for_all_rows = is_repeated_[arg] || is_padded_by_rows(arg);
      if (!nest_.code[arg].per_row && !is_for_all_rows && source_.is_last_use(stage, i, arg))
        registers_.free(register_of_[arg]);
    }
  }

  uint32_t add_column(uint32_t i) {
    const Instr& instr = nest_.code[i];
    const TileFn fold = tile_instruction(folding(instr.op), accumulator(instr.dtype), instr.dtype);
    code_.columns.push_back({instr.op, instr.dtype, fold, 0});
    folded_into_columns_.push_back(i);
    return static_cast<uint32_t>(code_.columns.size() - 1);
  }

  void store_column(const Instr& store) {
    const auto fold = std::find(folded_into_columns_.begin(), folded_into_columns_.end(), store.args[0]);
    code_.columns[static_cast<size_t>(fold - folded_into_columns_.begin())].buffer = store.buffer;
  }

  const TileSource& source_;
  const ir::LoopNest& nest_;
  TileCode code_;
  Registers registers_;
  std::vector<bool> is_repeated_;
  std::vector<uint32_t> register_of_, spread_for_all_rows_, fold_of_;  // by the number of the instruction
  std::vector<uint32_t> folded_into_columns_;                          // the instruction of each column
};

}  // namespace

TileCode assemble(const TileSource& source) { return Assembler(source).run(); }

}  // namespace tenon::backends::cpu
