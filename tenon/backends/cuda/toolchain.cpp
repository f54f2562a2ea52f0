#include "tenon/backends/cuda/toolchain.h"

#include <algorithm>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/base/error.h"
#include "tenon/render/render.h"

namespace tenon::backends::cuda {
namespace {

// Division and square roots are correct by default, and subnormal numbers are kept.
constexpr const char* kOptions = "--fmad=false";

class Kernel : public Runnable {
 public:
  // Null where the driver does not take the cubin.
  static std::shared_ptr<const Kernel> make(Driver& driver, std::vector<std::byte> cubin,
                                            const codegen::KernelIr& kernel, Result& code) {
    driver.make_current();
    std::shared_ptr<Kernel> made(new Kernel(driver));
    made->cubin_ = std::move(cubin);
    made->shared_bytes_ = render::cuda_shared_bytes_of_launch(kernel);
    code = cu().load_module(&made->module_, made->cubin_.data());
    if (code == Results::kSuccess) code = cu().function_of(&made->function_, made->module_, kernel.name.c_str());
    if (code == Results::kSuccess && made->shared_bytes_ > 0)
      code = cu().set_function_attribute(made->function_, Flags::kMaxDynamicSharedBytes,
                                         static_cast<int>(made->shared_bytes_));
    return code == Results::kSuccess ? made : nullptr;
  }
  // Whatever still runs needs the code.
  ~Kernel() override {
    if (!module_ || gpu::process_is_ending()) return;
    driver_.finish();
    cu().unload_module(module_);
  }

  Result run(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words, Stream stream) const override {
    gpu::Arguments arguments = gpu::arguments_of(step, launch, fault_words);
    base::SmallVector<void*, 33> pointers;
    for (uint64_t& word : arguments.words) pointers.push_back(&word);
    pointers.push_back(&arguments.guards);
    return cu().launch(function_, static_cast<unsigned>(step.blocks[0]), static_cast<unsigned>(step.blocks[1]),
                       static_cast<unsigned>(step.blocks[2]), step.threads, 1, 1, shared_bytes_, stream,
                       pointers.data(), nullptr);
  }
  const std::vector<std::byte>& cubin() const { return cubin_; }

 private:
  explicit Kernel(Driver& driver) : driver_(driver) {}

  Driver& driver_;
  std::vector<std::byte> cubin_;
  Module module_ = nullptr;
  Function function_ = nullptr;
  uint32_t shared_bytes_ = 0;
};

std::string log_of(const CompilerApi& nvrtc, Program program) {
  size_t bytes = 0;
  if (nvrtc.log_size(program, &bytes) != 0 || bytes == 0) return {};
  std::string log(bytes, '\0');
  nvrtc.log(program, log.data());
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

}  // namespace

std::vector<std::byte> compile(const CompilerApi& nvrtc, const std::string& source, const std::string& architecture) {
  Program program = nullptr;
  const auto refuse = [&](int code, const std::string& log) {
    if (program) nvrtc.destroy(&program);
    throw gpu::Refused{nvrtc.error_text(code), log};
  };
  int code = nvrtc.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  if (code != 0) refuse(code, {});
  const std::string chip = "--gpu-architecture=" + architecture;
  const char* options[] = {chip.c_str(), kOptions};
  code = nvrtc.compile(program, 2, options);
  if (code != 0) refuse(code, log_of(nvrtc, program));
  size_t bytes = 0;
  code = nvrtc.binary_size(program, &bytes);
  if (code != 0) refuse(code, {});
  std::vector<std::byte> cubin(bytes);
  code = nvrtc.binary(program, reinterpret_cast<char*>(cubin.data()));
  if (code != 0) refuse(code, {});
  nvrtc.destroy(&program);
  return cubin;
}

// A cubin of any compiler serves: its numbers follow from source, options and chip. So what was kept runs where there
// is no compiler.
codegen::Lacks Toolchain::lacks() const {
  codegen::Lacks lacks = gpu::Toolchain::lacks();
  lacks.pack_bf16 = lacks.larger = on_.major < 8;
  return lacks;
}

std::string Toolchain::depends_on() const { return fmt::format("{}\n{}", on_.architecture(), kOptions); }

gpu::BuiltRef Toolchain::build(const std::string& source, const codegen::KernelIr& kernel) {
  if (!nvrtc()) base::fail("cuda", "kernel {} cannot be compiled: {}", kernel.name, why_no_compiler());
  Result code = Results::kSuccess;
  gpu::BuiltRef made = Kernel::make(driver_, compile(*nvrtc(), source, on_.architecture()), kernel, code);
  if (!made) base::fail("cuda", "kernel {} does not load on {}: {}", kernel.name, on_.name, error_name(code));
  return made;
}

std::vector<std::byte> Toolchain::binary_of(const gpu::Built& built) const {
  return static_cast<const Kernel&>(built).cubin();
}

gpu::BuiltRef Toolchain::load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) {
  Result code = Results::kSuccess;
  return Kernel::make(driver_, {binary.begin(), binary.end()}, kernel, code);
}

}  // namespace tenon::backends::cuda
