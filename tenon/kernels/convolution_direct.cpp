#include "tenon/kernels/convolution_direct.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

constexpr int64_t kFewChannels = 8;                                           // of a group, read and written
constexpr uint32_t kVector = 4;                                               // channels of a thread
constexpr uint32_t kPixels = 4;                                               // of a thread
constexpr uint32_t kDirectThreads = 256, kDirectLanes = 32, kLeastLanes = 8;  // of a block; of those side by side
constexpr uint32_t kDirectSums = 40;                                          // of a thread
constexpr int64_t kLeastPixels = 256, kMostDirectParts = 1024;

uint32_t u32_of(int64_t value) { return static_cast<uint32_t>(value); }

// How the channels of results are shared out: a block has `lanes` threads side by side, with `vector` of them each.
struct Channels {
  int64_t all = 0;
  uint32_t vector = 1, lanes = 1, threads = 1;

  uint32_t of_block() const { return lanes * vector; }
  uint32_t deep() const { return threads / lanes; }  // threads that share a channel
  int64_t blocks() const { return ceil_div(all, of_block()); }
};

Channels channels_of(int64_t all, bool has_vectors, const ir::Limits& limits) {
  Channels made;
  made.all = all;
  made.vector = has_vectors && limits.vector >= kVector ? kVector : 1;
  made.threads = std::bit_floor(std::clamp(limits.max_threads, 1u, kDirectThreads));
  const int64_t vectors = ceil_div(all, made.vector);
  uint32_t wanted = std::bit_ceil(u32_of(std::min<int64_t>(vectors, kDirectLanes)));
  // As few threads behind the last channel as can be: of 96 channels eight threads side by side have 32.
  for (uint32_t fewer = wanted / 2; fewer >= kLeastLanes; fewer /= 2) {
    if (base::round_up(vectors, fewer) < base::round_up(vectors, wanted)) wanted = fewer;
  }
  made.lanes = std::max(1u, std::min(wanted, made.threads / made.vector));
  return made;
}

// What is one number for a channel and the next one.
bool goes_by_vectors(const ContractSide& side, int64_t step, int64_t all) {
  const auto fits = [](int64_t elements) { return elements % kVector == 0; };
  return step == 1 && fits(all) && fits(side.offset) && std::all_of(side.steps.begin(), side.steps.end() - 1, fits);
}

// ---- results and images ----

class DirectSums {
 public:
  DirectSums(const ContractProblem& p, const ContractProblem& whole, const Channels& channels, const ir::Limits& limits)
      : p_(p),
        whole_(whole),
        windows_(*whole.windows),
        channels_(channels),
        sums_(codegen::in_register(p.sums)),
        inner_(p.windows->channels),
        uses_fma_(limits.has_fma),
        b_("convolution", channels.threads),
        buffers_(add_contract_buffers(b_, p, codegen::in_memory(p.a.dtype), codegen::in_memory(p.b.dtype))) {}

  Dispatch run() {
    const int64_t channel_blocks = channels_.blocks(), pixels = int64_t{channels_.deep()} * kPixels;
    const int64_t pixel_blocks = ceil_div(whole_.rows, pixels);
    const Id across = b_.half_size(channel_blocks), down = b_.half_size(pixel_blocks);
    const Id above = b_.div(b_.block(), across);
    const Id phase = windows_.phases() > 1 ? b_.div(above, down) : b_.u32(0);
    const Id pixel_block = windows_.phases() > 1 ? b_.mod(above, down) : above;
    sizes_.emplace(b_, windows_, phase);
    all_ = b_.half_size(channels_.all);
    rows_ = b_.half_size(whole_.rows);
    first_channel_ = b_.mul(b_.mod(b_.block(), across), b_.u32(channels_.of_block()));
    weights_ = b_.add_shared(sums_, u32_of(windows_.taps() * inner_) * channels_.of_block());
    for (size_t i = 0; i < 2; ++i) taps_[i] = sizes_->of_phase(i, &WindowAxis::Phase::taps);
    take_weights();
    b_.barrier();
    const Id lane = b_.mod(b_.thread(), b_.u32(channels_.lanes)), deep = b_.div(b_.thread(), b_.u32(channels_.lanes));
    const Id first = b_.mul(lane, b_.u32(channels_.vector));
    const Id first_pixel = b_.add(b_.mul(pixel_block, b_.u32(u32_of(pixels))), deep);
    sum_up(first, first_pixel, phase);
    Dispatch made{b_.finish(),
                  {static_cast<uint64_t>(channel_blocks * pixel_blocks * windows_.phases()), 1, 1},
                  contract_bindings(p_),
                  true};
    made.sizes = b_.sizes();
    return made;
  }

 private:
  Id constant(int64_t value) { return b_.u32(static_cast<uint64_t>(value)); }
  Id step(int64_t value) { return value == 0 || value == 1 ? constant(value) : b_.half_size(value); }
  Id number(DType dtype, Id loaded) {
    return codegen::cast(b_, dtype, p_.sums, codegen::from_memory(b_, dtype, loaded));
  }

  // [tap][channel of the group that is read][channel of the block]
  void take_weights() {
    const ContractSide& w = p_.b;
    const Id wide = b_.u32(channels_.of_block());
    const Id count = b_.mul(b_.mul(b_.mul(taps_[0], taps_[1]), constant(inner_)), wide);
    const Id of_inner = step(w.steps[0]), of_y = step(w.steps[1]), of_x = step(w.steps[2]),
             of_column = step(w.steps[3]);
    const Id of_group = step(w.group), base = step(w.offset);
    const Id first[2] = {sizes_->of_phase(0, &WindowAxis::Phase::first),
                         sizes_->of_phase(1, &WindowAxis::Phase::first)};
    b_.loop(b_.thread(), count, b_.u32(channels_.threads), [&](Id at) {
      const Id channel = b_.add(first_channel_, b_.mod(at, wide)), rest = b_.div(at, wide);
      const Id inner = b_.mod(rest, constant(inner_)), tap = b_.div(rest, constant(inner_));
      const Id ty = b_.div(tap, b_.max(taps_[1], b_.u32(1))), tx = b_.sub(tap, b_.mul(ty, taps_[1]));
      const Id y = b_.add(first[0], b_.mul(ty, constant(windows_.axes[0].step)));
      const Id x = b_.add(first[1], b_.mul(tx, constant(windows_.axes[1].step)));
      const Id group = b_.div(channel, constant(p_.columns)), column = b_.mod(channel, constant(p_.columns));
      const Id place = b_.add(b_.add(b_.mul(y, of_y), b_.mul(x, of_x)), b_.mul(inner, of_inner));
      const Id from = b_.add(b_.add(base, b_.mul(group, of_group)), b_.add(place, b_.mul(column, of_column)));
      b_.shared_store(weights_, at, number(w.dtype, b_.load(buffers_.b, from, b_.less(channel, all_))));
    });
  }

  void sum_up(Id first, Id first_pixel, Id phase) {
    const ContractSide& x = p_.a;
    const Id channel = b_.add(first_channel_, first), is_inside = b_.less(channel, all_);
    const Id of_image = step(x.steps[0]), of_y = step(x.steps[1]), of_x = step(x.steps[2]),
             of_channel = step(x.steps[3]);
    const Id bounds[2] = {b_.half_size(windows_.axes[0].image), b_.half_size(windows_.axes[1].image)};
    const Id group = b_.div(channel, constant(p_.columns));
    const Id base = b_.add(step(x.offset), b_.mul(group, step(x.group)));
    const Id shift[2] = {sizes_->of_phase(0, &WindowAxis::Phase::shift),
                         sizes_->of_phase(1, &WindowAxis::Phase::shift)};
    struct Pixel {
      Id row, is_there, at, y, x;
      std::vector<Id> totals;
    };
    std::vector<Pixel> pixels;
    for (uint32_t i = 0; i < kPixels; ++i) {
      Pixel each{};
      each.row = b_.add(first_pixel, b_.u32(i * channels_.deep()));
      each.is_there = b_.both(is_inside, b_.less(each.row, rows_));
      const WindowSizes::Place place = sizes_->place(each.row);
      each.y = b_.add(b_.mul(place.y, constant(windows_.axes[0].stride)), shift[0]);
      each.x = b_.add(b_.mul(place.x, constant(windows_.axes[1].stride)), shift[1]);
      const Id line = b_.add(b_.mul(each.y, of_y), b_.mul(each.x, of_x));
      each.at = b_.add(b_.add(base, b_.mul(place.image, of_image)), line);
      for (uint32_t v = 0; v < channels_.vector; ++v) each.totals.push_back(b_.variable(b_.whole(sums_, 0)));
      pixels.push_back(std::move(each));
    }
    b_.loop(b_.u32(0), taps_[0], b_.u32(1), [&](Id ty) {
      const Id dy = b_.mul(ty, constant(windows_.axes[0].dilation)), down = b_.mul(dy, of_y);
      b_.loop(b_.u32(0), taps_[1], b_.u32(1), [&](Id tx) {
        const Id dx = b_.mul(tx, constant(windows_.axes[1].dilation)), moved = b_.add(down, b_.mul(dx, of_x));
        const Id tap = b_.mul(b_.add(b_.mul(ty, taps_[1]), tx), constant(inner_));
        const auto multiply = [&](Id inner) {
          const Id from = b_.add(b_.mul(b_.add(tap, inner), b_.u32(channels_.of_block())), first);
          const std::vector<Id> weights = shared_weights(from);
          const Id further = b_.add(moved, b_.mul(inner, of_channel));
          for (const Pixel& each : pixels) {
            const Id inside = b_.both(b_.less(b_.add(each.y, dy), bounds[0]), b_.less(b_.add(each.x, dx), bounds[1]));
            const std::vector<Id> loaded =
                b_.load_several(buffers_.a, b_.add(each.at, further), channels_.vector, b_.both(each.is_there, inside));
            for (uint32_t v = 0; v < channels_.vector; ++v)
              add_product(each.totals[v], number(x.dtype, loaded[v]), weights[v]);
          }
        };
        if (inner_ == 1)
          multiply(b_.u32(0));
        else
          b_.loop(0, static_cast<uint64_t>(inner_), multiply);
      });
    });
    const ResultRows lines(b_, whole_, &*sizes_, rows_, all_);
    for (const Pixel& each : pixels) {
      const Located line = lines.line(phase, each.row);
      b_.branch(b_.both(each.is_there, line.valid), [&] {
        std::vector<Id> results;
        for (const Id total : each.totals)
          results.push_back(codegen::to_memory(
              b_, p_.out, codegen::cast(b_, p_.sums, p_.out, codegen::rounded(b_, p_.sums, b_.get(total)))));
        const Id to = b_.add(line.at, channel);
        if (results.size() == 1)
          b_.store(buffers_.out, to, results[0]);
        else
          b_.store_several(buffers_.out, to, results);
      });
    }
  }

  std::vector<Id> shared_weights(Id from) {
    if (channels_.vector > 1 && codegen::size_of(sums_) == 4) return b_.shared_load_several(weights_, from, kVector);
    std::vector<Id> made;
    for (uint32_t v = 0; v < channels_.vector; ++v) made.push_back(b_.shared_load(weights_, b_.add(from, b_.u32(v))));
    return made;
  }
  void add_product(Id total, Id x, Id y) {
    const Id before = b_.get(total);
    b_.set(total,
           uses_fma_ ? b_.fma(x, y, before) : b_.math(Op::add, sums_, {before, b_.math(Op::mul, sums_, {x, y})}));
  }

  const ContractProblem &p_, &whole_;
  const Windows& windows_;
  const Channels channels_;
  const Scalar sums_;
  const int64_t inner_;
  const bool uses_fma_;
  Builder b_;
  const ContractBuffers buffers_;
  std::optional<WindowSizes> sizes_;
  Id all_ = 0, rows_ = 0, first_channel_ = 0, taps_[2]{};
  uint32_t weights_ = 0;
};

// ---- weights ----

class DirectWeights {
 public:
  DirectWeights(const ContractProblem& p, const Channels& channels, int64_t parts, bool has_all_taps,
                const ir::Limits& limits)
      : p_(p),
        windows_(*p.windows),
        channels_(channels),
        parts_(parts),
        has_all_taps_(has_all_taps),
        sums_(codegen::in_register(p.sums)),
        uses_fma_(limits.has_fma),
        b_("convolution_weights", channels.threads),
        buffers_(add_contract_buffers(b_, p, codegen::in_memory(p.a.dtype), codegen::in_memory(p.b.dtype))),
        partial_(b_.add_buffer(codegen::in_memory(p.sums), true)) {}

  Dispatch run() {
    const ContractSide &y = p_.a, &x = p_.b;
    const int64_t lines = windows_.axes[0].phases[0].taps, in_line = windows_.axes[1].phases[0].taps;
    const int64_t rows = has_all_taps_ ? 1 : lines, blocks = channels_.blocks(), length = ceil_div(p_.depth, parts_);
    const Id across = b_.half_size(blocks), above = b_.div(b_.block(), across);
    const Id first_line = b_.mod(above, constant(rows)), part = b_.div(above, constant(rows));
    const WindowSizes sizes(b_, windows_, b_.u32(0));
    const Id all = b_.half_size(channels_.all), depth = b_.half_size(p_.depth), each_part = b_.half_size(length);
    const Id lane = b_.mod(b_.thread(), b_.u32(channels_.lanes)), deep = b_.div(b_.thread(), b_.u32(channels_.lanes));
    const Id own = b_.mul(lane, b_.u32(channels_.vector));
    const Id first_channel = b_.mul(b_.mod(b_.block(), across), b_.u32(channels_.of_block()));
    const Id channel = b_.add(first_channel, own), is_inside = b_.less(channel, all);

    const Id of_image = step(x.steps[0]), of_y = step(x.steps[1]), of_x = step(x.steps[2]);
    const Id bounds[2] = {b_.half_size(windows_.axes[0].image), b_.half_size(windows_.axes[1].image)};
    const Id group = b_.div(channel, constant(p_.rows));
    const Id from_x = b_.add(step(x.offset), b_.mul(group, step(x.group)));
    const Id from_y = b_.add(step(y.offset), b_.mul(channel, step(y.row))), of_pixel = step(y.column);
    const uint32_t taps = u32_of(has_all_taps_ ? lines * in_line : in_line);
    std::vector<Id> totals;
    for (uint32_t i = 0; i < taps * channels_.vector; ++i) totals.push_back(b_.variable(b_.whole(sums_, 0)));

    const Id begin = b_.mul(part, each_part), end = b_.min(b_.add(begin, each_part), depth);
    b_.loop(b_.add(begin, deep), end, b_.u32(channels_.deep()), [&](Id pixel) {
      const WindowSizes::Place place = sizes.place(pixel);
      const std::vector<Id> ys =
          b_.load_several(buffers_.a, b_.add(from_y, b_.mul(pixel, of_pixel)), channels_.vector, is_inside);
      const Id top =
          b_.add(b_.mul(place.y, constant(windows_.axes[0].stride)), constant(windows_.axes[0].phases[0].shift));
      const Id left =
          b_.add(b_.mul(place.x, constant(windows_.axes[1].stride)), constant(windows_.axes[1].phases[0].shift));
      const Id image = b_.add(from_x, b_.mul(place.image, of_image));
      for (uint32_t tap = 0; tap < taps; ++tap) {
        const Id line = b_.add(first_line, constant(tap / in_line));
        const Id down = b_.add(top, b_.mul(line, constant(windows_.axes[0].dilation)));
        const Id right = b_.add(left, constant(tap % in_line * windows_.axes[1].dilation));
        const Id inside = b_.both(b_.less(down, bounds[0]), b_.less(right, bounds[1]));
        const Id at = b_.add(image, b_.add(b_.mul(down, of_y), b_.mul(right, of_x)));
        const std::vector<Id> xs = b_.load_several(buffers_.b, at, channels_.vector, b_.both(is_inside, inside));
        for (uint32_t v = 0; v < channels_.vector; ++v)
          add_product(totals[tap * channels_.vector + v], number(x.dtype, xs[v]), number(y.dtype, ys[v]));
      }
    });

    const uint32_t wide = channels_.of_block(), shared = b_.add_shared(sums_, channels_.deep() * wide);
    const Id results = b_.half_size(p_.elements()), all_taps = constant(lines * in_line);
    const Id is_adder = b_.both(b_.less(b_.thread(), b_.u32(wide)), b_.less(b_.add(first_channel, b_.thread()), all));
    for (uint32_t tap = 0; tap < taps; ++tap) {
      if (tap > 0) b_.barrier();
      for (uint32_t v = 0; v < channels_.vector; ++v) {
        const Id to = b_.add(b_.mul(deep, b_.u32(wide)), b_.add(own, b_.u32(v)));
        b_.shared_store(shared, to, b_.get(totals[tap * channels_.vector + v]));
      }
      b_.barrier();
      b_.branch(is_adder, [&] {
        const Id total = b_.variable(b_.shared_load(shared, b_.thread()));
        b_.loop(1, channels_.deep(), [&](Id other) {
          const Id next = b_.shared_load(shared, b_.add(b_.mul(other, b_.u32(wide)), b_.thread()));
          b_.set(total, codegen::join(b_, Op::sum, p_.sums, b_.get(total), next));
        });
        const Id number = b_.add(b_.mul(first_line, constant(in_line)), constant(tap));
        const Id place = b_.add(b_.mul(b_.add(first_channel, b_.thread()), all_taps), number);
        b_.store(partial_, b_.add(b_.mul(part, results), place), codegen::to_memory(b_, p_.sums, b_.get(total)));
      });
    }
    Dispatch made{b_.finish(), {static_cast<uint64_t>(blocks * rows * parts_), 1, 1}, contract_bindings(p_), false};
    made.buffers.push_back({static_cast<uint32_t>(made.buffers.size()), 0});
    made.sizes = b_.sizes();
    return made;
  }

 private:
  Id constant(int64_t value) { return b_.u32(static_cast<uint64_t>(value)); }
  Id step(int64_t value) { return value == 0 || value == 1 ? constant(value) : b_.half_size(value); }
  Id number(DType dtype, Id loaded) {
    return codegen::cast(b_, dtype, p_.sums, codegen::from_memory(b_, dtype, loaded));
  }
  void add_product(Id total, Id x, Id y) {
    const Id before = b_.get(total);
    b_.set(total,
           uses_fma_ ? b_.fma(x, y, before) : b_.math(Op::add, sums_, {before, b_.math(Op::mul, sums_, {x, y})}));
  }

  const ContractProblem& p_;
  const Windows& windows_;
  const Channels channels_;
  const int64_t parts_;
  const bool has_all_taps_;
  const Scalar sums_;
  const bool uses_fma_;
  Builder b_;
  const ContractBuffers buffers_;
  const uint32_t partial_;
};

}  // namespace

std::optional<codegen::Module> direct_convolution(const ContractProblem& p, const ir::Limits& limits) {
  using Order = ContractSide::Order;
  if (!p.windows || p.windows->groups == 1 || p.elements() == 0 || p.depth == 0) return std::nullopt;
  if (p.a.order != Order::windows || p.b.order != Order::weights) return std::nullopt;
  if (p.windows->channels >= kFewChannels || p.columns >= kFewChannels) return std::nullopt;
  const int64_t all = p.columns * p.windows->groups;
  const bool is_depthwise = p.columns == 1 && p.windows->channels == 1;
  Channels channels = channels_of(all, is_depthwise && goes_by_vectors(p.a, p.a.steps[3], all), limits);
  const auto bytes = [&] {
    return static_cast<uint64_t>(p.windows->taps() * p.windows->channels) * channels.of_block() * size_of(p.sums);
  };
  while (channels.lanes > 1 && bytes() > limits.shared_bytes) channels.lanes /= 2;
  if (bytes() > limits.shared_bytes) return std::nullopt;
  // All groups at once.
  ContractProblem whole = p;
  whole.windows->groups = whole.windows->channels = 1;
  whole.columns = all;
  whole.batch = whole.windows->phases() > 1 ? Dims{whole.windows->phases()} : Dims{};
  codegen::Module made;
  made.dispatches.push_back(DirectSums(p, whole, channels, limits).run());
  return made;
}

std::optional<codegen::Module> direct_weights(const ContractProblem& p, const ir::Limits& limits) {
  using Order = ContractSide::Order;
  if (!p.windows || p.windows->groups == 1 || p.elements() == 0 || p.depth == 0) return std::nullopt;
  if (p.b.order != Order::taps || !p.a.is_strided || p.windows->channels != 1 || p.rows >= kFewChannels)
    return std::nullopt;
  const int64_t all = p.rows * p.windows->groups, in_line = p.windows->axes[1].most_taps();
  const auto fits = [](int64_t elements) { return elements % kVector == 0; };
  const bool has_vectors = p.rows == 1 && goes_by_vectors(p.b, p.b.steps[3], all) && p.a.row == 1 && fits(p.a.column) &&
                           fits(p.a.offset) && in_line * kVector <= kDirectSums;
  const Channels channels = channels_of(all, has_vectors, limits);
  if (in_line * channels.vector > kDirectSums) return std::nullopt;
  if (channels.threads * channels.vector * size_of(p.sums) > limits.shared_bytes) return std::nullopt;
  const bool has_all_taps = p.windows->taps() * channels.vector <= kDirectSums;
  const int64_t blocks = channels.blocks() * (has_all_taps ? 1 : p.windows->axes[0].most_taps());
  const int64_t parts = std::clamp(ceil_div(int64_t{4} * limits.processors, blocks), int64_t{1},
                                   std::min(kMostDirectParts, ceil_div(p.depth, kLeastPixels)));
  codegen::Module made;
  made.scratch_bytes = static_cast<size_t>(p.elements() * parts) * size_of(p.sums);
  made.dispatches.push_back(DirectWeights(p, channels, parts, has_all_taps, limits).run());
  made.dispatches.push_back(product_sum(p, parts, limits));
  return made;
}

}  // namespace tenon::kernels
