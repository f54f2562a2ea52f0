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

std::vector<std::byte> bytes_at(const Arg& arg, device::Device& device) {
  std::vector<std::byte> read(arg.bytes);
  const device::Command command = device::Download{arg, read};
  device.wait(device.send({&command, 1}, true));
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
    const device::Kernel lowered =
        group ? device::Kernel(codegen::lower(*group)) : device::Kernel(std::get<ir::Call>(kernel));
    device::Launch command{programs.get(target, lowered), {}, device::inputs_of(lowered)};
    for (const uint32_t slot : launch.args) command.args.push_back({memory[slot]->buffer(), 0, plan.slots[slot].bytes});
    std::optional<Storage> scratch;
    if (const size_t bytes = command.program->scratch_bytes()) {
      scratch.emplace(target, bytes);
      command.args.push_back({scratch->buffer(), 0, bytes});
    }
    const device::Command run = command;
    target.wait(target.send({&run, 1}, true));
    const size_t inputs = command.inputs;
    for (size_t i = inputs; i < launch.args.size(); ++i) {
      const ir::Type type = group ? group->outputs[i - inputs].type() : std::get<ir::Call>(kernel).outputs[i - inputs];
      const auto found = first_nan(bytes_at(command.args[i], target), type.dtype);
      if (!found) continue;
      const std::string module = base::scope_path(launch.makes->scope());
      throw Error(fmt::format("[{}] made the first NaN: element {} of {}{}", ir::name(launch.makes->op()), *found,
                              ir::to_string(type), module.empty() ? "" : fmt::format(" (in {})", module)));
    }
  }
}

}  // namespace tenon::exec
