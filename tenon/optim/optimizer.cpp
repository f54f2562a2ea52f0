// Arenas and what is done with them as a whole.
//
// The gradient of an arena is a sum of the parameters' gradients, each padded to its place: the planner turns that into
// stores, so that products write there themselves. Settings that differ between groups are chosen per element by
// position, which costs a comparison and keeps the update one kernel.

#include "tenon/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "tenon/base/pattern.h"
#include "tenon/ir/build.h"
#include "tenon/optim/grad_scaler.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/held.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/stats.h"
#include "tenon/tensor/trace.h"
#include "tenon/tensor/unread.h"

namespace tenon::optim {
namespace {

// Matrices whose size is a multiple of this stay aligned for vector loads in any of our dtypes.
constexpr int64_t kAligned = 64;

Tensor norm_factor(const Tensor& norm, double most) { return clamp(most / (norm + 1e-6), {}, 1.0); }

// What updates are computed in: as exact as the weights, and no less than f32.
DType computing_type(const Tensor& x) { return accumulator(x.dtype()); }

Tensor sum_of_squares(const Tensor& x) { return sum(square(x.to(computing_type(x)))); }

}  // namespace

std::vector<ParamGroup> groups_by_name(const std::vector<std::pair<std::string, Tensor>>& parameters,
                                       const std::vector<GroupRule>& rules) {
  std::vector<ParamGroup> groups;
  for (const GroupRule& rule : rules) groups.push_back({{}, rule.lr, rule.weight_decay});
  groups.emplace_back();
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) {
    const auto first = std::find_if(rules.begin(), rules.end(),
                                    [&](const GroupRule& rule) { return base::matches(rule.pattern, name); });
    groups[static_cast<size_t>(first - rules.begin())].parameters.push_back(parameter);
    names.push_back(name);
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!groups[i].parameters.empty()) continue;
    const bool is_late = std::any_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return base::matches(rules[i].pattern, name); });
    if (is_late) base::fail("groups_by_name", "all that \"{}\" matches belongs to rules before it", rules[i].pattern);
    base::fail("groups_by_name", "{}", base::no_match(rules[i].pattern, names));
  }
  if (groups.back().parameters.empty()) groups.pop_back();
  return groups;
}

std::vector<ParamGroup> decay_matrices_only(const std::vector<Tensor>& parameters) {
  std::vector<ParamGroup> groups(2);
  groups[1].weight_decay = 0;
  for (const Tensor& p : parameters) groups[p.dim() >= 2 ? 0 : 1].parameters.push_back(p);
  std::erase_if(groups, [](const ParamGroup& group) { return group.parameters.empty(); });
  return groups;
}

Optimizer::Optimizer(std::vector<ParamGroup> groups, const Common& common, std::vector<std::string> moments,
                     double initial)
    : given_(std::move(groups)), lr_(common.lr), momentum_(common.momentum) {
  std::vector<const TensorImpl*> seen;
  for (const ParamGroup& group : given_) {
    const double lr = group.lr.value_or(common.lr), decay = group.weight_decay.value_or(common.weight_decay);
    if (!(lr >= 0)) base::fail("optimizer", "the learning rate must not be negative, got {}", lr);
    if (!(decay >= 0)) base::fail("optimizer", "weight decay must not be negative, got {}", decay);
    groups_.push_back({group.lr ? std::optional<Scalar>(Scalar(lr)) : std::nullopt, decay});
    for (const Tensor& p : group.parameters) {
      if (!p.defined()) base::fail("optimizer", "a parameter is undefined");
      if (!is_float(p.dtype())) base::fail("optimizer", "parameters are floating-point, one is {}", name(p.dtype()));
      if (!p.is_leaf())
        base::fail("optimizer",
                   "a parameter of shape {} is the result of an op; only leaves can be "
                   "optimized",
                   ir::to_string(p.shape()));
      if (std::find(seen.begin(), seen.end(), impl_of(p).get()) != seen.end())
        base::fail("optimizer", "a parameter of shape {} was given twice", ir::to_string(p.shape()));
      seen.push_back(impl_of(p).get());
    }
  }
  if (seen.empty()) base::fail("optimizer", "there are no parameters to optimize");
  if (Trace::current()) base::fail("optimizer", "make the optimizer outside of the captured function");
  lay_out(moments, initial);
}

Optimizer::~Optimizer() = default;

void Optimizer::lay_out(std::vector<std::string>& moments, double initial) {
  moment_names_ = std::move(moments);
  for (size_t g = 0; g < given_.size(); ++g) {
    for (const Tensor& p : given_[g].parameters) {
      const auto fits = [&](const Arena& arena) {
        const Tensor& other = arena.placed[0].parameter;
        return other.dtype() == p.dtype() && other.device() == p.device();
      };
      auto found = std::find_if(arenas_.begin(), arenas_.end(), fits);
      if (found == arenas_.end()) found = arenas_.insert(arenas_.end(), Arena());
      found->placed.push_back({p, g, 0, p.numel()});
    }
  }
  const NoGrad moving;
  for (Arena& arena : arenas_) {
    // Groups stay together; within one, what could break the alignment of others goes last.
    std::stable_sort(arena.placed.begin(), arena.placed.end(), [](const PlacedParameter& a, const PlacedParameter& b) {
      return std::pair(a.group, a.size % kAligned != 0) < std::pair(b.group, b.size % kAligned != 0);
    });
    for (PlacedParameter& one : arena.placed) {
      one.begin = arena.size;
      arena.size += one.size;
    }
    gather_weights(arena);
    const Options options(computing_type(arena.weights), arena.weights.device());
    for (size_t i = 0; i < moment_names_.size(); ++i)
      arena.moments.push_back(full({arena.size}, initial, options).clone().eval());
  }
  step_ = zeros({}, Options(DType::i32, arenas_[0].weights.device())).clone().eval();
  for (const Arena& arena : arenas_) trim_memory(arena.weights.device());  // of what initial values took
  bring_numbers();
  name_memory();
}

// Profiles tell weights and moments from other tensors.
void Optimizer::name_memory() const {
  for (const Arena& arena : arenas_) {
    hold_as(arena.weights, device::Holder::weights);
    hold_as(shadow_of(arena.weights), device::Holder::weights);
    for (const Tensor& moment : arena.moments) hold_as(moment, device::Holder::moments);
    hold_as(arena.average, device::Holder::moments);
    hold_as(arena.gradients, device::Holder::gradients);
    if (!device::wanted()) continue;
    for (const PlacedParameter& one : arena.placed) hold_as(one.parameter.grad(), device::Holder::gradients);
  }
}

// Numbers travel to where the weights are, as exact as the most exact of them.
void Optimizer::bring_numbers() {
  const Device device = arenas_[0].weights.device();
  DType exact = DType::f32;
  for (const Arena& arena : arenas_) exact = promote(exact, computing_type(arena.weights));
  lr_ = Scalar(lr_.get(), exact, device);
  for (Group& group : groups_) {
    if (group.lr) group.lr = Scalar(group.lr->get(), exact, device);
  }
  if (varying_momentum_) {
    for (Scalar* one : {&varying_momentum_->share, &varying_momentum_->rest, &varying_momentum_->log})
      *one = Scalar(one->get(), exact, device);
  }
  step_ = step_.to(device).eval();
}

// What was kept beside weights that have moved to another device, or have another dtype, follows them.
void Optimizer::follow_weights(Arena& arena) {
  const NoGrad moving;
  const Device before = step_.device();
  const auto moved = [&](Tensor& kept) {
    if (kept.defined()) kept = kept.to(arena.weights.device(), computing_type(arena.weights)).eval();
  };
  for (Tensor& moment : arena.moments) moved(moment);
  moved(arena.gradients);
  if (!(arenas_[0].weights.device() == before)) bring_numbers();
}

// Moves the parameters into one tensor, of which they become views. Parameters that already lie so, because another
// optimizer has them, stay.
void Optimizer::gather_weights(Arena& arena) {
  const NoGrad moving;
  const Tensor& first = arena.placed[0].parameter;
  for (const PlacedParameter& one : arena.placed) {
    if (!(one.parameter.device() == first.device()) || one.parameter.dtype() != first.dtype())
      base::fail("optimizer",
                 "parameters that lay together are {} on {} and {} on {} now; move all of them to one device and dtype",
                 name(first.dtype()), first.device().name(), name(one.parameter.dtype()),
                 one.parameter.device().name());
    if (one.parameter.numel() != one.size)
      base::fail("optimizer", "a parameter of {} elements is one of {} now, {}; make a new optimizer", one.size,
                 one.parameter.numel(), ir::to_string(one.parameter.shape()));
  }
  const Tensor owner = owner_of(first);
  if (owner.defined() && owner.shape() == Dims{arena.size}) {
    arena.weights = owner;
    if (std::all_of(arena.placed.begin(), arena.placed.end(),
                    [&](const PlacedParameter& one) { return is_home(arena, one); }))
      return;
  }
  const Tensor before = arena.weights.defined() ? shadow_of(arena.weights) : Tensor();
  const Options options(arena.placed[0].parameter.dtype(), arena.placed[0].parameter.device());
  arena.weights = zeros({arena.size}, options).clone().eval();
  // One by one: initial values are still to be drawn, and several stores into parts of one tensor would each copy it.
  for (const PlacedParameter& one : arena.placed) {
    arena.weights.slice(0, one.begin, one.begin + one.size).copy_(one.parameter.detach().reshape({one.size}));
    arena.weights.eval();
  }
  for (PlacedParameter& one : arena.placed) {
    const Tensor place = arena.weights.slice(0, one.begin, one.begin + one.size).reshape(one.parameter.shape());
    move_into(one.parameter, place);
  }
  if (before.defined()) tenon::keep_shadow(arena.weights, before.dtype());
}

bool Optimizer::is_home(const Arena& arena, const PlacedParameter& one) const {
  return shows_stretch(one.parameter, arena.weights, one.begin);
}

// Frozen parameters take no part, whatever gradient they still have.
std::vector<Optimizer::Run> Optimizer::runs_of(const Arena& arena) const {
  const bool is_kept = arena.gradients.defined();
  std::vector<Run> runs;
  for (size_t i = 0; i < arena.placed.size(); ++i) {
    const Tensor& p = arena.placed[i].parameter;
    if (!p.requires_grad() || (!is_kept && !p.grad().defined())) continue;
    if (runs.empty() || runs.back().last != i) runs.push_back({i, i, {}});
    runs.back().last = i + 1;
  }
  for (Run& run : runs) run.gradient = is_kept ? part(arena.gradients, arena, run) : gradient_of(arena, run);
  return runs;
}

Tensor Optimizer::gradient_of(const Arena& arena, const Run& run) const {
  const int64_t begin = arena.placed[run.first].begin,
                end = arena.placed[run.last - 1].begin + arena.placed[run.last - 1].size;
  ir::Value total;
  for (size_t i = run.first; i < run.last; ++i) {
    const PlacedParameter& one = arena.placed[i];
    const ir::Value flat = ir::reshape(value_of(one.parameter.grad().detach()), {one.size});
    const ir::Value placed = ir::pad(flat, {one.begin - begin}, {end - one.begin - one.size});
    total = total ? ir::add(total, placed) : placed;
  }
  return tensor_of(total);
}

// One number when it is the same for all groups of the run; else chosen by the position of each element.
Tensor Optimizer::per_group(const Arena& arena, const Run& run, const std::function<Tensor(size_t)>& of_group) const {
  const int64_t begin = arena.placed[run.first].begin;
  const int64_t size = arena.placed[run.last - 1].begin + arena.placed[run.last - 1].size - begin;
  Tensor chosen = of_group(arena.placed[run.first].group), position;
  ir::Value last = value_of(chosen);
  for (size_t i = run.first + 1; i < run.last; ++i) {
    const PlacedParameter& one = arena.placed[i];
    if (one.group == arena.placed[i - 1].group) continue;
    const Tensor next = of_group(one.group);
    if (value_of(next) == last) continue;
    last = value_of(next);
    const DType counts = size < (int64_t{1} << 31) ? DType::i32 : DType::i64;
    if (!position.defined()) position = arange(size, Options(counts, arena.weights.device()));
    chosen = where(position < one.begin - begin, chosen, next);
  }
  return chosen;
}

Operand Optimizer::decay_of(const Arena& arena, const Run& run) const {
  const double first = groups_[arena.placed[run.first].group].weight_decay;
  const bool same = std::all_of(arena.placed.begin() + static_cast<ptrdiff_t>(run.first),
                                arena.placed.begin() + static_cast<ptrdiff_t>(run.last),
                                [&](const PlacedParameter& one) { return groups_[one.group].weight_decay == first; });
  if (same) return first;
  return per_group(arena, run, [&](size_t group) {
    return full({}, groups_[group].weight_decay, Options(computing_type(arena.weights), arena.weights.device()));
  });
}

Tensor Optimizer::part(const Tensor& whole, const Arena& arena, const Run& run) const {
  if (run.first == 0 && run.last == arena.placed.size()) return whole;
  const PlacedParameter& last = arena.placed[run.last - 1];
  return whole.slice(0, arena.placed[run.first].begin, last.begin + last.size);
}

void Optimizer::store(Tensor& whole, const Arena& arena, const Run& run, const Tensor& value, bool with_shadow) {
  const bool is_whole = run.first == 0 && run.last == arena.placed.size();
  if (is_whole && with_shadow) return write_with_shadow(whole, value);
  part(whole, arena, run).copy_(value);
}

Tensor Optimizer::clip_grad_norm(double most, GradScaler* scaler) {
  const base::PassScope pass(base::Pass::optimizer);
  if (!(most > 0)) base::fail("clip_grad_norm", "the largest norm must be positive, got {}", most);
  const NoGrad updating;
  Tensor squares;
  for (const Arena& arena : arenas_) {
    for (const Run& run : runs_of(arena)) {
      Tensor gradient = run.gradient.to(computing_type(arena.weights));
      if (scaler) gradient = gradient * scaler->inverse();
      const Tensor part_squares = sum_of_squares(gradient);
      squares = squares.defined() ? squares + part_squares : part_squares;
    }
  }
  if (!squares.defined()) base::fail("clip_grad_norm", "no parameter has a gradient; call backward() first");
  const Tensor norm = sqrt(squares);
  clip_factor_ = norm_factor(norm, most);
  return norm;
}

void Optimizer::step(GradScaler* scaler, const Tensor& when) {
  const base::PassScope pass(base::Pass::optimizer);
  if (when.defined() && (when.dtype() != DType::boolean || when.dim() != 0))
    base::fail("optimizer", "a condition is a bool of shape (), got {}{}", name(when.dtype()),
               ir::to_string(when.shape()));
  if (Trace* trace = Trace::current()) {
    trace->depends_on(is_average_in_place_);
    trace->depends_on(momentum_varies_);
    trace->depends_on(has_given_way_);
    trace->depends_on(maximizes_);
  }
  if (has_average_in_place())
    base::fail("optimizer", "the averages stand in the place of the weights; call swap_average() to put them back");
  const NoGrad updating;
  if (device::wanted() && !Trace::current()) name_memory();
  const unread::Pause own_values;
  std::vector<std::vector<Run>> runs;
  bool any = false;
  for (Arena& arena : arenas_) {
    const bool at_home = std::all_of(arena.placed.begin(), arena.placed.end(),
                                     [&](const PlacedParameter& one) { return is_home(arena, one); });
    if (!at_home) {
      if (Trace::current())
        base::fail("optimizer",
                   "parameters were given other memory since the optimizer was made (another optimizer, "
                   "to(), or set_data); call gather() before the captured function");
      gather_weights(arena);
      follow_weights(arena);
    }
    runs.push_back(runs_of(arena));
    any = any || !runs.back().empty();
  }
  if (!any) base::fail("optimizer", "no parameter has a gradient; call backward() before step()");

  Tensor finite;
  if (scaler) {
    for (const auto& of_arena : runs) {
      for (const Run& run : of_arena) {
        const Tensor good = all(isfinite(run.gradient));
        finite = finite.defined() ? logical_and(finite, good) : good;
      }
    }
  }
  Tensor is_applied = when;
  if (finite.defined()) is_applied = is_applied.defined() ? logical_and(is_applied, finite) : finite;
  // The update reads the condition from its first multiplication on, so that all of it is one kernel: parts that could
  // be computed before the condition is known would be kernels of their own. What is not applied may be anything.
  Tensor clip = clip_factor_;
  if (clip.defined() && is_applied.defined()) clip = where(is_applied, clip, zeros_like(clip));
  const Tensor count = step_ + 1;
  std::vector<Tensor> written{step_};
  for (size_t a = 0; a < arenas_.size(); ++a) {
    Arena& arena = arenas_[a];
    Tensor all_weights;  // where one run made them all
    for (const Run& run : runs[a]) {
      const DType computed = computing_type(arena.weights);
      Tensor gradient = run.gradient.to(computed);
      if (scaler) gradient = gradient * scaler->inverse();
      if (clip.defined()) gradient = gradient * clip;
      if (*maximizes_) gradient = -gradient;
      const Operand decay = decay_of(arena, run);
      const auto lr_of = [&](size_t g) {
        return (groups_[g].lr ? groups_[g].lr->tensor() : lr_.tensor()).to(computed);
      };
      const Tensor old = part(arena.weights, arena, run).to(computed);
      std::vector<Tensor> moments, before;
      for (const Tensor& moment : arena.moments) moments.push_back(part(moment, arena, run));
      before = moments;
      const bool decays = decay.is_tensor() || decay.number().as_double() != 0;
      Tensor next = update(
          {old, gradient, count.to(computed), per_group(arena, run, lr_of), decay, decays, momentum_now(computed)},
          moments);
      if (is_applied.defined()) {
        next = where(is_applied, next, old);
        for (size_t i = 0; i < moments.size(); ++i) moments[i] = where(is_applied, moments[i], before[i]);
      }
      for (size_t i = 0; i < moments.size(); ++i) store(arena.moments[i], arena, run, moments[i], false);
      next = next.to(arena.weights.dtype());
      store(arena.weights, arena, run, next, true);
      if (run.last - run.first == arena.placed.size()) all_weights = next;
    }
    if (arena.average.defined()) {
      move_average(arena, all_weights.defined() ? all_weights : arena.weights, is_applied);
      written.push_back(arena.average);
    }
    if (arena.gradients.defined()) {
      arena.gradients.zero_();
      written.push_back(arena.gradients);
    }
    written.push_back(arena.weights);
    written.insert(written.end(), arena.moments.begin(), arena.moments.end());
    if (const Tensor shadow = shadow_of(arena.weights); shadow.defined()) written.push_back(shadow);
  }
  step_.copy_(is_applied.defined() ? where(is_applied, count, step_) : count);
  if (averaged_.defined()) {
    const Tensor more = averaged_ + 1;
    averaged_.copy_(is_applied.defined() ? where(is_applied, more, averaged_) : more);
    written.push_back(averaged_);
  }
  if (scaler) scaler->update(finite, written);
  clip_factor_ = Tensor();
  if (Trace::current()) return;
  try {
    tenon::eval(written);
  } catch (const Error&) {  // a bad index, say: what is accumulated onto these gradients would fail as well
    zero_grad();
    throw;
  }
}

void Optimizer::gather() {
  if (Trace::current()) base::fail("gather", "call it outside of the captured function");
  for (Arena& arena : arenas_) {
    const auto at_home = [&](const PlacedParameter& one) { return is_home(arena, one); };
    if (std::all_of(arena.placed.begin(), arena.placed.end(), at_home)) continue;
    gather_weights(arena);
    follow_weights(arena);
  }
  name_memory();
}

void Optimizer::zero_grad() {
  for (Arena& arena : arenas_) {
    for (PlacedParameter& one : arena.placed) one.parameter.zero_grad();
  }
}

void Optimizer::keep_gradients() {
  if (Trace::current()) base::fail("keep_gradients", "call it once, outside of the captured function");
  for (Arena& arena : arenas_) {
    const Options options(computing_type(arena.weights), arena.weights.device());
    if (!arena.gradients.defined()) arena.gradients = zeros({arena.size}, options).clone().eval();
  }
  name_memory();
}

void Optimizer::accumulate() {
  const NoGrad collecting;
  const unread::Pause own_values;
  std::vector<Tensor> written;
  for (Arena& arena : arenas_) {
    if (!arena.gradients.defined()) base::fail("accumulate", "call keep_gradients() once before");
    const Tensor kept = std::exchange(arena.gradients, Tensor());
    const std::vector<Run> runs = runs_of(arena);
    arena.gradients = kept;
    for (const PlacedParameter& one : arena.placed) {
      if (one.parameter.requires_grad() && !one.parameter.grad().defined())
        base::fail("accumulate",
                   "some parameters have no gradient; freeze them, or give the optimizer only those that "
                   "take part");
    }
    for (const Run& run : runs) {
      Tensor place = part(arena.gradients, arena, run);
      place.copy_(place + run.gradient.to(kept.dtype()));
    }
    written.push_back(arena.gradients);
  }
  zero_grad();
  if (!Trace::current()) tenon::eval(written);
}

void Optimizer::set_lr(double lr) {
  if (!(lr >= 0)) base::fail("optimizer", "the learning rate must not be negative, got {}", lr);
  lr_.set(lr);
}

void Optimizer::set_momentum(double momentum) {
  if (!momentum_) base::fail("optimizer", "this rule has no momentum, or was made without; make it with one");
  if (!(momentum >= 0 && momentum < 1)) base::fail("optimizer", "momentum must lie in 0..1, got {}", momentum);
  if (Trace::current()) base::fail("optimizer", "set the momentum outside of the captured function");
  momentum_ = momentum;
  const double log = std::log(momentum);  // -inf is what 1 - momentum^step takes for 0
  if (varying_momentum_) {
    varying_momentum_->share.set(momentum);
    varying_momentum_->rest.set(1 - momentum);
    varying_momentum_->log.set(log);
    return;
  }
  varying_momentum_ = VaryingMomentum{Scalar(momentum), Scalar(1 - momentum), Scalar(log)};
  bring_numbers();
  *momentum_varies_ = true;
  note_switch();
}

void Optimizer::maximize(bool on) {
  if (*maximizes_ == on) return;
  if (Trace::current()) base::fail("optimizer", "choose the direction of steps outside of the captured function");
  *maximizes_ = on;
  note_switch();
}

void Optimizer::give_way() {
  *has_given_way_ = true;
  note_switch();
}

// A number of the program until somebody changes it: then one that captured steps read.
Optimizer::Momentum Optimizer::momentum_now(DType computed) const {
  const double share = momentum_.value_or(0);
  if (!varying_momentum_) return {share, 1 - share, std::log(share)};
  const auto shown = [&](const Scalar& number) { return Operand(number.tensor().to(computed)); };
  return {shown(varying_momentum_->share), shown(varying_momentum_->rest), shown(varying_momentum_->log)};
}

void Optimizer::add_moment(const std::string& name) {
  moment_names_.push_back(name);
  const NoGrad making;
  for (Arena& arena : arenas_) {
    const Options options(computing_type(arena.weights), arena.weights.device());
    arena.moments.push_back(zeros({arena.size}, options).clone().eval());
  }
}

double Optimizer::lr(size_t group) const {
  if (group >= groups_.size()) base::fail("optimizer", "there is no group {} among {}", group, groups_.size());
  return groups_[group].lr ? groups_[group].lr->get() : lr_.get();
}

void Optimizer::set_lr(size_t group, double lr) {
  if (!(lr >= 0)) base::fail("optimizer", "the learning rate must not be negative, got {}", lr);
  if (group >= groups_.size()) base::fail("optimizer", "there is no group {} among {}", group, groups_.size());
  if (!groups_[group].lr)
    base::fail("optimizer", "group {} shares its learning rate with others; give it one of its own when it is made",
               group);
  groups_[group].lr->set(lr);
}

void Optimizer::keep_shadow(DType dtype) {
  for (Arena& arena : arenas_) {
    if (arena.weights.dtype() == DType::f32) tenon::keep_shadow(arena.weights, dtype);
  }
  name_memory();
}

void Optimizer::keep_average(double decay) {
  if (!(decay >= 0 && decay < 1)) base::fail("keep_average", "the decay must lie in 0..1, got {}", decay);
  if (Trace::current()) base::fail("keep_average", "call it once, outside of the captured function");
  decay_of_average_ = decay;
  if (averaged_.defined()) return;
  const NoGrad copying;
  for (Arena& arena : arenas_) arena.average = arena.weights.to(computing_type(arena.weights)).clone().eval();
  averaged_ = zeros_like(step_).clone().eval();
  name_memory();
}

void Optimizer::move_average(Arena& arena, const Tensor& weights, const Tensor& is_applied) {
  const Tensor& old = arena.average;
  const Tensor now = weights.to(old.dtype());
  const Tensor next = where(averaged_ == 0, now, old + (now - old) * (1 - decay_of_average_));
  arena.average.copy_(is_applied.defined() ? where(is_applied, next, old) : next);
}

void Optimizer::swap_average() {
  if (Trace::current()) base::fail("swap_average", "call it outside of the captured function");
  if (!averaged_.defined()) base::fail("swap_average", "there are no averages; call keep_average() before the steps");
  gather();
  const NoGrad swapping;
  for (Arena& arena : arenas_) {
    const bool is_in_place = arena.aside.defined();
    const Tensor next = is_in_place ? arena.aside : arena.average.to(arena.weights.dtype());
    const Tensor aside = is_in_place ? Tensor() : arena.weights.clone().eval();
    write_with_shadow(arena.weights, next);
    arena.weights.eval();
    arena.aside = aside;
  }
  *is_average_in_place_ = !*is_average_in_place_;
  note_switch();
}

std::map<std::string, Tensor> Optimizer::state_dict() const {
  const NoGrad reading;
  std::map<std::string, Tensor> state{{"step", step_}};
  if (averaged_.defined()) state["averaged"] = averaged_;
  size_t index = 0;
  for (const ParamGroup& group : given_) {
    for (const Tensor& p : group.parameters) {
      for (const Arena& arena : arenas_) {
        for (const PlacedParameter& one : arena.placed) {
          if (impl_of(one.parameter) != impl_of(p)) continue;
          const auto shown = [&](const Tensor& whole) {
            return whole.slice(0, one.begin, one.begin + one.size).reshape(p.shape());
          };
          for (size_t i = 0; i < arena.moments.size(); ++i)
            state[fmt::format("{}.{}", index, moment_names_[i])] = shown(arena.moments[i]);
          if (arena.average.defined()) state[fmt::format("{}.average", index)] = shown(arena.average);
        }
      }
      ++index;
    }
  }
  return state;
}

namespace {

/// "lr.0" taken apart, where that is a number of a group.
struct OfGroup {
  std::string_view name;
  size_t group = 0;
};
std::optional<OfGroup> of_group(std::string_view key) {
  constexpr std::array<std::string_view, 7> kNames = {"lr",       "initial_lr",   "max_lr",       "min_lr",
                                                      "momentum", "max_momentum", "base_momentum"};
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos || std::ranges::find(kNames, key.substr(0, dot)) == kNames.end()) return {};
  OfGroup made{key.substr(0, dot)};
  const std::string_view digits = key.substr(dot + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), made.group);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return made;
}

}  // namespace

Optimizer::Rates Optimizer::rates_in(const std::map<std::string, Tensor>& state) const {
  Rates rates;
  std::optional<double> shared;
  for (const auto& [key, tensor] : state) {
    const std::optional<OfGroup> number = of_group(key);
    if (!number) continue;
    if (number->group >= groups_.size())
      base::fail("load_state_dict", "the state has {}, the optimizer has {} groups", key, groups_.size());
    if (number->name != "lr" && number->name != "momentum") continue;
    const double value = tensor.item<double>();
    if (!(value >= 0)) base::fail("load_state_dict", "{} must not be negative, got {}", key, value);
    if (number->name == "momentum") {
      if (!momentum_) base::fail("load_state_dict", "the state has {}, the optimizer has no momentum", key);
      if (value >= 1 || rates.momentum.value_or(value) != value)
        base::fail("load_state_dict", "{} must be one number below 1 for all groups, got {}", key, value);
      rates.momentum = value;
      continue;
    }
    if (!groups_[number->group].lr && shared.value_or(value) != value)
      base::fail("load_state_dict",
                 "{} is {}, but its group shares a learning rate of {} with another; give it one of its own when the "
                 "optimizer is made",
                 key, value, *shared);
    if (!groups_[number->group].lr) shared = value;
    rates.lr[number->group] = value;
  }
  return rates;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state) {
  const NoGrad writing;
  const Rates rates = rates_in(state);
  if (averaged_.defined() && !state.contains("averaged"))
    base::fail("load_state_dict", "the state has no averages of the weights; load it before keep_average()");
  if (!averaged_.defined() && state.contains("averaged"))
    base::fail("load_state_dict", "the state has averages of the weights; call keep_average() before it is loaded");
  std::map<std::string, Tensor> own = state_dict();
  for (const auto& [name, tensor] : own) {
    const auto found = state.find(name);
    if (found == state.end())
      base::fail("load_state_dict", "the state lacks {}: it is of another optimizer or model", name);
    if (found->second.shape() != tensor.shape()) {
      base::fail("load_state_dict", "{}: shape {} expected, the state has {}", name, ir::to_string(tensor.shape()),
                 ir::to_string(found->second.shape()));
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!own.contains(name) && !of_group(name))
      base::fail("load_state_dict", "{} is not part of this optimizer's state", name);
  }
  for (auto& [name, tensor] : own) tensor.copy_(state.at(name).to(tensor.dtype()).to(tensor.device())).eval();
  for (const auto& [group, lr] : rates.lr) {
    if (groups_[group].lr)
      set_lr(group, lr);
    else
      set_lr(lr);
  }
  if (rates.momentum) set_momentum(*rates.momentum);
}

int64_t Optimizer::steps() const { return step_.item<int64_t>(); }

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double most) {
  const base::PassScope pass(base::Pass::optimizer);
  const NoGrad updating;
  Tensor squares;
  for (const Tensor& p : parameters) {
    if (!p.grad().defined()) continue;
    const Tensor part = sum_of_squares(p.grad());
    squares = squares.defined() ? squares + part : part;
  }
  if (!squares.defined()) base::fail("clip_grad_norm_", "no parameter has a gradient; call backward() first");
  const Tensor norm = sqrt(squares);
  clip_grads_with_norm_(parameters, most, norm);
  return norm;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double most) {
  if (!(most >= 0)) base::fail("clip_grad_value_", "the largest value cannot be negative, got {}", most);
  const base::PassScope pass(base::Pass::optimizer);
  const NoGrad updating;
  for (Tensor p : parameters) {
    if (p.grad().defined()) p.set_grad(clamp(p.grad(), -most, most));
  }
}

Tensor total_norm(const std::vector<Tensor>& tensors, double p) {
  const NoGrad looking;
  std::vector<Tensor> norms;
  for (const Tensor& one : tensors) norms.push_back(norm(one.to(computing_type(one)), p));
  if (norms.empty()) return zeros({});
  return norm(stack(norms), p);
}

void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double most, const Tensor& total) {
  const NoGrad updating;
  const Tensor factor = norm_factor(total, most);
  for (Tensor p : parameters) {
    if (p.grad().defined()) p.set_grad((p.grad() * factor).to(p.dtype()));
  }
}

}  // namespace tenon::optim
