// Kernels as OpenCL programs: lowered, spelled, built.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "tenon/backends/opencl/inventory.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/device/device.h"

namespace tenon::backends::opencl {

/// One dispatch of a module, ready to be started. Each has a program of its own: a renderer's text is a whole file.
struct Step {
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;  // whoever sets its arguments holds the lock of the queue
  std::string name;
  std::array<size_t, 3> global{}, local{};
  std::vector<codegen::Dispatch::Binding> buffers;
  uint32_t numbers = 0;
  bool may_fault = false, writes_results = true;
  std::optional<std::array<uint32_t, 2>> unless_same;

  /// Whether there is nothing to do: no blocks, or a copy onto itself.
  bool is_idle(const device::Launch& launch) const;
  /// Gives this step's kernel, or another one made of the same function, everything that the launch brings: for each
  /// buffer memory and byte offset, the numbers, the fault words, and whether a fault keeps it from writing.
  void set_arguments(cl_kernel to, const device::Launch& launch, cl_mem fault) const;
};

struct Compiled : device::Program {
  std::vector<Step> steps;
  size_t scratch = 0;
  std::string what;  // for the profile, if there is one

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  ~Compiled() override;
  size_t scratch_bytes() const override { return scratch; }
};

/// Builds a program of its source; fails with the first lines of what the compiler says, and leaves the source in a
/// file.
cl_program build(cl_context context, const Found& on, const std::string& source, const std::string& name);

class Compiler : public device::Compiler {
 public:
  Compiler(const Found& on, cl_context context, const ir::Limits& limits)
      : on_(on), context_(context), limits_(limits) {}

  device::ProgramRef compile(const device::Kernel& kernel) override;
  bool compiles_in_parallel() const override { return true; }
  std::string saved_as(const device::Kernel& kernel) const override;
  std::vector<std::byte> save(const device::Program& program) const override;
  device::ProgramRef load(const device::Kernel& kernel, std::span<const std::byte> bytes) override;

 private:
  void add_step(Compiled& to, const codegen::Dispatch& dispatch, cl_program program) const;

  const Found& on_;
  cl_context context_;
  ir::Limits limits_;
};

}  // namespace tenon::backends::opencl
