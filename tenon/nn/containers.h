// Modules that own others: a chain, a list and a dictionary. Members of the first two are named "0", "1", ...
//
//   nn::Sequential net;
//   net.emplace<nn::Linear>(2, 24);
//   net.emplace<nn::Tanh>();
//   net.emplace<nn::Linear>(24, 1);
//   Tensor y = net(x);
//
//   nn::ModuleList<Block> h;  // a member of a model, registered as "h": paths are h.0, h.1, ...
//   for (int64_t i = 0; i < layers; ++i) h.emplace(width, heads);
//   for (const Block& block : h) x = block(x);

#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/nn/module.h"

namespace tenon::nn {

/// Modules of one type, in order. It is not called itself.
template <typename T>
class ModuleList : public Module {
 public:
  ModuleList() { mark_as_list(); }

  /// Makes a module at the end.
  template <typename... Arguments>
  T& emplace(Arguments&&... arguments) {
    return push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
  }
  /// Takes over a module, as the last.
  T& push_back(std::unique_ptr<T> module) {
    if (!module) base::fail("module_list", "there is no module to add");
    register_module(std::to_string(modules_.size()), *module);
    modules_.push_back(std::move(module));
    return *modules_.back();
  }

  /// How many there are; the one at a place.
  size_t size() const { return modules_.size(); }
  T& operator[](size_t i) { return *modules_[checked(i)]; }
  const T& operator[](size_t i) const { return *modules_[checked(i)]; }

  /// Shows modules instead of the pointers that own them.
  template <typename Pointer, typename Value>
  struct Iterator {
    Pointer at;
    Value& operator*() const { return **at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  /// For range-for.
  auto begin() { return Iterator<decltype(modules_.cbegin()), T>{modules_.cbegin()}; }
  auto end() { return Iterator<decltype(modules_.cbegin()), T>{modules_.cend()}; }
  auto begin() const { return Iterator<decltype(modules_.cbegin()), const T>{modules_.cbegin()}; }
  auto end() const { return Iterator<decltype(modules_.cbegin()), const T>{modules_.cend()}; }

  std::string type_name() const override { return "ModuleList"; }

 private:
  size_t checked(size_t i) const {
    if (i >= modules_.size()) base::fail("module_list", "there is no module {} in a list of {}", i, modules_.size());
    return i;
  }

  std::vector<std::unique_ptr<T>> modules_;
};

/// Modules of one type by name, in the order in which they came. It is not called itself.
///   nn::ModuleDict<nn::Linear> heads;
///   heads.emplace("answer", 3, 2);
///   heads["answer"](ones({1, 3})).shape();  // (1, 2)
template <typename T>
class ModuleDict : public Module {
 public:
  ModuleDict() { mark_as_list(); }

  /// Makes a module under a new name.
  template <typename... Arguments>
  T& emplace(const std::string& name, Arguments&&... arguments) {
    return insert(name, std::make_unique<T>(std::forward<Arguments>(arguments)...));
  }
  /// Takes over a module under a new name.
  T& insert(const std::string& name, std::unique_ptr<T> module) {
    if (!module) base::fail("module_dict", "there is no module to add");
    register_module(name, *module);
    modules_.emplace_back(name, std::move(module));
    return *modules_.back().second;
  }

  /// How many there are.
  size_t size() const { return modules_.size(); }
  /// Whether there is one of that name; that one, or an error; all names.
  bool contains(std::string_view name) const { return found(name) != modules_.end(); }
  T& operator[](std::string_view name) { return *required(name); }
  const T& operator[](std::string_view name) const { return *required(name); }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const auto& [name, module] : modules_) names.push_back(name);
    return names;
  }

  std::string type_name() const override { return "ModuleDict"; }

 private:
  auto found(std::string_view name) const {
    return std::find_if(modules_.begin(), modules_.end(), [&](const auto& one) { return one.first == name; });
  }
  T* required(std::string_view name) const {
    const auto at = found(name);
    if (at == modules_.end()) base::fail("module_dict", "there is no module {}", name);
    return at->second.get();
  }

  std::vector<std::pair<std::string, std::unique_ptr<T>>> modules_;
};

/// Layers, each applied to the result of the one before.
class Sequential : public Layer {
 public:
  Sequential() = default;
  /// Takes over layers: Sequential(std::make_unique<Linear>(2, 24), std::make_unique<Tanh>()).
  template <typename First, typename... Rest>
  explicit Sequential(std::unique_ptr<First> first, std::unique_ptr<Rest>... rest) {
    push_back(std::move(first));
    (push_back(std::move(rest)), ...);
  }

  /// Makes a layer at the end.
  template <typename T, typename... Arguments>
  T& emplace(Arguments&&... arguments) {
    auto layer = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& made = *layer;
    push_back(std::move(layer));
    return made;
  }
  /// Takes over a layer, as the last.
  Layer& push_back(std::unique_ptr<Layer> layer);

  Tensor forward(const Tensor& x) const override;

  /// How many layers there are; the one at a place.
  size_t size() const { return layers_.size(); }
  Layer& operator[](size_t i) const;

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace tenon::nn
