// Composition of index maps.

#include "tenon/ir/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::ir {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

bool has_negative(const Dims& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
}

bool has_zero(const Dims& sizes) { return std::find(sizes.begin(), sizes.end(), 0) != sizes.end(); }

void drop_full_mask(View& view) {
  for (size_t i = 0; i < view.valid_from.size(); ++i) {
    if (view.valid_from[i] > 0 || view.valid_to[i] < view.shape[i]) return;
  }
  view.valid_from.clear();
  view.valid_to.clear();
}

// An axis of size 1 is never stepped along: stride 0 there makes equal maps compare equal.
void drop_unit_strides(View& view) {
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) view.strides[i] = 0;
  }
}

void permute(View& view, const Dims& axes) {
  for (Dims* list : {&view.shape, &view.strides, &view.valid_from, &view.valid_to}) {
    if (list->empty()) continue;
    const Dims before = *list;
    for (size_t i = 0; i < axes.size(); ++i) (*list)[i] = before[static_cast<size_t>(axes[i])];
  }
}

void expand(View& view, const Dims& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (view.shape[i] == shape[i]) continue;
    view.shape[i] = shape[i];
    view.strides[i] = 0;
    if (view.masked()) view.valid_to[i] = view.valid_from[i] < view.valid_to[i] ? shape[i] : view.valid_from[i];
  }
}

// Padding moves the offset before the buffer. A view whose strides are long (a slice in steps) and whose padding is,
// too, would need one that 64 bits do not hold.
bool offset_holds(const View& view, const PadAttrs& pad) {
  constexpr int64_t kFar = int64_t{1} << 60;
  int64_t offset = view.offset;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    int64_t distance = 0;
    if (__builtin_mul_overflow(pad.before[i], view.strides[i], &distance)) return false;
    if (__builtin_sub_overflow(offset, distance, &offset)) return false;
    if (offset > kFar || offset < -kFar) return false;
  }
  return true;
}

void pad(View& view, const PadAttrs& pad) {
  if (!view.masked()) {
    view.valid_from = Dims(view.shape.size(), 0);
    view.valid_to = view.shape;
  }
  for (size_t i = 0; i < view.shape.size(); ++i) {
    view.shape[i] += pad.before[i] + pad.after[i];
    view.offset -= pad.before[i] * view.strides[i];
    view.valid_from[i] += pad.before[i];
    view.valid_to[i] += pad.before[i];
  }
  drop_full_mask(view);
}

void shrink(View& view, const ShrinkAttrs& shrink) {
  for (size_t i = 0; i < view.shape.size(); ++i) {
    // Where nothing is stepped over, start and step may be any numbers.
    const int64_t start = shrink.size[i] > 0 ? shrink.start[i] : 0, step = shrink.size[i] > 1 ? shrink.step[i] : 1;
    view.offset += start * view.strides[i];
    view.strides[i] *= step;
    view.shape[i] = shrink.size[i];
    if (!view.masked()) continue;
    const auto rescale = [&](int64_t bound) {
      return std::clamp<int64_t>(ceil_div(bound - start, step), 0, shrink.size[i]);
    };
    view.valid_from[i] = rescale(view.valid_from[i]);
    view.valid_to[i] = rescale(view.valid_to[i]);
  }
  drop_full_mask(view);
}

void flip(View& view, const Dims& axes) {
  for (int64_t axis : axes) {
    const auto i = static_cast<size_t>(axis);
    view.offset += (view.shape[i] - 1) * view.strides[i];
    view.strides[i] = -view.strides[i];
    if (!view.masked()) continue;
    const int64_t from = view.valid_from[i];
    view.valid_from[i] = view.shape[i] - view.valid_to[i];
    view.valid_to[i] = view.shape[i] - from;
  }
}

// Strides that show an unmasked view under another shape of the same count, if there are any: axes of the old shape are
// merged while they lie evenly behind one another, and each merged run is cut into axes of the new shape.
std::optional<Dims> reshaped_strides(const View& view, const Dims& shape) {
  Dims strides(shape.size(), 0);
  auto target = static_cast<int64_t>(shape.size()) - 1;
  int64_t run = 1;         // elements in the current run of old axes
  int64_t run_stride = 0;  // its innermost stride
  bool run_open = false;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (!run_open) {
      run_open = true;
      run_stride = view.strides[i];
      run = 1;
    }
    run *= view.shape[i];
    size_t next = i;
    while (next > 0 && view.shape[next - 1] == 1) --next;
    const bool joins = next > 0 && view.strides[next - 1] == view.strides[i] * view.shape[i];
    if (joins) continue;
    int64_t covered = 1;
    while (target >= 0 && (covered < run || shape[static_cast<size_t>(target)] == 1)) {
      strides[static_cast<size_t>(target)] = covered * run_stride;
      covered *= shape[static_cast<size_t>(target)];
      --target;
    }
    if (covered != run) return std::nullopt;
    run_open = false;
  }
  return strides;
}

// A padded view and one on top of it as a single view: where the elements that the top one shows are none of the
// padding, and no step along its axes carries from one axis of the view below to the next.
std::optional<View> composed(const View& below, const View& top) {
  if (!below.masked() || top.masked() || has_zero(top.shape)) return std::nullopt;
  const size_t rank = below.shape.size();
  const auto unravelled = [&](int64_t flat) -> std::optional<Dims> {
    Dims index(rank);
    for (size_t j = rank; j-- > 0;) {
      index[j] = flat % below.shape[j];
      flat /= below.shape[j];
    }
    return flat == 0 ? std::optional(std::move(index)) : std::nullopt;
  };
  const auto first = unravelled(top.offset);
  if (!first) return std::nullopt;
  View made{top.shape, Dims(top.shape.size(), 0), below.offset, {}, {}};
  Dims last = *first;
  for (size_t j = 0; j < rank; ++j) made.offset += (*first)[j] * below.strides[j];
  for (size_t i = 0; i < top.shape.size(); ++i) {
    if (top.shape[i] == 1 || top.strides[i] == 0) continue;
    const auto step = top.strides[i] > 0 ? unravelled(top.strides[i]) : std::nullopt;
    if (!step) return std::nullopt;
    for (size_t j = 0; j < rank; ++j) {
      made.strides[i] += (*step)[j] * below.strides[j];
      last[j] += (*step)[j] * (top.shape[i] - 1);
    }
  }
  for (size_t j = 0; j < rank; ++j) {
    if ((*first)[j] < below.valid_from[j] || last[j] >= below.valid_to[j]) return std::nullopt;
  }
  return made;
}

}  // namespace

View View::contiguous(const Dims& shape) {
  View view{shape, row_major_strides(shape), 0, {}, {}};
  drop_unit_strides(view);
  return view;
}

bool View::is_contiguous() const {
  if (masked()) return false;
  if (has_zero(shape)) return true;
  if (offset != 0) return false;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

Dims moved_shape(const Move& move, const Dims& shape) {
  const size_t rank = shape.size();
  const auto refuse = [&]() {
    base::fail(name(move.op), "{} does not fit shape {}", to_string(attrs_of(move)), to_string(shape));
  };
  switch (move.op) {
    case Op::reshape: {
      const Dims& to = std::get<ShapeAttrs>(move.attrs).shape;
      if (has_negative(to)) refuse();
      require_shape(name(move.op), to);
      if (count(to) != count(shape)) refuse();
      return to;
    }
    case Op::expand: {
      const Dims& to = std::get<ShapeAttrs>(move.attrs).shape;
      if (to.size() != rank || has_negative(to)) refuse();
      for (size_t i = 0; i < rank; ++i) {
        if (shape[i] != to[i] && shape[i] != 1) refuse();
      }
      require_shape(name(move.op), to);
      return to;
    }
    case Op::permute: {
      const Dims& axes = std::get<AxesAttrs>(move.attrs).axes;
      Dims to(rank), seen(rank, 0);
      if (axes.size() != rank) refuse();
      for (size_t i = 0; i < rank; ++i) {
        if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axes[i])]++) refuse();
        to[i] = shape[static_cast<size_t>(axes[i])];
      }
      return to;
    }
    case Op::pad: {
      const auto& pad = std::get<PadAttrs>(move.attrs);
      if (pad.before.size() != rank || pad.after.size() != rank) refuse();
      Dims to = shape;
      for (size_t i = 0; i < rank; ++i) {
        if (pad.before[i] < 0 || pad.after[i] < 0) refuse();
        if (pad.before[i] > kMostElements || pad.after[i] > kMostElements) {
          base::fail(name(move.op), "{} and {} elements around dim {} of a tensor of shape {} are too many elements",
                     pad.before[i], pad.after[i], i, to_string(shape));
        }
        to[i] += pad.before[i] + pad.after[i];
      }
      require_shape(name(move.op), to);
      return to;
    }
    case Op::shrink: {
      const auto& cut = std::get<ShrinkAttrs>(move.attrs);
      if (cut.start.size() != rank || cut.size.size() != rank || cut.step.size() != rank) refuse();
      for (size_t i = 0; i < rank; ++i) {
        if (cut.start[i] < 0 || cut.step[i] < 1 || cut.size[i] < 0) refuse();
        if (cut.size[i] == 0) continue;
        if (cut.start[i] >= shape[i]) refuse();
        if (cut.size[i] - 1 > (shape[i] - 1 - cut.start[i]) / cut.step[i]) refuse();
      }
      require_shape(name(move.op), cut.size);
      return cut.size;
    }
    default: {
      for (int64_t axis : std::get<AxesAttrs>(move.attrs).axes) {
        if (axis < 0 || axis >= static_cast<int64_t>(rank)) refuse();
      }
      return shape;
    }
  }
}

void IndexMap::apply(const Move& move) { look_through(move.op, move.attrs); }
void IndexMap::apply(Op op, const Attrs& attrs) { look_through(op, attrs); }

template <typename AnyAttrs>
void IndexMap::look_through(Op op, const AnyAttrs& attrs) {
  View& top = views_.back();
  switch (op) {
    case Op::permute: permute(top, std::get<AxesAttrs>(attrs).axes); break;
    case Op::expand: expand(top, std::get<ShapeAttrs>(attrs).shape); break;
    case Op::pad: {
      const auto& around = std::get<PadAttrs>(attrs);
      if (!offset_holds(top, around)) views_.push_back(View::contiguous(top.shape));
      pad(views_.back(), around);
      break;
    }
    case Op::shrink:
      shrink(top, std::get<ShrinkAttrs>(attrs));
      join_views();
      break;
    case Op::flip: flip(top, std::get<AxesAttrs>(attrs).axes); break;
    default: reshape(std::get<ShapeAttrs>(attrs).shape); break;
  }
  drop_unit_strides(views_.back());
}

void IndexMap::reshape(const Dims& shape) {
  View& top = views_.back();
  if (has_zero(shape)) {
    views_ = {View::contiguous(shape)};
    return;
  }
  if (!top.masked()) {
    if (auto strides = reshaped_strides(top, shape)) {
      top.shape = shape;
      top.strides = std::move(*strides);
      return;
    }
  }
  views_.push_back(View::contiguous(shape));
}

void IndexMap::join_views() {
  while (views_.size() > 1) {
    std::optional<View> joined = composed(views_[views_.size() - 2], views_.back());
    if (!joined) return;
    views_.pop_back();
    views_.back() = std::move(*joined);
  }
}

int64_t IndexMap::locate(std::span<const int64_t> index) const {
  Dims unravelled;
  for (size_t level = views_.size(); level-- > 0;) {
    const View& view = views_[level];
    int64_t flat = view.offset;
    for (size_t i = 0; i < view.shape.size(); ++i) {
      if (view.masked() && (index[i] < view.valid_from[i] || index[i] >= view.valid_to[i])) return kPadding;
      flat += index[i] * view.strides[i];
    }
    if (level == 0) return flat;
    const View& below = views_[level - 1];
    unravelled.resize(below.shape.size());
    for (size_t i = below.shape.size(); i-- > 0;) {
      unravelled[i] = flat % below.shape[i];
      flat /= below.shape[i];
    }
    index = {unravelled.data(), unravelled.size()};
  }
  return 0;
}

namespace {

// How many of `most` numbers from, from + step, ... lie in begin ... end - 1; the first one does.
int64_t count_inside(int64_t from, int64_t step, int64_t begin, int64_t end, int64_t most) {
  if (step == 0) return most;
  return std::min(most, (step > 0 ? (end - 1 - from) / step : (from - begin) / -step) + 1);
}

// How many of them lie outside before one lies inside; the first one does not.
int64_t count_outside(int64_t from, int64_t step, int64_t begin, int64_t end, int64_t most) {
  const int64_t away = from < begin ? begin - from : end - 1 - from;  // has the sign of the way there
  if (step == 0 || (step > 0) != (away > 0)) return most;
  return std::min(most, (std::abs(away) + std::abs(step) - 1) / std::abs(step));
}

}  // namespace

IndexMap::Run IndexMap::run_from(std::span<const int64_t> index, int64_t most) const {
  Dims unravelled;
  size_t moving = index.empty() ? 0 : index.size() - 1;  // the axis along which the run goes, by so much an element
  int64_t move = index.empty() ? 0 : 1;
  for (size_t level = views_.size(); level-- > 0;) {
    const View& view = views_[level];
    int64_t flat = view.offset;
    const auto is_valid = [&](size_t i) { return index[i] >= view.valid_from[i] && index[i] < view.valid_to[i]; };
    for (size_t i = 0; i < view.shape.size(); ++i) {
      if (view.masked() && i != moving && !is_valid(i)) return {kPadding, 0, most};
      flat += index[i] * view.strides[i];
    }
    int64_t step = view.shape.empty() ? 0 : move * view.strides[moving];
    if (view.masked() && !view.shape.empty()) {
      const int64_t from = view.valid_from[moving], to = view.valid_to[moving];
      if (!is_valid(moving))
        return {kPadding, 0, from < to ? count_outside(index[moving], move, from, to, most) : most};
      most = count_inside(index[moving], move, from, to, most);
    }
    if (level == 0) return {flat, step, most};
    const View& below = views_[level - 1];
    unravelled.resize(below.shape.size());
    moving = 0, move = 0;
    for (size_t i = below.shape.size(); i-- > 0;) {
      const int64_t size = below.shape[i];
      unravelled[i] = flat % size;
      flat /= size;
      if (step == 0) continue;
      if (step % size == 0) {  // a whole number of times around this axis
        step /= size;
        continue;
      }
      moving = i;
      move = std::exchange(step, 0);
      most = count_inside(unravelled[i], move, 0, size, most);
    }
    if (step != 0) most = 1;
    index = {unravelled.data(), unravelled.size()};
  }
  return {};
}

bool IndexMap::is_constant_along(size_t axis) const {
  const View& top = views_.back();
  if (top.masked() && (top.valid_from[axis] > 0 || top.valid_to[axis] < top.shape[axis])) return false;
  return top.shape[axis] == 1 || top.strides[axis] == 0;
}

bool IndexMap::can_merge(size_t axis) const {
  const View& top = views_.back();
  if (top.masked()) {
    for (size_t i : {axis, axis + 1}) {
      if (top.valid_from[i] != 0 || top.valid_to[i] != top.shape[i]) return false;
    }
  }
  if (top.shape[axis] == 1 || top.shape[axis + 1] == 1) return true;
  return top.strides[axis] == top.strides[axis + 1] * top.shape[axis + 1];
}

void IndexMap::merge(size_t axis) {
  View& top = views_.back();
  if (top.shape[axis + 1] == 1) top.strides[axis + 1] = top.strides[axis];
  top.shape[axis + 1] *= top.shape[axis];
  if (top.masked()) top.valid_to[axis + 1] = top.shape[axis + 1];
  for (Dims* list : {&top.shape, &top.strides, &top.valid_from, &top.valid_to}) {
    if (!list->empty()) list->erase(list->begin() + axis);
  }
}

void IndexMap::keep_leading(size_t rank) {
  View& top = views_.back();
  for (Dims* list : {&top.shape, &top.strides, &top.valid_from, &top.valid_to}) {
    if (!list->empty()) list->resize(rank);
  }
}

void IndexMap::drop_leading(size_t axes) {
  View& top = views_.back();
  for (Dims* list : {&top.shape, &top.strides, &top.valid_from, &top.valid_to}) {
    if (!list->empty()) *list = Dims(list->begin() + axes, list->end());
  }
}

bool IndexMap::has_padding() const {
  return std::any_of(views_.begin(), views_.end(), [](const View& view) { return view.masked(); });
}

// From the longest stride to the shortest, each axis is cut from what the one before leaves: (..., length) is shown as
// (..., size, stride), padded where the last stride would reach beyond the end. No element shown is padding, so that
// strides remain.
std::optional<std::vector<Move>> moves_to(const View& view, const Dims& shape) {
  if (view.masked() || has_zero(view.shape)) return std::nullopt;
  const int64_t total = count(shape);
  if (view.is_contiguous() && count(view.shape) == total)
    return std::vector<Move>{{Op::reshape, ShapeAttrs{view.shape}}};
  struct Axis {
    size_t place;
    int64_t size, stride;
  };
  std::vector<Axis> axes;
  Dims backwards;
  int64_t begin = view.offset;
  int64_t reach = 1;  // elements from the first one shown to the last
  for (size_t i = 0; i < view.shape.size(); ++i) {
    int64_t stride = view.strides[i];
    if (view.shape[i] == 1 || stride == 0) continue;
    if (stride < 0) {
      begin += (view.shape[i] - 1) * stride;
      stride = -stride;
      backwards.push_back(static_cast<int64_t>(i));
    }
    reach += (view.shape[i] - 1) * stride;
    axes.push_back({i, view.shape[i], stride});
  }
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });

  std::vector<Move> moves{{Op::reshape, ShapeAttrs{{total}}}};
  Dims now{total};  // the last axis is the one that is cut
  const auto cut = [&](int64_t start, int64_t size, int64_t step) {
    if (start == 0 && size == now.back() && step == 1) return;
    ShrinkAttrs attrs{Dims(now.size(), 0), now, Dims(now.size(), 1)};
    attrs.start[now.size() - 1] = start;
    attrs.size[now.size() - 1] = now.back() = size;
    attrs.step[now.size() - 1] = step;
    moves.push_back({Op::shrink, std::move(attrs)});
  };
  if (axes.empty()) cut(begin, 1, 1);
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto& [place, size, stride] = axes[k];
    if (begin + reach > now.back()) return std::nullopt;
    reach -= (size - 1) * stride;
    if (k + 1 == axes.size()) {
      cut(begin, size, stride);
      break;
    }
    int64_t wanted = 0;
    if (__builtin_mul_overflow(size, stride, &wanted) || wanted > kMostElements) return std::nullopt;
    cut(begin, std::min(wanted, now.back() - begin), 1);
    if (now.back() < wanted) {
      PadAttrs around{Dims(now.size(), 0), Dims(now.size(), 0)};
      around.after[now.size() - 1] = wanted - now.back();
      moves.push_back({Op::pad, std::move(around)});
    }
    now.back() = size;
    now.push_back(stride);
    if (count(now) > kMostElements) return std::nullopt;
    moves.push_back({Op::reshape, ShapeAttrs{now}});
    begin = 0;
  }

  Dims order;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    for (size_t k = 0; k < axes.size(); ++k) {
      if (axes[k].place == i) order.push_back(static_cast<int64_t>(k));
    }
  }
  if (!std::is_sorted(order.begin(), order.end())) moves.push_back({Op::permute, AxesAttrs{order}});
  Dims narrow(view.shape.size(), 1);
  for (const Axis& axis : axes) narrow[axis.place] = axis.size;
  if (now.size() != narrow.size()) moves.push_back({Op::reshape, ShapeAttrs{narrow}});
  if (!(narrow == view.shape)) moves.push_back({Op::expand, ShapeAttrs{view.shape}});
  if (!backwards.empty()) moves.push_back({Op::flip, AxesAttrs{backwards}});

  IndexMap made(shape);
  made.apply(moves);
  View wanted = view;
  drop_unit_strides(wanted);
  return made.is_strided() && made.views()[0] == wanted ? std::optional(std::move(moves)) : std::nullopt;
}

uint64_t IndexMap::hash() const {
  uint64_t h = views_.size();
  for (const View& view : views_) {
    h = base::mix_all(base::mix_all(h, view.shape), view.strides);
    h = base::mix(h, static_cast<uint64_t>(view.offset));
    h = base::mix_all(base::mix_all(h, view.valid_from), view.valid_to);
  }
  return h;
}

ByteRange bytes_reached(const IndexMap& map, DType dtype) {
  if (has_zero(map.shape())) return {};
  const View& view = map.views()[0];
  int64_t first = view.offset, last = view.offset;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const int64_t low = view.masked() ? view.valid_from[i] : 0;
    const int64_t high = view.masked() ? view.valid_to[i] - 1 : view.shape[i] - 1;
    if (high < low) return {};
    first += view.strides[i] * (view.strides[i] > 0 ? low : high);
    last += view.strides[i] * (view.strides[i] > 0 ? high : low);
  }
  return {static_cast<size_t>(first) * size_of(dtype), static_cast<size_t>(last + 1) * size_of(dtype)};
}

std::string IndexMap::to_string() const {
  std::string text;
  for (size_t i = views_.size(); i-- > 0;) {
    const View& view = views_[i];
    text += ir::to_string(view.shape);
    if (!view.is_contiguous()) text += fmt::format(" strides {} offset {}", ir::to_string(view.strides), view.offset);
    if (view.masked())
      text += fmt::format(" valid {}..{}", ir::to_string(view.valid_from), ir::to_string(view.valid_to));
    if (i > 0) text += " over ";
  }
  return text;
}

}  // namespace tenon::ir
