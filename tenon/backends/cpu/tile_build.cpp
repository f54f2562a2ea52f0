// From a loop nest to stages of tile instructions.
//
// What a reduction needs is computed in one stage, what needs the reduction's result in a later one. When a row's
// values fit into the near caches, a tile is a whole row and keeps its registers between stages; a longer row is walked
// in tiles once per stage, and what a stage needs is computed again. Registers are reused as soon as their value is
// dead. Neighbouring steps that have links become chains: one pass over the tile instead of one each. Several short
// rows share a tile, because an instruction costs as much to dispatch for 16 elements as for 1000: what is computed per
// row is computed for all rows of the tile at once, and what is the same for all rows only once.

#include "tenon/backends/cpu/tile_build.h"

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/codegen/stages.h"

namespace tenon::backends::cpu {
namespace {

using codegen::Scope;
using ir::Instr;
using ir::Op;

constexpr int64_t kLongestTile = 8192;
constexpr size_t kNearBytes = 160 << 10;  // of registers that stay in the second-level cache beside the operands
constexpr size_t kFarBytes = 48 << 20;    // a result of this size is not in a cache any more when it is read
// What goes past the caches hardly uses them, so that long tiles cost nothing: an addition of 16M took 12.7 ms with
// 8192 elements and 16.5 with 512 (one core of a Xeon).
constexpr int64_t kStreamedTile = 8192;
constexpr uint32_t kFewRegisters = 4;
// Elements of a chain from which on any is worth its links. Below, on NEON, only what exp gains from many vectors at
// once is (softmax: 7.0 against 8.2 ms), what a store past the caches saves (an addition: 6.3 against 7.9 ms), and
// several results that are never written (AdamW: 2.6 against 3.4 ms), while layer_norm took 65 instead of 61 µs.
constexpr size_t kWideChain = 128;
constexpr int kManyUnwritten = 3;
// Tiles are long enough to pay for the dispatch of their steps and short enough to leave the registers in the nearest
// caches: softmax and layer_norm over rows of 50257 took 8.3 and 3.7 ms with 512 elements, 8.0 and 3.0 with 1024.
constexpr int64_t kPartTile = 1024;
constexpr int64_t kSharedTile = 2048;  // of several rows, which need steps of their own
constexpr int64_t kMostRows = 256;
constexpr size_t kRegisterPadding = 128;  // registers at equal offsets in different pages would evict each other

// Rows from one element of the last row axis to the same one again.
int64_t turn_of(const ir::LoopNest& nest) {
  return nest.row_rank > 0 ? std::max<int64_t>(nest.space[nest.row_rank - 1], 1) : 1;
}

// Rows that share a tile: whole turns where they fit.
int64_t rows_together(const ir::LoopNest& nest) {
  const int64_t fit = kSharedTile / std::max<int64_t>(nest.row_size(), 1);
  const int64_t most = std::min({nest.rows(), fit, kMostRows}), turn = turn_of(nest);
  return most > turn ? most - most % turn : most;
}

// Blocks of rows that are folded into columns begin anywhere.
bool shares_whole_turns(const ir::LoopNest& nest) {
  return rows_together(nest) % turn_of(nest) == 0 &&
         std::none_of(nest.code.begin(), nest.code.end(), [](const Instr& instr) { return instr.per_column; });
}

class Builder {
 public:
  enum class Tiles { parts_of_rows, whole_rows, several_rows };

  Builder(const ir::LoopNest& nest, const codegen::Stages& cut, Tiles tiles)
      : nest_(nest),
        cut_(cut),
        whole_rows_(tiles != Tiles::parts_of_rows),
        shares_rows_(tiles == Tiles::several_rows),
        shares_whole_turns_(shares_rows_ && shares_whole_turns(nest)) {
    code_.space = nest.space;
    code_.row_rank = nest.row_rank;
    code_.rows = nest.rows();
    code_.row_size = nest.row_size();
    code_.whole_rows = whole_rows_;
  }

  TileCode run() {
    const size_t n = nest_.code.size();
    code_.scalars = static_cast<uint32_t>(n);  // a slot for each, though only row values have one
    registers_of_.assign(n, kNoRegister);
    once_spread_.assign(n, kNoRegister);
    for (const uint32_t i : cut_.constants) code_.once.push_back(step_of(i, i, nest_.code[i].args));
    fold_of_.assign(n, 0);
    for (const codegen::Stage& stage : cut_.stages) {
      for (const uint32_t i : stage.row_folds) fold_of_[i] = code_.folds++;
      runs_.push_back(whole_rows_ ? stage.first_time : stage.per_element);
    }
    find_repeated();
    add_repeated();
    for (size_t stage = 0; stage < runs_.size(); ++stage) add_stage(stage);
    add_columns();
    return std::move(code_);
  }

 private:
  bool is_row_fold(size_t i) const { return nest_.code[i].kind == Instr::Kind::reduce && !nest_.code[i].per_column; }
  bool is_column_fold(size_t i) const { return nest_.code[i].kind == Instr::Kind::reduce && nest_.code[i].per_column; }
  bool is_constant(size_t i) const { return cut_.values[i].scope == Scope::constant; }

  // Whether instruction i of this stage is the last to read `arg`.
  bool is_last_use(size_t stage, size_t i, uint32_t arg) const {
    if (!whole_rows_) return cut_.stages[stage].last_reader[arg] == i;
    return cut_.values[arg].last_stage == stage && cut_.values[arg].last_reader == i;
  }

  // Elements that are the same in every row: a bias, positions, and what is made of them. A load is better left where
  // it is, unless a tile needs it several times over.
  void find_repeated() {
    repeated_.assign(nest_.code.size(), false);
    if (!whole_rows_ || nest_.rows() <= 1) return;
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      const Instr& instr = nest_.code[i];
      if (cut_.values[i].scope != Scope::column || instr.per_column) continue;
      repeated_[i] = (instr.kind != Instr::Kind::load || shares_rows_) &&
                     std::all_of(instr.args.begin(), instr.args.end(),
                                 [&](uint32_t arg) { return repeated_[arg] || is_constant(arg); });
    }
  }

  // A load that gives some rows elements and others padding, the same in every turn of the last row axis: a part of
  // what is joined. In a register of its own the padding of one tile is the padding of the next.
  bool is_padded_by_rows(size_t i) const {
    const Instr& instr = nest_.code[i];
    if (!shares_whole_turns_ || instr.kind != Instr::Kind::load || instr.per_row || instr.map.views().size() != 1)
      return false;
    const ir::View& view = instr.map.views()[0];
    if (!view.masked()) return false;
    for (size_t axis = 0; axis < nest_.space.size(); ++axis) {
      const bool all = view.valid_from[axis] == 0 && view.valid_to[axis] == nest_.space[axis];
      if (axis + 1 != nest_.row_rank && !all) return false;
    }
    return true;
  }

  // The operand that an instruction takes as one number for the whole tile; none: kNoRegister.
  uint32_t number_operand(size_t i) const {
    const Instr& instr = nest_.code[i];
    if (instr.kind != Instr::Kind::apply || instr.per_row) return kNoRegister;
    if (instr.op == Op::where) return nest_.code[instr.args[0]].per_row ? 0 : kNoRegister;
    if (instr.args.size() != 2) return kNoRegister;
    for (const uint32_t which : {0u, 1u}) {
      if (nest_.code[instr.args[which]].per_row && !nest_.code[instr.args[1 - which]].per_row &&
          tile_function_with_numbers(instr.op, instr.dtype, which))
        return which;
    }
    return kNoRegister;
  }

  uint32_t take() {
    if (free_.empty()) return code_.registers++;
    const uint32_t reg = free_.back();
    free_.pop_back();
    return reg;
  }

  // What is the same in all rows is made before all stages; what nothing else reads gives its register back.
  void add_repeated() {
    std::vector<bool> is_read(nest_.code.size(), false);
    std::vector<uint32_t> spread(nest_.code.size(), kNoRegister);
    for (std::vector<uint32_t>& run : runs_) {
      for (const uint32_t i : run) {
        for (uint32_t arg : nest_.code[i].args) is_read[arg] = is_read[arg] || !repeated_[i];
        if (!repeated_[i]) continue;
        for (uint32_t arg : nest_.code[i].args) {
          if (nest_.code[arg].per_row) spread[arg] = once_register(arg);
        }
        registers_of_[i] = code_.registers++;
        add_value(i, operands_of(i, spread), code_.once_tiles);
      }
      std::erase_if(run, [&](uint32_t i) { return repeated_[i]; });
    }
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      const uint32_t reg = repeated_[i] ? registers_of_[i] : spread[i];
      if (reg != kNoRegister && !is_read[i]) free_.push_back(reg);
    }
  }

  void add_stage(size_t stage) {
    if (!whole_rows_) {
      free_.clear();
      for (uint32_t reg = code_.registers; reg-- > 0;) {
        const auto is_kept = [&](const Splat& splat) { return splat.reg == reg; };
        if (std::none_of(code_.once_splats.begin(), code_.once_splats.end(), is_kept)) free_.push_back(reg);
      }
    }
    Stage made;
    for (const uint32_t i : cut_.stages[stage].per_row) made.row_steps.push_back(step_of(i, i, nest_.code[i].args));
    // Row values are spread before the tiles, so their registers are taken before anything is freed.
    std::vector<uint32_t> spread(nest_.code.size(), kNoRegister);
    for (const uint32_t i : runs_[stage]) {
      const uint32_t number = number_operand(i);
      for (uint32_t which = 0; which < nest_.code[i].args.size(); ++which) {
        const uint32_t arg = nest_.code[i].args[which];
        if (!nest_.code[arg].per_row || spread[arg] != kNoRegister || which == number) continue;
        spread[arg] = is_constant(arg) ? once_register(arg) : take();
        if (!is_constant(arg)) made.splats.push_back(splat_of(arg, spread[arg]));
      }
    }
    for (const uint32_t i : runs_[stage]) add_run(stage, i, spread, made);
    for (const Splat& splat : made.splats) free_.push_back(splat.reg);
    find_direct_stores(made.tile_steps);
    find_chains(stage, made);
    code_.stages.push_back(std::move(made));
  }

  // In a tile an f16 or bf16 looks like an f32.
  Splat splat_of(uint32_t arg, uint32_t reg) const {
    const DType wide = accumulator(nest_.code[arg].dtype);
    return {arg, reg, tile_element_size(wide), tile_load(wide)};
  }

  // A register that keeps its value for all rows.
  uint32_t once_register(uint32_t arg) {
    if (once_spread_[arg] == kNoRegister) {
      once_spread_[arg] = code_.registers++;
      code_.once_splats.push_back(splat_of(arg, once_spread_[arg]));
    }
    return once_spread_[arg];
  }

  // Registers, but for a number its scalar.
  base::SmallVector<uint32_t, 3> operands_of(size_t i, const std::vector<uint32_t>& spread) const {
    const Instr& instr = nest_.code[i];
    base::SmallVector<uint32_t, 3> operands;
    const uint32_t number = number_operand(i);
    for (uint32_t which = 0; which < instr.args.size(); ++which) {
      const uint32_t arg = instr.args[which];
      operands.push_back(which == number ? arg : nest_.code[arg].per_row ? spread[arg] : registers_of_[arg]);
    }
    return operands;
  }

  // A step that fills the register of instruction i.
  void add_value(size_t i, const base::SmallVector<uint32_t, 3>& operands, std::vector<Step>& steps) {
    const Instr& instr = nest_.code[i];
    steps.push_back(step_of(i, registers_of_[i], operands));
    const uint32_t number = number_operand(i);
    if (number == kNoRegister) return;
    steps.back().numbers = static_cast<uint8_t>(1u << number);
    steps.back().apply_numbers = tile_function_with_numbers(instr.op, instr.dtype, number);
    steps.back().number_varies = !is_constant(instr.args[number]);
  }

  void add_run(size_t stage, size_t i, const std::vector<uint32_t>& spread, Stage& made) {
    const Instr& instr = nest_.code[i];
    const base::SmallVector<uint32_t, 3> args = operands_of(i, spread);
    if (is_row_fold(i)) {
      made.tile_steps.push_back(step_of(i, fold_of_[i], args));
      made.folds.push_back(made.tile_steps.back());
    } else if (is_column_fold(i)) {
      made.tile_steps.push_back(step_of(i, static_cast<uint32_t>(code_.columns.size()), args));
      code_.columns.push_back(
          {instr.op, instr.dtype, instruction_of(folding(instr.op), accumulator(instr.dtype), instr.dtype), 0});
      column_instr_.push_back(i);
    } else if (instr.kind == Instr::Kind::store) {
      made.tile_steps.push_back(step_of(i, kNoRegister, args));
    } else {
      registers_of_[i] = is_padded_by_rows(i) ? code_.registers++ : take();
      add_value(i, args, made.tile_steps);
      made.tile_steps.back().keeps_padding = is_padded_by_rows(i);
      if (is_padded_by_rows(i)) code_.padded.push_back(registers_of_[i]);
    }
    for (uint32_t arg : instr.args) {
      const uint32_t reg = registers_of_[arg];
      if (nest_.code[arg].per_row || repeated_[arg] || is_padded_by_rows(arg) || reg == kNoRegister ||
          !is_last_use(stage, i, arg))
        continue;
      if (std::find(free_.begin(), free_.end(), reg) == free_.end()) free_.push_back(reg);
    }
  }

  // A result that is stored as it is can be computed where it belongs.
  void find_direct_stores(std::vector<Step>& steps) const {
    for (uint32_t j = 0; j < steps.size(); ++j) {
      if (steps[j].kind != Instr::Kind::store || !steps[j].stores_in_place) continue;
      for (uint32_t i = j; i-- > 0;) {
        if (steps[i].out != steps[j].args[0] || steps[i].kind == Instr::Kind::reduce ||
            steps[i].kind == Instr::Kind::store)
          continue;
        if (steps[i].kind == Instr::Kind::apply && steps[i].stored_by == kNoRegister && !is_read_from(steps, i, j))
          steps[i].stored_by = j;
        break;
      }
    }
  }

  // Whether the memory that `store` writes still holds an operand of step i or of a later one.
  bool is_read_from(const std::vector<Step>& steps, uint32_t i, uint32_t store) const {
    if (nest_.in_place.empty()) return false;
    if (code_.folds > 0) return true;  // registers live on from earlier stages
    const uint32_t input = nest_.in_place[steps[store].buffer - nest_.inputs];
    if (input == ir::LoopNest::kFresh) return false;
    bool held = false;  // the register that stands for the memory, from its load until another step takes it
    uint32_t reg = kNoRegister;
    for (uint32_t at = 0; at < steps.size(); ++at) {
      const Step& step = steps[at];
      if (step.kind == Instr::Kind::load && step.buffer == input) {
        if (at > i) return true;
        held = true;
        reg = step.out;
        continue;
      }
      const auto& args = step.args;
      if (held && at >= i && std::find(args.begin(), args.end(), reg) != args.end()) return true;
      if (held && step.out == reg && step.kind != Instr::Kind::store && step.kind != Instr::Kind::reduce) held = false;
    }
    return false;
  }

  bool can_chain(const Step& step) const {
    const Instr& instr = nest_.code[step.scalar];
    const auto is_f32 = [&](uint32_t arg) { return nest_.code[arg].dtype == DType::f32; };
    switch (step.kind) {
      case Instr::Kind::load: return step.loads_in_place && is_contiguous(step);
      case Instr::Kind::store: return step.dtype == DType::f32 && !step.per_row && is_contiguous(step);
      case Instr::Kind::reduce: return step.op == Op::sum && step.dtype == DType::f32;
      case Instr::Kind::apply:
        if (step.op == Op::where) return step.dtype == DType::f32 && is_choice(step);
        return step.dtype == DType::f32 && std::all_of(instr.args.begin(), instr.args.end(), is_f32) &&
               step.links[instr.args.size() == 1 ? 0 : 1] != nullptr;
      default: return false;
    }
  }

  // One of two operands for all elements of all rows: a chain goes on with it.
  static bool is_choice(const Step& step) { return step.numbers != 0 && !step.number_varies; }

  bool is_contiguous(const Step& step) const {
    const Place& place = code_.places[step.place];
    if (shares_rows_) return place.dense;
    return place.strided && !place.view.masked() && nest_.space.size() == nest_.row_rank + 1 &&
           place.view.strides.back() == 1;
  }

  // A load in place is no pass over the tile, so it neither makes a chain nor ends one.
  void find_chains(size_t stage, Stage& made) const {
    Step* before = nullptr;
    bool saves = false, pays = chain_width() >= kWideChain;
    int unwritten = 0;
    for (Step& step : made.tile_steps) {
      for (size_t form = 0; form < kLinkForms && step.kind == Instr::Kind::apply; ++form)
        step.links[form] = link_of(step.op, static_cast<LinkForm>(form));
      step.chains = can_chain(step);
      made.chained_by_rows |= step.chains && (step.kind == Instr::Kind::reduce || step.number_varies);
      if (step.chains && step.kind == Instr::Kind::load) continue;
      if (before && before->chains && step.chains) {
        saves = true;
        before->kept = !is_last_use(stage, step.scalar, before->scalar);
        unwritten += before->kind == Instr::Kind::apply && !before->kept;
      }
      pays = pays || step.streams || (step.kind == Instr::Kind::apply && step.op == Op::exp);
      before = &step;
    }
    for (Step& step : made.folds) step.chains = can_chain(step);
    made.chained = saves && (pays || unwritten >= kManyUnwritten);
  }

  void add_columns() {
    for (const Instr& instr : nest_.code) {
      if (instr.kind != Instr::Kind::store || !instr.per_column) continue;
      const auto found = std::find(column_instr_.begin(), column_instr_.end(), instr.args[0]);
      code_.columns[static_cast<size_t>(found - column_instr_.begin())].buffer = instr.buffer;
    }
  }

  // What is written where it was read lies in the caches already. Storing past them made AdamW's update of DistilGPT-2
  // take 189 ms on two cores of a Xeon, a quarter of what memory allows.
  bool overwrites(uint32_t buffer) const {
    return !nest_.in_place.empty() && nest_.in_place[buffer - nest_.inputs] != ir::LoopNest::kFresh;
  }

  Step step_of(size_t i, uint32_t out, const base::SmallVector<uint32_t, 3>& args) {
    const Instr& instr = nest_.code[i];
    Step step;
    step.kind = instr.kind;
    step.op = instr.op;
    step.dtype = instr.dtype;
    step.per_row = instr.per_row;
    step.per_column = instr.per_column;
    step.scalar = static_cast<uint32_t>(i);
    step.out = out;
    step.args = args;
    step.buffer = instr.buffer;
    step.bits = instr.bits;
    const bool is_half = instr.dtype == DType::f16 || instr.dtype == DType::bf16;
    switch (instr.kind) {
      case Instr::Kind::load:
        step.load = tile_load(instr.dtype);
        step.loads_in_place = !is_half && !instr.per_row;
        break;
      case Instr::Kind::store: {
        const bool far = !instr.per_row && !overwrites(instr.buffer) &&
                         static_cast<size_t>(ir::count(nest_.space)) * size_of(instr.dtype) >= kFarBytes;
        step.streams = far && !is_half;
        step.store = step.streams ? tile_stream(instr.dtype) : tile_store(instr.dtype);
        step.stores_in_place = !far && !is_half && !instr.per_row && !instr.per_column;
        code_.streams = code_.streams || far;
        break;
      }
      case Instr::Kind::apply:
        step.apply = instruction_of(instr.op, nest_.code[instr.args.back()].dtype, instr.dtype);
        break;
      case Instr::Kind::reduce:
        if (!instr.per_column) step.fold = tile_fold(instr.op, instr.dtype);
        break;
      default: break;
    }
    const bool mapped =
        instr.kind != Instr::Kind::apply && instr.kind != Instr::Kind::number && instr.kind != Instr::Kind::reduce;
    if (mapped) {
      step.place = static_cast<uint32_t>(code_.places.size());
      const bool strided = instr.map.views().size() == 1;
      code_.places.push_back({strided, strided && is_dense(instr), instr.map.views()[0], instr.map});
    }
    return step;
  }

  bool is_dense(const Instr& instr) const {
    const ir::View& view = instr.map.views()[0];
    const size_t rank = instr.per_row ? nest_.row_rank : nest_.space.size();
    if (view.masked() || view.strides.size() != rank) return false;
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
      if (nest_.space[axis] != 1 && view.strides[axis] != stride) return false;
      stride *= nest_.space[axis];
    }
    return true;
  }

  const ir::LoopNest& nest_;
  const codegen::Stages& cut_;
  const bool whole_rows_, shares_rows_, shares_whole_turns_;
  TileCode code_;
  std::vector<bool> repeated_;
  std::vector<uint32_t> once_spread_;
  std::vector<std::vector<uint32_t>> runs_;  // the element instructions of every stage
  std::vector<uint32_t> registers_of_, fold_of_, free_;
  std::vector<size_t> column_instr_;
};

using base::round_up;

// Positions are made in the dtype that is asked for instead of being converted from i64.
ir::LoopNest with_cast_ramps(ir::LoopNest nest) {
  for (Instr& instr : nest.code) {
    if (instr.kind != Instr::Kind::apply || instr.op != Op::cast) continue;
    const Instr& from = nest.code[instr.args[0]];
    if (from.kind != Instr::Kind::ramp || from.dtype != DType::i64) continue;
    instr.kind = Instr::Kind::ramp;
    instr.map = from.map;
    instr.args.clear();
  }
  return nest;
}

}  // namespace

TileFn instruction_of(Op op, DType operand, DType result) {
  const TileFn made = op == Op::cast      ? tile_cast(operand, result)
                      : op == Op::bitcast ? tile_bitcast(operand, result)
                                          : tile_function(op, operand);
  if (!made) base::fail(ir::name(op), "the cpu device has no such instruction on {}", tenon::name(operand));
  return made;
}

TileCode build_tiles(const ir::LoopNest& given) {
  const ir::LoopNest nest = with_cast_ramps(given);
  const codegen::Stages cut = codegen::stages(nest);
  const int64_t row = nest.row_size();
  size_t element = 4;
  std::vector<bool> is_read(nest.code.size());
  for (const Instr& instr : nest.code) {
    for (const uint32_t arg : instr.args) is_read[arg] = true;
  }
  for (size_t i = 0; i < nest.code.size(); ++i) {
    if (is_read[i]) element = std::max(element, tile_element_size(nest.code[i].dtype));
  }
  const auto bytes_of = [&](int64_t tile) {
    return static_cast<size_t>(round_up(tile, 16)) * element + kRegisterPadding;
  };
  const bool folds = std::any_of(nest.code.begin(), nest.code.end(), [](const Instr& instr) {
    return instr.kind == Instr::Kind::reduce && !instr.per_column;
  });
  TileCode code;
  if (const int64_t together = rows_together(nest); together > 1) {
    code = Builder(nest, cut, Builder::Tiles::several_rows).run();
    code.rows_per_tile = together;
    const int64_t unit = std::max<int64_t>(together % turn_of(nest) == 0 ? turn_of(nest) : 1, 2);
    while (code.rows_per_tile >= unit + 2 && code.registers * bytes_of(code.rows_per_tile * row) > kNearBytes)
      code.rows_per_tile -= unit;
    code.tile = std::max<int64_t>(code.rows_per_tile * row, 1);
    code.register_bytes = bytes_of(code.tile);
    const bool fits = code.registers * code.register_bytes <= kNearBytes;
    if (folds ? fits || row > kLongestTile : !code.streams) return code;
  }
  if (folds && row <= kLongestTile) {
    code = Builder(nest, cut, Builder::Tiles::whole_rows).run();
    code.tile = std::max<int64_t>(row, 1);
    code.register_bytes = bytes_of(code.tile);
    if (row <= kPartTile || code.registers * code.register_bytes <= kNearBytes) return code;
  }
  code = Builder(nest, cut, Builder::Tiles::parts_of_rows).run();
  code.tile = code.streams && code.registers <= kFewRegisters ? kStreamedTile : kPartTile;
  code.register_bytes = bytes_of(code.tile);
  return code;
}

}  // namespace tenon::backends::cpu
