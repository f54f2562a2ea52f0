// Runs tile programs: rows, or tiles of rows, are shared among threads, and each thread interprets the steps of
// tile_build.cpp on its own registers. Per-row values are one-element tiles, spread over a register where an element
// instruction reads them.

#include "tenon/backends/cpu/tile_program.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tenon/backends/cpu/call_scratch.h"
#include "tenon/backends/cpu/tile_build.h"
#include "tenon/base/parallel.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::cpu {
namespace {

using ir::IndexMap;
using ir::Instr;

constexpr int64_t kGrain = 1 << 17;  // element instructions: about 30 µs, less is not worth a second thread
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kFetchedAhead = 8192;  // elements of a row that are fetched while the row before is worked on

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Program : public TileProgram {
 public:
  explicit Program(const ir::LoopNest& nest)
      : code_(build_tiles(nest)),
        space_(nest.space),
        row_rank_(nest.row_rank),
        rows_(nest.rows()),
        row_size_(nest.row_size()),
        cost_per_element_(static_cast<int64_t>(nest.code.size()) + 1),
        chain_width_(chain_width()) {}

  void run(std::span<std::byte* const> buffers) const override {
    if (!code_.columns.empty()) return run_with_columns(buffers);
    if (rows_ == 0) return;
    if (const int64_t together = code_.rows_per_tile; together > 1) {
      base::parallel_for(ceil_div(rows_, together), grain_of(code_.tile), [&](int64_t begin, int64_t end) {
        Worker worker(*this, buffers);
        worker.run_rows(begin * together, std::min(rows_, end * together));
      });
      return;
    }
    if (code_.folds > 0) {
      base::parallel_for(rows_, grain_of(row_size_), [&](int64_t begin, int64_t end) {
        Worker worker(*this, buffers);
        for (int64_t row = begin; row < end; ++row) worker.run_row(row, 0, row_size_);
      });
      return;
    }
    const int64_t tiles = std::max<int64_t>(1, ceil_div(row_size_, code_.tile));
    base::parallel_for(rows_ * tiles, grain_of(std::min(row_size_, code_.tile)), [&](int64_t begin, int64_t end) {
      Worker worker(*this, buffers);
      while (begin < end) {
        const int64_t row = begin / tiles, first = begin % tiles, count = std::min(end - begin, tiles - first);
        worker.run_row(row, first * code_.tile, std::min(row_size_, (first + count) * code_.tile));
        begin += count;
      }
    });
  }

 private:
  int64_t grain_of(int64_t elements) const {
    return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements * cost_per_element_));
  }

  // Blocks of rows fold into rows of partial results, which are folded at the end. Without row reductions a block is
  // shared out along its rows too.
  void run_with_columns(std::span<std::byte* const> buffers) const {
    const int64_t block = ir::column_block(rows_), blocks = ceil_div(rows_, block);
    const int64_t tiles = ceil_div(row_size_, code_.tile);
    int64_t strips = 1;
    const bool small = rows_ * row_size_ * cost_per_element_ < 2 * kGrain;
    if (code_.folds == 0 && !small)
      strips = std::clamp<int64_t>(ceil_div(kTasksPerThread * base::num_threads(), blocks), 1, tiles);
    const Scratch partials(code_.columns.size() * static_cast<size_t>(blocks) * partial_bytes());
    const auto fold_block = [&](int64_t task) {
      const int64_t at = task / strips, strip = task % strips;
      const int64_t begin = tiles * strip / strips * code_.tile;
      const int64_t end = std::min(row_size_, tiles * (strip + 1) / strips * code_.tile);
      Worker worker(*this, buffers);
      worker.start_columns(partials.data() + static_cast<size_t>(at) * partial_bytes(),
                           static_cast<size_t>(blocks) * partial_bytes(), begin, end);
      const int64_t last = std::min(rows_, (at + 1) * block);
      if (code_.rows_per_tile > 1) return worker.run_rows(at * block, last);
      for (int64_t row = at * block; row < last; ++row) worker.run_row(row, begin, end);
    };
    if (small)
      for (int64_t i = 0; i < blocks * strips; ++i) fold_block(i);
    else
      base::parallel_tasks(blocks * strips, fold_block);
    for (size_t column = 0; column < code_.columns.size(); ++column) {
      const std::byte* first = partials.data() + column * static_cast<size_t>(blocks) * partial_bytes();
      base::parallel_for(row_size_, kGrain / (blocks + 1), [&](int64_t begin, int64_t end) {
        finish_column(code_.columns[column], first, blocks, begin, end, buffers);
      });
    }
  }

  size_t partial_bytes() const { return (static_cast<size_t>(row_size_) * 8 + 63) / 64 * 64; }

  void finish_column(const Column& column, const std::byte* partials, int64_t blocks, int64_t begin, int64_t end,
                     std::span<std::byte* const> buffers) const {
    const DType wide = accumulator(column.dtype);
    const size_t element = tile_element_size(wide);
    alignas(64) std::byte sum[kTileBytes], rounded[kTileBytes];
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(kTile)) {
      const auto n = static_cast<size_t>(std::min<int64_t>(end - at, kTile));
      const std::byte* from = partials + static_cast<size_t>(at) * element;
      std::memcpy(sum, from, n * element);
      for (int64_t b = 1; b < blocks; ++b) {
        const void* args[2] = {sum, from + static_cast<size_t>(b) * partial_bytes()};
        column.fold(sum, args, n);
      }
      const void* made = sum;
      if (wide != column.dtype) {
        tile_cast(wide, column.dtype)(rounded, &made, n);
        made = rounded;
      }
      tile_store(column.dtype)(buffers[column.buffer] + static_cast<size_t>(at) * size_of(column.dtype), 1, made, n);
    }
  }

  // One thread's registers.
  class Worker {
   public:
    Worker(const Program& program, std::span<std::byte* const> buffers)
        : p_(program),
          buffers_(buffers),
          memory_(program.code_.registers * program.code_.register_bytes + program.code_.scalars * size_t{8} +
                  program.code_.folds * sizeof(ReduceState) + 64),
          row_index_(program.row_rank_) {
      states_ = reinterpret_cast<ReduceState*>(memory_.data());
      registers_ = memory_.data() + program.code_.folds * sizeof(ReduceState);
      scalars_ = registers_ + program.code_.registers * program.code_.register_bytes;
      for (uint32_t r = 0; r < program.code_.registers; ++r) at_.push_back(own(r));
      for (const Step& step : program.code_.once) run_row_step(step);
      const bool shares = program.code_.rows_per_tile > 1;
      const int64_t widest = shares ? program.code_.tile : std::max<int64_t>(program.row_size_, 1);
      const auto width = static_cast<size_t>(std::min(program.code_.tile, widest));
      for (const Splat& splat : program.code_.once_splats) spread(splat, width);
      for (const Step& step : program.code_.once_loads) repeat(step);
    }
    ~Worker() {
      if (p_.code_.streams) tile_fence();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Rows begin ... end - 1, several to a tile.
    void run_rows(int64_t begin, int64_t end) {
      const Stage& stage = p_.code_.stages[0];
      for (row_ = begin; row_ < end; row_ += p_.code_.rows_per_tile) {
        const auto n = static_cast<size_t>(std::min(end - row_, p_.code_.rows_per_tile) * p_.row_size_);
        run_tile(stage, 0, n);
      }
    }

    void run_row(int64_t row, int64_t begin, int64_t end) {
      go_to(row);
      const int64_t tile = p_.code_.tile;
      if (!p_.code_.ahead.empty() && end - begin <= kFetchedAhead) fetch_next_row(begin, end);
      for (const Stage& stage : p_.code_.stages) {
        for (const Step& step : stage.row_steps) run_row_step(step);
        const auto width = static_cast<size_t>(std::min<int64_t>(end - begin, tile));
        for (const Splat& splat : stage.splats) spread(splat, width);
        for (const Step& step : stage.folds) reduce_start(states_[step.out], step.op, step.dtype);
        for (int64_t at = begin; at < end; at += tile) {
          const auto n = static_cast<size_t>(std::min<int64_t>(end - at, tile));
          run_tile(stage, at, n);
        }
        for (const Step& step : stage.folds) reduce_finish(states_[step.out], step.op, step.dtype, scalar(step.scalar));
      }
    }

    /// Column c folds elements begin ... end - 1 of the rows to come into memory at partials + c * stride.
    void start_columns(std::byte* partials, size_t stride, int64_t begin, int64_t end) {
      for (size_t c = 0; c < p_.code_.columns.size(); ++c) {
        const Column& column = p_.code_.columns[c];
        const size_t element = tile_element_size(accumulator(column.dtype));
        columns_.push_back(partials + c * stride);
        ReduceState state;
        reduce_start(state, column.op, column.dtype);
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(columns_[c] + static_cast<size_t>(i) * element, state.lanes, element);
      }
    }

   private:
    std::byte* own(uint32_t r) { return registers_ + r * p_.code_.register_bytes; }
    std::byte* scalar(uint32_t s) { return scalars_ + s * size_t{8}; }

    void go_to(int64_t row) {
      for (size_t axis = p_.row_rank_; axis-- > 0;) {
        row_index_[axis] = row % p_.space_[axis];
        row /= p_.space_[axis];
      }
    }

    void run_tile(const Stage& stage, int64_t at, size_t n) {
      if (stage.chained && n % p_.chain_width_ == 0)
        run_chained(stage, at, n);
      else
        for (const Step& step : stage.tile_steps) run_tile_step(stage, step, at, n);
    }

    // One row of elements, as often as a tile has rows.
    void repeat(const Step& step) {
      std::byte* tile = own(step.out);
      const size_t row = static_cast<size_t>(p_.row_size_) * tile_element_size(step.dtype);
      go_to(0);
      access_row(step, tile, 0, static_cast<size_t>(p_.row_size_));
      for (int64_t i = 1; i < p_.code_.rows_per_tile; ++i) std::memcpy(tile + static_cast<size_t>(i) * row, tile, row);
    }

    // Memory and arithmetic would otherwise take turns: a row is read once, then worked on from the cache.
    void fetch_next_row(int64_t begin, int64_t end) {
      const size_t axis = p_.row_rank_ - 1;
      if (row_index_[axis] + 1 >= p_.space_[axis]) return;
      for (const Step& step : p_.code_.ahead) {
        const std::byte* here = address_of(step, begin, 1);
        if (!here) continue;
        const auto size = static_cast<int64_t>(size_of(step.dtype));
        const std::byte* next = here + p_.code_.places[step.place].view.strides[axis] * size;
        for (int64_t byte = 0; byte < (end - begin) * size; byte += 64) __builtin_prefetch(next + byte, 0, 2);
      }
    }

    void spread(const Splat& splat, size_t n) {
      std::byte* to = at_[splat.reg] = own(splat.reg);
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
        // One element, also where tiles hold several rows: access() would take a row.
        case Instr::Kind::store: access_row(step, scalar(step.args[0]), 0, 1); break;
        default: access_row(step, scalar(step.out), 0, 1); break;
      }
    }

    void run_tile_step(const Stage& stage, const Step& step, int64_t at, size_t n) {
      switch (step.kind) {
        case Instr::Kind::apply: {
          const void* args[3] = {};
          for (size_t i = 0; i < step.args.size(); ++i)
            args[i] = step.numbers >> i & 1 ? scalar(step.args[i]) : at_[step.args[i]];
          std::byte* direct =
              step.stored_by == kNoRegister ? nullptr : address_of(stage.tile_steps[step.stored_by], at, n);
          step.apply(at_[step.out] = direct ? direct : own(step.out), args, n);
          break;
        }
        case Instr::Kind::reduce: {
          if (!step.per_column) {
            reduce_tile(states_[step.out], step.op, step.dtype, at_[step.args[0]], n);
            break;
          }
          std::byte* sums = column_sums(step, at);
          const auto row = p_.code_.rows_per_tile > 1 ? static_cast<size_t>(p_.row_size_) : n;
          const std::byte* from = at_[step.args[0]];
          for (size_t done = 0; done < n; done += row, from += row * tile_element_size(step.dtype)) {
            const void* args[2] = {sums, from};
            p_.code_.columns[step.out].fold(sums, args, row);
          }
          break;
        }
        case Instr::Kind::store:
          if (step.stores_in_place && at_[step.args[0]] == address_of(step, at, n)) break;  // made there
          access(step, at_[step.args[0]], at, n);
          break;
        case Instr::Kind::load:
          if (std::byte* memory = step.loads_in_place ? address_of(step, at, n) : nullptr) {
            at_[step.out] = memory;
            break;
          }
          [[fallthrough]];
        default: access(step, at_[step.out] = own(step.out), at, n); break;
      }
    }

    std::byte* column_sums(const Step& step, int64_t at) {
      return columns_[step.out] + static_cast<size_t>(at) * tile_element_size(accumulator(step.dtype));
    }

    // Steps without links run in between. Links hold addresses, because a later step may use a register anew.
    void run_chained(const Stage& stage, int64_t at, size_t n) {
      for (const Step& step : stage.tile_steps) {
        if (step.chains) {
          add_links(stage, step, at, n);
        } else {
          finish_chain(n);
          run_tile_step(stage, step, at, n);
        }
      }
      finish_chain(n);
    }

    void finish_chain(size_t n) {
      if (!chain_.empty()) {
        chain_.push_back({p_.links_.end});
        run_chain(chain_.data(), n);
        chain_.clear();
      }
      at_hand_ = kNoRegister;
    }

    // The chain goes on with the elements of this register.
    void take_up(uint32_t reg) {
      if (at_hand_ == reg) return;
      chain_.push_back({p_.links_.load, at_[reg]});
      at_hand_ = reg;
    }

    void add_links(const Stage& stage, const Step& step, int64_t at, size_t n) {
      switch (step.kind) {
        case Instr::Kind::load:
          at_[step.out] = address_of(step, at, n);
          if (at_hand_ == step.out) at_hand_ = kNoRegister;
          break;
        case Instr::Kind::reduce:
          take_up(step.args[0]);
          if (step.per_column)
            chain_.push_back({p_.links_.column_sum, nullptr, column_sums(step, at)});
          else
            chain_.push_back({p_.links_.sum, nullptr, states_[step.out].lanes});
          break;
        case Instr::Kind::store: {
          std::byte* to = address_of(step, at, n);
          if (at_[step.args[0]] == to) break;  // made there
          take_up(step.args[0]);
          const bool streams = step.streams && reinterpret_cast<uintptr_t>(to) % 64 == 0;
          chain_.push_back({streams ? p_.links_.stream : p_.links_.store, nullptr, to});
          break;
        }
        default: {
          add_apply(step);
          at_hand_ = step.out;
          at_[step.out] = nullptr;
          if (!step.kept) break;
          std::byte* direct =
              step.stored_by == kNoRegister ? nullptr : address_of(stage.tile_steps[step.stored_by], at, n);
          at_[step.out] = direct ? direct : own(step.out);
          chain_.push_back({p_.links_.store, nullptr, at_[step.out]});
        }
      }
    }

    void add_apply(const Step& step) {
      const auto add = [&](LinkForm form, const std::byte* in) {
        chain_.push_back({step.links[static_cast<size_t>(form)], in});
      };
      const auto is_number = [&](size_t i) { return (step.numbers >> i & 1) != 0; };
      const auto is_at_hand = [&](size_t i) { return !is_number(i) && step.args[i] == at_hand_; };
      if (step.args.size() == 1) {
        take_up(step.args[0]);
        return add(LinkForm::v, nullptr);
      }
      if (!is_at_hand(0) && !is_at_hand(1)) take_up(step.args[is_number(0) ? 1 : 0]);
      if (is_at_hand(0) && is_at_hand(1)) return add(LinkForm::v_v, nullptr);
      const size_t other = is_at_hand(0) ? 1 : 0;
      const std::byte* in = is_number(other) ? scalar(step.args[other]) : at_[step.args[other]];
      if (other == 1)
        add(is_number(1) ? LinkForm::v_number : LinkForm::v_elements, in);
      else
        add(is_number(0) ? LinkForm::number_v : LinkForm::elements_v, in);
    }

    // Where a run of elements lies that has neither gaps nor padding; null for any other.
    std::byte* address_of(const Step& step, int64_t at, size_t n) {
      const Place& place = p_.code_.places[step.place];
      const ir::View& view = place.view;
      if (p_.code_.rows_per_tile > 1) {
        if (n == 0 || !place.dense) return nullptr;
        return buffers_[step.buffer] + shared_offset(view) * static_cast<int64_t>(size_of(step.dtype));
      }
      if (n == 0 || !place.strided || view.masked() || p_.space_.size() != p_.row_rank_ + 1 || view.strides.back() != 1)
        return nullptr;
      return buffers_[step.buffer] + (row_offset(view) + at) * static_cast<int64_t>(size_of(step.dtype));
    }

    // Where the rows of this tile begin in memory that holds the whole space.
    int64_t shared_offset(const ir::View& view) const { return view.offset + row_ * p_.row_size_; }

    void access(const Step& step, std::byte* tile, int64_t at, size_t n) {
      if (p_.code_.rows_per_tile == 1) return access_row(step, tile, at, n);
      const Place& place = p_.code_.places[step.place];
      if (place.dense) return piece(step, tile, shared_offset(place.view), 1, n);
      const auto row = static_cast<size_t>(p_.row_size_);
      for (size_t i = 0; i * row < n; ++i) {
        go_to(row_ + static_cast<int64_t>(i));
        access_row(step, tile + i * row * tile_element_size(step.dtype), 0, row);
      }
    }

    // Loads, stores and the rest of what has a map: in runs along the last axis of the space.
    void access_row(const Step& step, std::byte* tile, int64_t at, size_t n) {
      const Place& place = p_.code_.places[step.place];
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
    Scratch memory_;
    ReduceState* states_ = nullptr;
    std::byte *registers_ = nullptr, *scalars_ = nullptr;
    base::SmallVector<std::byte*, 48> at_;      // where the value of a register lies: in it, or in a buffer
    base::SmallVector<std::byte*, 4> columns_;  // partial results of the block at hand
    base::SmallVector<Link, 32> chain_;
    uint32_t at_hand_ = kNoRegister;  // the register whose elements the last link hands on
    Dims row_index_, index_;
    int64_t row_ = 0;  // the first of the tile, when rows share it
  };

  TileCode code_;
  Dims space_;
  size_t row_rank_;
  int64_t rows_, row_size_, cost_per_element_;
  size_t chain_width_;
  struct {
    LinkFn load = link_load(), store = link_store(), stream = link_stream(), sum = link_sum();
    LinkFn column_sum = link_column_sum(), end = link_end();
  } links_;
};

}  // namespace

std::unique_ptr<TileProgram> compile_tiles(const ir::LoopNest& nest) {
  if (better_across(nest)) return compile_across(nest);
  return std::make_unique<Program>(nest);
}

}  // namespace tenon::backends::cpu
