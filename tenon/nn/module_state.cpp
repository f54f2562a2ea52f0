// State dicts: what a module hands to a file, and what it takes from one. Everything that could be wrong with a state
// is looked for first and told in one line, so that a model is never half loaded.

#include <algorithm>
#include <unordered_set>

#include "tenon/base/nearest.h"
#include "tenon/nn/module.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"

namespace tenon::nn {
namespace {

constexpr size_t kMostNames = 8;  // of a kind in one message; another model's file would fill the screen

std::string listed(std::string_view what, const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNames);
  std::string text =
      fmt::format("{} {}", what, fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// The unexpected names, each with the name that was probably meant.
std::vector<std::string> with_suggestions(const LoadReport& report, const std::vector<std::string>& known) {
  std::vector<std::string> texts;
  for (const std::string& name : report.unexpected) {
    std::string meant;
    if (texts.size() < kMostNames) meant = base::nearest(name, report.missing.empty() ? known : report.missing);
    texts.push_back(meant.empty() ? name : fmt::format("{} (did you mean {}?)", name, meant));
  }
  return texts;
}

std::vector<std::string> misfits(const std::vector<std::pair<std::string, Tensor*>>& wanted, const StateDict& given) {
  std::vector<std::string> texts;
  for (const auto& [name, tensor] : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) continue;
    if (!found->second.defined()) {
      texts.push_back(fmt::format("{}: the tensor given is undefined", name));
    } else if (found->second.shape() != tensor->shape()) {
      texts.push_back(fmt::format("{}: shape {} expected, file has {}", name, ir::to_string(tensor->shape()),
                                  ir::to_string(found->second.shape())));
    } else if (tensor->requires_grad() && !is_float(found->second.dtype())) {
      texts.push_back(
          fmt::format("{}: floating-point values expected, file has {}", name, tenon::name(found->second.dtype())));
    }
  }
  return texts;
}

std::vector<std::string> other_dtypes(const std::vector<std::pair<std::string, Tensor*>>& wanted,
                                      const StateDict& given) {
  std::vector<std::string> texts;
  for (const auto& [name, tensor] : wanted) {
    const auto found = given.find(name);
    if (found != given.end() && found->second.dtype() != tensor->dtype())
      texts.push_back(fmt::format("{} ({} expected, file has {})", name, tenon::name(tensor->dtype()),
                                  tenon::name(found->second.dtype())));
  }
  return texts;
}

LoadReport compared(const std::vector<std::pair<std::string, Tensor*>>& wanted, const StateDict& given) {
  LoadReport report;
  std::unordered_set<std::string_view> known;
  std::unordered_set<const void*> found;  // a tensor with several names needs to be given under one of them
  for (const auto& [name, tensor] : wanted) {
    known.insert(name);
    if (given.contains(name)) found.insert(impl_of(*tensor).get());
  }
  for (const auto& [name, tensor] : wanted) {
    if (!given.contains(name) && !found.contains(impl_of(*tensor).get())) report.missing.push_back(name);
  }
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) report.unexpected.push_back(name);
  }
  return report;
}

}  // namespace

// Unlike named_parameters(), under every name: a file written by PyTorch may use any of them.
void Module::collect_state(const std::string& path, std::vector<std::pair<std::string, Tensor*>>& into) const {
  const std::string before = path.empty() ? "" : path + ".";
  for (const bool buffers : {false, true}) {  // in PyTorch's order
    for (const Entry& entry : tensors_) {
      if (entry.is_buffer == buffers && entry.is_persistent && entry.tensor->defined())
        into.emplace_back(before + entry.name, entry.tensor);
    }
  }
  for (const NamedModule& child : children_) child.module->collect_state(before + child.name, into);
}

std::vector<std::pair<std::string, Tensor*>> Module::state() const {
  std::vector<std::pair<std::string, Tensor*>> all;
  collect_state("", all);
  return all;
}

StateDict Module::state_dict() const {
  StateDict result;
  for (const auto& [name, tensor] : state()) result.emplace(name, tensor->detach());
  return result;
}

std::vector<NamedTensor> Module::named_state() const {
  std::vector<NamedTensor> all;
  for (const auto& [name, tensor] : state()) all.push_back({name, *tensor});
  return all;
}

std::vector<std::string> Module::misfits_of(const StateDict& given, bool strict, bool same_dtypes) const {
  const auto wanted = state();
  const LoadReport report = compared(wanted, given);
  std::vector<std::string> problems;
  if (strict && !report.missing.empty()) problems.push_back(listed("missing", report.missing));
  if (strict && !report.unexpected.empty()) {
    std::vector<std::string> known;
    for (const auto& [name, tensor] : wanted) known.push_back(name);
    problems.push_back(listed("unexpected", with_suggestions(report, known)));
  }
  const std::vector<std::string> wrong = misfits(wanted, given);
  for (size_t i = 0; i < std::min(wrong.size(), kMostNames); ++i) problems.push_back(wrong[i]);
  if (wrong.size() > kMostNames) problems.push_back(fmt::format("{} more do not fit", wrong.size() - kMostNames));
  if (same_dtypes && wrong.empty()) {
    const std::vector<std::string> others = other_dtypes(wanted, given);
    if (!others.empty()) problems.push_back(listed("other dtypes:", others));
  }
  return problems;
}

LoadReport Module::load_state_dict(const StateDict& given, bool strict, bool assign) {
  const std::vector<std::string> problems = misfits_of(given, strict);
  if (!problems.empty()) base::fail("load_state_dict", "{}", fmt::join(problems, "; "));

  const auto wanted = state();
  const LoadReport report = compared(wanted, given);
  const NoGrad loading;
  std::vector<Tensor> loaded;
  for (const auto& [name, tensor] : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) continue;
    if (assign)
      tensor->set_data(found->second);
    else
      tensor->copy_(found->second);
    loaded.push_back(*tensor);
  }
  tenon::eval(loaded);  // in one plan, so that the tensors given can be let go
  return report;
}

}  // namespace tenon::nn
