// A view of Highway's own list.

#include "tenon/backends/cpu/tile/targets.h"

#include "tenon/backends/cpu/highway.h"
// The order of these matters.
#include "hwy/targets.h"
#include "tenon/base/error.h"

namespace tenon::backends::cpu {
namespace {

void use(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string_view> tile_targets() {
  use(0);
  std::vector<std::string_view> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void use_tile_target(std::string_view name) {
  use(0);
  if (name.empty()) return;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) return use(target);
  }
  base::fail("cpu", "this machine has no instruction set {}", name);
}

}  // namespace tenon::backends::cpu
