// Calls that are traced: what they leave behind is examined, and then carried out or recorded.

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/device/pool.h"
#include "tenon/device/timeline.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/recording.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

using Impl = std::shared_ptr<TensorImpl>;

// Tensors from outside in the order that places count them: those that own their memory, then views.
std::vector<Impl> outside_of(Trace& trace) {
  std::vector<Impl> all;
  for (const Trace::Outside& one : trace.outside()) all.push_back(one.tensor);
  for (const Trace::View& one : trace.views()) all.push_back(one.tensor);
  return all;
}

size_t number_in(const std::vector<Impl>& list, const Impl& tensor) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), tensor) - list.begin());
}

// Finds places, and numbers the tensors made inside as they come.
class Placing {
 public:
  explicit Placing(Trace& trace) : trace_(trace), outside_(outside_of(trace)) {}

  Place place_of(const Tensor& tensor, std::vector<Tensor>& made) const {
    if (!tensor.defined()) return {};
    const Impl& impl = impl_of(tensor);
    Place place;
    if (find_argument(impl, place)) return place;
    const bool is_outside = trace_.is_outside(*impl);
    const Impl& owner = is_outside ? impl : root_of(impl);
    place.is_view = owner != impl;
    for (const TensorImpl* at = impl.get(); !is_outside && at->root; at = at->root.get()) {
      place.moves.insert(place.moves.begin(), at->moves.begin(), at->moves.end());
      place.is_detached = place.is_detached || at->detached;
    }
    if (find_argument(owner, place)) return place;
    if (trace_.is_outside(*owner)) {
      place.from = Place::From::outside;
      place.tensor = owner.get();
      place.index = number_in(outside_, owner);
      return place;
    }
    place.from = Place::From::made;
    const auto known =
        std::find_if(made.begin(), made.end(), [&](const Tensor& other) { return impl_of(other) == owner; });
    place.index = static_cast<size_t>(known - made.begin());
    if (known == made.end()) made.push_back(tensor_of(owner));
    return place;
  }

 private:
  bool find_argument(const Impl& impl, Place& place) const {
    const auto& arguments = trace_.argument_leaves();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (impl_of(arguments[i].tensor) != impl) continue;
      place.from = Place::From::argument;
      place.index = i;
      return true;
    }
    return false;
  }

  Trace& trace_;
  std::vector<Impl> outside_;
};

// A generator that the function makes and lets go of draws the same in every call, which a replay would not. One that
// it keeps, the default one when it is first asked for, say, goes on.
void refuse_lost_generators(Trace& trace) {
  for (const Trace::Varying& one : trace.varying()) {
    if (one.generator->made_in != trace.realm() || one.generator.use_count() > 1) continue;
    base::fail("compile",
               "a Generator is made inside the captured function; make it outside, so that replays go on with it");
  }
}

// A view of something that nobody else is given, loss.detach() say, might as well be a tensor of its own. Returns what
// it was a view of.
std::vector<Tensor> hand_out_lone_views(std::vector<Place>& places, const std::vector<GradientLeft>& gradients,
                                        const std::vector<Tensor>& outputs, std::vector<Tensor>& made) {
  std::vector<size_t> users(made.size());
  const auto count = [&](const Place& place) {
    if (place.from == Place::From::made) ++users[place.index];
  };
  for (const Place& place : places) count(place);
  for (const GradientLeft& one : gradients) count(one.place);
  std::vector<Tensor> shown;
  for (size_t i = 0; i < places.size(); ++i) {
    Place& place = places[i];
    if (place.from != Place::From::made || !place.is_view || users[place.index] != 1) continue;
    shown.push_back(std::exchange(made[place.index], tensor_of(impl_of(outputs[i])->value)));
    place = {Place::From::made, place.index};
  }
  return shown;
}

// What the function leaves in a tensor from outside, without its history.
ir::Value next_of(const Trace::Outside& one) {
  if (one.tensor->leaf) return one.now.node->input(0);
  if (one.now.needs_grad()) {
    base::fail("compile",
               "a tensor of shape {} from outside is written with values that need gradients, which a replay does "
               "not record; write it under NoGrad, or detach() the values",
               ir::to_string(one.type.shape));
  }
  return one.now;
}

}  // namespace

Tensor tensor_at(const Place& place, std::span<const Tensor> arguments, const std::vector<Impl>& outside,
                 const std::function<Impl(size_t)>& made) {
  if (place.from == Place::From::nothing) return Tensor();
  const Tensor whole = place.from == Place::From::argument  ? arguments[place.index]
                       : place.from == Place::From::outside ? tensor_of(outside[place.index])
                                                            : tensor_of(made(place.index));
  if (!place.is_view) return whole;
  std::optional<NoGrad> detached;
  if (place.is_detached) detached.emplace();
  return viewed(whole, place.moves);
}

Recording::Examined Recording::run_traced(Trace& trace, const Function& function) {
  std::vector<Tensor> outputs = function(trace.arguments());
  for (const Tensor& output : outputs) {
    if (!output.defined()) base::fail("compile", "the captured function returned an undefined tensor");
    static_cast<void>(value_of(output));  // from now on it is known, also if the function has only handed it on
  }
  for (Trace::Gradient& one : trace.gradients()) {
    if (one.now.defined()) static_cast<void>(value_of(one.now));
  }
  trace.stop();
  refuse_lost_generators(trace);
  return examine(trace, std::move(outputs));
}

Recording::Examined Recording::examine(Trace& trace, std::vector<Tensor> outputs) {
  Examined all;
  const Placing placing(trace);
  for (const Tensor& output : outputs) all.places.push_back(placing.place_of(output, all.made));
  for (const Trace::Gradient& one : trace.gradients()) {
    if (!one.is_set) continue;
    all.gradients.push_back({one.leaf, placing.place_of(one.now, all.made)});
  }
  const std::vector<Tensor> shown = hand_out_lone_views(all.places, all.gradients, outputs, all.made);
  std::vector<ir::Value> values;
  for (const Tensor& made : all.made) {
    const TensorImpl& impl = *impl_of(made);
    all.flags.push_back({impl.value.needs_grad(), impl.history_released});
    values.push_back(impl.value);
  }
  for (Trace::Outside& one : trace.outside()) {
    if (one.is_written) values.push_back(next_of(one));
  }
  const size_t handed_out = values.size();
  for (const Tensor& one : shown) values.push_back(impl_of(one)->value);
  values = without_history(values, trace.realm());
  for (size_t i = 0; i < shown.size(); ++i) {  // or it would keep the graph, and what gradient rules hold
    TensorImpl& impl = *impl_of(shown[i]);
    const ir::Value& plain = values[handed_out + i];
    impl.value = impl.value.needs_grad() ? without_graph(plain, kNoGraph) : plain;
  }
  values.resize(handed_out);

  // Every tensor that is handed out has memory of its own, and so has every state.
  base::FlatSet<const ir::Node*> taken;
  for (size_t i = all.made.size(); i < values.size(); ++i) taken.insert(ir::base_of(values[i]).node.get());
  for (size_t i = 0; i < all.made.size(); ++i) {
    const ir::InRealm here(trace.realm());
    ir::Value value = values[i];
    if (ir::base_of(value).node->evaluated()) value = ir::contiguous(value);
    while (!taken.insert(ir::base_of(value).node.get())) value = ir::contiguous(value);
    all.made_values.push_back(value);
    impl_of(all.made[i])->value = value;
    values[i] = value;
  }
  size_t next = all.made.size();
  for (Trace::Outside& one : trace.outside()) {
    if (one.is_written) one.now = values[next++];
  }
  trace.let_views_go();
  all.signature = signature_of(trace, values, all.places, all.gradients);

  // With the graph gone, who still holds a tensor that was made inside holds it outside.
  const std::vector<Impl> alive = trace.alive();
  for (const Impl& impl : alive) {
    long known = 1;
    const auto count = [&](const Tensor& tensor) { known += impl_of(tensor) == impl ? 1 : 0; };
    for (const Tensor& output : outputs) count(output);
    for (const Tensor& made : all.made) count(made);
    for (const Tensor& one : shown) count(one);
    for (const Trace::Gradient& one : trace.gradients()) count(one.now);
    for (const Trace::Argument& one : trace.argument_leaves()) count(one.tensor);
    for (const Tensor& argument : trace.arguments()) count(argument);
    for (const Impl& other : alive) known += other->root == impl ? 1 : 0;
    if (impl.use_count() > known) all.leaked.push_back(tensor_of(impl));
  }
  return all;
}

void Recording::trace(const Function& function, std::span<const Tensor> arguments, bool may_record) {
  const device::HostSpan span(device::HostWork::record);
  obstacle_.reset();
  traced_results_.clear();
  is_traced_ = true;
  Trace trace(arguments);
  Examined examined = run_traced(trace, function);
  flags_ = trace.flags();
  flags_seen_ = 0;
  const auto stands_against = [&](Difference::Kind kind, const char* text, const char* cure) {
    obstacle_ = Difference{kind, text, cure};
  };
  const Signature& now = examined.signature;
  const bool is_known = std::none_of(now.origins.begin(), now.origins.end(), [](const Signature::Origin& origin) {
    return origin.kind == Signature::Origin::Kind::unknown;
  });
  if (!examined.leaked.empty()) {
    stands_against(Difference::Kind::operations, "a tensor that is made inside is kept outside", "return it instead");
  } else if (!now.is_of_one_device || !is_known) {
    stands_against(Difference::Kind::operations, "work on several devices is recorded",
                   "compile one function per device");
  } else if (before_) {
    obstacle_ = difference(*before_, now);
  }
  const bool has_work = !now.graph.nodes.empty();
  if (may_record && has_work && before_ && !obstacle_) {
    record(trace, examined, arguments);
    is_traced_ = false;
    return;
  }
  carry_out(trace, examined, arguments);
  before_ = std::move(examined.signature);
  if (!examined.leaked.empty()) before_.reset();
}

// As an ordinary call: states get their new values, gradients are left, all that was made is computed.
void Recording::carry_out(Trace& trace, Examined& examined, std::span<const Tensor> arguments) {
  const std::vector<Impl> outside = outside_of(trace);
  std::vector<ir::Value> values = examined.made_values;
  for (const Tensor& leaked : examined.leaked) {
    if (!impl_of(leaked)->root) values.push_back(impl_of(leaked)->value);
  }
  for (size_t i = 0; i < examined.made.size(); ++i) {
    TensorImpl& impl = *impl_of(examined.made[i]);
    if (examined.flags[i].needs_grad) impl.value = without_graph(examined.made_values[i], kNoGraph);
  }
  const auto give = [](TensorImpl& tensor, const ir::Value& data) {
    tensor.value = tensor.leaf ? ir::param(data, tensor.leaf) : data;
    tensor.range.reset();
    tensor.drop_what_views_show();
  };
  for (Trace::Outside& one : trace.outside()) {
    one.before = one.leaf = {};  // or the old content would stay for its sake
    if (!one.is_written) continue;
    values.push_back(one.now);
    give(*one.tensor, std::exchange(one.now, {}));
    one.tensor->version = one.version;
    if (one.shadow_distance) one.tensor->shadow_distance = *one.shadow_distance;
  }
  const auto set_gradients = [&](auto gradient_of) {
    for (size_t i = 0; i < examined.gradients.size(); ++i) {
      const Tensor gradient = gradient_of(examined.gradients[i]);
      std::lock_guard lock(examined.gradients[i].leaf->mutex);
      examined.gradients[i].leaf->grad = gradient;
    }
  };
  const auto made = [&](size_t i) { return impl_of(examined.made[i]); };
  set_gradients([&](const GradientLeft& one) { return tensor_at(one.place, arguments, outside, made); });
  try {
    exec::eval(values);
  } catch (...) {
    for (Trace::Outside& one : trace.outside()) {
      if (!one.is_written) continue;
      give(*one.tensor, exec::leaf_of(one.memory.memory(), one.type, one.tensor->value.device()));
      one.tensor->version = one.version + 1;
    }
    set_gradients([&](const GradientLeft& left) {
      for (const Trace::Gradient& one : trace.gradients()) {
        if (one.leaf == left.leaf) return one.before;
      }
      return Tensor();
    });
    throw;
  }
  trace.keep_draws();
  values.clear();
  for (const Trace::Outside& one : trace.outside()) {
    if (one.is_written) static_cast<void>(value_of(tensor_of(one.tensor)));  // lets go of how it was made
  }
  for (const Place& place : examined.places) traced_results_.push_back(tensor_at(place, arguments, outside, made));
}

void Recording::bind(Trace& trace) {
  for (const Impl& tensor : outside_of(trace)) {
    hold(tensor);
    guarded_.push_back({tensor->leaf_id(), tensor->root.get(), tensor->data_replacements});
  }
  const auto version_of = [&](const Impl& tensor) {
    for (const Trace::Outside& one : trace.outside()) {
      if (one.tensor == tensor) return one.version;
    }
    return tensor->version;
  };
  for (const Trace::Outside& one : trace.outside()) {
    Bound bound{bound_.size(), one.memory, one.type, one.tensor->version, one.is_written};
    if (one.tensor->shadow) {
      const uint64_t distance = one.version - version_of(impl_of(*one.tensor->shadow));
      bound.shadow_is_current = distance == one.shadow_distance.value_or(one.tensor->shadow_distance);
    }
    bound_.push_back(std::move(bound));
  }
  for (const Trace::Gradient& one : trace.gradients()) {
    if (!one.is_read) continue;
    if (one.before.defined()) hold(impl_of(one.before));
    gradients_read_.push_back({one.leaf, impl_of(one.before).get()});
  }
}

void Recording::record(Trace& trace, Examined& examined, std::span<const Tensor> arguments) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Trace::Argument& argument = trace.argument_leaves()[i];
    arguments_[i].memory = exec::move_to_own_memory(argument.leaf);
    arguments_[i].linked = argument.linked.get();
    arguments_[i].path = argument.path;
  }
  std::vector<exec::Capture::State> states;
  for (const Trace::Outside& one : trace.outside()) {
    if (one.is_written) states.push_back({one.now, one.leaf});
  }
  auto capture = std::make_unique<exec::Capture>(examined.made_values, states);
  states.clear();
  bind(trace);
  watched_ = trace.watched();
  varying_ = trace.varying();
  blocks_ = trace.blocks();
  places_ = examined.places;
  gradients_ = examined.gradients;
  for (const Made& made : examined.flags) made_.push_back(made);
  before_ = std::move(examined.signature);
  examined = {};  // nobody but the recording needs the graph
  trace.clear();
  capture_ = std::move(capture);
  capture_->device().pool().trim();  // the calls before needed memory that replays do not
  for (Bound& bound : bound_) {
    if (!bound.is_written) continue;
    const Impl& tensor = held_[bound.tensor];
    const ir::Value value = value_of(tensor_of(tensor));
    if (packed_memory(value) != bound.memory.memory()) show(bound);
  }
  for (Bound& bound : bound_) {
    if (bound.is_written) protect(bound);
  }
  protect_results();
  before_commands_.clear();
  run();
  trace.keep_draws();
  finish(arguments);
}

std::optional<Difference> Recording::verify(const Function& function, std::span<const Tensor> arguments, bool bits) {
  Trace trace(arguments);
  Examined examined = run_traced(trace, function);
  if (!examined.leaked.empty()) {
    return Difference{Difference::Kind::operations, "a tensor that is made inside is kept outside",
                      "return it instead"};
  }
  if (auto differs = difference(*before_, examined.signature)) return differs;
  checked_ = replays_ + 1;
  if (!bits) return {};
  std::vector<ir::Value> values = examined.made_values;
  for (const Trace::Outside& one : trace.outside()) {
    if (one.is_written) values.push_back(one.now);
  }
  expected_.clear();
  exec::eval(values);
  for (const ir::Value& value : values) expected_.push_back(exec::read(value));
  return {};
}

}  // namespace tenon
