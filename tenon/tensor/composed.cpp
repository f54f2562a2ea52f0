// A cache of compositions by name, settings and the types of their operands; gradients are kept with what they are of.

#include "tenon/tensor/composed.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tenon/base/hash.h"
#include "tenon/base/nan_check.h"
#include "tenon/grad/batch.h"
#include "tenon/grad/grad.h"
#include "tenon/ir/build.h"
#include "tenon/ir/composition.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

using ir::Value;

// An operand without a value. Where gradients pass it is a parameter, which somebody has to own.
struct Input {
  std::shared_ptr<ir::Param> param;
  Value value;

  Input(const ir::Type& type, ir::DeviceId device, bool needs_grad) : value(autodiff::placeholder(type, device)) {
    if (!needs_grad) return;
    param = std::make_shared<ir::Param>();
    value = ir::param(value, param);
  }
};

class Recorded : public ir::Composition {
 public:
  Recorded(std::string called, std::vector<Input> given, std::vector<Value> to)
      : Composition(std::move(called), values_of(given), std::move(to)), given_(std::move(given)) {}

  Gradient gradient(const std::vector<bool>& arrived, const std::vector<bool>& wanted) const override {
    const std::lock_guard lock(mutex_);
    for (const Known& known : gradients_) {
      if (known.arrived == arrived && known.wanted == wanted) return known.gradient;
    }
    gradients_.push_back({arrived, wanted, recorded_gradient(arrived, wanted)});
    return gradients_.back().gradient;
  }

 private:
  struct Known {
    std::vector<bool> arrived, wanted;
    Gradient gradient;
  };

  static std::vector<Value> values_of(const std::vector<Input>& given) {
    std::vector<Value> values;
    for (const Input& one : given) values.push_back(one.value);
    return values;
  }

  Gradient recorded_gradient(const std::vector<bool>& arrived, const std::vector<bool>& wanted) const {
    const Mapping without_values;
    const ir::InRealm of_its_own(ir::InRealm::next());
    const EnableGrad differentiable;
    std::vector<Input> given = given_;
    std::vector<Value> reached, seeds, sources;
    std::vector<size_t> places;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!arrived[i]) continue;
      reached.push_back(outputs[i]);
      given.emplace_back(outputs[i].type(), outputs[i].device(), true);
      seeds.push_back(given.back().value);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      sources.push_back(inputs[i]);
      places.push_back(i);
    }
    const std::vector<Value> found = autodiff::gradients(reached, seeds, sources, true);
    Gradient made;
    std::vector<Value> there;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      there.push_back(found[i]);
      made.moves.push_back(ir::peeled(there.back()));
      made.operands.push_back(places[i]);
    }
    if (there.empty()) return made;
    const auto backward = std::make_shared<Recorded>(name + "_backward", std::move(given), std::move(there));
    if (routine == ir::Routine::grid_sample) {
      backward->routine = ir::Routine::grid_sample_backward;
      backward->settings = settings;
      for (size_t i = 0; i < inputs.size(); ++i)
        backward->settings.push_back(std::ranges::find(made.operands, i) != made.operands.end());
    }
    made.what = backward;
    return made;
  }

  std::vector<Input> given_;
  mutable std::mutex mutex_;
  mutable std::vector<Known> gradients_;
};

using Words = base::SmallVector<int64_t, 64>;

// One of the program's functions for operands of these types.
struct Entry {
  const char* name;
  Words words;
  std::shared_ptr<const Recorded> what;
  std::vector<std::vector<ir::Move>> moves;  // from the outputs to the results: views are not computed
};

struct Cache {
  static constexpr size_t kMost = 1024;
  std::mutex mutex;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Entry>> entries;

  std::shared_ptr<const Entry> find(uint64_t hash, const char* name, const Words& words) {
    const std::lock_guard lock(mutex);
    for (auto [at, end] = entries.equal_range(hash); at != end; ++at) {
      if (at->second->name == name && at->second->words == words) return at->second;
    }
    return nullptr;
  }
  std::shared_ptr<const Entry> add(uint64_t hash, std::shared_ptr<const Entry> entry) {
    const std::lock_guard lock(mutex);
    if (entries.size() >= kMost) entries.clear();
    return entries.emplace(hash, std::move(entry))->second;
  }
};

Cache& cache() {
  static Cache& all = *new Cache;  // never destroyed: nodes of other threads may outlive static destructors
  return all;
}

Words words_of(const Settings& settings, const std::vector<Value>& operands) {
  Words words(settings.words());
  words.push_back(grad_enabled());
  for (const Value& operand : operands) {
    words.push_back(static_cast<int64_t>(operand.dtype()) << 1 | int64_t{operand.needs_grad()});
    words.push_back(static_cast<int64_t>(operand.device().index) << 8 | static_cast<int64_t>(operand.rank()));
    for (const int64_t size : operand.shape()) words.push_back(size);
  }
  return words;
}

std::shared_ptr<const Entry> recorded(const char* name, const Settings& settings, Words words,
                                      const std::vector<Value>& operands, const Composed& f, ir::Routine routine) {
  const Mapping without_values;
  const ir::InRealm of_its_own(ir::InRealm::next());  // where no number is a node that somebody has computed
  std::vector<Input> given;
  std::vector<Tensor> seen;
  for (const Value& operand : operands) {
    given.emplace_back(operand.type(), operand.device(), operand.needs_grad());
    seen.push_back(tensor_showing(given.back().value));
  }
  auto entry = std::make_shared<Entry>(Entry{name, std::move(words), nullptr, {}});
  std::vector<Value> outputs;
  for (const Tensor& result : f(seen)) {
    outputs.push_back(record::in(result));
    entry->moves.push_back(ir::peeled(outputs.back()));
  }
  const auto what = std::make_shared<Recorded>(name, std::move(given), std::move(outputs));
  what->routine = routine;
  if (routine != ir::Routine::none) what->settings.assign(settings.words().begin(), settings.words().end());
  entry->what = what;
  return entry;
}

}  // namespace

std::vector<Tensor> composed(const char* name, const Settings& settings, std::span<const Tensor> inputs,
                             const Composed& f, ir::Routine routine) {
  if (Trace::current() || base::checks_nan() || autocast_dtype()) return f(inputs);
  std::vector<Value> operands;
  for (const Tensor& input : inputs) operands.push_back(record::in(input));
  Words words = words_of(settings, operands);
  const uint64_t hash = base::mix_all(reinterpret_cast<uintptr_t>(name), words);
  std::shared_ptr<const Entry> entry = cache().find(hash, name, words);
  if (!entry) entry = cache().add(hash, recorded(name, settings, std::move(words), operands, f, routine));
  const ir::NodeRef node =
      ir::Node::make(ir::Op::composed, ir::Operands(operands.begin(), operands.end()), ir::ComposedAttrs{entry->what});
  std::vector<Tensor> results;
  for (uint32_t i = 0; i < entry->moves.size(); ++i) {
    results.push_back(tensor_of(ir::moved({node, i}, entry->moves[i])));
  }
  return results;
}

}  // namespace tenon
