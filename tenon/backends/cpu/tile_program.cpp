// Compiles and interprets tile programs.
//
// A row is walked in tiles of kTile elements. What a reduction needs is computed in one stage, what needs the
// reduction's result in a later one; a row that fits one tile keeps its registers between stages, a longer one
// recomputes. Per-row values are one-element tiles, spread over a register where an element instruction reads them.

#include "tenon/backends/cpu/tile_program.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tenon/backends/cpu/tile.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::cpu {
namespace {

using ir::IndexMap;
using ir::Instr;
using ir::Op;

constexpr uint32_t kNone = ~0u;

// Where an instruction's memory lies: strides over the space, or the map itself when strides do not tell.
struct Place {
  bool strided = false;
  ir::View view;
  IndexMap map;
};

struct Step {
  Instr::Kind kind = Instr::Kind::apply;
  Op op = Op::add;
  DType dtype = DType::f32;
  bool per_row = false;
  uint32_t instr = 0;                   // index in the nest
  uint32_t out = kNone;                 // register, or scalar when per_row
  base::SmallVector<uint32_t, 3> args;  // registers, or scalars when per_row
  TileFn apply = nullptr;
  LoadFn load = nullptr;
  StoreFn store = nullptr;
  uint32_t buffer = 0;
  uint32_t place = kNone;
  uint64_t bits = 0;
};

struct Splat {
  uint32_t scalar, reg;
  DType dtype;
};

struct Stage {
  std::vector<Step> row_steps;   // once per row, before the tiles
  std::vector<Splat> splats;     // row values spread over registers
  std::vector<Step> tile_steps;  // once per tile
  std::vector<Step> reductions;  // folded per tile, finished per row
};

// ---- compilation ----

class Builder {
 public:
  explicit Builder(const ir::LoopNest& nest) : nest_(nest), one_tile_(nest.row_size() <= static_cast<int64_t>(kTile)) {}

  std::vector<Stage> stages;
  std::vector<Place> places;
  uint32_t registers = 0;
  uint32_t scalars = 0;

  void run() {
    find_depths();
    scalars = static_cast<uint32_t>(nest_.code.size());  // one slot per instruction: they are 8 bytes each
    size_t last = 0;
    for (size_t i = 0; i < nest_.code.size(); ++i) last = std::max(last, depth_[i]);
    std::vector<uint32_t> persistent(nest_.code.size(), kNone);
    for (size_t stage = 0; stage <= last; ++stage) add_stage(stage, persistent);
  }

 private:
  // The stage in which a value is known: a reduction's is one behind that of what it folds.
  void find_depths() {
    depth_.resize(nest_.code.size());
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      for (uint32_t arg : nest_.code[i].args) depth_[i] = std::max(depth_[i], depth_[arg]);
      if (nest_.code[i].kind == Instr::Kind::reduce) ++depth_[i];
    }
  }

  bool folds_in(size_t i, size_t stage) const {
    return nest_.code[i].kind == Instr::Kind::reduce && depth_[i] == stage + 1;
  }

  void add_stage(size_t stage, std::vector<uint32_t>& persistent) {
    const size_t n = nest_.code.size();
    std::vector<bool> needed(n, false);
    for (size_t i = n; i-- > 0;) {
      const Instr& instr = nest_.code[i];
      const bool target =
          folds_in(i, stage) || (instr.kind == Instr::Kind::store && !instr.per_row && depth_[i] == stage);
      if (!target && !needed[i]) continue;
      if (!target && instr.per_row) continue;
      if (!target && one_tile_ && persistent[i] != kNone) continue;
      for (uint32_t arg : instr.args) needed[arg] = true;
    }
    Stage made;
    // Registers of this stage: a fresh numbering per stage for long rows, one numbering for all stages otherwise.
    uint32_t next = one_tile_ ? registers : 0;
    std::vector<uint32_t> reg = one_tile_ ? persistent : std::vector<uint32_t>(n, kNone);
    std::vector<size_t> last_use = one_tile_ ? std::vector<size_t>() : last_uses(needed, stage);
    std::vector<uint32_t> free;
    const auto take = [&] {
      if (free.empty()) return next++;
      const uint32_t r = free.back();
      free.pop_back();
      return r;
    };
    // Spread row values stay for the whole stage.
    std::vector<uint32_t> spread(n, kNone);
    const auto element_arg = [&](uint32_t arg) {
      if (!nest_.code[arg].per_row) return reg[arg];
      if (spread[arg] == kNone) {
        spread[arg] = next++;
        made.splats.push_back({arg, spread[arg], nest_.code[arg].dtype});
      }
      return spread[arg];
    };
    for (size_t i = 0; i < n; ++i) {
      const Instr& instr = nest_.code[i];
      if (instr.per_row && instr.kind != Instr::Kind::reduce) {
        if (depth_[i] == stage) made.row_steps.push_back(step_of(i, static_cast<uint32_t>(i), instr.args));
        continue;
      }
      const bool stores = instr.kind == Instr::Kind::store && depth_[i] == stage;
      if (!folds_in(i, stage) && !stores &&
          (!needed[i] || (one_tile_ && persistent[i] != kNone) || instr.kind == Instr::Kind::reduce))
        continue;
      base::SmallVector<uint32_t, 3> args;
      for (uint32_t arg : instr.args) args.push_back(element_arg(arg));
      if (folds_in(i, stage)) {
        Step fold = step_of(i, static_cast<uint32_t>(i), args);
        made.tile_steps.push_back(fold);
        made.reductions.push_back(fold);
      } else if (stores) {
        made.tile_steps.push_back(step_of(i, kNone, args));
      } else {
        reg[i] = take();
        made.tile_steps.push_back(step_of(i, reg[i], args));
      }
      if (one_tile_) continue;
      for (uint32_t arg : instr.args) {
        if (!nest_.code[arg].per_row && last_use[arg] == i &&
            std::find(free.begin(), free.end(), reg[arg]) == free.end()) {
          free.push_back(reg[arg]);
        }
      }
    }
    if (one_tile_) persistent = reg;
    registers = std::max(registers, next);
    stages.push_back(std::move(made));
  }

  std::vector<size_t> last_uses(const std::vector<bool>& needed, size_t stage) const {
    std::vector<size_t> last(nest_.code.size(), 0);
    for (size_t i = 0; i < nest_.code.size(); ++i) {
      const Instr& instr = nest_.code[i];
      const bool runs = needed[i] || folds_in(i, stage) || (instr.kind == Instr::Kind::store && depth_[i] == stage);
      if (!runs || (instr.per_row && instr.kind != Instr::Kind::reduce)) continue;
      for (uint32_t arg : instr.args) last[arg] = i;
    }
    return last;
  }

  Step step_of(size_t i, uint32_t out, const base::SmallVector<uint32_t, 3>& args) {
    const Instr& instr = nest_.code[i];
    Step step;
    step.kind = instr.kind;
    step.op = instr.op;
    step.dtype = instr.dtype;
    step.per_row = instr.per_row;
    step.instr = static_cast<uint32_t>(i);
    step.out = out;
    step.args = args;
    step.buffer = instr.buffer;
    step.bits = instr.bits;
    switch (instr.kind) {
      case Instr::Kind::load: step.load = tile_load(instr.dtype); break;
      case Instr::Kind::store: step.store = tile_store(instr.dtype); break;
      case Instr::Kind::apply: step.apply = function_of(instr); break;
      default: break;
    }
    const bool mapped =
        instr.kind != Instr::Kind::apply && instr.kind != Instr::Kind::number && instr.kind != Instr::Kind::reduce;
    if (mapped) {
      step.place = static_cast<uint32_t>(places.size());
      places.push_back({instr.map.views().size() == 1, instr.map.views()[0], instr.map});
    }
    return step;
  }

  TileFn function_of(const Instr& instr) const {
    const DType operand = nest_.code[instr.args.back()].dtype;
    const TileFn made = instr.op == Op::cast      ? tile_cast(operand, instr.dtype)
                        : instr.op == Op::bitcast ? tile_bitcast(operand, instr.dtype)
                                                  : tile_function(instr.op, operand);
    if (!made) base::fail(ir::name(instr.op), "the cpu device has no such instruction on {}", tenon::name(operand));
    return made;
  }

  const ir::LoopNest& nest_;
  const bool one_tile_;
  std::vector<size_t> depth_;
};

// ---- execution ----

class Program : public TileProgram {
 public:
  explicit Program(const ir::LoopNest& nest)
      : space_(nest.space), row_rank_(nest.row_rank), rows_(nest.rows()), row_size_(nest.row_size()) {
    Builder builder(nest);
    builder.run();
    stages_ = std::move(builder.stages);
    places_ = std::move(builder.places);
    registers_ = builder.registers;
    scalars_ = builder.scalars;
    for (const Stage& stage : stages_) reduces_ = reduces_ || !stage.reductions.empty();
    cost_per_element_ = static_cast<int64_t>(nest.code.size()) + 1;
  }

  void run(std::span<std::byte* const> buffers) const override {
    if (rows_ == 0) return;
    const int64_t tiles =
        std::max<int64_t>(1, (row_size_ + static_cast<int64_t>(kTile) - 1) / static_cast<int64_t>(kTile));
    // About 30 microseconds of work per piece: less is not worth a second thread.
    const int64_t unit = reduces_ ? row_size_ : std::min<int64_t>(row_size_, kTile);
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / std::max<int64_t>(1, unit * cost_per_element_));
    if (reduces_) {
      base::parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
        Worker worker(*this, buffers);
        for (int64_t row = begin; row < end; ++row) worker.run_row(row, 0, row_size_);
      });
      return;
    }
    base::parallel_for(rows_ * tiles, grain, [&](int64_t begin, int64_t end) {
      Worker worker(*this, buffers);
      while (begin < end) {
        const int64_t row = begin / tiles, first = begin % tiles, count = std::min(end - begin, tiles - first);
        worker.run_row(row, first * static_cast<int64_t>(kTile),
                       std::min(row_size_, (first + count) * static_cast<int64_t>(kTile)));
        begin += count;
      }
    });
  }

 private:
  // One thread's registers.
  class Worker {
   public:
    Worker(const Program& program, std::span<std::byte* const> buffers)
        : p_(program),
          buffers_(buffers),
          memory_(program.registers_ * kTileBytes + 64),
          scalars_(program.scalars_ * 8),
          states_(program.scalars_),
          row_index_(program.row_rank_) {
      auto address = reinterpret_cast<uintptr_t>(memory_.data());
      registers_ = memory_.data() + (64 - address % 64) % 64;
    }

    void run_row(int64_t row, int64_t begin, int64_t end) {
      int64_t rest = row;
      for (size_t axis = p_.row_rank_; axis-- > 0;) {
        row_index_[axis] = rest % p_.space_[axis];
        rest /= p_.space_[axis];
      }
      for (const Stage& stage : p_.stages_) {
        for (const Step& step : stage.row_steps) run_row_step(step);
        const auto width = static_cast<size_t>(std::min<int64_t>(end - begin, kTile));
        for (const Splat& splat : stage.splats) spread(splat, width);
        for (const Step& step : stage.reductions) reduce_start(states_[step.instr], step.op, step.dtype);
        for (int64_t at = begin; at < end; at += static_cast<int64_t>(kTile)) {
          const auto n = static_cast<size_t>(std::min<int64_t>(end - at, kTile));
          for (const Step& step : stage.tile_steps) run_tile_step(step, at, n);
        }
        for (const Step& step : stage.reductions)
          reduce_finish(states_[step.instr], step.op, step.dtype, scalar(step.out));
      }
    }

   private:
    std::byte* reg(uint32_t r) { return registers_ + r * kTileBytes; }
    std::byte* scalar(uint32_t s) { return scalars_.data() + s * size_t{8}; }

    void spread(const Splat& splat, size_t n) {
      std::byte* to = reg(splat.reg);
      const std::byte* from = scalar(splat.scalar);
      switch (tile_element_size(splat.dtype)) {
        case 1: std::memset(to, static_cast<int>(*from), n); break;
        case 4: fill<uint32_t>(to, from, n); break;
        default: fill<uint64_t>(to, from, n); break;
      }
    }
    template <typename T>
    static void fill(std::byte* to, const std::byte* from, size_t n) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      std::fill_n(reinterpret_cast<T*>(to), n, value);
    }

    void run_row_step(const Step& step) {
      switch (step.kind) {
        case Instr::Kind::number: {
          const bool real = is_float(step.dtype);
          tile_fill(scalar(step.out), step.dtype, real ? std::bit_cast<double>(step.bits) : 0,
                    static_cast<int64_t>(step.bits), 1);
          break;
        }
        case Instr::Kind::apply: {
          const void* args[3] = {};
          for (size_t i = 0; i < step.args.size(); ++i) args[i] = scalar(step.args[i]);
          step.apply(scalar(step.out), args, 1);
          break;
        }
        case Instr::Kind::store: access(step, scalar(step.args[0]), 0, 1); break;
        default: access(step, scalar(step.out), 0, 1); break;
      }
    }

    void run_tile_step(const Step& step, int64_t at, size_t n) {
      switch (step.kind) {
        case Instr::Kind::apply: {
          const void* args[3] = {};
          for (size_t i = 0; i < step.args.size(); ++i) args[i] = reg(step.args[i]);
          step.apply(reg(step.out), args, n);
          break;
        }
        case Instr::Kind::reduce: reduce_tile(states_[step.instr], step.op, step.dtype, reg(step.args[0]), n); break;
        case Instr::Kind::store: access(step, reg(step.args[0]), at, n); break;
        default: access(step, reg(step.out), at, n); break;
      }
    }

    // Loads, stores and the rest of what has a map: in runs along the last axis of the space.
    void access(const Step& step, std::byte* tile, int64_t at, size_t n) {
      const Place& place = p_.places_[step.place];
      const size_t element = tile_element_size(step.dtype);
      if (!place.strided) {
        for (size_t i = 0; i < n; ++i) one(step, place, tile + i * element, at + static_cast<int64_t>(i));
        return;
      }
      if (step.per_row || p_.space_.size() - p_.row_rank_ <= 1) {
        run_along(step, place, tile, row_offset(place.view), at, n, row_valid(place.view));
        return;
      }
      const int64_t width = p_.space_.back();
      while (n > 0) {  // several element axes: cut at the end of the innermost
        const int64_t column = at % width;
        const auto run = static_cast<size_t>(std::min<int64_t>(width - column, static_cast<int64_t>(n)));
        int64_t rest = at / width, offset = row_offset(place.view);
        bool valid = row_valid(place.view);
        for (size_t axis = p_.space_.size() - 1; axis-- > p_.row_rank_;) {
          const int64_t index = rest % p_.space_[axis];
          rest /= p_.space_[axis];
          offset += index * place.view.strides[axis];
          valid = valid && inside(place.view, axis, index);
        }
        run_along(step, place, tile, offset, column, run, valid);
        tile += run * element;
        at += static_cast<int64_t>(run);
        n -= run;
      }
    }

    static bool inside(const ir::View& view, size_t axis, int64_t index) {
      return !view.masked() || (index >= view.valid_from[axis] && index < view.valid_to[axis]);
    }
    int64_t row_offset(const ir::View& view) const {
      int64_t offset = view.offset;
      for (size_t axis = 0; axis < p_.row_rank_; ++axis) offset += row_index_[axis] * view.strides[axis];
      return offset;
    }
    bool row_valid(const ir::View& view) const {
      for (size_t axis = 0; axis < p_.row_rank_; ++axis) {
        if (!inside(view, axis, row_index_[axis])) return false;
      }
      return true;
    }

    // Elements column..column+n-1 along the last axis, padding cut off at both ends.
    void run_along(const Step& step, const Place& place, std::byte* tile, int64_t offset, int64_t column, size_t n,
                   bool valid) {
      const ir::View& view = place.view;
      const bool has_last = !step.per_row && p_.space_.size() > p_.row_rank_;
      const int64_t stride = has_last ? view.strides.back() : 0;
      int64_t from = column, to = column + static_cast<int64_t>(n);
      if (!valid)
        to = from;
      else if (has_last && view.masked()) {
        from = std::clamp(view.valid_from.back(), column, to);
        to = std::clamp(view.valid_to.back(), from, to);
      }
      const size_t element = tile_element_size(step.dtype);
      const auto before = static_cast<size_t>(from - column), inner = static_cast<size_t>(to - from);
      if (inner < n && step.kind != Instr::Kind::store) std::memset(tile, 0, n * element);
      if (inner > 0) piece(step, tile + before * element, offset + from * stride, stride, inner);
    }

    void piece(const Step& step, std::byte* tile, int64_t position, int64_t stride, size_t n) {
      const auto bytes = static_cast<int64_t>(size_of(step.dtype));
      switch (step.kind) {
        case Instr::Kind::load: step.load(tile, buffers_[step.buffer] + position * bytes, stride, n); break;
        case Instr::Kind::store: step.store(buffers_[step.buffer] + position * bytes, stride, tile, n); break;
        case Instr::Kind::ramp: tile_ramp(tile, step.dtype, position, stride, n); break;
        case Instr::Kind::valid: std::memset(tile, 1, n); break;
        default: random(step, tile, position, stride, n); break;
      }
    }

    void random(const Step& step, std::byte* tile, int64_t position, int64_t stride, size_t n) {
      int64_t state[2];
      std::memcpy(state, buffers_[step.buffer], sizeof(state));
      const auto seed = static_cast<uint64_t>(state[0]);
      const uint64_t start = static_cast<uint64_t>(state[1]) + step.bits + static_cast<uint64_t>(position);
      if (stride == 1) return tile_philox(tile, seed, start, n);
      for (size_t i = 0; i < n; ++i) {
        const uint32_t word = ir::philox_word(seed, start + static_cast<uint64_t>(stride) * i);
        std::memcpy(tile + 4 * i, &word, 4);
      }
    }

    // One element through a map that strides do not describe.
    void one(const Step& step, const Place& place, std::byte* tile, int64_t position) {
      index_.resize(place.map.shape().size());
      int64_t rest = position;
      for (size_t axis = index_.size(); axis-- > p_.row_rank_;) {
        index_[axis] = rest % p_.space_[axis];
        rest /= p_.space_[axis];
      }
      std::copy_n(row_index_.begin(), p_.row_rank_, index_.begin());
      const int64_t where = place.map.locate({index_.data(), index_.size()});
      if (where != IndexMap::kPadding) return piece(step, tile, where, 1, 1);
      if (step.kind != Instr::Kind::store) std::memset(tile, 0, tile_element_size(step.dtype));
    }

    const Program& p_;
    std::span<std::byte* const> buffers_;
    std::vector<std::byte> memory_;
    std::byte* registers_ = nullptr;
    std::vector<std::byte> scalars_;
    std::vector<ReduceState> states_;
    Dims row_index_, index_;
  };

  Dims space_;
  size_t row_rank_;
  int64_t rows_, row_size_;
  std::vector<Stage> stages_;
  std::vector<Place> places_;
  uint32_t registers_ = 0, scalars_ = 0;
  bool reduces_ = false;
  int64_t cost_per_element_ = 1;
};

}  // namespace

std::unique_ptr<TileProgram> compile_tiles(const ir::LoopNest& nest) {
  if (better_across(nest)) return compile_across(nest);
  return std::make_unique<Program>(nest);
}

}  // namespace tenon::backends::cpu
