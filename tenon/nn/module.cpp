// The bookkeeping of modules. Entries are addresses of members, so that a member assigned anew (a tied weight, say) is
// what the module then has.

#include "tenon/nn/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <typeinfo>

#include "tenon/base/pattern.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/trace.h"

namespace tenon::nn {
namespace {

using base::fail;

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path : path + "." + name;
}

}  // namespace

Module::~Module() { members_->clear(); }

// A captured function that calls the module depends on which tensors it has.
void Module::note_call() const {
  if (Trace* trace = Trace::current()) trace->watches(members_);
}

template <typename M>
void Module::collect(M& module, const std::string& path, std::vector<std::pair<std::string, M*>>& into) {
  // A module with several names is visited under its first.
  const auto is_known = [&](const auto& other) { return other.second == &module; };
  if (std::any_of(into.begin(), into.end(), is_known)) return;
  into.emplace_back(path, &module);
  for (const NamedModule& child : module.children_) collect<M>(*child.module, joined(path, child.name), into);
}

std::vector<std::pair<std::string, const Module*>> Module::tree() const {
  std::vector<std::pair<std::string, const Module*>> all;
  collect<const Module>(*this, "", all);
  return all;
}

std::vector<NamedModule> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> all;
  collect<Module>(*this, "", all);
  std::vector<NamedModule> named;
  for (auto& [path, module] : all) named.push_back({path, module});
  return named;
}

std::vector<NamedTensor> Module::named(bool buffers) const {
  std::vector<NamedTensor> all;
  for (const auto& [path, module] : tree()) {
    for (const Entry& entry : module->tensors_) {
      if (entry.is_buffer != buffers || !entry.tensor->defined()) continue;
      const auto is_same = [&](const NamedTensor& other) { return impl_of(other.tensor) == impl_of(*entry.tensor); };
      if (std::none_of(all.begin(), all.end(), is_same)) all.push_back({joined(path, entry.name), *entry.tensor});
    }
  }
  return all;
}

std::vector<NamedTensor> Module::named_parameters() const { return named(false); }
std::vector<NamedTensor> Module::named_buffers() const { return named(true); }

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (NamedTensor& one : named(false)) all.push_back(std::move(one.tensor));
  return all;
}

std::vector<Tensor> Module::buffers() const {
  std::vector<Tensor> all;
  for (NamedTensor& one : named(true)) all.push_back(std::move(one.tensor));
  return all;
}

int64_t Module::count_parameters(bool trainable) const {
  int64_t count = 0;
  for (const Tensor& p : parameters()) {
    if (!trainable || p.requires_grad()) count += p.numel();
  }
  return count;
}

namespace {

template <typename T>
void put(std::vector<T>& list, size_t place, std::type_identity_t<T> one) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(std::min(place, list.size())), std::move(one));
}

template <typename T>
auto named_as(std::vector<T>& list, const std::string& name) {
  return std::find_if(list.begin(), list.end(), [&](const T& one) { return one.name == name; });
}

}  // namespace

struct Module::Hooks {
  template <typename F>
  struct Entry {
    std::shared_ptr<bool> is_on;
    F call;
  };
  std::vector<Entry<PreHook>> before;
  std::vector<Entry<Hook>> after;

  template <typename F>
  static HookHandle add(std::vector<Entry<F>>& to, F hook) {
    if (!hook) fail("module", "there is no hook to register");
    to.push_back({std::make_shared<bool>(true), std::move(hook)});
    return HookHandle(to.back().is_on);
  }
  // A hook may remove itself or register others.
  template <typename F, typename... Arguments>
  static void call(const std::vector<Entry<F>>& hooks, const Arguments&... arguments) {
    for (const Entry<F>& one : std::vector(hooks)) {
      if (*one.is_on) one.call(arguments...);
    }
  }
};

Module::Hooks& Module::hooks() {
  if (!hooks_) hooks_ = std::make_shared<Hooks>();
  return *hooks_;
}

HookHandle Module::register_forward_pre_hook(PreHook hook) { return Hooks::add(hooks().before, std::move(hook)); }
HookHandle Module::register_forward_hook(Hook hook) { return Hooks::add(hooks().after, std::move(hook)); }

void Module::call_hooks(const std::vector<Tensor>& arguments) const {
  if (hooks_) Hooks::call(hooks_->before, *this, arguments);
}
void Module::call_hooks(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results) const {
  if (hooks_) Hooks::call(hooks_->after, *this, arguments, results);
}

void Module::require_new_name(std::string_view op, const std::string& name) const {
  if (name.empty()) fail(op, "a name cannot be empty");
  if (name.find('.') != std::string::npos) fail(op, "the name \"{}\" contains a dot, which separates names", name);
  const auto has_name = [&](const auto& other) { return other.name == name; };
  if (std::any_of(tensors_.begin(), tensors_.end(), has_name) ||
      std::any_of(children_.begin(), children_.end(), has_name)) {
    fail(op, "the name \"{}\" is taken in {}", name, type_name());
  }
}

void Module::register_parameter(std::string name, Tensor& parameter, size_t place) {
  require_new_name("register_parameter", name);
  if (parameter.defined()) parameter.requires_grad_();
  put(tensors_, place, {std::move(name), &parameter, false, true});
  members_->push_back(&parameter);
}

void Module::register_buffer(std::string name, Tensor& buffer, bool persistent, size_t place) {
  require_new_name("register_buffer", name);
  put(tensors_, place, {std::move(name), &buffer, true, persistent});
  members_->push_back(&buffer);
}

void Module::register_module(std::string name, Module& module, size_t place) {
  require_new_name("register_module", name);
  if (&module == this) fail("register_module", "{} cannot be a module of itself", type_name());
  module.label_->name = name;
  module.label_->parent = label_;
  put(children_, place, {std::move(name), &module});
}

size_t Module::remove_module(const std::string& name) {
  const auto found = named_as(children_, name);
  if (found == children_.end()) return kLast;
  return static_cast<size_t>(children_.erase(found) - children_.begin());
}

size_t Module::remove_tensor(const std::string& name) {
  const auto found = named_as(tensors_, name);
  if (found == tensors_.end()) return kLast;
  std::erase(*members_, found->tensor);
  return static_cast<size_t>(tensors_.erase(found) - tensors_.begin());
}

std::string Module::scope_name() const { return scope_name(*label_); }

std::string Module::scope_name(const Label& label) {
  return label.parent && label.parent->is_list ? joined(scope_name(*label.parent), label.name) : label.name;
}

Module& Module::train(bool on) {
  for (const NamedModule& one : named_modules()) *one.module->training_ = on;
  note_switch();
  return *this;
}

bool Module::is_training() const {
  if (Trace* trace = Trace::current()) trace->depends_on(training_);
  return *training_;
}

void Module::zero_grad() {
  for (Tensor& p : parameters()) p.zero_grad();
}

Module& Module::requires_grad_(bool on) {
  for (Tensor& p : parameters()) p.requires_grad_(on);
  return *this;
}

std::vector<Tensor> Module::matching(std::string_view op, std::string_view pattern) const {
  std::vector<Tensor> found;
  std::vector<std::string> names;
  for (NamedTensor& one : named(false)) {
    if (base::matches(pattern, one.name)) found.push_back(one.tensor);
    names.push_back(std::move(one.name));
  }
  if (found.empty()) fail(op, "{}", base::no_match(pattern, names));
  return found;
}

Module& Module::freeze(std::string_view pattern) {
  for (Tensor& p : matching("freeze", pattern)) {
    p.zero_grad();
    p.requires_grad_(false);
  }
  return *this;
}

Module& Module::unfreeze(std::string_view pattern) {
  for (Tensor& p : matching("unfreeze", pattern)) p.requires_grad_();
  return *this;
}

// Computed at once, in one plan: what was there before need not be kept, and nobody converts a weight twice.
template <typename F>
void Module::convert(F&& conversion) {
  std::vector<Tensor> converted;
  for (const bool buffers : {false, true}) {
    for (NamedTensor& one : named(buffers)) {
      const Tensor data = one.tensor.detach(), made = conversion(data);
      if (impl_of(made) == impl_of(data)) continue;
      one.tensor.set_data(made);
      converted.push_back(made);
    }
  }
  tenon::eval(converted);
}

Module& Module::to(Device device) {
  convert([&](const Tensor& data) { return data.to(device); });
  return *this;
}

Module& Module::to(DType dtype) {
  if (!is_float(dtype))
    fail("to", "a module holds floating-point parameters; it cannot be converted to {}", tenon::name(dtype));
  convert([&](const Tensor& data) { return is_float(data.dtype()) ? data.to(dtype) : data; });
  return *this;
}

Module& Module::to(Device device, DType dtype) { return to(device).to(dtype); }

std::string Module::type_name() const {
  const char* mangled = typeid(*this).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                          &std::free);
  std::string name = status == 0 ? plain.get() : mangled;
  name = name.substr(0, name.find('<'));  // the arguments of a template say little
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace tenon::nn
