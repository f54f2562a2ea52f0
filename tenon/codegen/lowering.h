// What the kinds of kernels of lower.cpp have in common: the nest, its stages, the dispatches made so far and the
// scratch memory between them. Each kind is written in a file of its own: lower_flat, lower_tiles, lower_rows (and
// lower_picks), lower_split, lower_columns.

#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/codegen/element.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/codegen/schedule.h"
#include "tenon/codegen/stages.h"

namespace tenon::codegen {

/// One kernel in the making: the builder, and what is known of the nest's values at this place of its code.
struct Writing {
  Writing(std::string name, uint32_t threads, const ir::LoopNest& nest)
      : b(std::move(name), threads), w(b, nest), known(nest.code.size()) {
    for (uint32_t i = 0; i < nest.inputs + nest.outputs; ++i) bindings.push_back({i, 0});
  }
  Builder b;
  ElementWriter w;
  std::vector<Dispatch::Binding> bindings;
  std::map<std::pair<Scalar, bool>, uint32_t> scratch;  // its buffers: by element, and whether they are written
  Place place;
  std::vector<std::vector<Id>> known;  // for each instruction: one for each lane, or one for all

  Id value(uint32_t i, uint32_t lane) const { return known[i].size() == 1 ? known[i][0] : known[i].at(lane); }
  ElementWriter::Operand operands() {
    return [this](uint32_t arg, uint32_t lane) { return value(arg, lane); };
  }
};

/// Whether a position counts the elements of a row, from `first` on.
bool counts_elements(const ir::LoopNest& nest, const ir::Instr& instr, int64_t& first);

class Lowering {
 public:
  Lowering(const ir::LoopNest& nest, const ir::Limits& limits);
  Module run();

 private:
  bool is_needed(uint32_t i) const { return stages_.values[i].made != kNone; }
  bool is_saved(uint32_t i) const { return saved_.contains(i); }
  DType wide(uint32_t i) const { return accumulator(nest_.code[i].dtype); }
  static bool is_fold(const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::reduce; }
  static bool is_store(const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::store; }
  bool is_row_fold(uint32_t i) const { return is_fold(nest_.code[i]) && !nest_.code[i].per_column; }

  // lower.cpp: dispatches, memory beside the arguments, instructions done once.
  Writing start(std::string_view kind, uint32_t threads);
  void finish(Writing& writing, std::array<int64_t, 3> blocks, bool writes_results = true);
  size_t new_scratch(DType dtype, int64_t count);
  /// A piece of scratch memory as a kernel reaches it. All pieces of one type that it reads are one buffer, and so are
  /// those that it writes: there may be many, and devices bind few buffers.
  struct Scratch {
    uint32_t buffer;
    int64_t first;  // element
  };
  Scratch bind_scratch(Writing& to, DType dtype, size_t offset, bool is_written);
  static Id load_scratch(Writing& to, const Scratch& from, Id at);
  static void store_scratch(Writing& to, const Scratch& target, Id at, Id value, Id mask = kNoValue);
  /// Row folds of earlier dispatches, for this row.
  void load_saved(Writing& to, Id row);
  void write_constants(Writing& to);
  /// What is done once for a row. Every thread of the row does it; only the one for which `is_first` holds stores.
  void write_per_row(Writing& to, const std::vector<uint32_t>& code, Id is_first);
  void write_rows_without_stores(Writing& to, const std::vector<uint32_t>& code);

  // lower_flat.cpp
  void add_flat();
  bool has_row_values() const;
  void add_flat_rows(uint32_t lanes, uint32_t turns);
  uint32_t flat_lanes() const;
  bool stores_rows_only() const;
  void set_flat_place(Writing& to, Id position, uint32_t lanes);
  Id row_of(Writing& to, Id group, uint32_t lanes);
  Id is_first_of_row(Writing& to);

  // lower_tiles.cpp
  void add_tiles(const TileSchedule& tiles);
  uint32_t read_tile(Writing& to, const TileSchedule& tiles, uint32_t load, std::span<const Id> origin);
  std::vector<Id> within_tile(Writing& to, const TileSchedule& tiles, std::span<const Id> origin, Id down, Id across);

  // lower_rows.cpp
  /// Where a thread stands in a row: which of the row's threads it is, and which row of the block's.
  struct Threads {
    Id inside, lane;
  };
  /// Values that are held from stage to stage where there are several steps: an array for each lane, read when first
  /// needed in a step.
  struct Held {
    std::map<uint32_t, std::vector<uint32_t>> arrays;
    /// Loads that are kept as they lie in memory, two 16-bit elements to a word: an array for each word of a step.
    std::map<uint32_t, std::vector<uint32_t>> loads;
    bool contains(uint32_t i) const { return arrays.contains(i); }
    bool contains_load(uint32_t i) const { return loads.contains(i); }
  };
  using OnFold = std::function<void(uint32_t fold, uint32_t lane, Id step, Id value)>;
  void add_rows();
  Threads threads_of(Writing& to) const;
  Id first_thread(Writing& to, const Threads& threads, Id row_is_there);
  Id enter_row(Writing& to, Id row, Id is_there);
  std::vector<Id> enter_step(Writing& to, Id step, Id inside, bool is_full);
  static Id mask_of(const std::vector<Id>& masks, uint32_t lane);
  Id folded_value(Writing& to, uint32_t fold, uint32_t lane, Id mask);
  Held hold_values(Writing& to);
  void load_early();
  bool is_unrolled(const Stage& stage) const;
  void hold_loads(Writing& to, Held& held);
  void read_held_load(Writing& to, const Held& held, uint32_t i, uint32_t stage, Id step);
  bool has_runs() const;
  std::optional<bool> known_in_full_steps(const ir::Instr& instr) const;
  /// A comparison of an element's position with a number of the row: it holds for one element at most.
  struct Hit {
    uint32_t comparison = 0, index = 0;  // it holds where the elements counted from `first` on come to the index
    int64_t first = 0;
  };
  std::optional<Hit> hit_of(uint32_t i) const;
  std::optional<Hit> lone_hit(const Stage& stage, const Held& held) const;
  Id is_near(Writing& to, const Hit& hit, Id step, Id inside) const;
  void keep(Writing& to, const Held& held, uint32_t i, Id step);
  void fetch(Writing& to, const Held& held, uint32_t i, Id step);
  void forget_elements(Writing& to);
  const std::vector<uint32_t>& code_of(const Stage& stage) const;
  void write_step(Writing& to, const std::vector<uint32_t>& code, const Held& held, uint32_t stage, Id step, Id inside,
                  bool is_full, Id row_is_there, const OnFold& on_fold, bool stores = true);
  void walk_steps(Writing& to, Id first, Id last, bool unroll, const std::function<void(Id step, bool is_full)>& body);
  std::vector<Id> fold_steps(Writing& to, const Stage& stage, uint32_t number, const Held& held, Id first, Id last,
                             Id inside, Id row_is_there, const OnFold& on_column, bool stores = true);
  std::vector<Id> fold_all_steps(Writing& to, const Stage& stage, uint32_t number, const Held& held, Id inside,
                                 Id row_is_there, const OnFold& on_column, bool stores = true);
  void write_row(Writing& to, const Held& held, const Threads& threads, Id row_is_there, const OnFold& on_column);

  // lower_picks.cpp
  /// A sum over a row that is one element of it.
  struct Pick {
    uint32_t fold = 0, value = 0, index = 0;  // the sum; what of the element; where it is, `first` further on
    int64_t first = 0;
    std::vector<uint32_t> code = {};  // that makes the value
  };
  std::optional<Pick> pick_of(uint32_t fold) const;
  void pick_elements();
  void write_picks(Writing& to, uint32_t stage);

  // lower_split.cpp
  bool is_worth_splitting() const;
  void add_split();
  void save_row_folds_in_parts();
  void add_parts(const Stage& stage, uint32_t number, const std::vector<size_t>& parts);
  void add_folded_parts(const Stage& stage, const std::vector<size_t>& parts);

  // lower_columns.cpp
  void save_row_folds();
  void add_columns();
  bool has_element_stores() const;
  Id step_of_tile(Writing& to, bool by_tiles, Id step);
  Id column_of(Writing& to, Id step, Id inside, uint32_t lane);
  void load_saved_rows(Writing& to, Id row);
  void write_tile(Writing& to, const Threads& threads, Id row_is_there, const OnFold& on_fold);
  std::vector<Id> fold_lanes(Writing& to, uint32_t fold, std::span<const Id> own, const Threads& threads);
  void add_folded_columns(const ColumnSchedule& columns, const std::map<uint32_t, size_t>& partial);

  const ir::LoopNest& nest_;
  const ir::Limits& limits_;
  Stages stages_;
  const int64_t rows_, size_;
  const std::vector<int64_t> row_dims_, element_dims_;
  std::vector<uint32_t> row_folds_, column_folds_;
  RowSchedule shape_;
  Module made_;
  size_t scratch_ = 0;
  std::map<uint32_t, size_t> saved_;  // row folds that stand in scratch memory, and where
  std::map<uint32_t, Scratch> saved_buffers_;
  std::map<Scalar, uint32_t> lane_arrays_;
  uint32_t never_ = kNone;                       // a comparison that holds for none of the elements at hand
  std::map<uint32_t, std::vector<Pick>> picks_;  // by the stage at whose end they are known
};

}  // namespace tenon::codegen
