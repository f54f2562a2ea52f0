// Kernels as programs of a driver: lowered, spelled, built, kept.
//
// Kernels that differ by sizes and places alone have the same text, and compilers are slow: programs are shared by
// text. A program on disk is the binaries of its dispatches; the rest is lowered anew.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/backends/gpu/program.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/codegen/legalise.h"
#include "tenon/device/device.h"
#include "tenon/render/render.h"

namespace tenon::backends::gpu {

/// Thrown by a toolchain that does not take a source: the name of the error, and all that the compiler has to say.
struct Refused {
  std::string why, log;
};

/// The compiler that a driver brings. Several threads may call it at once.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual std::string backend() const = 0;  // for errors
  virtual std::string chip() const = 0;
  virtual render::Language language() const = 0;
  /// What kernels must do without; what the language lacks, by default.
  virtual codegen::Lacks lacks() const { return render::lacks_of(language()); }
  /// What a binary depends on beside its source: compiler, options, driver, chip. Empty: programs are not kept.
  virtual std::string depends_on() const = 0;

  virtual BuiltRef build(const std::string& source, const codegen::KernelIr& kernel) = 0;
  /// Nothing where the driver gives none.
  virtual std::vector<std::byte> binary_of(const Built& built) const = 0;
  /// None where the bytes do not serve.
  virtual BuiltRef load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) = 0;
};

class Compiler : public device::Compiler {
 public:
  Compiler(Toolchain& toolchain, const ir::Limits& limits) : toolchain_(toolchain), limits_(limits) {}

  device::ProgramRef compile(const device::Kernel& kernel) override;
  bool compiles_in_parallel() const override { return true; }
  bool takes(const ir::Call& call) const override;
  std::vector<ir::Way> ways(const ir::Call& call) const override;
  std::string saved_as(const device::Kernel& kernel) const override;
  std::vector<std::byte> save(const device::Program& program) const override;
  device::ProgramRef load(const device::Kernel& kernel, std::span<const std::byte> bytes) override;

  /// A dispatch of our own, with the program that it shares with others of the same text.
  Step step(const codegen::Dispatch& dispatch);

 protected:
  /// The dispatches of a kernel.
  virtual codegen::Module lower(const device::Kernel& kernel) const;
  /// What a library does of it, before its dispatches; nothing by default.
  virtual std::vector<Step> library_steps(const device::Kernel& kernel);
  /// Its name, where there are such steps.
  virtual std::string_view library_name(const device::Kernel&) const { return {}; }

  const ir::Limits& limits() const { return limits_; }

 private:
  struct Source {
    std::mutex mutex;  // held while it is built: whoever wants it as well waits for the first one
    std::weak_ptr<const Built> built;
  };
  using Make = std::function<BuiltRef(size_t dispatch, const std::string& source, const codegen::KernelIr& kernel)>;
  std::string source_of(const codegen::KernelIr& kernel) const;
  BuiltRef build(const std::string& source, const codegen::KernelIr& kernel);
  Step finished(const codegen::Dispatch& dispatch, BuiltRef built) const;
  BuiltRef build_once(const std::string& source, const std::function<BuiltRef()>& make);
  device::ProgramRef assemble(const device::Kernel& kernel, const Make& make);

  Toolchain& toolchain_;
  ir::Limits limits_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Source>> sources_;
};

}  // namespace tenon::backends::gpu
