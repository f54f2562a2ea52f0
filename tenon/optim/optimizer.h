// Optimizer: keeps parameters, gradients and moments in flat arenas, so that a whole update is one kernel.
//
//   optim::AdamW optimizer(model.parameters(), {.lr = 3e-4, .weight_decay = 0.1});
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     Tensor loss = model.loss(x, y);
//     loss.backward();
//     optimizer.clip_grad_norm(1.0);
//     optimizer.step();
//     optimizer.zero_grad();
//     return loss.detach();
//   });
//
//   optimizer.keep_average(0.999);  // once: every step also moves a mean of the weights
//   optimizer.swap_average();       // to look at the model with it, and again to go on
//
// Constructing one moves the parameters into one stretch of memory, parameters of one group side by side; handles on
// them stay valid. A parameter that is frozen (Module::freeze) or whose gradient is not there keeps its value and its
// moments, as in PyTorch. Step count, moments and learning rate are state on the device: a captured step replays with
// other values and is never recorded again.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tensor/autocast.h"
#include "tenon/tensor/scalar.h"
#include "tenon/tensor/tensor.h"

namespace tenon::optim {

class GradScaler;

/// Parameters with settings of their own; what is left out is the optimizer's.
struct ParamGroup {
  std::vector<Tensor> parameters;           // of this group
  std::optional<double> lr = {};            // the optimizer's unless given
  std::optional<double> weight_decay = {};  // the optimizer's unless given
};

/// A group of the parameters whose dotted names match a pattern, in which `*` stands for any letters and `?` for one.
struct GroupRule {
  std::string pattern;                      // of dotted names
  std::optional<double> lr = {};            // the optimizer's unless given
  std::optional<double> weight_decay = {};  // the optimizer's unless given
};
/// A group for each rule, in their order, of the parameters that it is the first to match; the others are a group with
/// the optimizer's settings. A rule that is the first for no parameter is refused.
std::vector<ParamGroup> groups_by_name(const std::vector<std::pair<std::string, Tensor>>& parameters,
                                       const std::vector<GroupRule>& rules);
/// The same for what Module::named_parameters() gives:
///   optim::AdamW adamw(optim::groups_by_name(net.named_parameters(), {{"bias", {}, 0}, {.pattern = "w*", .lr =
///   1e-2}}));
template <typename Named>
std::vector<ParamGroup> groups_by_name(const std::vector<Named>& parameters, const std::vector<GroupRule>& rules) {
  std::vector<std::pair<std::string, Tensor>> named;
  for (const Named& one : parameters) named.emplace_back(one.name, one.tensor);
  return groups_by_name(named, rules);
}

/// Two groups: matrices and larger with weight decay, vectors (biases, norms) without.
///   optim::AdamW adam(optim::decay_matrices_only(net.parameters()), {.weight_decay = 0.1});
std::vector<ParamGroup> decay_matrices_only(const std::vector<Tensor>& parameters);

/// What all update rules have: steps, gradients that are collected and clipped, rates, averages, states.
///   optimizer.set_lr(0.01);
///   optimizer.lr();  // 0.01
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient. With a scaler, gradients are unscaled first, and a step whose
  /// gradients are not finite changes nothing but the scale. With `when`, a bool of shape (), nothing changes where it
  /// is false. A step that fails leaves parameters and moments as they were, and clears the gradients.
  void step(GradScaler* scaler = nullptr, const Tensor& when = Tensor());
  /// Lets go of all gradients.
  void zero_grad();
  /// Takes parameters that were given other memory (set_data, load_state_dict with assign, another optimizer, a move to
  /// another device) back into one stretch; moments and step count follow them to their device. step() does it by
  /// itself, but not inside of a captured function.
  void gather();

  /// Keeps gradients between calls, so that they can be collected over several captured ones: call this once,
  /// accumulate() behind every backward(), and step() when all are there.
  void keep_gradients();
  /// Adds the gradients to those kept, and lets go of them. All parameters must have one.
  void accumulate();
  /// The norm of all gradients together. The next step() shrinks them so that it is at most `most`; grad() of the
  /// parameters stays as it is.
  Tensor clip_grad_norm(double most, GradScaler* scaler = nullptr);

  /// The learning rate of all groups that have none of their own.
  double lr() const { return lr_.get(); }
  void set_lr(double lr);
  /// That of one group.
  double lr(size_t group) const;
  void set_lr(size_t group, double lr);
  size_t groups() const { return groups_.size(); }
  /// What a rule keeps of its mean of gradients from step to step: momentum, or Adam's beta1. None for rules without.
  std::optional<double> momentum() const { return momentum_; }
  /// For the steps from now on. Captured steps are recorded anew the first time, and read it as a number from then on.
  virtual void set_momentum(double momentum);
  /// Whether it was set.
  bool momentum_varies() const { return *momentum_varies_; }
  /// Whether a group has a learning rate of its own; its weight decay, and its parameters.
  bool has_own_lr(size_t group) const { return groups_.at(group).lr.has_value(); }
  double weight_decay(size_t group) const { return groups_.at(group).weight_decay; }
  const std::vector<Tensor>& parameters(size_t group) const { return given_.at(group).parameters; }

  /// From now on steps go up the gradients, not down.
  void maximize(bool on = true);

  /// From now on updates also write the parameters in a lower type, which products read under Autocast.
  void keep_shadow(DType dtype = DType::bf16);

  /// From now on every step also moves an average of each weight by 1 - decay of the way to its new value, in the same
  /// kernel; the first one takes the weights as they are, as PyTorch's AveragedModel does. Steps that a scaler or a
  /// condition skips move nothing.
  void keep_average(double decay = 0.999);
  /// Puts the averages in the place of the weights; called again, puts the weights back. In between the model can be
  /// evaluated and saved, but not trained.
  void swap_average();
  bool has_average_in_place() const { return *is_average_in_place_; }

  /// Another optimizer does the steps from now on: captured functions that step this one are recorded anew.
  void give_way();

  /// The step count and the moments of every parameter: "step", "0.exp_avg", ... by the order of the parameters, and
  /// the averages that are kept: "averaged", "0.average", ... They share memory with the optimizer.
  std::map<std::string, Tensor> state_dict() const;
  /// Copies a state back. Numbers that states of Python have beside it ("lr.0", "momentum.0", by group) are set, and
  /// those that its schedules remember ("initial_lr.0", ...) passed over. A call that fails has changed nothing.
  void load_state_dict(const std::map<std::string, Tensor>& state);
  /// Updates so far; reads it from the device.
  int64_t steps() const;

 protected:
  struct Common {
    double lr, weight_decay;
    std::optional<double> momentum = {};
  };
  /// `moments` names what the rule keeps for every element; all start as `initial`.
  Optimizer(std::vector<ParamGroup> groups, const Common& common, std::vector<std::string> moments, double initial = 0);

  /// The momentum; 1 less it, which would lose digits if it were computed where it is used; and its logarithm.
  struct Momentum {
    Operand share, rest, log;
  };
  /// What an update rule reads, all in f64 for weights in f64, else in f32. lr and weight_decay are numbers, or have
  /// one element per weight where groups differ. `step` counts from 1.
  struct Update {
    Tensor weights, gradient, step, lr;
    Operand weight_decay;
    bool decays;  // some group has weight decay
    Momentum momentum;
  };
  /// The new weights; moments are replaced by their new values.
  virtual Tensor update(const Update& now, std::vector<Tensor>& moments) const = 0;

  /// One more value for every element, 0 to begin with.
  void add_moment(const std::string& name);
  bool has_moments() const { return !moment_names_.empty(); }

 private:
  struct PlacedParameter {
    Tensor parameter;
    size_t group;
    int64_t begin = 0, size = 0;
  };
  /// All parameters of one dtype and device.
  struct Arena {
    Tensor weights;
    std::vector<Tensor> moments;
    Tensor gradients;  // collected so far; undefined unless they are kept
    Tensor average;    // of the weights; undefined unless it is kept
    Tensor aside;      // the weights, while the average stands in their place
    std::vector<PlacedParameter> placed;
    int64_t size = 0;
  };
  /// Parameters first ... last - 1 of an arena: neighbours that all have gradients.
  struct Run {
    size_t first, last;
    Tensor gradient;
  };

  struct Rates {
    std::map<size_t, double> lr;
    std::optional<double> momentum;
  };
  Rates rates_in(const std::map<std::string, Tensor>& state) const;
  Momentum momentum_now(DType computed) const;
  void lay_out(std::vector<std::string>& moments, double initial);
  void gather_weights(Arena& arena);
  void follow_weights(Arena& arena);
  void bring_numbers();
  void name_memory() const;
  bool is_home(const Arena& arena, const PlacedParameter& one) const;
  std::vector<Run> runs_of(const Arena& arena) const;
  Tensor gradient_of(const Arena& arena, const Run& run) const;
  void move_average(Arena& arena, const Tensor& weights, const Tensor& is_applied);
  Tensor per_group(const Arena& arena, const Run& run, const std::function<Tensor(size_t)>& of_group) const;
  Operand decay_of(const Arena& arena, const Run& run) const;
  Tensor part(const Tensor& whole, const Arena& arena, const Run& run) const;
  void store(Tensor& whole, const Arena& arena, const Run& run, const Tensor& value, bool with_shadow);

  struct Group {
    std::optional<Scalar> lr;
    double weight_decay;
  };
  std::vector<ParamGroup> given_;
  std::vector<Group> groups_;
  Scalar lr_;
  std::optional<double> momentum_;
  struct VaryingMomentum {
    Scalar share, rest, log;
  };
  std::optional<VaryingMomentum> varying_momentum_;                        // once it was set
  std::shared_ptr<bool> momentum_varies_ = std::make_shared<bool>(false);  // captured functions look at it
  std::vector<std::string> moment_names_;
  std::vector<Arena> arenas_;
  Tensor step_;         // i32, ()
  Tensor clip_factor_;  // of the next step, if any
  double decay_of_average_ = 0;
  Tensor averaged_;  // steps that moved the averages: i32, (); undefined unless they are kept
  std::shared_ptr<bool> is_average_in_place_ = std::make_shared<bool>(false);  // captured functions look at it
  std::shared_ptr<bool> has_given_way_ = std::make_shared<bool>(false);        // they look at this, too
  std::shared_ptr<bool> maximizes_ = std::make_shared<bool>(false);            // and at this
};

/// Scales all gradients so that their norm together is at most `most`, and returns what it was. Optimizer's own method
/// does the same in fewer kernels.
///   net(ones({1, 3})).sum().backward();
///   optim::clip_grad_norm_(net.parameters(), 1.0);
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double most);
/// Cuts every element of all gradients to -most..most.
///   net(ones({1, 3})).sum().backward();
///   optim::clip_grad_value_(net.parameters(), 0.5);
void clip_grad_value_(const std::vector<Tensor>& parameters, double most);
/// The p-norm of all elements of several tensors together; p may be infinity.
///   optim::total_norm({tensor({3.0}), tensor({4.0})});  // 5.0
Tensor total_norm(const std::vector<Tensor>& tensors, double p = 2);
/// Scales all gradients as if their norm together were `total`, so that it is at most `most`.
///   net(ones({1, 3})).sum().backward();
///   optim::clip_grads_with_norm_(net.parameters(), 1.0, scalar(2.0));
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double most, const Tensor& total);

}  // namespace tenon::optim
