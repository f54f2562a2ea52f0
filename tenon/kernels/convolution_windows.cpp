#include "tenon/kernels/convolution_windows.h"

#include <algorithm>
#include <bit>

#include "tenon/kernels/contract_problem.h"

namespace tenon::kernels {

using codegen::Builder;
using codegen::Id;
using codegen::kNoValue;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

int64_t WindowAxis::most_taps() const { return std::ranges::max_element(phases, {}, &Phase::taps)->taps; }

bool WindowAxis::stays_inside() const {
  return std::ranges::all_of(phases, [&](const Phase& phase) {
    const int64_t last = (phase.taps - 1) * dilation, least = phase.shift + std::min<int64_t>(0, last);
    const int64_t most = (windows - 1) * stride + phase.shift + std::max<int64_t>(0, last);
    return phase.taps == 0 || (least >= 0 && most < image);
  });
}

// ---- division ----

// n / d = ((n m >> 32) + n) >> l with l the bits of d - 1 and m = 2^32 (2^l - d) / d + 1 (Granlund and Montgomery,
// 1994); n below 2^31 keeps the sum below 2^32.
Divisor::Divisor(Builder& b, int64_t value, Id shift) : b_(b), is_one_(value <= 1), value_(b.u32(1)), shift_(shift) {
  if (is_one_) return;
  const auto divisor = static_cast<uint64_t>(value);
  const uint64_t magic = (((uint64_t{1} << std::bit_width(divisor - 1)) - divisor) << 32) / divisor + 1;
  value_ = b.half_size(value);
  magic_ = b.half_size(static_cast<int64_t>(magic));
}

Id Divisor::quotient(Id n) const {
  if (is_one_) return n;
  return b_.math(Op::shr, Scalar::u32, {b_.add(b_.mul_high(n, magic_), n), shift_});
}

std::pair<Id, Id> Divisor::divide(Id n) const {
  if (is_one_) return {n, b_.u32(0)};
  const Id whole = quotient(n);
  return {whole, b_.sub(n, b_.mul(whole, value_))};
}

// ---- sizes ----

WindowSizes::WindowSizes(Builder& b, const Windows& windows, Id batch) : b_(b), windows_(windows) {
  const auto down = static_cast<uint32_t>(windows.axes[0].phases.size()),
             across = static_cast<uint32_t>(windows.axes[1].phases.size());
  batch = b.convert(batch, Scalar::u32);
  phases_[1] = b.mod(batch, b.u32(across));
  phases_[0] = b.mod(b.div(batch, b.u32(across)), b.u32(down));
  group_ = windows.groups == 1 ? b.u32(0) : b.div(batch, b.u32(across * down));
  const int64_t line = windows.axes[1].windows, area = windows.axes[0].windows * line;
  const int64_t divisors[] = {windows.taps() > 1 ? windows.channels : 1, area, line};
  int64_t shifts = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (divisors[i] > 1)
      shifts |= static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(divisors[i] - 1))) << (8 * i);
  }
  const Id all = shifts == 0 ? b.u32(0) : b.half_size(shifts);
  std::optional<Divisor>* const made[] = {&channels_, &area_, &line_};
  for (size_t i = 0; i < 3; ++i) {
    const Id moved = b.math(Op::shr, Scalar::u32, {all, b.u32(8 * i)});
    made[i]->emplace(b, divisors[i], b.math(Op::bit_and, Scalar::u32, {moved, b.u32(0xFF)}));
  }
  if (windows.phases() == 1) return;
  const Id taps = b.mul(of_phase(0, &WindowAxis::Phase::taps), of_phase(1, &WindowAxis::Phase::taps));
  depth_ = b.mul(taps, windows.taps() > 1 ? channels_->value() : b.half_size(windows.channels));
}

template <typename F>
Id WindowSizes::chosen(size_t axis, F&& of) const {
  const auto& phases = windows_.axes[axis].phases;
  Id made = of(phases[0]);
  for (size_t i = 1; i < phases.size(); ++i) made = b_.select(b_.equal(phases_[axis], b_.u32(i)), of(phases[i]), made);
  return made;
}

Id WindowSizes::of_phase(size_t axis, int64_t WindowAxis::Phase::*number) const {
  return chosen(axis, [&](const WindowAxis::Phase& phase) { return b_.u32(static_cast<uint64_t>(phase.*number)); });
}

WindowSizes::Place WindowSizes::place(Id window) const {
  const auto [image, rest] = area_->divide(window);
  const auto [y, x] = windows_.axes[1].windows == 1 ? std::pair{rest, b_.u32(0)} : line_->divide(rest);
  return {image, y, x};
}

WindowSizes::Tap WindowSizes::tap(Id k) const {
  if (windows_.taps() <= 1) return {b_.u32(0), b_.u32(0), k};
  const auto [tap, channel] = channels_->divide(k);
  if (windows_.axes[0].most_taps() <= 1) return {b_.u32(0), tap, channel};
  if (windows_.axes[1].most_taps() <= 1) return {tap, b_.u32(0), channel};
  const Id y = chosen(1, [&, tap = tap](const WindowAxis::Phase& phase) {
    return b_.div(tap, b_.u32(static_cast<uint64_t>(std::max<int64_t>(1, phase.taps))));
  });
  return {y, b_.sub(tap, b_.mul(y, of_phase(1, &WindowAxis::Phase::taps))), channel};
}

// ---- operands ----

WindowReader::WindowReader(Builder& b, const ContractSide& side, const WindowSizes& sizes, uint32_t unit,
                           uint32_t strip)
    : b_(b),
      side_(side),
      sizes_(sizes),
      unit_(unit),
      is_one_tap_(strip > 0 &&
                  (side.order == ContractSide::Order::windows || side.order == ContractSide::Order::weights) &&
                  (sizes.windows().channels % strip == 0 || sizes.windows().taps() <= 1)) {
  const Windows& windows = sizes.windows();
  const auto size = [&](int64_t elements) {
    return elements < unit || elements == 1 ? b.u32(static_cast<uint64_t>(elements)) : b.half_size(elements / unit);
  };
  const bool is_image = side.order == ContractSide::Order::windows || side.order == ContractSide::Order::taps;
  for (size_t i = 0; i < 2; ++i) {
    const bool is_bounded = is_image && !windows.axes[i].stays_inside();
    bounds_[i] = is_bounded ? b.half_size(windows.axes[i].image) : kNoValue;
  }
  const Dims& steps = side.steps;
  steps_[3] = size(steps[3]);
  steps_[2] = size(steps[2]);
  // Of images that lie row by row the other steps follow from their sizes.
  const int64_t height = windows.axes[0].image, width = windows.axes[1].image;
  const bool is_dense = is_image && steps[1] == width * steps[2] && steps[0] == height * steps[1];
  steps_[1] = is_dense && bounds_[1] != kNoValue ? b.mul(bounds_[1], steps_[2]) : size(steps[1]);
  steps_[0] = is_dense && bounds_[0] != kNoValue ? b.mul(bounds_[0], steps_[1]) : size(steps[0]);
  base_ = size(side.offset);
  if (windows.groups > 1) base_ = b.add(base_, b.mul(sizes.group(), size(side.group)));
}

Id WindowReader::scaled(Id x, int64_t factor) const { return b_.mul(x, b_.u32(static_cast<uint64_t>(factor))); }

Id WindowReader::inside(Id y, Id x) const {
  Id made = kNoValue;
  if (bounds_[0] != kNoValue) made = b_.less(y, bounds_[0]);
  if (bounds_[1] != kNoValue) made = b_.both(made, b_.less(x, bounds_[1]));
  return made;
}

// Steps are, in their order, those of images, rows, columns and channels; of weights those of the number that the inner
// dimension ends with, rows, columns, and the number that lies across.
WindowReader::Place WindowReader::place(Id across, Id k) const {
  const Windows& windows = sizes_.windows();
  const auto in_units = [&](Id elements) { return b_.div(elements, b_.u32(unit_)); };
  const auto shift = [&](size_t axis) { return sizes_.of_phase(axis, &WindowAxis::Phase::shift); };
  const auto first = [&](size_t axis) { return sizes_.of_phase(axis, &WindowAxis::Phase::first); };
  const auto on_image = [&](Id begin, Id y, Id x) {
    return b_.add(begin, b_.add(b_.mul(y, steps_[1]), b_.mul(x, steps_[2])));
  };
  switch (side_.order) {
    case ContractSide::Order::windows: {
      const WindowSizes::Place window = sizes_.place(across);
      const Id y = b_.add(scaled(window.y, windows.axes[0].stride), shift(0));
      const Id x = b_.add(scaled(window.x, windows.axes[1].stride), shift(1));
      Id at = on_image(b_.add(base_, b_.mul(window.image, steps_[0])), y, x);
      if (is_one_tap_) at = b_.add(at, b_.mul(in_units(k), steps_[3]));
      return {at, y, x, k};
    }
    case ContractSide::Order::taps: {
      const WindowSizes::Tap tap = sizes_.tap(across);
      const Id y = b_.add(scaled(tap.y, windows.axes[0].dilation), shift(0));
      const Id x = b_.add(scaled(tap.x, windows.axes[1].dilation), shift(1));
      const Id at = on_image(b_.add(base_, b_.mul(in_units(tap.channel), steps_[3])), y, x);
      return {at, y, x, k};
    }
    case ContractSide::Order::places:
      return {b_.add(base_, b_.mul(in_units(across), steps_[3])), kNoValue, kNoValue, k};
    default: {
      Id at = on_image(b_.add(base_, b_.mul(in_units(across), steps_[3])), first(0), first(1));
      if (is_one_tap_) at = b_.add(at, b_.mul(k, steps_[0]));
      return {at, kNoValue, kNoValue, k};
    }
  }
}

Located WindowReader::at(const Place& place, Id depth) const {
  const Windows& windows = sizes_.windows();
  const Id k = is_one_tap_ ? depth : b_.add(depth, place.k);
  if (side_.order == ContractSide::Order::places) {
    const WindowSizes::Place window = sizes_.place(k);
    const Id line = b_.add(b_.mul(window.y, steps_[1]), b_.mul(window.x, steps_[2]));
    return {b_.add(place.at, b_.add(b_.mul(window.image, steps_[0]), line)), kNoValue};
  }
  if (side_.order == ContractSide::Order::taps) {
    const WindowSizes::Place window = sizes_.place(k);
    const Id y = scaled(window.y, windows.axes[0].stride), x = scaled(window.x, windows.axes[1].stride);
    const Id line = b_.add(b_.mul(window.image, steps_[0]), b_.add(b_.mul(y, steps_[1]), b_.mul(x, steps_[2])));
    return {b_.add(place.at, line), inside(b_.add(place.y, y), b_.add(place.x, x))};
  }
  const WindowSizes::Tap tap = sizes_.tap(k);
  if (side_.order == ContractSide::Order::weights) {
    const Id y = b_.mul(scaled(tap.y, windows.axes[0].step), steps_[1]);
    const Id x = b_.mul(scaled(tap.x, windows.axes[1].step), steps_[2]);
    return {b_.add(place.at, b_.add(b_.mul(tap.channel, steps_[0]), b_.add(y, x))), kNoValue};
  }
  const Id y = scaled(tap.y, windows.axes[0].dilation), x = scaled(tap.x, windows.axes[1].dilation);
  const Id channel = b_.mul(b_.div(tap.channel, b_.u32(unit_)), steps_[3]);
  const Id moved = b_.add(b_.add(b_.mul(y, steps_[1]), b_.mul(x, steps_[2])), channel);
  return {b_.add(place.at, moved), inside(b_.add(place.y, y), b_.add(place.x, x))};
}

// ---- results ----

namespace {
// Whether the rows of all groups and phases lie as they are counted.
bool lie_in_order(const ContractProblem& p) {
  return !p.windows || p.has_natural_rows || (p.windows->groups == 1 && p.windows->phases() == 1);
}
}  // namespace

ResultRows::ResultRows(Builder& b, const ContractProblem& p, const WindowSizes* sizes, Id rows, Id columns)
    : b_(b), p_(p), sizes_(sizes), rows_(rows), columns_(columns) {
  if (lie_in_order(p) || p.windows->phases() == 1) return;
  for (size_t i = 0; i < 2; ++i) bounds_[i] = b.half_size(p.windows->axes[i].result);
}

Located ResultRows::line(Id batch, Id row) const {
  if (lie_in_order(p_)) return {b_.mul(b_.add(b_.mul(batch, rows_), row), columns_), kNoValue};
  const Scalar index = b_.type_of(row);
  const Windows& windows = *p_.windows;
  const Id columns = b_.convert(columns_, Scalar::u32);
  const Id group = b_.mul(sizes_->group(), columns),
           all = b_.mul(columns, b_.u32(static_cast<uint64_t>(windows.groups)));
  Id pixel = b_.convert(row, Scalar::u32), is_there = kNoValue;
  if (windows.phases() > 1) {
    const WindowSizes::Place window = sizes_->place(pixel);
    Id at[2] = {window.y, window.x};
    for (size_t i = 0; i < 2; ++i) {
      const WindowAxis& axis = windows.axes[i];
      const auto phases = static_cast<int64_t>(axis.phases.size());
      at[i] = b_.add(b_.mul(at[i], b_.u32(static_cast<uint64_t>(phases))), sizes_->phase(i));
      if (axis.windows * phases != axis.result) is_there = b_.both(is_there, b_.less(at[i], bounds_[i]));
    }
    pixel = b_.add(b_.mul(b_.add(b_.mul(window.image, bounds_[0]), at[0]), bounds_[1]), at[1]);
  }
  return {b_.convert(b_.add(b_.mul(pixel, all), group), index), is_there};
}

}  // namespace tenon::kernels
