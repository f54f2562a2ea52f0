// An executable that fuses nothing and overwrites nothing, run launch by launch with a look at what each has written.

#include "tenon/exec/check_nan.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/executable.h"
#include "tenon/ir/print.h"

namespace tenon::exec {
namespace {

std::optional<size_t> first_nan(std::span<const std::byte> bytes, DType dtype) {
  std::optional<size_t> found;
  dispatch(dtype, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      for (size_t i = 0; i < bytes.size() / sizeof(T) && !found; ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
        if (std::isnan(static_cast<double>(value))) found = i;
      }
    }
  });
  return found;
}

}  // namespace

void check_for_nan(const Graph& graph, device::Device& target, ProgramCache& programs) {
  ir::Limits limits = target.limits();
  limits.fuses = false;
  const base::FlatSet<const ir::Node*> nothing;
  const Graph kept(graph.nodes(), graph.outputs(), nothing);
  const auto executable = build(kept, std::vector<bool>(kept.literals().size(), false), limits, target, programs);
  const Binding memory = bind(*executable, kept, target);
  const uint64_t run = ++engine().runs;
  for (size_t i = 0; i < executable->launches.size(); ++i) {
    const plan::Launch& launch = executable->launches[i].what;
    std::vector<device::Command> commands = commands_of(*executable, kept, memory, run, i, i + 1, false);
    std::vector<std::vector<std::byte>> made;
    for (size_t k = launch.inputs; k < launch.args.size(); ++k) made.emplace_back(launch.args[k].bytes);
    for (size_t k = 0; k < made.size(); ++k)
      commands.push_back(device::Download{std::get<device::Launch>(commands[0]).args[launch.inputs + k], made[k]});
    target.wait(target.send(commands, true));
    for (size_t k = 0; k < made.size(); ++k) {
      const auto found = first_nan(made[k], launch.makes[k].dtype);
      if (!found) continue;
      const std::string module = base::describe_label(launch.label);
      throw Error(fmt::format("[{}] made the first NaN: element {} of {}{}", ir::name(launch.op), *found,
                              ir::to_string(launch.makes[k]), module.empty() ? "" : fmt::format(" (in {})", module)));
    }
  }
}

}  // namespace tenon::exec
