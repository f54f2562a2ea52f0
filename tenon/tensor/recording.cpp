// Tracing and recording stand in recording_trace.cpp; here is what happens in every replay.

#include "tenon/tensor/recording.h"

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

using device::StorageRef;
using Impl = std::shared_ptr<TensorImpl>;

StorageRef memory_of(const ir::Value& leaf) { return device::storage_of(leaf.node->data(leaf.index)); }

// Nobody but the tensor itself refers to its value, down to the leaf.
bool is_sole_value(const ir::Value& value) {
  for (const ir::Node* node = value.node.get();; node = node->input(0).node.get()) {
    if (node->references() != 1) return false;
    if (node->op() == ir::Op::buffer) return true;
    if (node->evaluated() || node->inputs().empty()) return false;
  }
}

// Nobody looks at this memory but recordings, and `leaves` leaves.
bool is_free(const device::Pin& memory, long leaves) { return memory.memory().use_count() == leaves + memory->pins(); }

}  // namespace

Circumstances Circumstances::now() {
  return {grad_enabled(), autocast_dtype(), tf32_allowed(), device::default_index()};
}

Recording::Recording(std::span<const Tensor> like) : circumstances_(Circumstances::now()) {
  for (size_t i = 0; i < like.size(); ++i) {
    if (like[i].requires_grad())
      base::fail("compile", "argument {} requires grad; capture the parameter instead of passing it, or detach() it",
                 i);
    arguments_.push_back({value_of(like[i]).type(), like[i].device(), {}});
  }
}

Recording::~Recording() { let_go(); }

size_t Recording::hold(const Impl& tensor) {
  for (size_t i = 0; i < held_.size(); ++i) {
    if (held_[i] == tensor) return i;
  }
  ++std::atomic_ref<uint32_t>(tensor->recordings);
  held_.push_back(tensor);
  return held_.size() - 1;
}

void Recording::let_go() {
  for (const Impl& tensor : held_) --std::atomic_ref<uint32_t>(tensor->recordings);
  held_.clear();
}

// ---- whether it serves ----

bool Recording::fits(std::span<const Tensor> arguments, const Circumstances& now) const {
  if (arguments.size() != arguments_.size() || !(now == circumstances_)) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!(value_of(arguments[i]).type() == arguments_[i].type) || !(arguments[i].device() == arguments_[i].device))
      return false;
    if (arguments[i].requires_grad()) return false;
  }
  if (const uint64_t set = switches_set(); set != flags_seen_) {
    for (const Trace::Flag& one : flags_) {
      if (*one.flag != one.is_set) return false;
    }
    flags_seen_ = set;
  }
  if (!capture_) return true;
  for (const GradientRead& read : gradients_read_) {
    std::lock_guard lock(read.leaf->mutex);
    if (impl_of(read.leaf->grad).get() != read.before) return false;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl* owner = root_of(impl_of(arguments[i])).get();
    if (arguments_[i].linked) {
      if (owner != arguments_[i].linked || path_to(*impl_of(arguments[i])) != arguments_[i].path) return false;
      continue;
    }
    for (const Bound& bound : bound_) {
      if (bound.is_written && held_[bound.tensor].get() == owner) return false;
    }
  }
  return true;
}

std::string Recording::why_outdated() const {
  for (size_t i = 0; i < guarded_.size(); ++i) {
    const Guarded& guard = guarded_[i];
    const Impl& tensor = held_[i];
    if (tensor.use_count() == static_cast<long>(std::atomic_ref<uint32_t>(tensor->recordings).load()))
      return "a tensor that the function uses was replaced or destroyed";
    if (tensor->leaf_id() != guard.leaf) return "requires_grad of a tensor that the function uses was changed";
    if (tensor->root.get() != guard.root || tensor->data_replacements != guard.data_replacements)
      return "a tensor that the function uses was given other data";
  }
  for (const Trace::Watched& one : watched_) {
    if (one.variables->size() != one.tensors.size()) return "a module that the function uses was changed or destroyed";
    for (size_t i = 0; i < one.tensors.size(); ++i) {
      if (impl_of(*(*one.variables)[i]).get() != one.tensors[i])
        return "a parameter or buffer of a module that the function uses was replaced";
    }
  }
  return {};
}

// ---- replaying ----

void Recording::replay(std::span<const Tensor> arguments) {
  ++replays_;
  is_traced_ = false;
  before_commands_.clear();
  sources_.clear();
  for (const Bound& bound : bound_) {
    const Impl& tensor = held_[bound.tensor];
    if (tensor->shadow && !shadow_is_current(tensor)) renew_shadow(tensor);
  }
  fill_arguments(arguments);
  for (Bound& bound : bound_) {
    look_after(bound);
    if (bound.is_written) protect(bound);
  }
  protect_results();
  step_bytes_.resize(ScalarBlock::kBytes * (blocks_.size() + varying_.size()));  // allocates the first time only
  std::byte* next = step_bytes_.data();
  const auto send = [&](const ir::Value& leaf, size_t bytes) {
    before_commands_.push_back(device::Upload{{next, bytes}, {memory_of(leaf)->buffer(), 0, bytes}});
    next += ScalarBlock::kBytes;
  };
  for (const ScalarBlock& block : blocks_) {
    block.write(next);
    send(block.leaf, block.bytes());
  }
  for (const Trace::Varying& one : varying_) {
    std::lock_guard lock(one.generator->mutex);
    const int64_t state[] = {static_cast<int64_t>(one.generator->seed), static_cast<int64_t>(one.generator->position)};
    one.generator->position += one.drawn;
    std::memcpy(next, state, sizeof(state));
    send(one.leaf, sizeof(state));
  }
  try {
    run();
  } catch (...) {  // nothing was drawn
    for (const Trace::Varying& one : varying_) {
      std::lock_guard lock(one.generator->mutex);
      one.generator->position -= one.drawn;
    }
    sources_.clear();
    throw;
  }
  sources_.clear();
  finish(arguments);
}

void Recording::fill_arguments(std::span<const Tensor> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const StorageRef source = packed_memory(value_of(arguments[i]));
    if (arguments_[i].memory == source) continue;
    before_commands_.push_back(
        device::Copy{{source->buffer(), 0, source->bytes()}, {arguments_[i].memory->buffer(), 0, source->bytes()}});
    sources_.push_back(source);  // until the copy is submitted: whatever is computed before that may not take it over
  }
}

// A tensor that was written outside of the function since: its new content moves to where the recording reads it.
void Recording::look_after(Bound& bound) {
  const Impl& tensor = held_[bound.tensor];
  if (tensor->version == bound.version) return;
  const StorageRef now = packed_memory(value_of(tensor_of(tensor)));
  if (!(bound.memory == now)) {
    if (!is_free(bound.memory, 0)) move_holders_away(bound.memory.memory());
    exec::copy_into(bound.memory.memory(), now);
    show(bound);
  }
  bound.version = tensor->version;
}

// The tensor's value is what lies in the bound memory.
void Recording::show(Bound& bound) {
  TensorImpl& tensor = *held_[bound.tensor];
  const ir::Value leaf = exec::leaf_of(bound.memory.memory(), bound.type, tensor.value.device());
  tensor.value = tensor.leaf ? ir::param(leaf, tensor.leaf) : leaf;
  ++tensor.version;
  tensor.drop_what_views_show();
  bound.version = tensor.version;
}

// Whoever still needs the old content of a state gets it in other memory.
void Recording::protect(Bound& bound) {
  TensorImpl& tensor = *held_[bound.tensor];
  const auto is_alone = [&] {
    return is_sole_value(tensor.value) && is_free(bound.memory, 1) &&
           memory_of(ir::base_of(tensor.value)) == bound.memory.memory();
  };
  if (is_alone()) return;
  tensor.drop_what_views_show();
  static_cast<void>(value_of(tensor_of(held_[bound.tensor])));  // lets go of how it was made
  if (is_alone()) return;
  move_holders_away(bound.memory.memory());
}

void Recording::move_holders_away(const StorageRef& memory) {
  const StorageRef taken = exec::move_holders_to_own_memory(memory);
  for (Bound& bound : bound_) {
    if (bound.memory == taken && bound.version == held_[bound.tensor]->version) show(bound);
  }
}

// A result that somebody holds stays what it is; one that nobody holds is handed out again.
void Recording::protect_results() {
  for (size_t i = 0; i < made_.size(); ++i) {
    Made& made = made_[i];
    const device::Pin& memory = capture_->outputs()[i].memory;
    const Impl& handle = made.handle;
    const bool is_free_again = handle && handle.use_count() == 1 && handle->value.node.get() == made.shown &&
                               !handle->shadow && is_sole_value(handle->value) && is_free(memory, 1);
    if (is_free_again) continue;
    made.handle = nullptr;
    if (!is_free(memory, 0)) move_holders_away(memory.memory());
    made.handle = impl_of(made_now(i));
    made.shown = made.handle->value.node.get();
  }
}

Tensor Recording::made_now(size_t i) const {
  const exec::Capture::Output& output = capture_->outputs()[i];
  ir::Value value = exec::leaf_of(output.memory.memory(), output.type, capture_->device_id());
  for (const ir::Move& move : output.moves) value = ir::move(value, move);
  if (made_[i].needs_grad) value = without_graph(value, kNoGraph);
  const Tensor made = tensor_of(value);
  impl_of(made)->history_released = made_[i].is_released;
  return made;
}

void Recording::run() {
  const device::Ticket ticket = capture_->replay(before_commands_, false);
  if (capture_->device().is_done(ticket)) capture_->device().wait(ticket);  // a fault is raised here
  for (Bound& bound : bound_) {
    if (!bound.is_written) continue;
    bound.memory->set_ready(ticket, true);
    held_[bound.tensor]->range.reset();
    bound.version = ++held_[bound.tensor]->version;
  }
  for (const Bound& bound : bound_) {
    const Impl& tensor = held_[bound.tensor];
    if (bound.is_written && tensor->shadow) note_shadow(tensor, bound.shadow_is_current);
  }
  for (const exec::Capture::Output& output : capture_->outputs()) output.memory->set_ready(ticket, false);
}

void Recording::finish(std::span<const Tensor> arguments) {
  for (const GradientLeft& one : gradients_) {
    const Tensor gradient = tensor_at(one.place, arguments, held_, [&](size_t i) { return made_[i].handle; });
    std::lock_guard lock(one.leaf->mutex);
    one.leaf->grad = gradient;
  }
}

size_t Recording::results() const { return is_traced_ ? traced_results_.size() : places_.size(); }

Tensor Recording::result(size_t i, std::span<const Tensor> arguments) {
  if (is_traced_) return std::exchange(traced_results_[i], Tensor());
  return tensor_at(places_[i], arguments, held_, [&](size_t k) { return made_[k].handle; });
}

void Recording::compare_bits() {
  size_t next = 0;
  for (size_t i = 0; i < made_.size(); ++i) {
    if (exec::read(value_of(made_now(i))) != expected_[next++])
      base::fail("compile", "TENON_VERIFY_CAPTURE: result {} of the replay differs from that of the function itself",
                 i);
  }
  for (const Bound& bound : bound_) {
    if (bound.is_written && exec::read(value_of(tensor_of(held_[bound.tensor]))) != expected_[next++]) {
      base::fail("compile",
                 "TENON_VERIFY_CAPTURE: a state of shape {} differs after the replay from what the function "
                 "leaves",
                 ir::to_string(bound.type.shape));
    }
  }
  expected_.clear();
}

}  // namespace tenon
