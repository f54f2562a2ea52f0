// Functions of many ops that are called often: recorded once for operands of these types, and one node from then on.
//
//   return composed("avg_pool2d", {kernel, stride}, {x}, [&](std::span<const Tensor> in) { ... })[0];
//
// Recording, looking up the plan and differentiating cost a call the same whatever the function is made of. The values
// are those of its ops recorded one by one.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon::ir {
enum class Routine : uint8_t;  // composition.h
}

namespace tenon {

/// What a composition depends on beside its operands' types: numbers of any kind, one after the other.
class Settings {
 public:
  template <typename... T>
  Settings(const T&... all) {
    (add(all), ...);
  }  // NOLINT: a list of numbers

  void add(int64_t number) { words_.push_back(number); }
  void add(int number) { words_.push_back(number); }
  void add(bool flag) { words_.push_back(flag); }
  void add(double number) { words_.push_back(std::bit_cast<int64_t>(number)); }
  std::span<const int64_t> words() const { return {words_.data(), words_.size()}; }

 private:
  base::SmallVector<int64_t, 24> words_;
};

using Composed = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

/// f of the inputs. It must depend on nothing but them and the settings, must read no value, bring none along from the
/// host, draw no random number and write no tensor; what `name` and the settings say is the same function in every
/// call. A device may have a kernel for `routine`, which has the same results.
std::vector<Tensor> composed(const char* name, const Settings& settings, std::span<const Tensor> inputs,
                             const Composed& f, ir::Routine routine = ir::Routine{});

}  // namespace tenon
