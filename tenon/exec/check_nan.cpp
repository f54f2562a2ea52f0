// One launch, one look at its results.

#include "tenon/exec/check_nan.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/codegen/lower.h"
#include "tenon/exec/executable.h"
#include "tenon/ir/print.h"

namespace tenon::exec {
namespace {

using device::Arg;
using device::Storage;
using ir::Value;

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

std::vector<std::byte> bytes_at(const Arg& arg, size_t bytes, device::Device& device) {
  std::vector<std::byte> read(bytes);
  const device::Command command = device::Download{arg, read};
  device.enqueue({&command, 1});
  device.wait(device.submit(true));
  return read;
}

}  // namespace

void check_for_nan(const Graph& graph, device::Device& target, ProgramCache& programs) {
  plan::Request request;
  request.outputs = graph.outputs();
  request.limits = target.limits();
  request.limits.fuses = false;
  const plan::Plan plan = plan::make_plan(request);
  std::vector<device::StorageRef> memory;  // one per slot: nothing is overwritten
  for (const plan::Slot& slot : plan.slots) {
    const bool is_leaf = slot.place == plan::Slot::Place::leaf;
    const Value* leaf = is_leaf ? &plan.leaves[slot.index] : nullptr;
    memory.push_back(leaf ? device::storage_of(leaf->node->data(leaf->index))
                          : std::make_shared<Storage>(target, slot.bytes));
  }
  for (const plan::Launch& launch : plan.launches) {
    const plan::Kernel& kernel = plan.kernels[launch.kernel];
    const auto* group = std::get_if<plan::Group>(&kernel);
    device::Launch command{programs.get(target, group ? device::Kernel(codegen::lower(*group))
                                                      : device::Kernel(std::get<ir::Call>(kernel))),
                           {}};
    for (const uint32_t slot : launch.args) command.args.push_back({memory[slot]->buffer(), 0});
    const device::Command run = command;
    target.enqueue({&run, 1});
    target.wait(target.submit(true));
    const size_t inputs = group ? group->inputs.size() : std::get<ir::Call>(kernel).inputs.size();
    for (size_t i = inputs; i < command.args.size(); ++i) {
      const ir::Type type = group ? group->outputs[i - inputs].type() : std::get<ir::Call>(kernel).outputs[i - inputs];
      const auto found = first_nan(bytes_at(command.args[i], plan.slots[launch.args[i]].bytes, target), type.dtype);
      if (!found) continue;
      const std::string module = base::scope_path(launch.makes->scope());
      throw Error(fmt::format("[{}] made the first NaN: element {} of {}{}", ir::name(launch.makes->op()), *found,
                              ir::to_string(type), module.empty() ? "" : fmt::format(" (in {})", module)));
    }
  }
}

}  // namespace tenon::exec
