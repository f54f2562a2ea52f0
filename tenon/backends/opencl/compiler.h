// Kernels as OpenCL programs: lowered, spelled, built.

#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/backends/opencl/inventory.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/device/device.h"

namespace tenon::backends::opencl {

/// A program that was built, for every dispatch of the same text.
struct Built {
  cl_program program = nullptr;
  mutable std::atomic<bool> has_run{false};
  explicit Built(cl_program made) : program(made) {}
  Built(const Built&) = delete;
  ~Built();
};

/// One dispatch of a module, ready to be started.
struct Step {
  std::shared_ptr<const Built> built;
  cl_kernel kernel = nullptr;  // whoever sets its arguments holds the lock of the queue
  std::string name;
  std::array<size_t, 3> global{}, local{};
  std::vector<codegen::Dispatch::Binding> buffers;
  uint32_t numbers = 0;  // of the launch
  std::vector<uint64_t> sizes;
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
  std::vector<ir::Way> ways(const ir::Call& call) const override;
  std::string saved_as(const device::Kernel& kernel) const override;
  std::vector<std::byte> save(const device::Program& program) const override;
  device::ProgramRef load(const device::Kernel& kernel, std::span<const std::byte> bytes) override;

 private:
  // Kernels that differ by sizes and places alone have the same text, and compilers are slow.
  struct Source {
    std::mutex mutex;  // held while it is built: whoever wants it as well waits for the first one
    std::weak_ptr<const Built> built;
  };
  std::shared_ptr<const Built> build_once(const std::string& source, const std::function<cl_program()>& make);
  using Make = std::function<cl_program(size_t step, const std::string& source, const std::string& name)>;
  device::ProgramRef assemble(const device::Kernel& kernel, const Make& make);

  const Found& on_;
  cl_context context_;
  ir::Limits limits_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Source>> sources_;
};

}  // namespace tenon::backends::opencl
