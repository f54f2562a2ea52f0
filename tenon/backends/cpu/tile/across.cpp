// Tile programs for reductions over outer axes: column sums.
//
// Where the elements of a row lie far apart and neighbouring rows lie together, a tile holds one element of many rows
// instead of many elements of one. Element r of every row is folded into lane r % kLanes of that row, and the lanes are
// joined in the same order as everywhere else: the bits do not depend on which of the two ways is taken.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tenon/backends/cpu/bad_index.h"
#include "tenon/backends/cpu/tile/program.h"
#include "tenon/backends/cpu/tile/tile.h"
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
};

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
  }

  void run(const Arguments& args) const override {
    const int64_t rows = space_[inner_];
    if (rows == 0 || outer_rows_ == 0) return;
    // Narrow enough to give every thread a few blocks, wide enough to pay for the dispatch.
    const int64_t threads = base::num_threads();
    const int64_t share = (rows * outer_rows_ + 2 * threads - 1) / (2 * threads);
    const int64_t width = std::clamp<int64_t>((share + 15) / 16 * 16, 32, 256);
    const int64_t blocks = (rows + width - 1) / width;
    FirstBadIndex bad;
    base::parallel_for(blocks * outer_rows_, 1, [&](int64_t begin, int64_t end) {
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
    if (instr.kind == Instr::Kind::store) across.store = tile_store(instr.dtype);
    if (instr.kind == Instr::Kind::reduce) across.apply = tile_function(folding(instr.op), accumulator(instr.dtype));
    if (instr.kind == Instr::Kind::apply) {
      across.apply = tile_instruction(instr.op, code_[instr.args.back()].instr.dtype, instr.dtype);
    }
    across.strided = instr.map.is_strided();
    code_.push_back(std::move(across));
  }

  class Worker {
   public:
    Worker(const AcrossProgram& program, const Arguments& args, size_t width, FirstBadIndex& bad)
        : p_(program),
          buffers_(args.buffers),
          numbers_(args.numbers),
          bad_(bad),
          stride_(width * 8),
          memory_(program.code_.size() * stride_ + 64) {
      lanes_.resize(program.code_.size());
      for (size_t i = 0; i < p_.code_.size(); ++i) {
        if (p_.code_[i].instr.kind == Instr::Kind::reduce)
          lanes_[i].resize((folds_in_blocks(p_.row_size_) ? 2 : 1) * kLanes * stride_);
      }
      index_.resize(p_.space_.size());
      registers_ = memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64;
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
      for (const codegen::Stage& stage : p_.stages_) {
        for (const uint32_t i : stage.per_row) run_instr(i);
        for (const uint32_t i : stage.row_folds) start(i);
        std::fill(index_.begin() + static_cast<ptrdiff_t>(p_.row_rank_), index_.end(), 0);
        for (int64_t r = 0; r < p_.row_size_; ++r) {
          for (const uint32_t i : stage.per_element) {
            if (p_.code_[i].instr.kind == Instr::Kind::reduce)
              fold(i, static_cast<size_t>(r) % kLanes);
            else
              run_instr(i);
          }
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
    std::byte* reg(size_t i) { return registers_ + i * stride_; }
    std::byte* lane(size_t i, size_t l) { return lanes_[i].data() + l * stride_; }

    // A short row leaves lanes without elements, which change nothing.
    size_t lanes_used() const { return std::clamp<size_t>(static_cast<size_t>(p_.row_size_), 1, kLanes); }
    void start(size_t i) { start(i, 0, folds_in_blocks(p_.row_size_) ? 2 * kLanes : lanes_used()); }
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

    void transfer(const AcrossInstr& across, std::byte* tile) {
      const size_t rank = across.instr.map.shape().size();
      if (across.strided) {
        const ir::View& view = across.instr.map.views()[0];
        int64_t position = view.offset;
        for (size_t axis = 0; axis < rank; ++axis) position += index_[axis] * view.strides[axis];
        return piece(across, tile, position, view.strides[p_.inner_], n_);
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
    std::vector<std::byte> memory_;
    std::byte* registers_ = nullptr;
    std::vector<std::vector<std::byte>> lanes_;
    Dims index_;
  };

  Dims space_;
  size_t row_rank_, inner_;
  int64_t row_size_, outer_rows_ = 0;
  std::vector<AcrossInstr> code_;
  std::vector<uint32_t> constants_;
  std::vector<codegen::Stage> stages_;
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
