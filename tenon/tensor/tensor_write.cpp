// Writing a tensor in place.
//
// Writing gives the root a new value (a store into the old one) and a new version; views notice the version and look at
// the new value. Graphs recorded before keep the old value: laziness is never visible.

#include "tenon/ir/build.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

using base::fail;
using Impl = std::shared_ptr<TensorImpl>;

namespace {

// True when the value sits in a buffer whose address should stay: a leaf, or stores into one.
bool has_home(const ir::Value& value) {
  return value.node->op() == ir::Op::buffer || (value.node->op() == ir::Op::store && !value.needs_grad());
}

// What overwrites a value as a whole: the value's history gets a gradient of zeros, as in PyTorch.
ir::Value in_place_of(const ir::Value& next, const ir::Value& old) {
  static const auto rule = std::make_shared<const ir::CustomRule>(
      ir::CustomRule{"overwrite", [](std::span<const ir::Value> operands, std::span<const ir::Value> grads) {
                       std::vector<ir::Value> made{ir::full_like(operands[0], 0)};
                       if (operands.size() > 1) made.push_back(grads[0]);
                       return made;
                     }});
  ir::Operands operands{ir::detach(next), old};
  if (next.needs_grad()) operands.push_back(next);
  return {ir::Node::make(ir::Op::custom, std::move(operands), ir::CustomAttrs{rule, 1}), 0};
}

ir::Value stored(const ir::Value& old, const ir::Value& next, const std::vector<ir::Move>& target) {
  if (!target.empty()) return ir::store(old, next, target);
  if (next.needs_grad() || !has_home(old)) return next;
  // What is replaced as a whole needs none of the writes before, unless it may fail: then those that do not are kept.
  const auto is_needless = [&](const ir::Node& store) { return !next.node->may_fault() || store.may_fault(); };
  ir::Value home = old;
  while (home.node->op() == ir::Op::store && !home.node->evaluated() && is_needless(*home.node)) {
    ir::Value base = home.node->input(0);
    home = std::move(base);
  }
  return has_home(home) ? ir::store(home, next, {}) : next;
}

// `leaf` is the tensor's own: a value may be that of another tensor's leaf, which x * 1 is of x.
ir::Value written(const ir::Value& old, const ir::Value& next, const std::vector<ir::Move>& target, bool tracked,
                  const std::shared_ptr<Leaf>& leaf) {
  if (leaf) return ir::param(stored(old.node->input(0), ir::detach(next), target), leaf);
  if (tracked || !old.needs_grad()) return stored(old, tracked ? next : ir::detach(next), target);
  return with_history(stored(ir::detach(old), ir::detach(next), target), old);
}

bool is_tracked(const TensorImpl& view) {
  for (const TensorImpl* impl = &view; impl; impl = impl->root.get()) {
    if (impl->detached) return false;
  }
  return grad_enabled();
}

}  // namespace

bool writes_a_leaf(const TensorImpl& view) {
  for (const TensorImpl* impl = &view; impl; impl = impl->root.get()) {
    if (impl->leaf) return true;
    if (impl->detached) return false;
  }
  return false;
}

namespace {

enum class Reads : uint8_t { old, nothing };

void write(const Tensor& tensor, const ir::Value& given, Reads reads) {
  ir::Value next = given;
  const Impl& impl = impl_of(tensor);
  const Impl& owner = root_of(impl);
  Trace* trace = Trace::current();
  if (trace && trace->is_argument(*owner))
    fail("compile", "an argument is written inside the captured function; capture the tensor instead of passing it");
  const Mapping* mapping = Mapping::current();
  if (mapping && owner->mapping != mapping->id)
    fail("vmap",
         "a tensor from outside, or an argument, is written inside a function that vmap() maps; write a clone()");
  value_of(tensor);  // a view must be up to date before it is written through
  if (grad_enabled() && writes_a_leaf(*impl)) {
    fail("write", "a leaf that requires grad cannot be written in place; put the update under NoGrad");
  }
  if (grad_enabled() && next.needs_grad() && !is_tracked(*impl)) {
    fail("write",
         "values that need gradients are written into a tensor that is cut from them (detach(), or a view made "
         "under NoGrad); clone() it first");
  }
  if (grad_enabled() && impl->made_under_no_grad && (owner->value.needs_grad() || next.needs_grad())) {
    fail("write",
         "a view that was made under NoGrad is written with gradients on; write it under NoGrad, or make it outside");
  }
  if (!trace && can_settle(owner->value)) owner->value = settled(owner->value);
  const ir::Value old = value_of_root(owner);
  const Impl reshaped = owner->replacement();
  const ir::Value reshaped_before = reshaped && old.needs_grad() ? value_of(tensor_of(reshaped)) : ir::Value();
  std::vector<ir::Move> path = path_to(*impl);
  ir::IndexMap map(old.shape());
  map.apply(path);
  const ir::View& view = map.views()[0];
  for (size_t i = 0; i < view.shape.size() && tensor.numel() > 0; ++i) {
    if (view.strides[i] == 0 && view.shape[i] > 1) {
      fail("write", "several elements of this expanded view are one element of memory; clone() it first");
    }
  }
  if (map.is_contiguous() && tensor.numel() == ir::count(old.shape())) {  // everything, in another shape
    next = ir::reshape(next, old.shape());
    path.clear();
  }
  const bool is_tracked_here = is_tracked(*impl);
  if (is_tracked_here && reads == Reads::nothing && path.empty() && old.needs_grad()) next = in_place_of(next, old);
  ir::Value made = written(old, next, path, is_tracked_here, owner->leaf);
  // What is copied as a whole is the value of another tensor; what was made of the old value may be nobody's yet.
  const bool is_own = reads == Reads::old && made == given && made.node->is_apart();
  if (!owner->leaf && !is_own) made = own(std::move(made));
  if (trace && trace->is_outside(*owner)) return trace->write(owner, std::move(made));
  if (owner->is_shared && made.needs_grad() && !owner->leaf)
    fail("write", "memory that is shared cannot take values with gradients; write under NoGrad, or clone() the tensor");
  const device::StorageRef home = owner->is_shared ? packed_memory(old) : nullptr;
  const ir::Value& data = is_param(made) ? made.node->input(0) : made;
  const bool may_fail = !trace && !made.needs_grad() && data.node->may_fault();
  if (!may_fail)
    owner->before = {};
  else if (!owner->before && data.node->op() != ir::Op::store)  // a store keeps what was there by itself
    owner->before = old;
  owner->value = std::move(made);
  if (home) {
    write_shared(*owner, home);
  } else if (!trace && !mapping) {
    evaluate_growth(owner->value);
    pending_writes::add(owner);
  }
  ++owner->version;
  owner->range.reset();
  owner->drop_what_views_show();  // or the old value would stay in memory for their sake
  if (reshaped && owner->value.needs_grad()) {
    ir::Value seen = owner->value;
    for (const ir::Move& move : reshaped->moves) seen = ir::move(seen, move);
    pass_through(*owner, *reshaped, own(is_tracked_here ? std::move(seen) : with_history(seen, reshaped_before)));
    if (reshaped->retained && is_tracked_here) note_retained(*reshaped, reshaped->value);
  }
  if (owner->retained && is_tracked_here) note_retained(*owner, owner->value);
  if (impl->root && impl->retained && is_tracked_here) note_retained(*impl, value_of(tensor));
}

// Arithmetic in place keeps the dtype.
Tensor& assign(std::string_view op, Tensor& tensor, const Tensor& result, Reads reads) {
  record::require_storable(op, result.dtype(), tensor.dtype());
  write(tensor, ir::cast(record::expanded(op, record::in(result), tensor.shape()), tensor.dtype()), reads);
  return tensor;
}

}  // namespace

Tensor& assign(std::string_view op, Tensor& tensor, const Tensor& result) {
  return assign(op, tensor, result, Reads::old);
}

void write_over(const Tensor& tensor, const ir::Value& next) { write(tensor, next, Reads::old); }

Tensor before_write(const Tensor& tensor) {
  require_defined(tensor);
  const Impl& impl = impl_of(tensor);
  if (Trace::current() || !impl->root || impl->leaf || !root_of(impl)->is_watched_through_views) return tensor;
  value_of(tensor);  // up to date
  return tensor_showing(impl->shown(impl->root->held()));
}

Tensor& Tensor::copy_(const Operand& source) {
  if (!source.is_tensor()) return fill_(source.number());
  const Tensor& from = source.tensor();
  // From f64, which not every device has, to the own dtype before it travels.
  const ir::Value there = from.dtype() == DType::f64 && !(from.device() == device())
                              ? ir::cast(record::in(from), dtype())
                              : record::in(from);
  const ir::Value here = from.device() == device() ? there : ir::copy(there, device().id);
  write(*this, ir::cast(record::expanded("copy_", here, shape()), dtype()), Reads::nothing);
  return *this;
}

Tensor& Tensor::fill_(Number value) {
  write(*this, value_of(full(shape(), value, Options(dtype(), device()))), Reads::nothing);
  return *this;
}

Tensor& Tensor::zero_() { return fill_(0); }

// ---- in place; the other functions: methods.cpp ----

Tensor& Tensor::operator+=(const Operand& other) & { return add_(other); }
Tensor& Tensor::operator-=(const Operand& other) & { return sub_(other); }
Tensor& Tensor::operator*=(const Operand& other) & { return mul_(other); }
Tensor& Tensor::operator/=(const Operand& other) & { return div_(other); }
Tensor& Tensor::operator%=(const Operand& other) & { return remainder_(other); }
Tensor& Tensor::operator&=(const Operand& other) & { return bitwise_and_(other); }
Tensor& Tensor::operator|=(const Operand& other) & { return bitwise_or_(other); }
Tensor& Tensor::operator^=(const Operand& other) & { return bitwise_xor_(other); }

// ---- random numbers ----

Tensor& Tensor::uniform_(double low, double high, Generator* generator) {
  if (!(low <= high)) fail("uniform_", "no numbers between {} and {}", low, high);
  record::require_float("uniform_", *this);
  const Tensor drawn = rand(shape(), Options(dtype(), device()), generator);
  return assign("uniform_", *this, tenon::add(tenon::mul(drawn, high - low), low), Reads::nothing);
}
Tensor& Tensor::normal_(double mean, double std, Generator* generator) {
  if (!(std >= 0)) fail("normal_", "std must not be negative, got {}", std);
  record::require_float("normal_", *this);
  const Tensor drawn = randn(shape(), Options(dtype(), device()), generator);
  return assign("normal_", *this, tenon::add(tenon::mul(drawn, std), mean), Reads::nothing);
}
Tensor& Tensor::bernoulli_(double p, Generator* generator) {
  if (!(p >= 0 && p <= 1)) fail("bernoulli_", "p must lie in 0..1, got {}", p);
  const Tensor drawn = rand(shape(), Options(DType::f32, device()), generator);
  return copy_(tenon::lt(drawn, p));
}
Tensor& Tensor::exponential_(double lambd, Generator* generator) {
  if (!(lambd > 0)) fail("exponential_", "lambd must be positive, got {}", lambd);
  record::require_float("exponential_", *this);
  // Drawn in f32 at least: the few steps of 16 bits would cut off what is rare.
  const DType wide = dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor drawn = rand(shape(), Options(wide, device()), generator);
  const Tensor waiting = tenon::neg(tenon::log1p(tenon::neg(drawn)));  // of 1 - u, which is never 0
  return assign("exponential_", *this, tenon::div(waiting, lambd).to(dtype()), Reads::nothing);
}

namespace {

// The last integer up to which a dtype holds each one.
uint64_t last_whole(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::u8: return 0xFF;
    case DType::bf16: return uint64_t{1} << 8;
    case DType::f16: return uint64_t{1} << 11;
    case DType::f32: return uint64_t{1} << 24;
    case DType::i32: return 0x7FFFFFFF;
    case DType::f64: return uint64_t{1} << 53;
    case DType::i64: return ~uint64_t{0} >> 1;
  }
  return 0;
}

// Integers from `first` to `last` are numbers of the dtype, rounded where its own lie further apart.
void require_in_range(int64_t first, int64_t last, DType dtype) {
  const auto is_below = [](int64_t value, double bound) { return static_cast<double>(value) < bound; };
  const auto is_above = [](int64_t value, double bound) { return static_cast<double>(value) > bound; };
  double low = 0, high = 0;
  switch (dtype) {
    case DType::boolean: high = 1; break;
    case DType::u8: high = 0xFF; break;
    case DType::i32: low = -0x80000000LL, high = 0x7FFFFFFF; break;
    case DType::f16: low = -65504, high = 65504; break;
    default: return;
  }
  if (is_below(first, low) || is_above(first, high) || is_above(last, high))
    fail("random_", "integers from {} to {} are out of range for {}", first, last, name(dtype));
}

}  // namespace

Tensor& Tensor::random_(std::optional<int64_t> low, std::optional<int64_t> high, Generator* generator) {
  constexpr uint64_t kMost = uint64_t{1} << 63, kOneDraw = uint64_t{1} << 31;
  const int64_t first = low.value_or(0);
  if (!high && first > 0 && static_cast<uint64_t>(first) > last_whole(dtype()))
    fail("random_", "there is no integer from {} on in {}", first, name(dtype()));
  if (high && first >= *high) fail("random_", "there is no integer from {} to below {}", first, *high);
  const uint64_t end = high ? static_cast<uint64_t>(*high) : last_whole(dtype()) + 1;  // wraps below 0, as `first` does
  const uint64_t span = end - static_cast<uint64_t>(first);
  require_in_range(first, high ? *high - 1 : std::max<int64_t>(first, static_cast<int64_t>(last_whole(dtype()))),
                   dtype());
  if (span == 0) {  // all of them
    const Tensor below = tenon::mul(randint(0, 2, shape(), Options(DType::i64, device()), generator),
                                    std::numeric_limits<int64_t>::min());
    random_(0, {}, generator);
    return copy_(tenon::add(*this, below));
  }
  if (span > kMost) fail("random_", "more than 2^63 integers lie between {} and the end", first);
  const Options words(DType::i64, device());
  const auto bits = [&](int64_t limit) { return randint(0, limit, shape(), words, generator); };
  Tensor drawn;
  if (span <= kOneDraw) {
    drawn = bits(static_cast<int64_t>(span));
  } else {
    const int64_t half = int64_t{1} << 31;
    const Tensor top = tenon::mul(bits(2), half), middle = bits(half), bottom = bits(half);
    drawn = tenon::add(tenon::mul(tenon::add(top, middle), half), bottom);  // 63 bits
    if (span < kMost) drawn = tenon::remainder(drawn, static_cast<int64_t>(span));
  }
  return copy_(tenon::add(drawn, first));
}

}  // namespace tenon
