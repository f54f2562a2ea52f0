// Module: named parameters, buffers and submodules, as torch.nn.Module has them.
//
// A module's tensors and submodules are ordinary members that its constructor registers under their names. Names make
// the dotted paths of state dicts, and of error messages: a shape error says in which module it arose.
//
//   class Net : public nn::ModuleOf<Net> {
//    public:
//     explicit Net(int64_t width) : fc1(2, width), fc2(width, 1) {
//       register_module("fc1", fc1);
//       register_module("fc2", fc2);
//     }
//     Tensor forward(const Tensor& x) const { return fc2(tanh(fc1(x))); }
//     nn::Linear fc1, fc2;
//   };
//
//   Net net(24);
//   fmt::print("{}", net.summary());                        // its parameters
//   fmt::print("{}", nn::summary(net, zeros({8, 2})));      // and what a call gives and costs
//   for (const auto& [name, p] : net.named_parameters()) fmt::print("{} {}\n", name, ir::to_string(p.shape()));
//   Tensor y = net(randn({8, 2}));

#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/tensor/tensor.h"

namespace tenon::nn {

class Module;
std::string summary_of_call(const Module& module, const std::function<void()>& call);

/// A parameter or buffer by its dotted name.
struct NamedTensor {
  std::string name;  // its path, "0.weight" say
  Tensor tensor;     // a handle on the tensor
};
/// A module by its dotted name.
struct NamedModule {
  std::string name;  // its path; empty for the module itself
  Module* module;    // which belongs to its owner
};

/// Names and tensors as they go to a file and come from one.
using StateDict = std::map<std::string, Tensor>;

/// What a state dict lacked and what it had too much.
struct LoadReport {
  /// Names of the module that the state lacks, and of the state that the module lacks.
  std::vector<std::string> missing, unexpected;
};

/// Parameters, buffers and submodules under names.
///   net.eval();
///   net.count_parameters();  // 8
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;  // others hold the address of its members
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  /// Dotted names and parameters, own ones before those of submodules; one with several names is listed once.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<Tensor> parameters() const;
  /// The same for buffers: tensors that belong to the module and are not trained.
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> buffers() const;
  /// This module, under the empty name, and all below it.
  std::vector<NamedModule> named_modules();
  /// The modules directly below.
  const std::vector<NamedModule>& children() const { return children_; }

  /// Switches dropout and the like on, here and below.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool is_training() const;

  /// Lets go of all gradients.
  void zero_grad();
  /// Freezes all parameters, or thaws them.
  Module& requires_grad_(bool on = true);
  /// Freezes the parameters whose dotted names match: they require no grad, and optimizers leave them alone. `*` stands
  /// for any letters and `?` for one; what matches nothing is refused. freeze("encoder.*") leaves the rest as it is.
  Module& freeze(std::string_view pattern = "*");
  Module& unfreeze(std::string_view pattern = "*");

  /// Moves all parameters and buffers. Handles on them stay; gradients are dropped.
  Module& to(Device device);
  /// Converts the floating-point parameters and buffers. Handles on them stay; gradients are dropped.
  Module& to(DType dtype);
  Module& to(Device device, DType dtype);

  /// All parameters and persistent buffers, sharing their memory; one with several names stands under each.
  StateDict state_dict() const;
  /// Copies values in by name; `strict` refuses names that are missing or unexpected. With `assign` the parameters take
  /// over the given tensors, memory and dtype, without a copy. A call that fails has changed nothing.
  LoadReport load_state_dict(const StateDict& state, bool strict = true, bool assign = false);

  /// What keeps load_state_dict from taking a state, a text for each kind; with `same_dtypes` other dtypes, too.
  std::vector<std::string> misfits_of(const StateDict& state, bool strict = true, bool same_dtypes = false) const;
  /// What state_dict() holds, by names that may be several for one tensor.
  std::vector<NamedTensor> named_state() const;

  /// A table of all modules with their parameters, and the totals.
  std::string summary() const;
  /// The number of elements of all parameters; with `trainable`, of those that require grad.
  int64_t count_parameters(bool trainable = false) const;

  /// Called before every call of the module, with its tensors, or after it, with what it gives: to look at, to count,
  /// to keep. The handle removes it again.
  using PreHook = std::function<void(const Module& module, const std::vector<Tensor>& arguments)>;
  using Hook = std::function<void(const Module& module, const std::vector<Tensor>& arguments,
                                  const std::vector<Tensor>& results)>;
  /// Registers a function to be called before, or after, every call.
  HookHandle register_forward_pre_hook(PreHook hook);
  HookHandle register_forward_hook(Hook hook);
  bool has_hooks() const { return hooks_ != nullptr; }
  void call_hooks(const std::vector<Tensor>& arguments) const;
  void call_hooks(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results) const;

  /// What summary() calls it: the name of the class unless overridden.
  virtual std::string type_name() const;
  /// The name its parent gave it, or that of set_name().
  const std::string& name() const { return label_->name; }
  /// Names a module without a parent; error messages then start with it.
  void set_name(std::string name) { label_->name = std::move(name); }
  /// Its part of the path in error messages: its name, after those of lists it stands in.
  std::string scope_name() const;

 protected:
  /// The tensor, a member of this module, becomes a parameter: it requires grad. An undefined one is no parameter.
  void register_parameter(std::string name, Tensor& parameter, size_t place = kLast);
  /// `persistent`: part of state dicts.
  void register_buffer(std::string name, Tensor& buffer, bool persistent = true, size_t place = kLast);
  /// The module, a member of this one, takes part in all of the above.
  void register_module(std::string name, Module& module, size_t place = kLast);
  /// Takes it out again. The place it had is for another that is registered instead.
  size_t remove_module(const std::string& name);
  /// The same for a parameter or a buffer.
  size_t remove_tensor(const std::string& name);
  static constexpr size_t kLast = std::numeric_limits<size_t>::max();
  /// A list holds modules but is not called itself: its name goes before those of its members.
  void mark_as_list() { label_->is_list = true; }

 private:
  struct Entry {
    std::string name;
    Tensor* tensor;
    bool is_buffer;
    bool is_persistent;
  };
  template <typename M>
  static void collect(M& module, const std::string& path, std::vector<std::pair<std::string, M*>>& into);
  std::vector<std::pair<std::string, const Module*>> tree() const;
  std::vector<NamedTensor> named(bool buffers) const;
  std::vector<Tensor> matching(std::string_view op, std::string_view pattern) const;
  template <typename F>
  void convert(F&& conversion);
  void collect_state(const std::string& path, std::vector<std::pair<std::string, Tensor*>>& into) const;
  std::vector<std::pair<std::string, Tensor*>> state() const;
  void require_new_name(std::string_view op, const std::string& name) const;

  // Apart from the module, because a module that others share may outlive its parent.
  struct Label {
    std::string name;
    std::shared_ptr<const Label> parent;
    bool is_list = false;
  };
  static std::string scope_name(const Label& label);
  friend class CallScope;
  friend std::string summary_of_call(const Module& module, const std::function<void()>& call);
  void note_call() const;

  std::shared_ptr<Label> label_ = std::make_shared<Label>();
  std::shared_ptr<bool> training_ = std::make_shared<bool>(true);  // captured functions look at it
  struct Hooks;
  Hooks& hooks();

  std::shared_ptr<Hooks> hooks_;  // null where nobody has registered one
  std::vector<Entry> tensors_;
  std::shared_ptr<std::vector<Tensor*>> members_ =
      std::make_shared<std::vector<Tensor*>>();  // of the entries; outlives them
  std::vector<NamedModule> children_;
};

/// While alive, errors of this thread name the module.
class CallScope {
 public:
  explicit CallScope(const Module& module) {
    module.note_call();
    if (std::string name = module.scope_name(); !name.empty()) scope_.emplace(name);
  }

 private:
  std::optional<base::Scope> scope_;
};

/// While alive, sees every call of a module on its thread: what summary() of a call is made of.
class CallObserver {
 public:
  CallObserver();
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;
  virtual ~CallObserver();
  /// That of this thread, or null.
  static CallObserver* current();

  virtual void enter(const Module& module, const std::vector<Tensor>& arguments) = 0;
  virtual void leave(const Module& module, const std::vector<Tensor>& results) = 0;

 private:
  CallObserver* before_;
};

/// The tensors of arguments and results. A type of several tensors has an overload beside it.
inline void collect_tensors(const Tensor& x, std::vector<Tensor>& into) {
  if (x.defined()) into.push_back(x);
}
template <typename T>
void collect_tensors(const std::vector<T>& several, std::vector<Tensor>& into) {
  for (const T& one : several) collect_tensors(one, into);
}
template <typename A, typename B>
void collect_tensors(const std::pair<A, B>& both, std::vector<Tensor>& into) {
  collect_tensors(both.first, into);
  collect_tensors(both.second, into);
}

/// Calls a module's forward() under its name, between its hooks, and under the eyes of an observer where there is one.
template <typename Forward, typename... Arguments>
decltype(auto) called(const Module& module, Forward&& forward, const Arguments&... arguments) {
  const CallScope scope(module);
  CallObserver* observer = CallObserver::current();
  if (!observer && !module.has_hooks()) return forward();
  const auto collect = [](const auto& value, std::vector<Tensor>& into) {
    if constexpr (requires { collect_tensors(value, into); }) collect_tensors(value, into);
  };
  std::vector<Tensor> given, made;
  (collect(arguments, given), ...);
  if (observer) observer->enter(module, given);
  module.call_hooks(given);
  const auto leave = [&] {
    if (observer) observer->leave(module, made);
    module.call_hooks(given, made);
  };
  if constexpr (std::is_void_v<decltype(forward())>) {
    forward();
    leave();
  } else {
    decltype(auto) result = forward();
    collect(result, made);
    leave();
    return result;
  }
}

/// The base of modules with a forward() of their own signature: calling the module calls it under the module's name.
///   struct Doubled : nn::ModuleOf<Doubled> {
///     Tensor forward(const Tensor& v) const { return v * 2; }
///   };
///   Doubled doubled;
///   doubled(tensor({1, 2}));  // [2 4]
template <typename Self>
class ModuleOf : public Module {
 public:
  /// Calls forward() with these arguments, between the hooks.
  template <typename... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    const auto forward = [&]() -> decltype(auto) {
      return static_cast<Self&>(*this).forward(std::forward<Arguments>(arguments)...);
    };
    return called(*this, forward, arguments...);
  }
  template <typename... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) const {
    const auto forward = [&]() -> decltype(auto) {
      return static_cast<const Self&>(*this).forward(std::forward<Arguments>(arguments)...);
    };
    return called(*this, forward, arguments...);
  }
};

/// A module from one tensor to one: what Sequential chains.
///   struct Doubled : nn::Layer {
///     Tensor forward(const Tensor& v) const override { return v * 2; }
///   };
///   Doubled doubled;
///   doubled(tensor({1, 2}));  // [2 4]
class Layer : public Module {
 public:
  virtual Tensor forward(const Tensor& x) const = 0;
  Tensor operator()(const Tensor& x) const {
    return called(
        *this, [&] { return forward(x); }, x);
  }
};

/// The table of a module as `call`, which calls it, runs through it: what each module gives, its parameters, and the
/// floating-point operations of its own products, convolutions and attention (a multiplication and an addition are
/// two). Nothing is computed: the call is recorded in eval mode, without gradients, and let go.
std::string summary_of_call(const Module& module, const std::function<void()>& call);

/// The same of a call with these inputs: nn::summary(net, zeros({1, 3, 32, 32})).
///   std::cout << nn::summary(net, zeros({4, 3}));
template <typename M, typename... Inputs>
std::string summary(M& module, const Inputs&... inputs) {
  return summary_of_call(module, [&] { module(inputs...); });
}

}  // namespace tenon::nn
