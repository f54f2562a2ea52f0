// Index expressions: what x.index({...}) shows or picks, and writing through them.
//
// Positions, slices and new axes make a view. What tensors of positions and masks pick of it is a copy, which remembers
// where it came from while the expression lasts, so that assigning to it writes there. How much a mask picks depends on
// its values: they are looked at when somebody asks for the copy, so x[mask] = y computes nothing.

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tenon/base/out_of_range.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/share.h"
#include "tenon/tensor/slices.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

struct Picked {
  // Weak references: a name that somebody gives to the copy keeps nothing alive.
  using Entry = std::variant<int64_t, Slice, NewAxis, Ellipsis, std::weak_ptr<TensorImpl>>;
  std::weak_ptr<TensorImpl> from;
  std::vector<Entry> entries;

  // What a mask will be applied to when somebody asks: values of the time of the expression.
  Tensor then;
  std::vector<IndexEntry> entries_then;
  std::mutex mutex;
  std::atomic<bool> is_there{true};
};

namespace {

using base::fail;

struct Expression {
  Tensor shown;                   // a view; the axes that tensors pick from stand side by side
  int64_t at = 0;                 // the first of those
  std::vector<Tensor> positions;  // one per axis from `at` on; none: nothing is picked
};

const Tensor* tensor_in(const IndexEntry& entry) {
  const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&entry.index);
  return tensor ? tensor->get() : nullptr;
}

bool is_mask(const Tensor& tensor) { return tensor.dtype() == DType::boolean; }

// How many axes of the tensor an entry stands for.
int64_t axes_of(const IndexEntry& entry) {
  if (std::holds_alternative<NewAxis>(entry.index) || std::holds_alternative<Ellipsis>(entry.index)) return 0;
  const Tensor* tensor = tensor_in(entry);
  return tensor && is_mask(*tensor) ? tensor->dim() : 1;
}

struct Pick {
  int64_t axis;
  Tensor by;
};

// Positions and masks of the host go to where x is, as in PyTorch; what is known of them goes along.
Tensor where_x_is(const Tensor& x, const Tensor& by) {
  if (by.device() == x.device()) return by;
  if (!(by.device() == Device("cpu"))) record::require_same_device("index", x, by);
  Tensor moved = by.to(x.device());
  if (const auto range = known_range(by)) set_known_range(moved, range->first, range->second, known_range_is_exact(by));
  return moved;
}

// x through everything but tensors, and what tensors pick from it.
std::pair<Tensor, std::vector<Pick>> shown_by(const Tensor& x, std::span<const IndexEntry> entries) {
  int64_t consumed = 0, ellipses = 0;
  for (const IndexEntry& entry : entries) {
    consumed += axes_of(entry);
    ellipses += std::holds_alternative<Ellipsis>(entry.index);
  }
  if (ellipses > 1) fail("index", "an index holds at most one Ellipsis");
  if (consumed > x.dim()) base::fail_range("index", "{} indices for a tensor of rank {}", consumed, x.dim());
  if (x.dim() > 0 && std::ranges::none_of(entries, [](const IndexEntry& entry) { return tensor_in(entry) != nullptr; }))
    return {viewed_through(x, entries), {}};
  Tensor shown = x;
  std::vector<Pick> picks;
  int64_t at = 0;
  for (const IndexEntry& entry : entries) {
    if (const Tensor* tensor = tensor_in(entry)) {
      const Tensor by = where_x_is(x, *tensor);
      const bool is_for_all = is_mask(by) && by.dim() == 0;  // it picks from a new axis: all or nothing, as in PyTorch
      if (is_for_all) shown = shown.unsqueeze(at);
      picks.push_back({at, is_for_all ? by.reshape({1}) : by});
      at += is_for_all ? 1 : axes_of(entry);
    } else if (const auto* position = std::get_if<int64_t>(&entry.index)) {
      shown = shown.select(at, *position);
    } else if (const auto* slice = std::get_if<Slice>(&entry.index)) {
      shown = shown.slice(at++, slice->start, slice->stop, slice->step);
    } else if (std::holds_alternative<NewAxis>(entry.index)) {
      shown = shown.unsqueeze(at++);
    } else {
      at += x.dim() - consumed;
    }
  }
  if (picks.empty() && impl_of(shown) == impl_of(x)) shown = x.reshape(x.shape());  // x[...] is a view all the same
  return {shown, picks};
}

void require_mask_fits(const Tensor& shown, const Pick& pick) {
  const Dims& sizes = shown.shape();
  if (!std::equal(pick.by.shape().begin(), pick.by.shape().end(), sizes.begin() + pick.axis)) {
    fail("index", "a mask of shape {} does not fit shape {} from dim {} on", ir::to_string(pick.by.shape()),
         ir::to_string(sizes), pick.axis);
  }
}

Expression resolved(const Tensor& x, std::span<const IndexEntry> entries) {
  auto [shown, picks] = shown_by(x, entries);
  Expression made{shown, 0, {}};
  std::vector<int64_t> axes;
  for (const Pick& pick : picks) {
    if (is_mask(pick.by)) {
      require_mask_fits(shown, pick);
      record::require_known_values("index", "a mask");
      const Tensor places = nonzero(pick.by);
      for (int64_t i = 0; i < pick.by.dim(); ++i) {
        axes.push_back(pick.axis + i);
        made.positions.push_back(places.select(1, i));
      }
    } else if (is_integer(pick.by.dtype())) {
      axes.push_back(pick.axis);
      made.positions.push_back(pick.by);
    } else {
      fail("index", "tensors of positions are integers, got {}", name(pick.by.dtype()));
    }
  }
  if (axes.empty()) return made;
  const bool side_by_side = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  if (side_by_side) {
    made.at = axes.front();
    return made;
  }
  Dims order(axes.begin(), axes.end());  // what they pick comes first then, as in PyTorch
  for (int64_t i = 0; i < shown.dim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  made.shown = shown.permute(order);
  return made;
}

// The axes that tensors pick from as one, and the positions along it.
struct Points {
  Dims merged;    // the shape of `shown` with one axis for all that are picked from
  Dims shape;     // of what is picked
  Dims named;     // of the tensors of positions together
  Tensor places;  // in that shape: along the merged axis
};

Points points_of(const Expression& expression) {
  const Dims& sizes = expression.shown.shape();
  const auto at = static_cast<size_t>(expression.at);
  const size_t behind = at + expression.positions.size();
  Points made;
  for (const Tensor& p : expression.positions) made.named = record::broadcast("index", made.named, p.shape());
  made.merged = Dims(sizes.begin(), sizes.begin() + at);
  made.shape = made.merged;
  int64_t joined = 1;
  for (size_t i = 0; i < expression.positions.size(); ++i) {
    const Tensor& given = expression.positions[i];
    const int64_t size = sizes[at + i];
    record::require_positions("index", given, static_cast<int64_t>(at + i), size);
    Tensor from_start = record::from_start(given, size);
    joined *= size;
    // A position outside of its own axis must not slip into a neighbour's.
    const auto range = known_range(given);
    const bool is_inside = range && range->first >= -size && range->second < size;
    if (expression.positions.size() > 1 && !is_inside) from_start = record::looked_at(from_start, at + i, size);
    made.places = made.places.defined() ? add(mul(made.places, size), from_start) : from_start;
  }
  made.places = made.places.expand(made.named);
  made.merged.push_back(joined);
  for (int64_t size : made.named) made.shape.push_back(size);
  for (size_t i = behind; i < sizes.size(); ++i) {
    made.merged.push_back(sizes[i]);
    made.shape.push_back(sizes[i]);
  }
  return made;
}

// A value may have more axes than what it is written to, of size 1 in front, as in PyTorch.
Operand without_leading_ones(const Operand& source) {
  if (!source.is_tensor()) return source;
  Tensor value = source.tensor();
  while (value.dim() > 0 && value.size(0) == 1) value = value.squeeze(0);
  return value;
}

bool is_single(const Operand& source) { return !source.is_tensor() || source.tensor().dim() == 0; }

// One number where a single mask says so: a choice, which needs no positions.
bool fill_by_mask(const Tensor& x, std::span<const IndexEntry> entries, const Operand& source) {
  const auto [shown, picks] = shown_by(x, entries);
  if (!is_single(source) || picks.size() != 1 || !is_mask(picks[0].by)) return false;
  require_mask_fits(shown, picks[0]);
  Dims shape(shown.shape().size(), 1);
  std::copy(picks[0].by.shape().begin(), picks[0].by.shape().end(), shape.begin() + picks[0].axis);
  Tensor target = shown;
  target.masked_fill_(picks[0].by.reshape(shape), source);
  return true;
}

std::vector<IndexEntry> entries_of(const Picked& picked) {
  std::vector<IndexEntry> entries;
  for (const Picked::Entry& entry : picked.entries) {
    std::visit(
        [&](const auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::weak_ptr<TensorImpl>>) {
            auto alive = one.lock();
            if (alive) entries.push_back(IndexEntry(tensor_of(std::move(alive))));
          } else {
            entries.push_back(IndexEntry(one));
          }
        },
        entry);
  }
  return entries;
}

// Writes what a nameless part was picked from. False where it is a view, or a tensor of its own.
bool put_back(const Tensor& part, const Operand& source) {
  if (!part.defined() || !impl_of(part)->picked) return false;
  const Picked& picked = *impl_of(part)->picked;
  const auto from = picked.from.lock();
  const std::vector<IndexEntry> entries = entries_of(picked);
  if (!from || entries.size() != picked.entries.size())
    fail("index", "what tensors pick is written only where it is picked, as in x[i] = y; use index_put_()");
  tensor_of(from).index_put_(entries, source);
  return true;
}

// The same for what arithmetic made of the part.
bool put_back_result(std::string_view op, const Tensor& part, const Tensor& result) {
  if (impl_of(part)->picked) record::require_storable(op, result.dtype(), part.dtype());
  return put_back(part, result);
}

}  // namespace

namespace {

ir::Value picked_value(const Tensor& x, std::span<const IndexEntry> entries) {
  const Expression expression = resolved(x, entries);
  const Points points = points_of(expression);
  const Tensor rows = expression.shown.reshape(points.merged);
  return value_of(index_select(rows, expression.at, points.places.flatten()).reshape(points.shape));
}

}  // namespace

Tensor Tensor::index(std::span<const IndexEntry> entries) const {
  const auto [shown, picks] = shown_by(*this, entries);
  if (picks.empty()) return shown;
  auto picked = std::make_shared<Picked>();
  picked->from = impl_;
  const bool waits = std::any_of(picks.begin(), picks.end(), [](const Pick& pick) { return is_mask(pick.by); });
  for (const IndexEntry& entry : entries) {
    std::visit(
        [&](const auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::shared_ptr<const Tensor>>) {
            picked->entries.emplace_back(std::weak_ptr(impl_of(*one)));
            if (waits) picked->entries_then.emplace_back(as_of_now(*one));
          } else {
            picked->entries.emplace_back(one);
            if (waits) picked->entries_then.emplace_back(one);
          }
        },
        entry.index);
  }
  Tensor made;
  if (waits) {
    for (const Pick& pick : picks) {
      if (is_mask(pick.by)) require_mask_fits(shown, pick);
    }
    picked->then = as_of_now(*this);
    picked->is_there = false;
    auto impl = std::make_shared<TensorImpl>();
    if (Trace* trace = Trace::current()) trace->makes(impl);
    made = tensor_of(std::move(impl));
  } else {
    made = tensor_of(picked_value(*this, entries));
  }
  impl_of(made)->picked = std::move(picked);
  return made;
}

void pick_now(TensorImpl& impl) {
  Picked& picked = *impl.picked;
  if (picked.is_there.load(std::memory_order_acquire)) return;
  std::lock_guard lock(picked.mutex);  // several threads may be the first to ask
  if (picked.is_there) return;
  Trace* trace = Trace::current();
  std::optional<Trace::Aside> aside;
  if (trace && trace->is_outside(impl)) aside.emplace();
  const EnableGrad as_then;  // whether gradients pass was decided by `then`
  impl.value = picked_value(picked.then, picked.entries_then);
  picked.then = Tensor();
  picked.entries_then.clear();
  picked.is_there.store(true, std::memory_order_release);
}

Tensor Tensor::operator[](const Tensor& positions_or_mask) const { return index({positions_or_mask}); }

Tensor& Tensor::index_put_(std::span<const IndexEntry> entries, const Operand& value, bool accumulate) {
  const Operand source = without_leading_ones(value);
  if (!accumulate && fill_by_mask(*this, entries, source)) return *this;
  Expression expression = resolved(*this, entries);
  // As in PyTorch, x[:] = y is a write to x itself, not to a view of all of it.
  const auto shows_all = [&](const Tensor& shown) {
    return shown.shape() == shape() && shown.strides() == strides() && shown.storage_offset() == storage_offset();
  };
  Tensor& target = shows_all(expression.shown) ? *this : expression.shown;
  if (expression.positions.empty()) {
    if (accumulate)
      target.add_(source);
    else
      target.copy_(source);
    return *this;
  }
  const Points points = points_of(expression);
  const Tensor given = source.is_tensor() ? source.tensor().to(device(), dtype())
                                          : full({}, source.number(), Options(dtype(), device()));
  Dims rows = points.merged;
  rows[static_cast<size_t>(expression.at)] = ir::count(points.named);
  const Tensor values = tensor_of(record::expanded("index_put_", record::in(given), points.shape)).reshape(rows);
  const Tensor old = before_write(target).reshape(points.merged), places = points.places.flatten();
  const Tensor next = accumulate ? tenon::index_add(old, expression.at, places, values)
                                 : tenon::index_copy(old, expression.at, places, values);
  write_over(target, record::in(next.reshape(target.shape())));
  return *this;
}

Tensor& Tensor::operator=(const Operand& source) && {
  return put_back(*this, source) ? *this : copy_(without_leading_ones(source));
}
Tensor& Tensor::operator+=(const Operand& other) && {
  return put_back_result("add_", *this, tenon::add(*this, other)) ? *this : add_(other);
}
Tensor& Tensor::operator-=(const Operand& other) && {
  return put_back_result("sub_", *this, tenon::sub(*this, other)) ? *this : sub_(other);
}
Tensor& Tensor::operator*=(const Operand& other) && {
  return put_back_result("mul_", *this, tenon::mul(*this, other)) ? *this : mul_(other);
}
Tensor& Tensor::operator/=(const Operand& other) && {
  return put_back_result("div_", *this, tenon::div(*this, other)) ? *this : div_(other);
}

}  // namespace tenon
