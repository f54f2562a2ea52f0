// Products by matrix tiles: each subgroup keeps its part of the result in accumulators.
//
// Operands of 16 bits go from memory to shared memory as they are, four words at a time where they lie so, and in the
// order in which they lie: a tile is read with its rows or its columns along memory. Strips are held twice, as in
// contract_lanes.cpp, or once. The sums pass through the same shared memory to whoever writes them, a row of tiles at a
// time.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"
#include "tenon/kernels/contract_problem.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::kTileSize;
using codegen::Located;
using codegen::Scalar;
using codegen::TileBits;
using ir::Op;

constexpr uint32_t kPadding = 8;     // numbers behind a row of 16-bit ones: rows then begin 4 banks apart, or 12 or 20
constexpr uint32_t kSumPadding = 8;  // elements behind a row of sums
constexpr uint32_t kWords = 4;       // that a thread takes at once

// How many strips shared memory holds: one that is multiplied and one that is stored meanwhile, or a single one, where
// that lets more blocks share a processor, of which one multiplies while another stores.
uint32_t stages_on(const ir::Limits& limits) { return limits.scarce_shared ? 1 : 2; }

// How a strip lies in shared memory: `lines` of neighbours in memory, of so many numbers each.
struct Layout {
  uint32_t lines, length;
  uint32_t pitch() const { return length + kPadding; }
  uint32_t words() const { return lines * pitch() / 2; }
};
Layout layout_of(const ContractStrip& strip, const ContractTile& tile) {
  const uint32_t across = strip.is_left ? tile.block_m : tile.block_n;
  if (strip.along_depth) return {across, tile.strip_k};
  return {tile.strip_k, across};
}
uint32_t sum_pitch(const ContractTile& tile) { return tile.thread_n + kSumPadding; }
uint32_t sum_words(const ContractTile& tile) {
  const uint32_t subgroups = tile.block_m / tile.thread_m * (tile.block_n / tile.thread_n);
  return subgroups * kTileSize * sum_pitch(tile);
}
uint32_t shared_words(const ContractProblem& p, const ContractTile& tile, const ir::Limits& limits) {
  const uint32_t strips = stages_on(limits) * (layout_of(contract_strip(p, true), tile).words() +
                                               layout_of(contract_strip(p, false), tile).words());
  return std::max(strips, sum_words(tile));
}

class TileProduct {
 public:
  TileProduct(const ContractProblem& p, const ContractTile& tile, int64_t parts, const ir::Limits& limits)
      : p_(p),
        tile_(tile),
        parts_(parts),
        subgroup_(limits.subgroup),
        shared_words_(shared_words(p, tile, limits)),
        stages_(stages_on(limits)),
        index_(index_type(p)),
        b_("tile_product", tile.threads),
        buffers_(add_contract_buffers(b_, p, element_of(true), element_of(false))),
        partial_(parts > 1 ? b_.add_buffer(codegen::in_memory(p.sums), true) : 0),
        sizes_(b_, p, tile, parts, index_),
        block_(b_, p, sizes_, tile, parts, index_),
        places_(b_, p, sizes_, index_, block_.batch) {
    if (p.windows) windows_.emplace(b_, *p.windows, block_.batch);
    if (p.windows && p.windows->phases() > 1) block_.end_at(b_, windows_->depth());
    lines_.emplace(b_, p, windows_ ? &*windows_ : nullptr, sizes_.rows, sizes_.columns);
  }

  Dispatch run() {
    b_.use_tiles(subgroup_);
    shared_ = b_.add_shared(Scalar::u32, shared_words_);
    const Id number = b_.div(b_.thread(), b_.u32(subgroup_));
    const uint32_t across = tile_.block_n / tile_.thread_n;
    row_ = b_.mul(b_.div(number, b_.u32(across)), b_.u32(tile_.thread_m));
    column_ = b_.mul(b_.mod(number, b_.u32(across)), b_.u32(tile_.thread_n));
    Operand a = operand(true, 0);
    Operand b = operand(false, stages_ * a.layout.words());
    for (uint32_t i = 0; i < rows() * columns(); ++i) sums_.push_back(b_.tile_zero());
    if (p_.depth > 0) multiply_strips(a, b);
    write();
    Dispatch made{b_.finish(), ContractBlock::grid(p_, tile_, parts_), contract_bindings(p_), parts_ == 1};
    made.sizes = b_.sizes();
    return made;
  }

 private:
  // Words of two numbers that one thread takes of every strip.
  struct Group {
    Id place, k;                 // of the first number: in the matrix, of type index; in the strip, u32
    Id at;                       // in memory at depth 0, in groups; where memory is read in words
    Id shared;                   // in words, of the first place
    Id is_there;                 // or kNoValue
    Id is_taken;                 // whether this thread has such a group; or kNoValue
    WindowReader::Place window;  // where the operand is read through windows
  };
  struct Operand {
    ContractStrip strip;
    Layout layout;
    uint32_t buffer, base, words;  // base: in shared memory; words: of a group
    bool has_words;                // whether memory is read in words
    std::optional<WindowReader> reader;
    std::vector<Group> groups;
  };
  using Loaded = std::vector<std::vector<Id>>;  // of each group its words

  // A strip is asked for while the one before it is multiplied, and stored once that is done.
  void multiply_strips(const Operand& a, const Operand& b) {
    store(a, fetch(a, block_.begin), b_.u32(0));
    store(b, fetch(b, block_.begin), b_.u32(0));
    b_.barrier();
    const bool takes_turns = stages_ == 2;
    const Id stage = takes_turns ? b_.variable(b_.u32(0)) : kNoValue;
    b_.loop(block_.begin, block_.end, b_.u32(tile_.strip_k), [&](Id depth) {
      const Id next = next_strip(depth), here = takes_turns ? b_.get(stage) : b_.u32(0);
      const Id there = takes_turns ? b_.math(Op::bit_xor, Scalar::u32, {here, b_.u32(1)}) : here;
      const Loaded next_a = fetch(a, next), next_b = fetch(b, next);
      for (uint32_t k = 0; k < tile_.strip_k; k += kTileSize) multiply(a, b, here, k);
      if (!takes_turns) b_.barrier();
      store(a, next_a, there);
      store(b, next_b, there);
      b_.barrier();
      if (takes_turns) b_.set(stage, there);
    });
  }

  uint32_t rows() const { return tile_.thread_m / kTileSize; }
  uint32_t columns() const { return tile_.thread_n / kTileSize; }
  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }

  Scalar element_of(bool is_left) const {
    const ContractStrip strip = contract_strip(p_, is_left);
    return strip.reads_by(p_, 2) ? Scalar::u32 : codegen::in_memory(strip.side->dtype);
  }

  Operand operand(bool is_left, uint32_t base) {
    Operand made;
    made.strip = contract_strip(p_, is_left);
    made.layout = layout_of(made.strip, tile_);
    made.buffer = is_left ? buffers_.a : buffers_.b;
    made.base = base;
    made.has_words = made.strip.reads_by(p_, 2);
    made.words = made.strip.reads_by(p_, 2 * kWords) ? kWords : 1;
    if (made.strip.side->order != ContractSide::Order::matrix)
      made.reader.emplace(b_, *made.strip.side, *windows_, made.has_words ? 2 * made.words : 1,
                          made.has_words ? tile_.strip_k : 0);
    const uint32_t groups = made.layout.lines * made.layout.length / (2 * made.words);
    for (uint32_t first = 0; first < groups; first += tile_.threads) {
      const Id number = b_.add(b_.u32(first), b_.thread());
      Group group = group_of(made, number);
      group.is_taken = first + tile_.threads > groups ? b_.less(number, b_.u32(groups)) : kNoValue;
      group.is_there = b_.both(group.is_there, group.is_taken);
      made.groups.push_back(group);
    }
    return made;
  }

  Group group_of(const Operand& o, Id number) {
    Group made{};
    const uint32_t numbers = 2 * o.words, in_line = o.layout.length / numbers;
    const auto [line, group] = place_of(number, in_line, o.words);
    const Id inside = b_.mul(group, b_.u32(numbers));
    const Id across = o.strip.along_depth ? line : inside;
    made.k = o.strip.along_depth ? inside : line;
    made.place = b_.add(o.strip.is_left ? block_.first_row : block_.first_column, index(across));
    const Id first = b_.add(b_.mul(line, b_.u32(o.layout.pitch() / 2)), b_.mul(group, b_.u32(o.words)));
    made.shared = b_.add(b_.u32(o.base), first);
    made.is_there = is_whole(o) ? kNoValue : b_.less(made.place, (o.strip.is_left ? sizes_.rows : sizes_.columns));
    if (o.has_words && o.reader)
      made.window = o.reader->place(b_.convert(made.place, Scalar::u32), made.k);
    else if (o.has_words)
      made.at = b_.div(places_.locate(o.strip, made.place, index(made.k)).at, index_of(numbers));
    return made;
  }
  // Line and group of a number. Eight threads store at once without waiting for each other if they reach different
  // banks: with lines that are an odd number of 16 bytes long, those whose numbers differ by the groups of a line.
  std::pair<Id, Id> place_of(Id number, uint32_t in_line, uint32_t words) {
    constexpr uint32_t kAtOnce = 8;
    if (words != kWords || in_line >= kAtOnce || kAtOnce % in_line != 0)
      return {b_.div(number, b_.u32(in_line)), b_.mod(number, b_.u32(in_line))};
    const Id within = b_.mod(number, b_.u32(kAtOnce)), turn = b_.div(number, b_.u32(kAtOnce));
    const Id eight = b_.mul(b_.div(turn, b_.u32(in_line)), b_.u32(kAtOnce));
    const Id apart = b_.mul(b_.div(within, b_.u32(in_line)), b_.u32(in_line));
    return {b_.add(b_.add(eight, apart), b_.mod(turn, b_.u32(in_line))), b_.mod(within, b_.u32(in_line))};
  }
  bool is_whole(const Operand& o) const {
    return o.strip.size % (o.strip.is_left ? tile_.block_m : tile_.block_n) == 0;
  }

  // Whether every strip ends where its part does.
  bool has_whole_strips() const {
    return p_.depth % tile_.strip_k == 0 && part_length(p_, parts_) * (parts_ - 1) < p_.depth &&
           !(p_.windows && p_.windows->phases() > 1);
  }
  // Behind the last strip nothing is read that is needed: whole ones read it once more, and need no masks.
  Id next_strip(Id depth) {
    const Id next = b_.add(depth, b_.u32(tile_.strip_k));
    return has_whole_strips() ? b_.select(b_.less(next, block_.end), next, depth) : next;
  }

  Loaded fetch(const Operand& o, Id depth) {
    Loaded all;
    // In groups, which begin at multiples of their size.
    const Id stride = (o.strip.is_left ? sizes_.a : sizes_.b).depth_stride;
    const Id ahead = o.has_words && !o.reader ? b_.div(b_.mul(index(depth), stride), index_of(2 * o.words)) : kNoValue;
    for (const Group& group : o.groups) {
      const Id k = b_.add(depth, group.k);
      if (!o.has_words) {
        all.push_back({word_of(o, group, k)});
        continue;
      }
      const Id is_there = has_whole_strips() ? group.is_there : b_.both(group.is_there, b_.less(k, block_.end));
      if (o.reader) {
        const Located at = o.reader->at(group.window, depth);
        all.push_back(b_.load_several(o.buffer, b_.mul(at.at, b_.u32(o.words)), o.words, b_.both(is_there, at.valid)));
        continue;
      }
      const Id word = b_.mul(b_.add(group.at, ahead), index_of(o.words));
      all.push_back(b_.load_several(o.buffer, word, o.words, is_there));
    }
    return all;
  }

  // Two numbers that lie anyhow.
  Id word_of(const Operand& o, const Group& group, Id first_k) {
    Id halves[2];
    for (uint32_t i = 0; i < 2; ++i) {
      const Id k = o.strip.along_depth ? b_.add(first_k, b_.u32(i)) : first_k;
      const Id place = o.strip.along_depth ? group.place : b_.add(group.place, index_of(i));
      Id is_there = b_.both(group.is_taken, b_.less(k, block_.end));
      if (!is_whole(o)) is_there = b_.both(is_there, b_.less(place, (o.strip.is_left ? sizes_.rows : sizes_.columns)));
      const Located at = o.reader ? o.reader->at(o.reader->place(b_.convert(place, Scalar::u32), b_.u32(0)), k)
                                  : places_.locate(o.strip, place, index(k));
      halves[i] = b_.load(o.buffer, at.at, b_.both(is_there, at.valid));
    }
    const Id upper = b_.math(Op::shl, Scalar::u32, {halves[1], b_.u32(16)});
    return b_.math(Op::bit_or, Scalar::u32, {halves[0], upper});
  }

  void store(const Operand& o, const Loaded& all, Id stage) {
    const Id base = b_.mul(stage, b_.u32(o.layout.words()));
    for (size_t g = 0; g < all.size(); ++g) {
      const auto store_group = [&] {
        const Id at = b_.add(base, o.groups[g].shared);
        if (all[g].size() == 1)
          b_.shared_store(shared_, at, all[g][0]);
        else
          b_.shared_store_several(shared_, at, all[g]);
      };
      if (o.groups[g].is_taken == kNoValue)
        store_group();
      else
        b_.branch(o.groups[g].is_taken, store_group);
    }
  }

  // The tile `i` along `across` of this subgroup's, k numbers into the strip.
  Id tile(const Operand& o, Id stage, uint32_t i, uint32_t k) {
    const Id across = b_.add(o.strip.is_left ? row_ : column_, b_.u32(i * kTileSize));
    const Id line = o.strip.along_depth ? across : b_.u32(k), inside = o.strip.along_depth ? b_.u32(k) : across;
    const Id base = b_.add(b_.u32(2 * o.base), b_.mul(stage, b_.u32(2 * o.layout.words())));
    const Id at = b_.add(b_.add(base, inside), b_.mul(line, b_.u32(o.layout.pitch())));
    // A left tile has its rows along memory if that goes along the inner dimension, a right one if it does not.
    const bool is_transposed = o.strip.is_left != o.strip.along_depth;
    const uint64_t bits = (o.strip.is_left ? 0 : TileBits::kRight) | (is_transposed ? TileBits::kTransposed : 0) |
                          (o.strip.side->dtype == DType::bf16 ? TileBits::kBf16 : 0);
    return b_.tile_load(shared_, at, b_.u32(o.layout.pitch()), bits);
  }

  void multiply(const Operand& a, const Operand& b, Id stage, uint32_t k) {
    std::vector<Id> left, right;
    for (uint32_t i = 0; i < rows(); ++i) left.push_back(tile(a, stage, i, k));
    for (uint32_t j = 0; j < columns(); ++j) right.push_back(tile(b, stage, j, k));
    for (uint32_t i = 0; i < rows(); ++i) {
      for (uint32_t j = 0; j < columns(); ++j) b_.tile_mma(sums_[i * columns() + j], left[i], right[j]);
    }
  }

  // A row of tiles of every subgroup at a time. What follows a sum is long: it stands here once, in a loop, although
  // each turn takes accumulators of its own.
  void write() {
    const Id number = b_.div(b_.thread(), b_.u32(subgroup_));
    const uint32_t pitch = sum_pitch(tile_), subgroup_words = kTileSize * pitch;
    const auto pass_on = [&](uint32_t i) {
      for (uint32_t j = 0; j < columns(); ++j) {
        const Id to = b_.add(b_.mul(number, b_.u32(subgroup_words)), b_.u32(j * kTileSize));
        b_.tile_store(shared_, to, b_.u32(pitch), sums_[i * columns() + j]);
      }
    };
    b_.loop(
        0, rows(),
        [&](Id turn) {
          if (rows() > 1) b_.barrier();
          for (uint32_t i = 0; i < rows(); ++i) b_.branch(b_.equal(turn, b_.u32(i)), [&] { pass_on(i); });
          b_.barrier();
          write_row(turn);
        },
        codegen::Unroll::never);
  }

  // Threads of a subgroup write what it has computed, four neighbours each.
  void write_row(Id i) {
    const bool is_whole = p_.rows % tile_.block_m == 0 && p_.columns % tile_.block_n == 0;
    uint32_t width = 4;
    while (p_.columns % width != 0) width /= 2;
    const uint32_t pitch = sum_pitch(tile_), in_row = tile_.thread_n / width, groups = kTileSize * in_row;
    const Id lane = b_.mod(b_.thread(), b_.u32(subgroup_)), number = b_.div(b_.thread(), b_.u32(subgroup_));
    const Id strip = b_.mul(index(block_.part), sizes_.elements);
    const auto write_group = [&](Id first) {
      const Id group = b_.add(first, lane);
      const Id down = b_.div(group, b_.u32(in_row));
      const Id along = b_.mul(b_.mod(group, b_.u32(in_row)), b_.u32(width));
      const Id row = b_.add(block_.first_row, index(b_.add(b_.add(row_, b_.mul(i, b_.u32(kTileSize))), down)));
      const Id column = b_.add(block_.first_column, index(b_.add(column_, along)));
      const auto line = [&]() -> Located {
        if (parts_ == 1) return lines_->line(block_.batch, row);
        return {b_.mul(b_.add(b_.mul(block_.batch, sizes_.rows), row), sizes_.columns), kNoValue};
      };
      const bool may_lack_rows = parts_ == 1 && p_.windows && p_.windows->phases() > 1;
      const Located known_line = may_lack_rows ? line() : Located{};
      const Id is_inside =
          is_whole ? b_.boolean(true) : b_.both(b_.less(row, sizes_.rows), b_.less(column, sizes_.columns));
      const Id is_there = b_.both(is_inside, known_line.valid);
      const Id from = b_.add(b_.mul(number, b_.u32(kTileSize * pitch)), b_.add(b_.mul(down, b_.u32(pitch)), along));
      b_.branch(is_there, [&] {
        const std::vector<Id> bits = b_.shared_load_several(shared_, from, width);
        const Id at = b_.add(may_lack_rows ? known_line.at : line().at, column);
        std::vector<Id> results;
        for (uint32_t c = 0; c < width; ++c) {
          const Id sum = b_.bitcast(bits[c], Scalar::f32);
          results.push_back(parts_ > 1 ? codegen::to_memory(b_, p_.sums, sum)
                                       : finished_sum(b_, p_, buffers_, sizes_.bias_offset, sum,
                                                      b_.add(at, index_of(c)), b_.add(column, index_of(c))));
        }
        const uint32_t target = parts_ > 1 ? partial_ : buffers_.out;
        const Id place = parts_ > 1 ? b_.add(strip, at) : at;
        if (width == 1)
          b_.store(target, place, results[0]);
        else
          b_.store_several(target, place, results);
      });
    };
    // A few at once keep memory busy; all of them would keep compilers busy.
    constexpr uint32_t kAtOnce = 2;
    const uint32_t turns = groups / subgroup_;
    if (turns <= kAtOnce || turns % kAtOnce != 0) {
      for (uint32_t turn = 0; turn < turns; ++turn) write_group(b_.u32(turn * subgroup_));
      return;
    }
    b_.loop(0, turns / kAtOnce, [&](Id turn) {
      for (uint32_t part = 0; part < kAtOnce; ++part)
        write_group(b_.add(b_.mul(turn, b_.u32(kAtOnce * subgroup_)), b_.u32(part * subgroup_)));
    });
  }

  const ContractProblem& p_;
  const ContractTile tile_;
  const int64_t parts_;
  const uint32_t subgroup_, shared_words_, stages_;
  const Scalar index_;
  Builder b_;
  const ContractBuffers buffers_;
  const uint32_t partial_;
  const ContractSizes sizes_;
  ContractBlock block_;
  const ContractPlaces places_;
  std::optional<WindowSizes> windows_;
  std::optional<ResultRows> lines_;
  uint32_t shared_ = 0;
  Id row_ = 0, column_ = 0;  // of this subgroup's part, in the block
  std::vector<Id> sums_;
};

}  // namespace

Dispatch tile_product(const ContractProblem& p, const ContractTile& tile, int64_t parts, const ir::Limits& limits) {
  return TileProduct(p, tile, parts, limits).run();
}

size_t tile_product_bytes(const ContractProblem& p, const ContractTile& tile, const ir::Limits& limits) {
  return size_t{4} * shared_words(p, tile, limits);
}

}  // namespace tenon::kernels
