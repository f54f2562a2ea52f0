// Tile programs for reductions over outer axes: column sums.
//
// Where the elements of a row lie far apart and neighbouring rows lie together, a tile holds one element of many rows
// instead of many elements of one. Element r of every row is folded into lane r % kLanes of that row, and the lanes are
// joined in the same order as everywhere else: the bits do not depend on which of the two ways is taken.
//
// Where all that is done with an element has links, one chain takes it from memory into its lane: sums of squared
// differences over 64 coordinates, 1024 x 1024 of them, took four times as long one instruction after the other.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tenon/backends/cpu/bad_index.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/chain.h"
#include "tenon/backends/cpu/tile/program.h"
#include "tenon/backends/cpu/tile/tile.h"
#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/codegen/stages.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::cpu {
namespace {

using codegen::Scope;
using ir::IndexMap;
using ir::Instr;
using ir::Op;

struct AcrossInstr {
  Instr instr;
  bool strided = false;
  TileFn apply = nullptr;
  LoadFn load = nullptr;
  StoreFn store = nullptr;
  PickFn pick = nullptr;   // of a gather
  bool one_index = false;  // of a gather: for all rows
  // In stages that are chains:
  bool is_number = false;  // a load of one number for all rows of the tile
  bool in_place = false;   // a load of elements that lie side by side
  bool kept = false;       // of an apply: something but the next link reads the result
  std::array<LinkFn, kLinkForms> links = {};
};

constexpr int64_t kGrain = 1 << 17;  // element instructions, as for programs along rows
constexpr int64_t kWidest = 256, kWidestChained = 512;

class AcrossProgram : public TileProgram {
 public:
  explicit AcrossProgram(const ir::LoopNest& nest)
      : space_(nest.space), row_rank_(nest.row_rank), inner_(nest.row_rank - 1), row_size_(nest.row_size()) {
    for (const Instr& instr : nest.code) add(instr);
    codegen::Stages cut = codegen::stages(nest);
    for (AcrossInstr& across : code_) {
      if (across.pick) across.one_index = (cut.values[across.instr.args[0]].scope | Scope::column) == Scope::column;
    }
    constants_ = std::move(cut.constants);
    stages_ = std::move(cut.stages);
    outer_rows_ = nest.rows() / std::max<int64_t>(1, space_[inner_]);
    for (AcrossInstr& across : code_) {
      if (across.instr.kind != Instr::Kind::load || !across.strided || across.instr.dtype != DType::f32) continue;
      const ir::View& view = across.instr.map.views()[0];
      if (across.instr.per_row || view.strides.size() != space_.size()) continue;
      across.is_number = view.strides[inner_] == 0;
      across.in_place = view.strides[inner_] == 1;
    }
    for (const codegen::Stage& stage : stages_) is_chained_.push_back(becomes_chain(stage));
    has_chains_ = std::find(is_chained_.begin(), is_chained_.end(), true) != is_chained_.end();
  }

  void run(const Arguments& args) const override {
    const int64_t rows = space_[inner_];
    if (rows == 0 || outer_rows_ == 0) return;
    // Narrow enough to give every thread a few blocks, wide enough to pay for the dispatch.
    const int64_t threads = base::num_threads();
    const int64_t share = (rows * outer_rows_ + 2 * threads - 1) / (2 * threads);
    const int64_t widest = std::min(has_chains_ ? kWidestChained : kWidest, base::round_up(rows, 16));
    const int64_t width = std::min(std::max<int64_t>(base::round_up(share, 16), 32), widest);
    const int64_t blocks = (rows + width - 1) / width;
    const int64_t cost = std::min(rows, width) * row_size_ * static_cast<int64_t>(code_.size());
    FirstBadIndex bad;
    base::parallel_for(blocks * outer_rows_, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cost)),
                       [&](int64_t begin, int64_t end) {
                         Worker worker(*this, args, static_cast<size_t>(width), bad);
                         for (int64_t i = begin; i < end; ++i) {
                           const int64_t first = i % blocks * width;
                           worker.run_block(i / blocks, first, static_cast<size_t>(std::min(width, rows - first)));
                         }
                       });
    bad.require_none();
  }

 private:
  void add(const Instr& instr) {
    AcrossInstr across;
    across.instr = instr;
    if (instr.kind == Instr::Kind::load) across.load = tile_load(instr.dtype);
    if (instr.kind == Instr::Kind::gather) {
      across.load = tile_load(instr.dtype);
      across.pick = tile_pick(instr.dtype, code_[instr.args[0]].instr.dtype);
    }
    if (instr.kind == Instr::Kind::reduce) ++folds_;
    if (instr.kind == Instr::Kind::store) across.store = tile_store(instr.dtype);
    if (instr.kind == Instr::Kind::reduce) across.apply = tile_function(folding(instr.op), accumulator(instr.dtype));
    if (instr.kind == Instr::Kind::apply) {
      across.apply = tile_instruction(instr.op, code_[instr.args.back()].instr.dtype, instr.dtype);
    }
    across.strided = instr.map.is_strided();
    code_.push_back(std::move(across));
  }

  // Elements go from loads through what has links into sums. Nothing but a load may come from elsewhere.
  bool becomes_chain(const codegen::Stage& stage) {
    int links = 0;
    for (const uint32_t i : stage.per_element) {
      const Instr& instr = code_[i].instr;
      if (instr.kind == Instr::Kind::load) continue;
      const auto is_f32 = [&](uint32_t arg) { return code_[arg].instr.dtype == DType::f32; };
      const bool is_sum = instr.kind == Instr::Kind::reduce && instr.op == Op::sum;
      const bool is_apply = instr.kind == Instr::Kind::apply && instr.args.size() <= 2 &&
                            link_of(instr.op, instr.args.size() == 1 ? LinkForm::v : LinkForm::v_v) != nullptr;
      if (instr.dtype != DType::f32 || !std::all_of(instr.args.begin(), instr.args.end(), is_f32) ||
          !(is_sum || is_apply))
        return false;
      ++links;
    }
    if (links < 2 || stage.row_folds.empty()) return false;
    find_links(stage);
    return true;
  }

  void find_links(const codegen::Stage& stage) {
    uint32_t before = codegen::kNone;
    for (const uint32_t i : stage.per_element) {
      AcrossInstr& across = code_[i];
      if (across.instr.kind == Instr::Kind::load) continue;
      const auto& args = across.instr.args;
      if (across.instr.kind == Instr::Kind::apply) {
        for (size_t form = 0; form < kLinkForms; ++form)
          across.links[form] = link_of(across.instr.op, static_cast<LinkForm>(form));
      }
      // One operand at least has elements, in whatever stage it is read.
      if (std::all_of(args.begin(), args.end(), [&](uint32_t arg) { return code_[arg].is_number; }))
        code_[args[0]].is_number = false;
      if (before != codegen::kNone) {
        const bool is_next = std::find(args.begin(), args.end(), before) != args.end();
        code_[before].kept = code_[before].kept || !is_next || stage.last_reader[before] != i;
      }
      before = across.instr.kind == Instr::Kind::apply ? i : codegen::kNone;
    }
    if (before != codegen::kNone) code_[before].kept = true;
  }

  class Worker {
   public:
    Worker(const AcrossProgram& program, const Arguments& args, size_t width, FirstBadIndex& bad)
        : p_(program),
          buffers_(args.buffers),
          numbers_(args.numbers),
          bad_(bad),
          // Registers at equal offsets in different pages would evict each other.
          stride_(static_cast<size_t>(base::round_up(static_cast<int64_t>(width), whole_vectors())) * 8 + 64),
          memory_((program.code_.size() + program.folds_ * lanes_kept()) * stride_),
          index_(program.space_.size()) {
      size_t folds = 0;
      for (size_t i = 0; i < p_.code_.size(); ++i) {
        at_.push_back(reg(i));
        lanes_.push_back(p_.code_.size() + folds * lanes_kept());
        folds += p_.code_[i].instr.kind == Instr::Kind::reduce;
      }
    }

    void run_block(int64_t outer, int64_t first, size_t n) {
      n_ = n;
      row_ = outer * p_.space_[p_.inner_] + first;
      for (size_t axis = p_.inner_; axis-- > 0;) {
        index_[axis] = outer % p_.space_[axis];
        outer /= p_.space_[axis];
      }
      index_[p_.inner_] = first;
      const bool in_blocks = folds_in_blocks(p_.row_size_);
      for (const uint32_t i : p_.constants_) run_instr(i);
      for (size_t s = 0; s < p_.stages_.size(); ++s) {
        const codegen::Stage& stage = p_.stages_[s];
        for (const uint32_t i : stage.per_row) run_instr(i);
        for (const uint32_t i : stage.row_folds) start(i);
        std::fill(index_.begin() + static_cast<ptrdiff_t>(p_.row_rank_), index_.end(), 0);
        if (p_.is_chained_[s]) make_chain(stage);
        for (int64_t r = 0; r < p_.row_size_; ++r) {
          if (p_.is_chained_[s])
            run_chained(stage, static_cast<size_t>(r) % kLanes);
          else
            run_one_by_one(stage, static_cast<size_t>(r) % kLanes);
          if (in_blocks && (r + 1) % kBlock == 0) {
            for (const uint32_t i : stage.row_folds) end_block(i);
          }
          for (size_t axis = p_.space_.size(); axis-- > p_.row_rank_;) {
            if (++index_[axis] < p_.space_[axis]) break;
            index_[axis] = 0;
          }
        }
        for (const uint32_t i : stage.row_folds) {
          if (in_blocks) end_block(i);
          finish(i, in_blocks ? kLanes : 0);
        }
      }
    }

   private:
    static int64_t whole_vectors() { return static_cast<int64_t>(chain_width()); }
    std::byte* reg(size_t i) const { return memory_.data() + i * stride_; }
    std::byte* lane(size_t i, size_t l) const { return reg(lanes_[i] + l); }

    // A short row leaves lanes without elements, which change nothing.
    size_t lanes_used() const { return std::clamp<size_t>(static_cast<size_t>(p_.row_size_), 1, kLanes); }
    size_t lanes_kept() const { return folds_in_blocks(p_.row_size_) ? 2 * kLanes : lanes_used(); }
    void start(size_t i) { start(i, 0, lanes_kept()); }
    void start(size_t i, size_t first, size_t last) {
      const Instr& instr = p_.code_[i].instr;
      ReduceState state;
      reduce_start(state, instr.op, instr.dtype);
      const LoadFn fill = tile_load(accumulator(instr.dtype));
      for (size_t l = first; l < last; ++l) fill(lane(i, l), state.lanes, 0, n_);
    }
    // The lanes of the blocks until now stand behind those of the block at hand.
    void end_block(size_t i) {
      for (size_t l = 0; l < kLanes; ++l) {
        const void* args[2] = {lane(i, kLanes + l), lane(i, l)};
        p_.code_[i].apply(lane(i, kLanes + l), args, n_);
      }
      start(i, 0, kLanes);
    }
    void fold(size_t i, size_t l) {
      const void* args[2] = {lane(i, l), reg(p_.code_[i].instr.args[0])};
      p_.code_[i].apply(lane(i, l), args, n_);
    }
    void finish(size_t i, size_t first) {
      const Instr& instr = p_.code_[i].instr;
      for (size_t apart = kLanes / 2; apart > 0; apart /= 2) {
        for (size_t l = 0; l < apart && l + apart < lanes_used(); ++l) {
          const void* args[2] = {lane(i, first + l), lane(i, first + l + apart)};
          p_.code_[i].apply(lane(i, first + l), args, n_);
        }
      }
      const void* args[1] = {lane(i, first)};
      if (accumulator(instr.dtype) == instr.dtype)
        std::memcpy(reg(i), lane(i, first), n_ * tile_element_size(instr.dtype));
      else
        tile_cast(accumulator(instr.dtype), instr.dtype)(reg(i), args, n_);
    }

    void run_one_by_one(const codegen::Stage& stage, size_t lane) {
      for (const uint32_t i : stage.per_element) {
        if (p_.code_[i].instr.kind == Instr::Kind::reduce)
          fold(i, lane);
        else
          run_instr(i);
      }
    }

    // Whole vectors, past the end of the tile: registers have room for that, what lies in place has not. The chain is
    // made for the first element of a row; for the others it reads and adds up elsewhere.
    void make_chain(const codegen::Stage& stage) {
      whole_ = static_cast<size_t>(base::round_up(static_cast<int64_t>(n_), whole_vectors()));
      chain_.clear();
      moving_.clear();
      in_vectors_ = codegen::kNone;
      for (const uint32_t i : stage.per_element) {
        const AcrossInstr& across = p_.code_[i];
        if (across.instr.kind == Instr::Kind::load) {
          if (across.is_number || (across.in_place && whole_ == n_))
            at_[i] = buffers_[across.instr.buffer] + position_of(across) * static_cast<int64_t>(sizeof(float));
          else
            at_[i] = reg(i);
        } else if (across.instr.kind == Instr::Kind::reduce) {
          go_on_with(across.instr.args[0]);
          add_link(links_.column_sum, codegen::kNone);
          moving_.push_back({static_cast<uint32_t>(chain_.size()) - 1, i, lane(i, 0), true});
        } else {
          add_apply(across);
          in_vectors_ = i;
          if (across.kept) chain_.push_back({links_.store, nullptr, reg(i)});
        }
      }
      chain_.push_back({links_.end});
    }

    void run_chained(const codegen::Stage& stage, size_t l) {
      for (const uint32_t i : stage.per_element) {
        if (p_.code_[i].instr.kind == Instr::Kind::load && at_[i] == reg(i)) run_instr(i);
      }
      for (const Moving& one : moving_) {
        Link& link = chain_[one.link];
        if (one.is_lane) {
          link.out = one.first + l * stride_;
        } else {
          const ir::View& view = p_.code_[one.instr].instr.map.views()[0];
          int64_t offset = 0;
          for (size_t axis = p_.row_rank_; axis < p_.space_.size(); ++axis) offset += index_[axis] * view.strides[axis];
          link.in = one.first + offset * static_cast<int64_t>(sizeof(float));
        }
      }
      run_chain(chain_.data(), 1, whole_);
    }

    // A link that reads the value, if it does.
    void add_link(LinkFn run, uint32_t i) {
      chain_.push_back({run, i == codegen::kNone ? nullptr : at_[i]});
      if (i != codegen::kNone && p_.code_[i].instr.kind == Instr::Kind::load && at_[i] != reg(i))
        moving_.push_back({static_cast<uint32_t>(chain_.size()) - 1, i, at_[i], false});
    }

    void go_on_with(uint32_t i) {
      if (in_vectors_ == i) return;
      add_link(links_.load, i);
      in_vectors_ = i;
    }

    void add_apply(const AcrossInstr& across) {
      const auto& args = across.instr.args;
      const auto add = [&](LinkForm form, uint32_t other) { add_link(across.links[static_cast<size_t>(form)], other); };
      const auto is_number = [&](size_t k) { return p_.code_[args[k]].is_number; };
      if (args.size() == 1) {
        go_on_with(args[0]);
        return add(LinkForm::v, codegen::kNone);
      }
      if (in_vectors_ != args[0] && in_vectors_ != args[1]) go_on_with(args[is_number(0) ? 1 : 0]);
      if (args[0] == args[1]) return add(LinkForm::v_v, codegen::kNone);
      if (in_vectors_ == args[0])
        add(is_number(1) ? LinkForm::v_number : LinkForm::v_elements, args[1]);
      else
        add(is_number(0) ? LinkForm::number_v : LinkForm::elements_v, args[0]);
    }

    void run_instr(size_t i) {
      const AcrossInstr& across = p_.code_[i];
      const Instr& instr = across.instr;
      switch (instr.kind) {
        case Instr::Kind::number: {
          const bool real = is_float(instr.dtype);
          tile_fill(reg(i), instr.dtype, real ? std::bit_cast<double>(instr.bits) : 0, static_cast<int64_t>(instr.bits),
                    n_);
          break;
        }
        case Instr::Kind::apply: {
          const void* args[3] = {};
          for (size_t k = 0; k < instr.args.size(); ++k) args[k] = reg(instr.args[k]);
          across.apply(reg(i), args, n_);
          break;
        }
        default: transfer(across, instr.kind == Instr::Kind::store ? reg(instr.args[0]) : reg(i)); break;
      }
    }

    // Of the first row of the tile, where strides describe the map.
    int64_t position_of(const AcrossInstr& across) const {
      const ir::View& view = across.instr.map.views()[0];
      int64_t position = view.offset;
      for (size_t axis = 0; axis < view.strides.size(); ++axis) position += index_[axis] * view.strides[axis];
      return position;
    }

    void transfer(const AcrossInstr& across, std::byte* tile) {
      const size_t rank = across.instr.map.shape().size();
      if (across.strided) {
        return piece(across, tile, position_of(across), across.instr.map.views()[0].strides[p_.inner_], n_);
      }
      const size_t element = tile_element_size(across.instr.dtype);
      Dims at(index_.begin(), index_.begin() + static_cast<ptrdiff_t>(rank));
      for (size_t k = 0; k < n_; ++k) {
        const int64_t where = across.instr.map.locate({at.data(), at.size()});
        if (where != IndexMap::kPadding)
          piece(across, tile + k * element, where, 1, 1);
        else if (across.instr.kind != Instr::Kind::store)
          std::memset(tile + k * element, 0, element);
        ++at[p_.inner_];
      }
    }

    void piece(const AcrossInstr& across, std::byte* tile, int64_t position, int64_t stride, size_t n) {
      const Instr& instr = across.instr;
      const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
      switch (instr.kind) {
        case Instr::Kind::load: across.load(tile, buffers_[instr.buffer] + position * bytes, stride, n); break;
        case Instr::Kind::store: across.store(buffers_[instr.buffer] + position * bytes, stride, tile, n); break;
        case Instr::Kind::gather: look_up(across, tile, position, stride, n); break;
        case Instr::Kind::ramp: tile_ramp(tile, instr.dtype, position, stride, n); break;
        case Instr::Kind::valid: std::memset(tile, 1, n); break;
        default: {
          int64_t state[2];
          std::memcpy(state, buffers_[instr.buffer], sizeof(state));
          const uint64_t start =
              static_cast<uint64_t>(state[1]) + numbers_[instr.bits] + static_cast<uint64_t>(position);
          for (size_t k = 0; k < n; ++k) {
            const uint32_t word =
                ir::philox_word(static_cast<uint64_t>(state[0]), start + static_cast<uint64_t>(stride) * k);
            std::memcpy(tile + 4 * k, &word, 4);
          }
        }
      }
    }

    // `tile` is a place in the result's register: element k of it has index k. A bad index gives 0 and is told at the
    // end of the run.
    void look_up(const AcrossInstr& across, std::byte* tile, int64_t position, int64_t step, size_t n) {
      const Instr& instr = across.instr;
      const auto i = static_cast<size_t>(&across - p_.code_.data());
      const size_t first = static_cast<size_t>(tile - reg(i)) / tile_element_size(instr.dtype);
      const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
      const std::byte* from = buffers_[instr.buffer] + position * bytes;
      const auto index_of = [&](size_t k) -> int64_t {
        const std::byte* indices = reg(instr.args[0]);
        if (p_.code_[instr.args[0]].instr.dtype == DType::i64) return reinterpret_cast<const int64_t*>(indices)[k];
        return reinterpret_cast<const int32_t*>(indices)[k];
      };
      const auto is_inside = [&](int64_t index) { return static_cast<uint64_t>(index) < instr.bits; };
      if (across.one_index && is_inside(index_of(first)))
        return across.load(tile, from + index_of(first) * instr.stride * bytes, step, n);
      const std::byte* indices = reg(instr.args[0]) + first * size_of(p_.code_[instr.args[0]].instr.dtype);
      if (across.pick(tile, from, step, indices, instr.stride, static_cast<int64_t>(instr.bits), n)) return;
      for (size_t k = first; k < first + n; ++k) {
        if (!is_inside(index_of(k))) return tell_bad(i, k, index_of(k));
      }
    }

    void tell_bad(size_t i, size_t row, int64_t index) {
      const Instr& instr = p_.code_[i].instr;
      int64_t position = row_ + static_cast<int64_t>(row);
      for (size_t axis = p_.row_rank_; axis < p_.space_.size(); ++axis)
        position = position * p_.space_[axis] + (instr.per_row ? 0 : index_[axis]);
      bad_.found(static_cast<uint32_t>(i), position, {index, instr.axis, static_cast<int64_t>(instr.bits), instr.use});
    }

    const AcrossProgram& p_;
    std::span<std::byte* const> buffers_;
    std::span<const uint64_t> numbers_;
    FirstBadIndex& bad_;
    int64_t row_ = 0;  // the first of the block
    size_t stride_, n_ = 0;
    const Scratch memory_;                 // registers, and behind them the lanes of all folds
    base::SmallVector<size_t, 32> lanes_;  // of a fold: where its lanes begin
    Dims index_;
    base::SmallVector<std::byte*, 32> at_;  // where the elements of a value lie, or its number
    base::SmallVector<Link, 32> chain_;
    // A link whose operand lies elsewhere for every element of a row, and where it lies for the first one.
    struct Moving {
      uint32_t link, instr;
      std::byte* first;
      bool is_lane;
    };
    base::SmallVector<Moving, 8> moving_;
    size_t whole_ = 0;                      // elements of the tile in whole vectors
    uint32_t in_vectors_ = codegen::kNone;  // the value that the chain has in vectors at its end
    struct {
      LinkFn load = link_load(), store = link_store(), column_sum = link_column_sum(), end = link_end();
    } links_;
  };

  Dims space_;
  size_t row_rank_, inner_;
  int64_t row_size_, outer_rows_ = 0;
  size_t folds_ = 0;
  std::vector<AcrossInstr> code_;
  std::vector<uint32_t> constants_;
  std::vector<codegen::Stage> stages_;
  std::vector<bool> is_chained_;  // by stage
  bool has_chains_ = false;
};

}  // namespace

bool better_across(const ir::LoopNest& nest) {
  if (!nest.in_place.empty() || nest.row_rank == 0 || nest.row_rank == nest.space.size() ||
      nest.space[nest.row_rank - 1] < 8)
    return false;
  int along_row = 0, across = 0, reductions = 0;
  for (const Instr& instr : nest.code) {
    if (instr.per_column) return false;
    reductions += instr.kind == Instr::Kind::reduce;
    const bool reaches_memory =
        instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::gather || instr.kind == Instr::Kind::store;
    if (instr.per_row || !reaches_memory || !instr.map.is_strided()) continue;
    const ir::View& view = instr.map.views()[0];
    along_row += view.strides.back() == 1;
    across += view.strides[nest.row_rank - 1] == 1;
  }
  return reductions > 0 && across > along_row;
}

std::unique_ptr<TileProgram> compile_across(const ir::LoopNest& nest) { return std::make_unique<AcrossProgram>(nest); }

}  // namespace tenon::backends::cpu
