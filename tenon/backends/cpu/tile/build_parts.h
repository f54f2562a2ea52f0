// Building a tile program: what its parts hand each other.
//
// build.cpp decides how tiles lie over rows. For each way that it considers, assemble.cpp turns the stages of the nest
// into stages of tile instructions and gives out registers; translate.cpp makes a single instruction; direct.cpp and
// chain_build.cpp then save passes over a stage's tiles.

#pragma once

#include "tenon/backends/cpu/tile/code.h"
#include "tenon/codegen/stages.h"

namespace tenon::backends::cpu {

/// How tiles lie over rows.
enum class Tiling : uint8_t { parts_of_rows, whole_rows, several_rows };

/// What a tile program is made of.
struct TileSource {
  const ir::LoopNest& nest;
  const codegen::Stages& cut;
  Tiling tiling;
  bool begins_with_axis = false;  // every tile of several rows begins where the last row axis does

  /// Then registers live on from stage to stage.
  bool keeps_rows() const { return tiling != Tiling::parts_of_rows; }
  bool shares_tiles() const { return tiling == Tiling::several_rows; }
  /// Whether it is the same in all rows and along them.
  bool is_constant(uint32_t i) const { return cut.values[i].scope == codegen::Scope::constant; }
  /// The instructions on elements of a stage.
  const std::vector<uint32_t>& element_code(size_t stage) const {
    return keeps_rows() ? cut.stages[stage].first_time : cut.stages[stage].per_element;
  }
  /// Whether instruction i of this stage is the last to read `arg`.
  bool is_last_use(size_t stage, uint32_t i, uint32_t arg) const {
    if (!keeps_rows()) return cut.stages[stage].last_reader[arg] == i;
    return cut.values[arg].last_stage == stage && cut.values[arg].last_reader == i;
  }
};

/// All of a tile program but the sizes of its tiles.
TileCode assemble(const TileSource& source);

using Operands = base::SmallVector<uint32_t, 3>;

/// Instruction i of the nest on these registers (or scalars). Where it reads or writes a buffer, `code` learns how.
TileInstr translate(const TileSource& source, uint32_t i, uint32_t out, const Operands& args, TileCode& code);
/// The operand of instruction i that can be one number for each row instead of a register; kNoRegister: none.
uint32_t number_operand(const ir::LoopNest& nest, uint32_t i);

/// Finds results that can be computed where they are stored.
void find_direct_stores(const ir::LoopNest& nest, const TileCode& code, std::vector<TileInstr>& tile_code);

/// Finds neighbouring instructions that can be one pass over the tile.
void find_chains(const TileSource& source, const TileCode& code, size_t stage, TileStage& made);

}  // namespace tenon::backends::cpu
