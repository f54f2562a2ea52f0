// Calls of a captured function: trace, compare with the trace before, record, replay.

#include "tenon/tensor/compile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>

#include "tenon/base/error.h"
#include "tenon/base/nan_check.h"
#include "tenon/device/registry.h"
#include "tenon/device/pool.h"
#include "tenon/exec/capture.h"
#include "tenon/exec/check_nan.h"
#include "tenon/exec/eval.h"
#include "tenon/exec/graph.h"
#include "tenon/ir/topology.h"
#include "tenon/plan/plan.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

using base::fail;
using device::StorageRef;
using Impl = std::shared_ptr<TensorImpl>;

constexpr size_t kMostRecordings = 8;
constexpr int kMostTraces = 6;  // calls that may differ before the function counts as one that always does

StorageRef memory_of(const ir::Value& value) {
  const ir::Value base = plan::base_of(value);
  return device::storage_of(base.node->data(base.index));
}

// What a trace recorded, to be compared with the next one.
struct Written {
  exec::GraphKey key;
  std::vector<uint64_t> literals;
  std::vector<uint64_t> uploads;
};

// The op that reads a literal, through views.
std::string_view reader_of(const exec::Graph& graph, size_t literal) {
  const ir::Node* number = graph.nodes()[graph.literals()[literal]].get();
  for (const ir::NodeRef& node : graph.nodes()) {
    if (node->evaluated() || ir::is_movement(node->op())) continue;
    for (const ir::Value& input : node->inputs()) {
      if (plan::base_of(input).node.get() == number) return ir::name(node->op());
    }
  }
  return "an op";
}

std::string text_of(const ir::ConstantAttrs& like, uint64_t bits) {
  ir::ConstantAttrs number = like;
  number.bits = bits;
  return ir::to_string(ir::Attrs(number));
}

// A state that is written, or a tensor that is read: its memory must be where the recording expects it.
struct Bound {
  Impl tensor;  // ours is one reference: when it is the only one left, the tensor was replaced
  device::Pin memory;
  ir::Type type;
  uint64_t version = 0;
  uint64_t departures = 0;
  bool is_written = false;
};

// A tensor that was all one number when it was read, initial weights of a norm, say: kernels hold the number.
struct Folded {
  std::weak_ptr<TensorImpl> tensor;
  uint64_t version = 0;
};

bool verifies() {
  const char* text = std::getenv("TENON_VERIFY_CAPTURE");
  return text && std::string_view(text) == "1";
}

class Recording {
 public:
  /// For arguments of these types.
  explicit Recording(std::span<const Tensor> like) {
    for (size_t i = 0; i < like.size(); ++i) {
      if (like[i].requires_grad())
        fail("compile", "argument {} requires grad; capture the parameter instead of passing it", i);
      const ir::Type type = like[i].value().type();
      const size_t bytes = static_cast<size_t>(ir::count(type.shape)) * size_of(type.dtype);
      const auto memory = std::make_shared<device::Storage>(device::open(like[i].device().id), bytes);
      arguments_.emplace_back(exec::leaf_of(memory, type, like[i].device().id));
    }
  }

  bool fits(std::span<const Tensor> arguments) const {
    if (arguments.size() != arguments_.size()) return false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ir::Type &a = arguments[i].value().type(), &b = arguments_[i].value().type();
      if (!(a == b) || !(arguments[i].device() == arguments_[i].device())) return false;
    }
    return true;
  }

  /// Whether all that kernels hold as numbers is still so. A recording that is not has to be made again.
  bool is_current() const {
    return std::all_of(folded_.begin(), folded_.end(), [](const Folded& folded) {
      const Impl tensor = folded.tensor.lock();
      return !tensor || tensor->version == folded.version;
    });
  }

  std::vector<Tensor> call(const CompiledFunction::Function& function, std::span<const Tensor> arguments) {
    if (!capture_) return trace(function, arguments);
    if (verifies()) return replay_verified(function, arguments);
    replay(arguments);
    return results();
  }

  Tensor call_for_one(const CompiledFunction::Function& function, std::span<const Tensor> arguments) {
    if (!capture_ || verifies()) return call(function, arguments)[0];
    replay(arguments);
    return result(0);
  }

 private:
  // ---- recording ----

  std::vector<Tensor> trace(const CompiledFunction::Function& function, std::span<const Tensor> arguments) {
    fill_arguments(arguments);
    Trace trace;
    std::vector<Tensor> outputs;
    try {
      outputs = function(arguments_);
      for (const Tensor& output : outputs) {
        if (!output.defined()) fail("compile", "the captured function returned an undefined tensor");
      }
      refuse_written_arguments(trace);
      trace.stop();
    } catch (...) {
      trace.stop();
      trace.undo();
      throw;
    }
    for (Trace::Varying& one : trace.varying()) {
      std::lock_guard lock(one.generator->mutex);
      one.drawn = one.generator->position - one.start;
    }
    return finish(trace, std::move(outputs));
  }

  // With the trace over: what it recorded is evaluated as usual, or becomes the recording.
  std::vector<Tensor> finish(Trace& trace, std::vector<Tensor> outputs) {
    std::vector<Impl> survivors = survivors_of(trace, outputs);
    std::vector<ir::Value> wanted;
    for (const Tensor& output : outputs) wanted.push_back(output.impl()->value);
    for (const Impl& survivor : survivors) wanted.push_back(survivor->value);
    std::vector<exec::Capture::State> states;
    bool has_homes = true;
    for (const Trace::Write& write : trace.written()) {
      const ir::Value next = data_of(write.owner->value), home = data_of(write.old);
      wanted.push_back(next);
      has_homes = has_homes && home.node->op() == ir::Op::buffer && home.node->evaluated() &&
                  home.type() == next.type();
      states.push_back({next, home});
    }
    if (base::checks_nan()) return evaluate(trace, std::move(outputs), survivors);  // a replay could not be looked into
    if (++traces_ > kMostTraces) {
      trace.undo();
      fail("compile", "the captured function recorded other operations in each of its first {} calls", kMostTraces);
    }
    bool same = false;
    try {
      same = compare(trace, wanted);
    } catch (...) {
      trace.undo();
      throw;
    }
    if (!same || !has_homes || !unread_of(trace).empty()) {
      wanted.clear();
      states.clear();
      return evaluate(trace, std::move(outputs), survivors);
    }
    wanted.clear();
    record(trace, outputs, survivors, std::move(states));
    return results();
  }

  std::vector<Impl> survivors_of(const Trace& trace, const std::vector<Tensor>& outputs) const {
    std::vector<Impl> survivors = trace.survivors();
    std::erase_if(survivors, [&](const Impl& impl) {
      const bool is_output =
          std::any_of(outputs.begin(), outputs.end(), [&](const Tensor& output) { return output.impl() == impl; });
      const bool is_written = std::any_of(trace.written().begin(), trace.written().end(),
                                          [&](const Trace::Write& write) { return write.owner == impl; });
      return is_output || is_written || impl->root || !impl->value || exec::is_evaluated(impl->value);
    });
    return survivors;
  }

  // Whether this trace recorded what the one before did. A literal that differs is refused.
  bool compare(const Trace& trace, const std::vector<ir::Value>& wanted) {
    std::vector<ir::Value> open;
    for (const ir::Value& value : wanted) {
      if (!exec::is_evaluated(value) && std::find(open.begin(), open.end(), value) == open.end()) open.push_back(value);
    }
    if (open.empty()) return false;
    const base::FlatSet<const ir::Node*> none;
    const exec::Graph graph(ir::order_of_evaluation(open), open, none);
    Written now{graph.key(), {}, trace.uploaded()};
    for (size_t i = 0; i < graph.literals().size(); ++i) now.literals.push_back(graph.literal(i).bits);
    const bool same = before_ && graph.matches(before_->key);
    if (same) {
      for (size_t i = 0; i < now.literals.size(); ++i) {
        if (now.literals[i] == before_->literals[i]) continue;
        const std::string was = text_of(graph.literal(i), before_->literals[i]);
        fail("compile", "the number {} that {} reads was {} in the call before: make it a Scalar, or an argument",
             text_of(graph.literal(i), now.literals[i]), reader_of(graph, i), was);
      }
      if (now.uploads != before_->uploads) {
        fail("compile", "a tensor that the captured function makes from host values differs from the call before: "
                        "pass it as an argument");
      }
    }
    before_ = std::move(now);
    return same;
  }

  // What the function reads of tensors from outside that nobody has computed yet, weights just drawn, say: computed
  // once and for all, or every replay would compute them again.
  static std::vector<ir::Value> unread_of(const Trace& trace) {
    std::vector<ir::Value> values;
    for (const Impl& root : trace.read_roots()) {
      const bool is_written = std::any_of(trace.written().begin(), trace.written().end(),
                                          [&](const Trace::Write& write) { return write.owner == root; });
      const ir::Value data = data_of(root->value);
      const ir::Op made_by = plan::base_of(data).node->op();
      if (!is_written && made_by != ir::Op::constant && !exec::is_evaluated(data)) values.push_back(data);
    }
    return values;
  }

  std::vector<Tensor> evaluate(Trace& trace, std::vector<Tensor> outputs, const std::vector<Impl>& survivors) {
    std::vector<ir::Value> values = unread_of(trace);
    for (const Tensor& output : outputs) values.push_back(output.impl()->value);
    for (const Impl& survivor : survivors) values.push_back(survivor->value);
    for (const Trace::Write& write : trace.written()) values.push_back(data_of(write.owner->value));
    trace.forget_old_values();  // so that states are written where they lie
    exec::eval(values);
    values.clear();
    for (const Trace::Write& write : trace.written()) static_cast<void>(Tensor::of(write.owner).value());  // lets go of how
    return outputs;
  }

  void record(Trace& trace, const std::vector<Tensor>& outputs, const std::vector<Impl>& survivors,
              std::vector<exec::Capture::State> states) {
    std::vector<ir::Value> values;
    for (const Tensor& output : outputs) values.push_back(output.impl()->value);
    for (const Impl& survivor : survivors) values.push_back(survivor->value);
    for (const Impl& root : trace.read_roots()) bind(root, false);
    for (const Trace::Write& write : trace.written()) {
      write.owner->value = write.old;  // it stays where it is
      ++write.owner->version;
      bind(write.owner, true);
    }
    capture_ = std::make_unique<exec::Capture>(values, states);
    varying_ = trace.varying();
    blocks_ = trace.blocks();
    states.clear();
    trace.clear();
    results_ = outputs.size();
    pool_.resize(results_ + survivors.size());
    before_.reset();
    values.clear();
    for (const Impl& survivor : survivors) survivor->value = {};
    for (const Tensor& output : outputs) output.impl()->value = {};  // nobody but the recording needs the graph
    for (Bound& bound : bound_) bound.tensor->drop_what_views_show();  // they may show what the trace has recorded
    for (Bound& bound : bound_) protect(bound);
    capture_->device().pool().trim();  // the calls before needed memory that replays do not
    run({}, false);
    for (size_t i = 0; i < survivors.size(); ++i) {
      survivors[i]->value = made(results_ + i).impl()->value;
      survivors[i]->calls = calls_;
      survivors[i]->call = *calls_;
      ++survivors[i]->version;  // its views look again
      pool_[results_ + i].push_back(survivors[i]);
    }
  }

  void bind(const Impl& tensor, bool is_written) {
    for (Bound& bound : bound_) {
      if (bound.tensor != tensor) continue;
      bound.is_written = bound.is_written || is_written;
      bound.version = tensor->version;
      return;
    }
    const ir::Value data = data_of(tensor->value);
    if (!exec::is_evaluated(data)) {  // made of others, which are bound themselves, or a number in the kernels
      if (plan::base_of(data).node->op() == ir::Op::constant) folded_.push_back({tensor, tensor->version});
      return;
    }
    const auto is_argument = [&](const Tensor& argument) { return argument.impl() == tensor; };
    if (std::any_of(arguments_.begin(), arguments_.end(), is_argument)) return;
    bound_.push_back({tensor, memory_of(data), plan::base_of(data).type(), tensor->version, tensor->departures,
                      is_written});
  }

  // ---- replaying ----

  void replay(std::span<const Tensor> arguments) {
    before_commands_.clear();
    fill_arguments(arguments, &before_commands_);
    for (const Bound& bound : bound_) {
      if (bound.tensor->shadow && !shadow_is_current(*bound.tensor)) renew_shadow(*bound.tensor);
    }
    for (Bound& bound : bound_) {
      look_after(bound);
      if (bound.is_written) protect(bound);
    }
    protect_results();
    for (const StepBlock& block : blocks_) renew(block);
    for (Trace::Varying& one : varying_) renew(one);
    run(before_commands_, false);
    sources_.clear();
  }

  void run(std::span<const device::Command> before, bool caller_waits) {
    ++*calls_;
    const device::Ticket ticket = capture_->replay(before, caller_waits);
    if (capture_->device().is_done(ticket)) capture_->device().wait(ticket);  // a fault is raised here
    for (Bound& bound : bound_) {
      if (!bound.is_written) continue;
      bound.memory->set_ready(ticket, true);
      bound.version = ++bound.tensor->version;
    }
    for (const exec::Capture::Output& output : capture_->outputs()) output.memory->set_ready(ticket, false);
  }

  // A tensor that was written outside of the function since: its new content moves to where the recording reads it.
  void look_after(Bound& bound) {
    if (bound.tensor.use_count() == 1) {
      fail("compile", "a tensor of shape {} that the captured function uses was replaced or destroyed; update it in "
                      "place (copy_), or capture again", ir::to_string(bound.type.shape));
    }
    if (bound.tensor->departures != bound.departures) {
      fail("compile", "a tensor that the captured function uses was given other data (set_data); capture again");
    }
    if (bound.tensor->version == bound.version) return;
    const ir::Value data = data_of(bound.tensor->value);
    if (!(plan::base_of(data).type() == bound.type)) fail("compile", "a tensor of the captured function changed its type");
    exec::eval({&data, 1});
    const StorageRef now = memory_of(data);
    if (!(bound.memory == now)) {
      before_commands_.push_back(device::Copy{{now->buffer(), 0}, {bound.memory->buffer(), 0}, now->bytes()});
      sources_.push_back(now);
      show(bound);
    }
    bound.version = bound.tensor->version;
  }

  // The tensor's value is what lies in the bound memory.
  void show(Bound& bound) {
    const bool is_param = bound.tensor->value.node->op() == ir::Op::param;
    const ir::Value leaf = exec::leaf_of(bound.memory.memory(), bound.type, bound.tensor->value.device());
    bound.tensor->value = is_param ? ir::param(leaf, bound.tensor->leaf) : leaf;
    ++bound.tensor->version;
  }

  // Whoever still needs the old content of a state gets it in other memory.
  void protect(Bound& bound) {
    if (!bound.is_written) return;
    if (is_alone(bound)) return;
    bound.tensor->drop_what_views_show();
    if (is_alone(bound)) return;
    give_to_others(bound.memory.memory());
  }

  void give_to_others(const StorageRef& memory) {
    const StorageRef taken = exec::keep_for_others(memory);
    for (Bound& bound : bound_) {
      if (!(bound.memory == taken)) continue;
      show(bound);
      bound.version = bound.tensor->version;
    }
    for (size_t i = 0; i < pool_.size(); ++i) {  // handles show the memory that was given
      if (capture_->outputs()[i].memory == taken) pool_[i].clear();
    }
  }

  bool is_alone(const Bound& bound) const {
    const ir::Node* node = bound.tensor->value.node.get();
    if (node->op() == ir::Op::param) {
      if (node->references() != 1) return false;
      node = node->input(0).node.get();
    }
    if (node->op() != ir::Op::buffer || node->references() != 1) return false;
    constexpr long kLeaf = 1;
    return bound.memory.memory().use_count() == kLeaf + bound.memory->pins();
  }

  void protect_results() {
    for (size_t i = 0; i < pool_.size(); ++i) {
      for (const Impl& impl : pool_[i]) {
        if (impl->value.node->references() == 1) continue;  // nothing was recorded on it
        give_to_others(capture_->outputs()[i].memory.memory());
        break;
      }
    }
  }

  // Numbers, and places in streams of random numbers, as of this call.
  void renew(const StepBlock& block) {
    device::Upload upload;
    upload.to = {memory_of(block.leaf)->buffer(), 0};
    upload.inside_bytes = static_cast<uint8_t>(block.bytes());
    block.write(upload.inside.data());
    before_commands_.push_back(upload);
  }

  void renew(Trace::Varying& one) {
    device::Upload upload;
    upload.to = {memory_of(one.leaf)->buffer(), 0};
    std::lock_guard lock(one.generator->mutex);
    const int64_t state[] = {static_cast<int64_t>(one.generator->seed), static_cast<int64_t>(one.generator->position)};
    one.generator->position += one.drawn;
    upload.inside_bytes = sizeof(state);
    std::memcpy(upload.inside.data(), state, sizeof(state));
    before_commands_.push_back(upload);
  }

  // ---- arguments and results ----

  void fill_arguments(std::span<const Tensor> arguments, std::vector<device::Command>* commands = nullptr) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ir::Value from = contiguous_data(arguments[i]);
      const StorageRef source = memory_of(from), target = memory_of(arguments_[i].value());
      if (source == target) continue;
      const uint64_t version = commands ? 0 : target->version();  // a replay does not name what it reads
      const device::Command copy = device::Copy{{source->buffer(), 0}, {target->buffer(), 0, version}, source->bytes()};
      if (commands) {
        commands->push_back(copy);
        sources_.push_back(source);
      } else {
        source->wait();
        source->device().enqueue({&copy, 1});
        target->set_ready(source->device().submit(false), false);
      }
    }
  }

  // Evaluated, in row-major order.
  static ir::Value contiguous_data(const Tensor& argument) {
    const ir::Value& value = argument.value();
    if (value.node->op() == ir::Op::buffer && value.node->evaluated()) return value;
    ir::Value data = ir::detach(value);
    if (!exec::is_evaluated(data)) exec::eval({&data, 1});
    const plan::Seen seen = plan::look_through(data);
    if (seen.map.is_contiguous() && ir::count(seen.base.shape()) == ir::count(data.shape())) return data;
    const ir::Value packed = ir::contiguous(data);
    exec::eval({&packed, 1});
    return packed;
  }

  void refuse_written_arguments(const Trace& trace) const {
    for (const Trace::Write& write : trace.written()) {
      for (size_t i = 0; i < arguments_.size(); ++i) {
        if (arguments_[i].impl() == write.owner)
          fail("compile", "argument {} is written inside the captured function; capture the tensor instead", i);
      }
    }
  }

  static ir::Value data_of(const ir::Value& value) {
    return value.node->op() == ir::Op::param ? value.node->input(0) : value;
  }

  std::vector<Tensor> results() {
    std::vector<Tensor> all;
    for (size_t i = 0; i < results_; ++i) all.push_back(result(i));
    return all;
  }

  // A handle of this call; one that nobody holds any more is used again.
  Tensor result(size_t i) {
    for (const Impl& impl : pool_[i]) {
      if (impl.use_count() != 1 || impl->value.node->references() != 1) continue;
      impl->call = *calls_;
      return Tensor::of(impl);
    }
    const Tensor fresh = made(i);
    pool_[i].push_back(fresh.impl());
    return fresh;
  }

  Tensor made(size_t i) const {
    const exec::Capture::Output& output = capture_->outputs()[i];
    ir::Value value = exec::leaf_of(output.memory.memory(), output.type, device_of_outputs());
    for (const ir::Move& move : output.moves) value = ir::move(value, move);
    const Tensor made(value);
    made.impl()->calls = calls_;
    made.impl()->call = *calls_;
    return made;
  }
  ir::DeviceId device_of_outputs() const { return capture_->device_id(); }

  // Every replay leaves the same outputs, states and random position as the function itself, bit for bit.
  std::vector<Tensor> replay_verified(const CompiledFunction::Function& function, std::span<const Tensor> arguments);

  std::vector<Tensor> arguments_;  // fixed memory
  std::optional<Written> before_;
  int traces_ = 0;
  std::unique_ptr<exec::Capture> capture_;
  std::vector<Bound> bound_;
  std::vector<Folded> folded_;
  std::vector<Trace::Varying> varying_;
  std::vector<StepBlock> blocks_;
  size_t results_ = 0;
  std::vector<std::vector<Impl>> pool_;  // handles of each result
  std::shared_ptr<uint64_t> calls_ = std::make_shared<uint64_t>(0);
  std::vector<device::Command> before_commands_;
  std::vector<StorageRef> sources_;  // of copies that are not submitted yet
};

std::vector<Tensor> Recording::replay_verified(const CompiledFunction::Function& function,
                                               std::span<const Tensor> arguments) {
  // As a plain call first; what it writes goes to other memory, because the recording holds on to its own.
  fill_arguments(arguments);
  std::vector<Bound*> untouched;  // the others were written outside since, which the replay has to notice
  for (Bound& bound : bound_) {
    if (bound.tensor->version == bound.version) untouched.push_back(&bound);
  }
  std::vector<std::vector<std::byte>> expected;
  {
    Trace trace;
    std::vector<Tensor> outputs = function(arguments_);
    trace.stop();
    std::vector<ir::Value> values;
    for (const Tensor& output : outputs) values.push_back(output.impl()->value);
    for (const Bound& bound : bound_) {
      if (bound.is_written) values.push_back(data_of(bound.tensor->value));
    }
    exec::wait(values);
    for (const ir::Value& value : values) expected.push_back(exec::read(value));
    trace.undo();
    for (Bound* bound : untouched) bound->version = bound->tensor->version;
  }
  replay(arguments);
  std::vector<Tensor> outputs = results();
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (exec::read(outputs[i].value()) != expected[next++])
      fail("compile", "TENON_VERIFY_CAPTURE: result {} of the replay differs from that of the function itself", i);
  }
  for (const Bound& bound : bound_) {
    if (bound.is_written && exec::read(data_of(bound.tensor->value)) != expected[next++]) {
      fail("compile", "TENON_VERIFY_CAPTURE: a state of shape {} differs after the replay from what the function leaves",
           ir::to_string(bound.type.shape));
    }
  }
  return outputs;
}

}  // namespace

struct CompiledFunction::Impl {
  Function function;
  std::list<Recording> recordings;  // latest first

  Recording& recording_for(std::span<const Tensor> arguments) {
    for (auto at = recordings.begin(); at != recordings.end(); ++at) {
      if (!at->fits(arguments)) continue;
      if (!at->is_current()) {
        recordings.erase(at);
        break;
      }
      recordings.splice(recordings.begin(), recordings, at);
      return recordings.front();
    }
    recordings.emplace_front(arguments);
    if (recordings.size() > kMostRecordings) recordings.pop_back();
    return recordings.front();
  }
};

CompiledFunction::CompiledFunction(Function function) : impl_(std::make_unique<Impl>()) {
  impl_->function = std::move(function);
}
CompiledFunction::~CompiledFunction() = default;
CompiledFunction::CompiledFunction(CompiledFunction&&) noexcept = default;
CompiledFunction& CompiledFunction::operator=(CompiledFunction&&) noexcept = default;

std::vector<Tensor> CompiledFunction::call(std::span<const Tensor> arguments) {
  if (Trace::current()) return impl_->function(arguments);  // part of the capture around it
  return impl_->recording_for(arguments).call(impl_->function, arguments);
}

Tensor CompiledFunction::call_for_one(std::span<const Tensor> arguments) {
  if (Trace::current()) return impl_->function(arguments)[0];
  return impl_->recording_for(arguments).call_for_one(impl_->function, arguments);
}

size_t CompiledFunction::recordings() const { return impl_->recordings.size(); }

}  // namespace tenon
