#include "tenon/backends/gpu/program.h"

#include <algorithm>

namespace tenon::backends::gpu {

bool Step::is_idle(const device::Launch& launch) const {
  if (blocks[0] == 0 || blocks[1] == 0 || blocks[2] == 0) return true;
  if (!unless_same) return false;
  const device::Arg &a = launch.args[(*unless_same)[0]], &b = launch.args[(*unless_same)[1]];
  return a.buffer.handle == b.buffer.handle && a.offset == b.offset;
}

Step step_of(const codegen::Dispatch& dispatch, BuiltRef built) {
  const codegen::KernelIr& kernel = dispatch.kernel;
  Step step;
  step.built = std::move(built);
  step.name = kernel.name;
  step.blocks = dispatch.blocks;
  step.threads = kernel.threads;
  step.is_text = !kernel.text.empty();
  step.buffers = dispatch.buffers;
  for (uint32_t i = 0; !step.is_text && i < kernel.buffers.size(); ++i)
    step.alignments.push_back(codegen::alignment_of(kernel, i));
  step.numbers = kernel.numbers - static_cast<uint32_t>(dispatch.sizes.size());
  step.sizes = dispatch.sizes;
  step.may_fault = kernel.may_fault;
  step.writes_results = dispatch.writes_results;
  step.unless_same = dispatch.unless_same;
  return step;
}

Arguments arguments_of(const Step& step, const device::Launch& launch, uint64_t fault_words) {
  Arguments made;
  for (const codegen::Dispatch::Binding& buffer : step.buffers) {
    const device::Arg& arg = launch.args[buffer.arg];
    made.words.push_back(arg.buffer.handle);
    made.words.push_back(arg.offset + buffer.offset);
  }
  for (uint32_t i = 0; i < step.numbers; ++i) made.words.push_back(launch.numbers[i]);
  for (const uint64_t size : step.sizes) made.words.push_back(size);
  made.words.push_back(fault_words);
  made.guards = launch.writes_state && step.writes_results;
  return made;
}

bool can_be_captured(std::span<const device::Command> commands) {
  return std::all_of(commands.begin(), commands.end(), [](const device::Command& command) {
    return !std::holds_alternative<device::Upload>(command) && !std::holds_alternative<device::Download>(command);
  });
}

bool any_may_fault(std::span<const device::Command> commands) {
  return std::any_of(commands.begin(), commands.end(), [](const device::Command& command) {
    const auto* launch = std::get_if<device::Launch>(&command);
    if (!launch) return false;
    const auto& steps = static_cast<const Program&>(*launch->program).steps;
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.may_fault; });
  });
}

}  // namespace tenon::backends::gpu
