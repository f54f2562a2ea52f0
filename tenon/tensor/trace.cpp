// Placeholders are made when a tensor is first asked for; everything else is lists.

#include "tenon/tensor/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/exec/capture.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

thread_local Trace* tracing = nullptr;

ir::Value data_of(const ir::Value& value) {
  return value.node->op() == ir::Op::param ? value.node->input(0) : ir::detach(value);
}

}  // namespace

// ---- values ----

device::StorageRef packed_memory(const ir::Value& value) {
  if (value.node->op() == ir::Op::buffer && value.node->evaluated()) return device::storage_of(value.node->data());
  ir::Value data = data_of(value);
  if (!exec::is_evaluated(data)) exec::eval({&data, 1});
  ir::Seen seen = ir::look_through(data);
  if (!seen.map.is_contiguous() || ir::count(seen.base.shape()) != ir::count(data.shape())) {
    const ir::Value packed = ir::contiguous(data);
    exec::eval({&packed, 1});
    seen = ir::look_through(packed);
  }
  return device::storage_of(seen.base.node->data(seen.base.index));
}

ir::Value without_graph(const ir::Value& data, const char* what) {
  struct Nowhere : ir::Param {};
  static const auto nowhere = std::make_shared<Nowhere>();
  const auto rule = std::make_shared<ir::CustomRule>();
  rule->name = "compile";
  rule->backward = [what](std::span<const ir::Value>, std::span<const ir::Value>) -> std::vector<ir::Value> {
    base::fail("backward", "{}", what);
  };
  const ir::Value history = ir::param(ir::full_like(data, 0), nowhere);
  return {ir::Node::make(ir::Op::custom, {data, history}, ir::CustomAttrs{rule, 1}), 0};
}

std::vector<ir::Value> without_history(std::span<const ir::Value> values, uint64_t realm) {
  const ir::InRealm here(realm);
  base::FlatMap<const ir::Node*, uint32_t> at;
  std::vector<base::SmallVector<ir::Value, 1>> plain;  // the results of each node that changes
  const auto plain_of = [&](const ir::Value& value) {
    const uint32_t* found = at.find(value.node.get());
    return found ? plain[*found][value.index] : value;
  };
  for (const ir::NodeRef& node : ir::order_of_evaluation(values)) {
    if (node->evaluated()) continue;
    const ir::Op op = node->op();
    base::SmallVector<ir::Value, 1> results;
    if (op == ir::Op::param || op == ir::Op::detach || op == ir::Op::custom) {
      for (uint32_t i = 0; i < node->results(); ++i) results.push_back(plain_of(node->input(i)));
    } else {
      ir::Operands inputs;
      bool changes = false;
      for (const ir::Value& input : node->inputs()) {
        inputs.push_back(plain_of(input));
        changes = changes || !(inputs.back() == input);
      }
      if (!changes) continue;
      const ir::NodeRef made = ir::Node::make_like(*node, std::move(inputs));
      for (uint32_t i = 0; i < made->results(); ++i) results.push_back({made, i});
    }
    at.emplace(node.get(), static_cast<uint32_t>(plain.size()));
    plain.push_back(std::move(results));
  }
  std::vector<ir::Value> all;
  for (const ir::Value& value : values) all.push_back(plain_of(value));
  return all;
}

namespace {
std::atomic<uint64_t> switches{0};
}  // namespace

void note_switch() { ++switches; }
uint64_t switches_set() { return switches.load(std::memory_order_acquire); }

// ---- the trace itself ----

Trace::Aside::Aside() : before_(std::exchange(tracing, nullptr)), everybodys_(0) {}
Trace::Aside::~Aside() { tracing = before_; }

Trace::Trace(std::span<const Tensor> given) : id_(ir::InRealm::next()) {
  for (const Tensor& one : given) {
    const ir::Type type = tenon::value_of(one).type();
    const ir::DeviceId device = one.device().id;
    const device::StorageRef memory = packed_memory(tenon::value_of(one));
    arguments_.push_back({one, Tensor(), exec::leaf_of(memory, type, device), memory});
  }
  in_realm_.emplace(id_);
  tracing = this;
  for (Argument& argument : arguments_) {
    argument.tensor = tensor_of(argument.leaf);
    argument_tensors_.push_back(argument.tensor);
  }
}

Trace::~Trace() {
  stop();
  if (keeps_draws_) return;
  for (const Drawn& one : drawn_) {
    std::lock_guard lock(one.generator->mutex);
    // Numbers that another thread has drawn behind these stay drawn.
    if (one.generator->position == one.from + one.words) one.generator->position = one.from;
  }
}

void Trace::stop() {
  if (tracing != this) return;
  tracing = nullptr;
  in_realm_.reset();
  for (const ScalarBlock& block : blocks_) {
    std::vector<std::byte> bytes(block.bytes());
    block.write(bytes.data());
    exec::refill(block.leaf, bytes);
  }
  // What was drawn is a stretch of the stream of its own, whatever other threads have drawn meanwhile.
  for (Drawn& all : drawn_) {
    std::lock_guard lock(all.generator->mutex);
    all.from = all.generator->position;
    all.generator->position += all.words;
    for (Varying& one : varying_) {
      if (one.generator.get() != all.generator) continue;
      const uint64_t start = all.from + one.start;
      const int64_t state[] = {static_cast<int64_t>(all.generator->seed), static_cast<int64_t>(start)};
      exec::refill(one.leaf, std::as_bytes(std::span(state)));
      one.drawn = all.words - one.start;
    }
  }
}

Trace* Trace::current() { return tracing; }

bool Trace::is_outside(const TensorImpl& tensor) const { return tensor.trace != id_; }

bool Trace::is_argument(const TensorImpl& tensor) const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const Argument& argument) { return impl_of(argument.tensor).get() == &tensor; });
}

Trace::Outside& Trace::outside_of(const Impl& root) {
  if (const uint32_t* known = outside_at_.find(root.get())) return outside_[*known];
  Outside made;
  ir::Value value;
  {
    const Aside computing;
    if (root->shadow && !shadow_is_current(root)) renew_shadow(root);
    value = root->held();
    made.type = value.type();
    made.memory = packed_memory(value);
  }
  made.tensor = root;
  made.leaf = exec::leaf_of(made.memory.memory(), made.type, value.device());
  made.before = root->leaf ? ir::param(made.leaf, root->leaf)
                : value.needs_grad()
                    ? without_graph(made.leaf,
                                    "a gradient arrived at a tensor that was computed outside of the captured "
                                    "function; compute it inside, or detach() it")
                    : made.leaf;
  made.now = made.before;
  made.version = root->version;
  outside_at_.emplace(root.get(), static_cast<uint32_t>(outside_.size()));
  return outside_.emplace_back(std::move(made));
}

const ir::Value& Trace::value_of(const Impl& tensor) {
  if (!tensor->root) return is_outside(*tensor) ? outside_of(tensor).now : tensor->value;
  const uint64_t version = version_of(tensor);
  if (!is_outside(*tensor)) {
    if (tensor->seen_version == version) return tensor->value;
    tensor->value = tensor->shown(value_of(tensor->root));
    tensor->seen_version = version;
    if (tensor->range_version != version) tensor->range.reset();
    tensor->range_version = version;
    return tensor->value;
  }
  const uint32_t* known = view_at_.find(tensor.get());
  if (!known) {
    view_at_.emplace(tensor.get(), static_cast<uint32_t>(views_.size()));
    views_.push_back({tensor, {}, TensorImpl::kNever});
  }
  View& view = known ? views_[*known] : views_.back();
  if (view.seen_version == version) return view.value;
  view.value = tensor->shown(value_of(tensor->root));
  view.seen_version = version;
  return view.value;
}

uint64_t Trace::version_of(const Impl& tensor) {
  const Impl& owner = root_of(tensor);
  return is_outside(*owner) ? outside_of(owner).version : owner->version;
}

bool Trace::is_written(const Impl& root) { return is_outside(*root) && outside_of(root).is_written; }

void Trace::write(const Impl& root, ir::Value next) {
  Outside& one = outside_of(root);
  for (Argument& argument : arguments_) {
    if (impl_of(argument.given) && root_of(impl_of(argument.given)) == root) link(argument, root);
  }
  one.now = std::move(next);
  one.is_written = true;
  ++one.version;
}

// An argument that shows a tensor which the function writes shows what is written.
void Trace::link(Argument& argument, const Impl& root) {
  TensorImpl& shown = *impl_of(argument.tensor);
  if (shown.root) return;
  argument.linked = root;
  argument.path = path_to(*impl_of(argument.given));
  shown.root = root;
  shown.moves = {argument.path.begin(), argument.path.end()};
  shown.detached = true;
  shown.seen_version = TensorImpl::kNever;
}

void Trace::makes(const Impl& tensor) {
  tensor->trace = id_;
  made_.push_back(tensor);
}

Trace::Gradient& Trace::gradient_of(const std::shared_ptr<Leaf>& leaf) {
  if (const uint32_t* known = gradient_at_.find(leaf.get())) return gradients_[*known];
  gradient_at_.emplace(leaf.get(), static_cast<uint32_t>(gradients_.size()));
  std::lock_guard lock(leaf->mutex);
  return gradients_.emplace_back(Gradient{leaf, leaf->grad, leaf->grad});
}

Tensor Trace::grad_of(const std::shared_ptr<Leaf>& leaf) {
  const bool is_new = !gradient_at_.contains(leaf.get());
  Gradient& one = gradient_of(leaf);
  if (is_new) one.is_read = true;
  return one.now;
}

void Trace::set_grad(const std::shared_ptr<Leaf>& leaf, const Tensor& gradient) {
  Gradient& one = gradient_of(leaf);
  one.now = gradient;
  one.is_set = true;
}

uint64_t Trace::shadow_distance(const Impl& root) {
  return outside_of(root).shadow_distance.value_or(root->shadow_distance);
}
void Trace::set_shadow_distance(const Impl& root, uint64_t distance) { outside_of(root).shadow_distance = distance; }

void Trace::depends_on(const std::shared_ptr<const bool>& flag) {
  const bool is_known = std::any_of(flags_.begin(), flags_.end(), [&](const Flag& one) { return one.flag == flag; });
  if (!is_known) flags_.push_back({flag, *flag});
}

void Trace::watches(const std::shared_ptr<const std::vector<Tensor*>>& variables) {
  for (const Watched& one : watched_) {
    if (one.variables == variables) return;
  }
  Watched made{variables, {}};
  for (const Tensor* variable : *variables) made.tensors.push_back(impl_of(*variable).get());
  watched_.push_back(std::move(made));
}

void Trace::let_views_go() {
  for (const auto& made : made_) {
    const Impl impl = made.lock();
    if (!impl || !impl->root) continue;
    impl->value = {};
    impl->seen_version = TensorImpl::kNever;
  }
  for (View& view : views_) view.value = {};
}

void Trace::clear() {
  arguments_.clear();
  argument_tensors_.clear();
  outside_.clear();
  views_.clear();
  gradients_.clear();
  made_.clear();
  uploads_.clear();
}

std::vector<Trace::Impl> Trace::alive() const {
  std::vector<Impl> alive;
  for (const auto& made : made_) {
    if (Impl impl = made.lock()) alive.push_back(std::move(impl));
  }
  return alive;
}

// ---- what varies ----

Scalar::Scalar(double value, DType dtype, Device device)
    : state_(std::make_shared<State>(State{value, dtype, device})) {}
void Scalar::set(double value) {
  if (Trace::current())
    base::fail("scalar", "set() inside a captured function happens in no replay; set it before the call");
  state_->value = value;
}
double Scalar::get() const { return state_->value; }

Tensor Scalar::tensor() const {
  if (Trace* trace = Trace::current()) return tensor_of(trace->scalar(state_));
  return full({}, state_->value, Options(state_->dtype, state_->device));
}

ir::Value Trace::scalar(const std::shared_ptr<Scalar::State>& state) {
  const auto room = static_cast<int64_t>(ScalarBlock::room(state->dtype));
  const auto shown = [](const ScalarBlock& block, size_t i) {
    const auto at = static_cast<int64_t>(i);
    return ir::reshape(ir::shrink(block.leaf, {at}, {1}, {1}), {});
  };
  ScalarBlock* open = nullptr;
  for (ScalarBlock& block : blocks_) {
    const auto found = std::find(block.scalars.begin(), block.scalars.end(), state);
    if (found != block.scalars.end()) return shown(block, static_cast<size_t>(found - block.scalars.begin()));
    const bool has_room = block.scalars.size() < static_cast<size_t>(room);
    if (block.dtype == state->dtype && block.device == state->device && has_room) open = &block;
  }
  if (!open) {
    const std::vector<std::byte> zeros(ScalarBlock::kBytes);
    const ir::Value leaf = exec::upload(zeros, {state->dtype, {room}}, state->device.id);
    open = &blocks_.emplace_back(ScalarBlock{leaf, state->dtype, state->device, {}});
  }
  open->scalars.push_back(state);
  return shown(*open, open->scalars.size() - 1);
}

size_t ScalarBlock::room(DType dtype) { return kBytes / size_of(dtype); }

void ScalarBlock::write(std::byte* to) const {
  for (size_t i = 0; i < scalars.size(); ++i) exec::write_number(scalars[i]->value, dtype, to + i * size_of(dtype));
}

std::pair<ir::Value, uint64_t> Trace::draw(const std::shared_ptr<Generator::State>& state, Device device,
                                           uint64_t words) {
  auto all = std::find_if(drawn_.begin(), drawn_.end(), [&](const Drawn& one) { return one.generator == state.get(); });
  if (all == drawn_.end()) all = drawn_.insert(all, Drawn{state.get()});
  auto known = std::find_if(varying_.begin(), varying_.end(),
                            [&](const Varying& one) { return one.generator == state && one.device == device; });
  if (known == varying_.end()) {
    const int64_t later[2] = {};  // stop() writes it
    const ir::Value leaf = exec::upload(std::as_bytes(std::span(later)), {DType::i64, {2}}, device.id);
    known = varying_.insert(known, {state, device, leaf, all->words});
  }
  const uint64_t offset = all->words - known->start;
  all->words += words;
  return {known->leaf, offset};
}

uint64_t Trace::drawn_of(const Generator::State& state) const {
  for (const Drawn& one : drawn_) {
    if (one.generator == &state) return one.words;
  }
  return 0;
}

}  // namespace tenon
