// Lists, searched from front to back: a step has few states, and a trace is made twice in the life of a recording.

#include "tenon/tensor/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/exec/capture.h"
#include "tenon/exec/eval.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

thread_local Trace* tracing = nullptr;

template <typename List, typename Item>
bool contains(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Scalar::Scalar(double value, DType dtype, Device device)
    : state_(std::make_shared<State>(State{value, dtype, device})) {}
void Scalar::set(double value) { state_->value = value; }
double Scalar::get() const { return state_->value; }

Tensor Scalar::tensor() const {
  if (Trace* trace = Trace::current()) return Tensor(trace->scalar(state_));
  return full({}, state_->value, Options(state_->dtype, state_->device));
}

Trace::Trace() {
  static std::atomic<uint64_t> last{0};
  id_ = ++last;
  tracing = this;
}
Trace::~Trace() { stop(); }
void Trace::stop() { tracing = nullptr; }
Trace* Trace::current() { return tracing; }

void Trace::reads(const std::shared_ptr<TensorImpl>& root) {
  if (root->trace != id_ && !contains(reads_, root)) reads_.push_back(root);
}

void Trace::writes(const std::shared_ptr<TensorImpl>& owner) {
  if (owner->trace == id_) return;  // no state: the next call makes it anew
  for (const Write& write : written_) {
    if (write.owner == owner) return;
  }
  written_.push_back({owner, owner->value, owner->version});
}

void Trace::makes(const std::shared_ptr<TensorImpl>& tensor) {
  tensor->trace = id_;
  made_.push_back(tensor);
}

ir::Value Trace::scalar(const std::shared_ptr<Scalar::State>& state) {
  const auto room = static_cast<int64_t>(StepBlock::room(state->dtype));
  const auto shown = [](const StepBlock& block, size_t i) {
    const auto at = static_cast<int64_t>(i);
    return ir::reshape(ir::shrink(block.leaf, {at}, {1}, {1}), {});
  };
  StepBlock* open = nullptr;
  for (StepBlock& block : blocks_) {
    const auto found = std::find(block.scalars.begin(), block.scalars.end(), state);
    if (found != block.scalars.end()) return shown(block, static_cast<size_t>(found - block.scalars.begin()));
    const bool has_room = block.scalars.size() < static_cast<size_t>(room);
    if (block.dtype == state->dtype && block.device == state->device && has_room) open = &block;
  }
  if (!open) {
    const std::vector<std::byte> zeros(device::Upload::kInside);
    const ir::Value leaf = exec::upload(zeros, {state->dtype, {room}}, state->device.id);
    open = &blocks_.emplace_back(StepBlock{leaf, state->dtype, state->device, {}});
  }
  open->scalars.push_back(state);
  std::vector<std::byte> bytes(open->bytes());
  open->write(bytes.data());
  exec::refill(open->leaf, bytes);
  return shown(*open, open->scalars.size() - 1);
}

size_t StepBlock::room(DType dtype) { return device::Upload::kInside / size_of(dtype); }

void StepBlock::write(std::byte* to) const {
  for (size_t i = 0; i < scalars.size(); ++i) exec::write_number(scalars[i]->value, dtype, to + i * size_of(dtype));
}

ir::Value Trace::random_state(const std::shared_ptr<Generator::State>& state, Device device) {
  for (const Varying& known : varying_) {
    if (known.generator == state && known.device == device) return known.leaf;
  }
  const int64_t start[] = {static_cast<int64_t>(state->seed), static_cast<int64_t>(state->position)};
  const ir::Value leaf = exec::upload(std::as_bytes(std::span(start)), {DType::i64, {2}}, device.id);
  varying_.push_back({state, device, leaf, state->position});
  return leaf;
}

void Trace::undo() {
  for (const Write& write : written_) {
    write.owner->value = write.old;
    ++write.owner->version;
  }
  for (const Varying& random : varying_) {
    std::lock_guard lock(random.generator->mutex);
    random.generator->position = random.start;
  }
}

void Trace::forget_old_values() {
  for (Write& write : written_) {
    write.old = {};
    write.owner->drop_what_views_show();
  }
}

void Trace::clear() {
  reads_.clear();
  written_.clear();
  made_.clear();
  varying_.clear();
  blocks_.clear();
}

std::vector<std::shared_ptr<TensorImpl>> Trace::survivors() const {
  std::vector<std::shared_ptr<TensorImpl>> alive;
  for (const auto& made : made_) {
    auto impl = made.lock();
    if (impl && impl.use_count() > 1 && !contains(alive, impl)) alive.push_back(std::move(impl));
  }
  return alive;
}

}  // namespace tenon
