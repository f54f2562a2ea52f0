// See the header.

#include "tenon/kernels/attention_matrix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/base/divide.h"
#include "tenon/codegen/address.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using base::round_up;
using codegen::Id;
using codegen::kNoValue;
using codegen::kTileSize;
using codegen::Located;
using codegen::Scalar;
using codegen::TileBits;
using codegen::TilePlace;
using ir::Op;

constexpr uint32_t kWords = 4;            // that a thread copies at once, of two numbers each
constexpr uint32_t kMostRegisters = 190;  // of 255, for tiles and what is on its way: some are needed for addresses
constexpr int64_t kWidest = 256;

// Words of shared memory of `lines` rows.
uint32_t words_of(uint32_t lines, uint32_t columns) { return lines * (columns + AttentionMatrix::kPadding) / 2; }

uint32_t passing_words(const MatrixWidths& widths, const MatrixShape& shape) {
  uint32_t words = 0;
  for (const int64_t width : widths.passing) words += words_of(shape.columns, whole_tiles(width));
  return words;
}

uint32_t shared_words(const MatrixWidths& widths, const MatrixShape& shape) {
  uint32_t words = 2 * passing_words(widths, shape) + (widths.has_row_values ? 4 * shape.columns : 0);
  for (const int64_t width : widths.left) words = std::max(words, words_of(shape.rows(), whole_tiles(width)));
  return words;
}

// Of a thread: left tiles, sums, scores and what is packed of them, and words on their way.
uint32_t registers(const MatrixWidths& widths, const MatrixShape& shape) {
  uint32_t tiles = widths.products * shape.columns / kTileSize * 12, passing = 0;
  for (const int64_t width : widths.left) tiles += whole_tiles(width) / kTileSize * 4;
  for (const int64_t width : widths.summed) tiles += std::min(whole_tiles(width), shape.panel) / kTileSize * 8;
  for (const int64_t width : widths.passing) passing += shape.columns * whole_tiles(width) / 2 / shape.threads();
  return shape.row_tiles * tiles + passing;
}

}  // namespace

uint32_t whole_tiles(int64_t width) { return static_cast<uint32_t>(round_up(width, kTileSize)); }

bool has_matrix_attention(const AttentionProblem& p, const ir::Limits& limits) {
  const int64_t least = std::min(p.width, p.value_width), most = std::max(p.width, p.value_width);
  return limits.has_tile_places && limits.subgroup == TilePlace::kThreads && limits.tile_dtypes.contains(p.dtype) &&
         p.k.dtype == p.dtype && p.v.dtype == p.dtype && p.sums == DType::f32 && least > 0 && most <= kWidest &&
         p.queries > kFewQueries && p.keys > 0 && p.attrs.scale != 0 && std::isfinite(p.attrs.scale);
}

std::optional<MatrixShape> choose_matrix_shape(const MatrixWidths& widths, int64_t rows, int64_t blocks,
                                               const ir::Limits& limits) {
  const uint32_t widest = whole_tiles(*std::ranges::max_element(widths.summed));
  std::optional<MatrixShape> chosen;
  for (uint32_t panels = 1; panels <= 4; panels *= 2) {
    const uint32_t panel = widest / panels;
    const auto has_panels = [&](int64_t width) { return panels == 1 || whole_tiles(width) % panel == 0; };
    if (panel % kTileSize != 0 || !std::ranges::all_of(widths.summed, has_panels)) continue;
    for (const MatrixShape& shape :
         {MatrixShape{2, 4, 64, panel}, MatrixShape{2, 4, 32, panel}, MatrixShape{1, 4, 64, panel},
          MatrixShape{1, 4, 32, panel}, MatrixShape{1, 4, 16, panel}}) {
      const bool fits = shape.threads() <= limits.max_threads && registers(widths, shape) <= kMostRegisters &&
                        size_t{4} * shared_words(widths, shape) <= limits.shared_bytes;
      if (!fits) continue;
      chosen = shape;
      if (blocks * ceil_div(rows, shape.rows()) >= limits.processors || shape.row_tiles == 1) return chosen;
    }
    if (chosen) return chosen;
  }
  return chosen;
}

uint32_t matrix_panels(int64_t width, const MatrixShape& shape) {
  return static_cast<uint32_t>(ceil_div(whole_tiles(width), shape.panel));
}

AttentionMatrix::AttentionMatrix(std::string name, const AttentionProblem& problem, const MatrixShape& block,
                                 const MatrixWidths& widths)
    : AttentionKernel(std::move(name), problem, block.threads()),
      shape(block),
      is_bf16(problem.dtype == DType::bf16),
      stage_words_(passing_words(widths, block)) {
  b.use_tiles(TilePlace::kThreads);
  shared = b.add_shared(Scalar::u32, static_cast<uint32_t>(round_up(shared_words(widths, block), kWords)));
  row_values = 2 * stage_words_;
  subgroup = b.div(b.thread(), b.u32(TilePlace::kThreads));
  lane = b.mod(b.thread(), b.u32(TilePlace::kThreads));
  left_out_ = b.variable(b.u32(0));
  // Sums of products of f16 are far from what f32 holds.
  const double scale = problem.attrs.scale;
  if (is_bf16) power = std::exp2(std::min(0, std::ilogb(scale)));
  power = std::copysign(power, scale);
  rest = scale / power * std::numbers::log2e;
}

// ---- strips ----

AttentionMatrix::Strip AttentionMatrix::strip_of(const AttentionOperand& operand, uint32_t columns) {
  Strip made;
  made.operand = &operand;
  made.has_words = operand.map.shape()[3] % (2 * kWords) == 0 && codegen::is_run(operand.map, 3, 2 * kWords);
  made.buffer = add_buffer(operand.arg, made.has_words ? Scalar::u32 : codegen::in_memory(operand.dtype), false);
  made.columns = columns;
  return made;
}
AttentionMatrix::Strip AttentionMatrix::left_strip(const AttentionOperand& operand) {
  return strip_of(operand, whole_tiles(operand.map.shape()[3]));
}
AttentionMatrix::Strip AttentionMatrix::passing_strip(const AttentionOperand& operand, uint32_t columns) {
  Strip made = strip_of(operand, columns);
  made.base = next_word_;
  next_word_ += words_of(shape.columns, columns);
  return made;
}

uint32_t AttentionMatrix::groups_of(const Strip& strip, uint32_t lines) const {
  return lines * strip.columns / (strip.has_words ? 2 * kWords : 2);
}

// Where a group lies in a strip, in words.
Id AttentionMatrix::group_place(const Strip& strip, Id number) {
  const uint32_t words = strip.has_words ? kWords : 1, in_line = strip.columns / (2 * words);
  const Id line = b.div(number, b.u32(in_line)), inside = b.mul(b.mod(number, b.u32(in_line)), b.u32(words));
  return b.add(b.mul(line, b.u32(strip.pitch() / 2)), inside);
}

// The words of group `number` of rows from first_row on.
std::vector<Id> AttentionMatrix::group(const Rows& rows, Id number, Id first_row, Id end, Id first_column,
                                       uint32_t lines) {
  const Strip& strip = *rows.strip;
  const int64_t width = strip.operand->map.shape()[3];
  const uint32_t numbers = strip.has_words ? 2 * kWords : 2, in_line = strip.columns / numbers;
  const Id row = b.add(first_row, b.div(number, b.u32(in_line)));
  const Id column = b.add(first_column, b.mul(b.mod(number, b.u32(in_line)), b.u32(numbers)));
  Id is_there = b.less(row, end);
  if (groups_of(strip, lines) % shape.threads() != 0)
    is_there = b.both(is_there, b.less(number, b.u32(groups_of(strip, lines))));
  const auto at = [&](Id place) {
    const Id indices[] = {as_index(rows.batch), as_index(rows.head), as_index(row), as_index(place)};
    return codegen::locate(b, index, strip.operand->map, indices);
  };
  const bool has_all = width % strip.columns == 0;
  if (strip.has_words) {
    if (!has_all) is_there = b.both(is_there, b.less(column, count_of(width)));
    return b.load_several(strip.buffer, b.div(at(column).at, index_of(2)), kWords, is_there);
  }
  Id halves[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const Id place = b.add(column, b.u32(i));
    const Located found = at(place);
    halves[i] = b.load(strip.buffer, found.at, b.both(b.both(is_there, b.less(place, count_of(width))), found.valid));
  }
  return {b.math(Op::bit_or, Scalar::u32, {halves[0], b.math(Op::shl, Scalar::u32, {halves[1], b.u32(16)})})};
}

AttentionMatrix::Loaded AttentionMatrix::fetch(const Rows& rows, Id first_row, Id end, Id first_column) {
  Loaded all;
  for (uint32_t first = 0; first < groups_of(*rows.strip, shape.columns); first += shape.threads())
    all.push_back(group(rows, b.add(b.u32(first), b.thread()), first_row, end, first_column, shape.columns));
  return all;
}

// Halves of a word whose exponent has all bits become 0; the sum carries into their signs.
Id AttentionMatrix::cleaned(Id word) {
  const auto both = [&](Id x, Id y) { return b.math(Op::bit_and, Scalar::u32, {x, y}); };
  const Id exponent = both(word, b.u32(is_bf16 ? 0x7F807F80 : 0x7C007C00));
  const Id bad = both(b.add(exponent, b.u32(is_bf16 ? 0x00800080 : 0x04000400)), b.u32(0x80008000));
  b.set(left_out_, b.math(Op::bit_or, Scalar::u32, {b.get(left_out_), bad}));
  const Id below = b.sub(bad, b.math(Op::shr, Scalar::u32, {bad, b.u32(15)}));
  const Id halves = b.math(Op::bit_or, Scalar::u32, {bad, below});
  return both(word, b.math(Op::bit_xor, Scalar::u32, {halves, b.u32(0xFFFFFFFF)}));
}

void AttentionMatrix::store(const Strip& strip, const Loaded& loaded, Id stage, Id cleans) {
  const Id base = b.add(b.u32(strip.base), b.mul(stage, b.u32(stage_words_)));
  const uint32_t groups = groups_of(strip, shape.columns);
  const auto store_all = [&](bool is_clean) {
    for (uint32_t g = 0; g < loaded.size(); ++g) {
      const uint32_t first = g * shape.threads();
      const Id number = b.add(b.u32(first), b.thread());
      const auto store_group = [&] {
        std::vector<Id> words = loaded[g];
        for (Id& word : words) word = is_clean ? cleaned(word) : word;
        const Id at = b.add(base, group_place(strip, number));
        if (words.size() == 1)
          b.shared_store(shared, at, words[0]);
        else
          b.shared_store_several(shared, at, words);
      };
      if (first + shape.threads() > groups)
        b.branch(b.less(number, b.u32(groups)), store_group);
      else
        store_group();
    }
  };
  b.branch(
      cleans, [&] { store_all(true); }, [&] { store_all(false); });
}

// ---- tiles ----

std::vector<Id> AttentionMatrix::left_tiles(const Rows& rows, Id first_row, double factor) {
  const Strip& strip = *rows.strip;
  const Id end = count_of(strip.operand->map.shape()[2]);
  const uint32_t groups = groups_of(strip, shape.rows());
  // Powers of two leave a number's digits alone.
  const auto scaled = [&](Id word) {
    const Id low = b.bitcast(b.math(Op::shl, Scalar::u32, {word, b.u32(16)}), Scalar::f32);
    const Id high = b.bitcast(b.math(Op::bit_and, Scalar::u32, {word, b.u32(0xFFFF0000)}), Scalar::f32);
    const auto times = [&](Id x) { return b.bitcast(b.mul(x, b.f32(factor)), Scalar::u32); };
    if (factor == -1) return b.math(Op::bit_xor, Scalar::u32, {word, b.u32(0x80008000)});
    return b.math(Op::bit_or, Scalar::u32,
                  {b.math(Op::shr, Scalar::u32, {times(low), b.u32(16)}),
                   b.math(Op::bit_and, Scalar::u32, {times(high), b.u32(0xFFFF0000)})});
  };
  b.loop(0, static_cast<uint64_t>(ceil_div(groups, shape.threads())), [&](Id turn) {
    const Id number = b.add(b.mul(turn, b.u32(shape.threads())), b.thread());
    std::vector<Id> words = group(rows, number, first_row, end, b.u32(0), shape.rows());
    for (Id& word : words) word = factor == 1 ? word : scaled(word);
    const Id is_one = groups % shape.threads() == 0 ? b.boolean(true) : b.less(number, b.u32(groups));
    b.branch(is_one, [&] {
      if (words.size() == 1)
        b.shared_store(shared, group_place(strip, number), words[0]);
      else
        b.shared_store_several(shared, group_place(strip, number), words);
    });
  });
  b.barrier();
  std::vector<Id> tiles;
  for (uint32_t i = 0; i < shape.row_tiles; ++i) {
    const Id line = b.add(b.mul(subgroup, b.u32(shape.subgroup_rows())), b.u32(i * kTileSize));
    for (uint32_t k = 0; k < strip.columns; k += kTileSize) {
      const Id at = b.add(b.mul(line, b.u32(strip.pitch())), b.u32(k));
      tiles.push_back(b.tile_load(shared, at, b.u32(strip.pitch()), is_bf16 ? TileBits::kBf16 : 0));
    }
  }
  b.barrier();
  return tiles;
}

std::vector<Id> AttentionMatrix::accumulators(uint32_t columns) {
  std::vector<Id> made;
  for (uint32_t i = 0; i < shape.row_tiles * columns / kTileSize; ++i) made.push_back(b.tile_zero());
  return made;
}

void AttentionMatrix::multiply(std::span<const Id> products, std::span<const Id> left, const Strip& strip, Id stage) {
  const uint32_t depth = strip.columns / kTileSize, across = shape.columns / kTileSize;
  const Id base = b.add(b.u32(2 * strip.base), b.mul(stage, b.u32(2 * stage_words_)));
  const uint64_t bits = TileBits::kRight | TileBits::kTransposed | (is_bf16 ? TileBits::kBf16 : 0);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t j = 0; j < across; ++j) {
      const Id at = b.add(base, b.u32(j * kTileSize * strip.pitch() + k * kTileSize));
      const Id right = b.tile_load(shared, at, b.u32(strip.pitch()), bits);
      for (uint32_t i = 0; i < shape.row_tiles; ++i) b.tile_mma(products[i * across + j], left[i * depth + k], right);
    }
  }
}

void AttentionMatrix::add_weighted(std::span<const Id> sums, std::span<const Id> weights, const Strip& strip, Id stage,
                                   Id first_column) {
  const uint32_t depth = shape.columns / kTileSize, across = static_cast<uint32_t>(sums.size()) / shape.row_tiles;
  const Id base = b.add(b.add(b.u32(2 * strip.base), first_column), b.mul(stage, b.u32(2 * stage_words_)));
  const uint64_t bits = TileBits::kRight | (is_bf16 ? TileBits::kBf16 : 0);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t j = 0; j < across; ++j) {
      const Id at = b.add(base, b.u32(k * kTileSize * strip.pitch() + j * kTileSize));
      const Id right = b.tile_load(shared, at, b.u32(strip.pitch()), bits);
      for (uint32_t i = 0; i < shape.row_tiles; ++i) b.tile_mma(sums[i * across + j], weights[i * depth + k], right);
    }
  }
}

std::vector<Id> AttentionMatrix::packed(std::span<const Id> products) {
  std::vector<Id> made;
  for (const Id tile : products) {
    std::vector<Id> values;
    for (uint32_t i = 0; i < TilePlace::kCount; ++i) values.push_back(b.tile_get(tile, i));
    made.push_back(b.tile_pack(values, is_bf16 ? TileBits::kBf16 : 0));
  }
  return made;
}

Id AttentionMatrix::row(uint32_t own_row) {
  return b.add(b.u32(own_row / 2 * kTileSize + own_row % 2 * 8), b.div(lane, b.u32(4)));
}

std::vector<AttentionMatrix::Place> AttentionMatrix::places(uint32_t columns) {
  std::vector<Place> made;
  const uint32_t across = columns / kTileSize;
  const Id first = b.mul(b.mod(lane, b.u32(4)), b.u32(2));
  for (uint32_t tile = 0; tile < shape.row_tiles * across; ++tile) {
    for (uint32_t i = 0; i < TilePlace::kCount; ++i) {
      const uint32_t own_row = tile / across * 2 + TilePlace::row(i) / 8;
      made.push_back(
          {tile, i, own_row, row(own_row), b.add(b.u32(tile % across * kTileSize + TilePlace::column(i)), first)});
    }
  }
  return made;
}

std::vector<Id> AttentionMatrix::fold_rows(std::vector<Id> values, const std::function<Id(Id, Id)>& join) {
  for (Id& value : values) {
    for (const uint32_t distance : {1, 2}) value = join(value, b.shuffle(value, distance));
  }
  return values;
}

// ---- dropped weights ----

// Of rows 8 apart, two neighbouring keys each: this thread draws four keys of one row, its neighbour of the other.
std::array<Id, 4> AttentionMatrix::kept_of_row_pair(Id batch, Id head, Id query, Id key) {
  const Id is_odd = b.equal(b.mod(lane, b.u32(2)), b.u32(1));
  const Id row = b.select(is_odd, b.add(query, b.u32(8)), query),
           first = b.sub(key, b.select(is_odd, b.u32(2), b.u32(0)));
  const std::vector<Id> own = kept_shares(batch, head, row, first, 4);
  const Id other0 = b.shuffle(b.select(is_odd, own[0], own[2]), 1),
           other1 = b.shuffle(b.select(is_odd, own[1], own[3]), 1);
  return {b.select(is_odd, other0, own[0]), b.select(is_odd, other1, own[1]), b.select(is_odd, own[2], other0),
          b.select(is_odd, own[3], other1)};
}

// Of one key, the queries in columns 0, 1, 8 and 9 from `query` on: four threads have four neighbouring keys, and each
// draws these for one of the queries. What they drew is a square of which each needs a row, so it is turned: first
// between neighbours, then between pairs of them.
std::array<Id, 4> AttentionMatrix::kept_of_row(Id batch, Id head, Id query, Id key) {
  const Id place = b.mod(b.div(lane, b.u32(4)), b.u32(4));
  const Id is_odd = b.equal(b.mod(place, b.u32(2)), b.u32(1)), is_late = b.less(b.u32(1), place);
  const Id column = b.add(b.select(is_odd, b.u32(1), b.u32(0)), b.select(is_late, b.u32(8), b.u32(0)));
  const std::vector<Id> own = kept_shares(batch, head, b.add(query, column), b.sub(key, place), 4);
  const Id a = b.shuffle(b.select(is_odd, own[0], own[1]), 4), c = b.shuffle(b.select(is_odd, own[2], own[3]), 4);
  // Of this pair of queries: the keys `is_odd` and 2 + `is_odd`.
  const Id low[] = {b.select(is_odd, a, own[0]), b.select(is_odd, own[1], a)};
  const Id high[] = {b.select(is_odd, c, own[2]), b.select(is_odd, own[3], c)};
  std::array<Id, 4> made{};
  for (uint32_t i = 0; i < 2; ++i) {
    const Id kept = b.select(is_late, high[i], low[i]), other = b.shuffle(b.select(is_late, low[i], high[i]), 8);
    made[i] = b.select(is_late, other, kept);
    made[2 + i] = b.select(is_late, kept, other);
  }
  return made;
}

std::vector<Id> AttentionMatrix::kept(Id batch, Id head, Id first_row, Id first_column, bool rows_are_queries) {
  const std::vector<Place> all = places(shape.columns);
  std::vector<Id> made(all.size());
  for (size_t tile = 0; tile < all.size(); tile += TilePlace::kCount) {
    for (uint32_t half = 0; half < 2; ++half) {
      // Numbers 0, 1, 2, 3 and 4, 5, 6, 7 of a tile, or 0, 1, 4, 5 and 2, 3, 6, 7.
      const size_t first = tile + (rows_are_queries ? 4 * half : 2 * half);
      const Id row = b.add(first_row, all[first].row), column = b.add(first_column, all[first].column);
      const std::array<Id, 4> shares =
          rows_are_queries ? kept_of_row_pair(batch, head, row, column) : kept_of_row(batch, head, column, row);
      for (uint32_t i = 0; i < 4; ++i) made[first + (rows_are_queries || i < 2 ? i : i + 2)] = shares[i];
    }
  }
  return made;
}

// ---- what is not finite ----

Id AttentionMatrix::has_left_out() {
  b.barrier();
  b.shared_store(shared, b.u32(0), b.u32(0));
  b.barrier();
  b.branch(b.is_not(b.equal(b.get(left_out_), b.u32(0))), [&] { b.shared_store(shared, b.u32(0), b.u32(1)); });
  b.barrier();
  return b.equal(b.shared_load(shared, b.u32(0)), b.u32(1));
}

Id AttentionMatrix::number_at(const Rows& rows, Id row, Id column) {
  const Strip& strip = *rows.strip;
  const int64_t width = strip.operand->map.shape()[3];
  const Id is_there = b.less(column, count_of(width));
  const Id safe = b.select(is_there, column, b.u32(0));
  const Id indices[] = {as_index(rows.batch), as_index(rows.head), as_index(row), as_index(safe)};
  const Located at = codegen::locate(b, index, strip.operand->map, indices);
  Id bits;
  if (strip.has_words) {
    const Id word = b.load(strip.buffer, b.div(at.at, index_of(2)));
    const Id is_upper = b.equal(b.convert(b.mod(at.at, index_of(2)), Scalar::u32), b.u32(1));
    bits = b.select(is_upper, b.math(Op::shr, Scalar::u32, {word, b.u32(16)}),
                    b.math(Op::bit_and, Scalar::u32, {word, b.u32(0xFFFF)}));
  } else {
    bits = b.load(strip.buffer, at.at, at.valid);
  }
  return b.select(is_there, codegen::from_memory(b, strip.operand->dtype, bits), b.f32(0));
}

// Seldom run, so that it is written to be short: a turn for every tile that a row of tiles has.
void AttentionMatrix::mend(std::span<const Id> sums, const Rows& rows, Id begin, Id end, Id first_column, bool spoils,
                           const std::function<Id(Id, Id)>& sees) {
  const uint32_t across = static_cast<uint32_t>(sums.size()) / shape.row_tiles;
  const auto mend_tiles = [&](Id other, Id turn) {
    std::vector<Id> is_bad, share;  // by place in the tile; of two rows, so that half of them are the same
    for (const Place& place : places(kTileSize)) {
      if (place.tile > 0) break;
      if (TilePlace::row(place.number) > 0) {
        is_bad.push_back(is_bad[place.number - 2]);
        share.push_back(share[place.number - 2]);
        continue;
      }
      const Id column = b.add(b.mul(turn, b.u32(kTileSize)), place.column);
      const Id found = number_at(rows, other, b.add(first_column, column));
      is_bad.push_back(
          b.is_not(b.less(b.math(Op::abs, Scalar::f32, {found}), b.f32(std::numeric_limits<double>::infinity()))));
      share.push_back(spoils ? b.f32(std::numeric_limits<double>::quiet_NaN()) : found);
    }
    const auto mend_tile = [&](uint32_t j) {
      for (const Place& place : places(kTileSize)) {
        const Id sum = sums[place.tile * across + j], before = b.tile_get(sum, place.number);
        const Id reaches = b.both(is_bad[place.number], sees(place.row, other));
        b.tile_set(sum, place.number, b.select(reaches, b.add(before, share[place.number]), before));
      }
    };
    for (uint32_t j = 0; j < across; ++j) b.branch(b.equal(turn, b.u32(j)), [&] { mend_tile(j); });
  };
  const auto mend_row = [&](Id other) {
    b.loop(
        0, across, [&](Id turn) { mend_tiles(other, turn); }, codegen::Unroll::never);
  };
  b.loop(begin, end, b.u32(1), mend_row, codegen::Unroll::never);
}

// ---- results ----

void AttentionMatrix::write(uint32_t buffer, std::span<const Id> sums, int64_t width, Id first_row, int64_t rows,
                            Id first_column, const std::function<Id(Id)>& line, const std::function<Id(Id)>& finished) {
  const uint32_t columns = static_cast<uint32_t>(sums.size()) / shape.row_tiles * kTileSize;
  const uint32_t run = width % 2 == 0 ? 2 : 1;
  const std::vector<Place> all = places(columns);
  for (size_t i = 0; i < all.size(); i += run) {
    const Id row = b.add(first_row, all[i].row), column = b.add(first_column, all[i].column);
    Id is_there = rows % shape.rows() == 0 ? b.boolean(true) : b.less(row, count_of(rows));
    if (width % columns != 0 || p.width != p.value_width) is_there = b.both(is_there, b.less(column, count_of(width)));
    b.branch(is_there, [&] {
      std::vector<Id> values;
      for (uint32_t c = 0; c < run; ++c) {
        const Id value = finished(b.tile_get(sums[all[i + c].tile], all[i + c].number));
        values.push_back(codegen::to_memory(b, p.dtype, codegen::cast(b, DType::f32, p.dtype, value)));
      }
      const Id at = b.add(line(row), as_index(column));
      if (run == 1)
        b.store(buffer, at, values[0]);
      else
        b.store_several(buffer, at, values);
    });
  }
}

}  // namespace tenon::kernels
