// A kernel as a GPU runs it: the dispatches of its module, each with the program that was built for it.

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/device/device.h"

namespace tenon::backends::gpu {

/// What a driver made of a source; one for all dispatches of the same text. Each backend has its own.
class Built {
 public:
  virtual ~Built() = default;
};
using BuiltRef = std::shared_ptr<const Built>;

/// One dispatch, ready to be started.
struct Step {
  BuiltRef built;
  std::string name;
  std::array<uint64_t, 3> blocks{1, 1, 1};
  uint32_t threads = 1;     // of a block
  bool is_library = false;  // somebody else's code, which nobody saves
  bool is_text = false;     // not made of KernelIr; like a library it takes aligned memory alone
  std::vector<codegen::Dispatch::Binding> buffers;
  std::vector<uint32_t> alignments = {};  // of each: bytes of which the place where it begins is a multiple
  uint32_t numbers = 0;                   // of the launch
  std::vector<uint64_t> sizes;
  bool may_fault = false, writes_results = true;
  std::optional<std::array<uint32_t, 2>> unless_same;

  /// Whether there is nothing to do: no blocks, or a copy onto itself.
  bool is_idle(const device::Launch& launch) const;
};
Step step_of(const codegen::Dispatch& dispatch, BuiltRef built);

/// What a kernel takes, in its order: for each buffer memory and byte offset, the numbers of the launch and of the
/// dispatch, the fault words. Last comes whether a fault keeps it from writing, as 32 bits.
struct Arguments {
  base::SmallVector<uint64_t, 32> words;
  uint32_t guards = 0;
};
Arguments arguments_of(const Step& step, const device::Launch& launch, uint64_t fault_words);

struct Program : device::Program {
  std::vector<Step> steps;
  std::vector<uint32_t> alignments;  // of the arguments: what all steps ask of the places where they begin
  size_t scratch = 0;

  size_t scratch_bytes() const override { return scratch; }
};

/// Whether they can be kept to run again as they are: uploads and downloads look at memory of the host, which may be
/// another one the next time.
bool can_be_captured(std::span<const device::Command> commands);
/// Whether some launch may find a fault.
bool any_may_fault(std::span<const device::Command> commands);

}  // namespace tenon::backends::gpu
