#include "tenon/backends/opencl/toolchain.h"

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/base/error.h"

namespace tenon::backends::opencl {
namespace {

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

}  // namespace

Built::Built(cl_program made, const std::string& name) : program(made) {
  cl_int code = CL_SUCCESS;
  kernel = cl().create_kernel(program, name.c_str(), &code);
  if (code == CL_SUCCESS) return;
  cl().release_program(program);
  base::fail("opencl", "the program has no kernel {}: {}", name, error_name(code));
}

Built::~Built() {
  if (gpu::process_is_ending()) return;
  cl().release_kernel(kernel);
  cl().release_program(program);
}

void set_arguments(cl_kernel kernel, const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) {
  const gpu::Arguments arguments = gpu::arguments_of(step, launch, fault_words);
  cl_uint index = 0;
  cl_int code = CL_SUCCESS;
  const auto set = [&](const auto& value) {
    const cl_int now = cl().set_argument(kernel, index++, sizeof value, &value);
    if (now != CL_SUCCESS) code = now;
  };
  static_assert(sizeof(cl_mem) == sizeof(uint64_t));  // memory is an argument like a number
  for (const uint64_t word : arguments.words) set(word);
  set(cl_uint{arguments.guards});
  if (code != CL_SUCCESS)
    base::fail("opencl", "kernel {} does not take its arguments: {}", step.name, error_name(code));
}

std::string Toolchain::depends_on() const {
  if (keeps_programs_itself(on_)) return {};
  return fmt::format("{}\n{}\n{}\n{}", on_.platform_name, on_.name, on_.driver, build_options(on_));
}

// PoCL 3.1, whose device is the host, loses a store behind the last barrier of a loop when other threads skip it.
codegen::Lacks Toolchain::lacks() const {
  codegen::Lacks lacks = gpu::Toolchain::lacks();
  lacks.open_loops = on_.is_cpu;
  lacks.pack_bf16 = lacks.larger = !takes_ptx_of_8(on_);
  return lacks;
}

gpu::BuiltRef Toolchain::build(const std::string& source, const codegen::KernelIr& kernel) {
  const char* text = source.c_str();
  const size_t bytes = source.size();
  cl_int code = CL_SUCCESS;
  cl_program program = cl().program_of_source(context_, 1, &text, &bytes, &code);
  require(code, "a program cannot be made");
  code = cl().build_program(program, 1, &on_.device, build_options(on_).c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return std::make_shared<const Built>(program, kernel.name);
  const std::string log = build_log(program, on_.device);
  cl().release_program(program);
  throw gpu::Refused{error_name(code), log};
}

std::vector<std::byte> Toolchain::binary_of(const gpu::Built& built) const {
  cl_program program = static_cast<const Built&>(built).program;
  size_t bytes = 0;
  if (cl().get_program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return {};
  std::vector<std::byte> binary(bytes);
  auto* to = reinterpret_cast<unsigned char*>(binary.data());
  if (cl().get_program_info(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) != CL_SUCCESS) return {};
  return binary;
}

gpu::BuiltRef Toolchain::load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) {
  const auto* from = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  cl_program program = cl().program_of_binary(context_, 1, &on_.device, &size, &from, &status, &code);
  if (!program) return nullptr;
  if (code == CL_SUCCESS && status == CL_SUCCESS &&
      cl().build_program(program, 1, &on_.device, build_options(on_).c_str(), nullptr, nullptr) == CL_SUCCESS)
    return std::make_shared<const Built>(program, kernel.name);
  cl().release_program(program);
  return nullptr;
}

}  // namespace tenon::backends::opencl
