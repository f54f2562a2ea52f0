// A program on disk is the binaries of its dispatches, each behind its length; the rest is lowered anew.

#include "tenon/backends/opencl/compiler.h"

#include <fstream>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/codegen/legalise.h"
#include "tenon/device/profile.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::backends::opencl {
namespace {

constexpr size_t kMostSources = 1024;  // before those that nobody needs any more are forgotten

// PoCL 3.1, whose device is the host, loses a store behind the last barrier of a loop when other threads skip it.
std::string source_of(const codegen::Dispatch& dispatch, const Found& on) {
  const codegen::Lacks lacks{.open_loops = on.is_cpu};
  return render::render(codegen::legalise(dispatch.kernel, lacks), render::Language::opencl);
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

std::string first_lines(const std::string& text, size_t lines) {
  size_t end = 0;
  while (lines-- > 0 && end != std::string::npos) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

// Where the source was left; nothing where no file could be written.
std::string leave_behind(const std::string& source, const std::string& name, std::filesystem::path folder = {}) {
  std::error_code none;
  if (folder.empty()) folder = std::filesystem::temp_directory_path(none);
  const auto path = folder / fmt::format("tenon-{}-{:016x}.cl", name, base::hash_bytes(source));
  std::ofstream file(path);
  file << source;
  file.close();
  return file && !none ? path.string() : std::string();
}

// None where the driver does not take it.
cl_program build_of_binary(cl_context context, const Found& on, std::span<const std::byte> bytes) {
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t size = bytes.size();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  cl_program program = cl().program_of_binary(context, 1, &on.device, &size, &from, &status, &code);
  if (!program) return nullptr;
  if (code == CL_SUCCESS && status == CL_SUCCESS &&
      cl().build_program(program, 1, &on.device, build_options(on).c_str(), nullptr, nullptr) == CL_SUCCESS)
    return program;
  cl().release_program(program);
  return nullptr;
}

}  // namespace

bool Step::is_idle(const device::Launch& launch) const {
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) return true;
  if (!unless_same) return false;
  const device::Arg &a = launch.args[(*unless_same)[0]], &b = launch.args[(*unless_same)[1]];
  return a.buffer.handle == b.buffer.handle && a.offset == b.offset;
}

void Step::set_arguments(cl_kernel to, const device::Launch& launch, cl_mem fault) const {
  cl_uint index = 0;
  cl_int code = CL_SUCCESS;
  const auto set = [&](const auto& value) {
    const cl_int now = cl().set_argument(to, index++, sizeof value, &value);
    if (now != CL_SUCCESS) code = now;
  };
  for (const codegen::Dispatch::Binding& buffer : buffers) {
    const device::Arg& arg = launch.args[buffer.arg];
    set(reinterpret_cast<cl_mem>(arg.buffer.handle));
    set(cl_ulong{arg.offset + buffer.offset});
  }
  for (uint32_t i = 0; i < numbers; ++i) set(cl_ulong{launch.numbers[i]});
  for (const uint64_t size : sizes) set(cl_ulong{size});
  set(fault);
  set(cl_uint{launch.writes_state && writes_results});
  if (code != CL_SUCCESS) base::fail("opencl", "kernel {} does not take its arguments: {}", name, error_name(code));
}

Built::~Built() {
  if (!process_is_ending()) cl().release_program(program);
}

Compiled::~Compiled() {
  if (process_is_ending()) return;
  for (const Step& step : steps) {
    if (step.kernel) cl().release_kernel(step.kernel);
  }
}

cl_program build(cl_context context, const Found& on, const std::string& source, const std::string& name) {
  if (const char* folder = std::getenv("TENON_KEEP_KERNELS"); folder && *folder) {
    std::error_code none;
    std::filesystem::create_directories(folder, none);
    static std::atomic<bool> was_told{false};
    if (leave_behind(source, name, folder).empty() && !was_told.exchange(true))
      std::fprintf(stderr, "[tenon] kernels cannot be kept in %s (TENON_KEEP_KERNELS)\n", folder);
  }
  const char* text = source.c_str();
  const size_t bytes = source.size();
  cl_int code = CL_SUCCESS;
  cl_program program = cl().program_of_source(context, 1, &text, &bytes, &code);
  require(code, "a program cannot be made");
  code = cl().build_program(program, 1, &on.device, build_options(on).c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  const std::string log = build_log(program, on.device);
  cl().release_program(program);
  const std::string file = leave_behind(source, name);
  constexpr size_t kShown = 8;
  base::fail("opencl", "kernel {} does not compile on {} ({}){}: {}", name, on.name, error_name(code),
             file.empty() ? "" : fmt::format("; its source is in {}", file), first_lines(log, kShown));
}

std::shared_ptr<const Built> Compiler::build_once(const std::string& source, const std::function<cl_program()>& make) {
  std::shared_ptr<Source> entry;
  {
    std::lock_guard lock(mutex_);
    if (sources_.size() >= kMostSources)
      std::erase_if(sources_,
                    [](const auto& one) { return one.second.use_count() == 1 && one.second->built.expired(); });
    std::shared_ptr<Source>& known = sources_[source];
    if (!known) known = std::make_shared<Source>();
    entry = known;
  }
  std::lock_guard lock(entry->mutex);
  std::shared_ptr<const Built> built = entry->built.lock();
  if (built) return built;
  cl_program program = make();
  if (!program) return nullptr;
  built = std::make_shared<const Built>(program);
  entry->built = built;
  return built;
}

// None where `make` gives none.
device::ProgramRef Compiler::assemble(const device::Kernel& kernel, const Make& make) {
  const codegen::Module module = kernels::lower(kernel, limits_);
  auto made = std::make_shared<Compiled>();
  made->scratch = module.scratch_bytes;
  if (device::profiles()) made->what = device::describe(kernel);
  for (const codegen::Dispatch& dispatch : module.dispatches) {
    const codegen::KernelIr& ir = dispatch.kernel;
    const std::string source = source_of(dispatch, on_);
    const size_t index = made->steps.size();
    Step& step = made->steps.emplace_back();
    step.name = ir.name;
    step.built = build_once(source, [&] { return make(index, source, ir.name); });
    if (!step.built) return nullptr;
    cl_int code = CL_SUCCESS;
    step.kernel = cl().create_kernel(step.built->program, ir.name.c_str(), &code);
    if (code != CL_SUCCESS) base::fail("opencl", "the program has no kernel {}: {}", ir.name, error_name(code));
    step.global = {size_t{dispatch.blocks[0]} * ir.threads, dispatch.blocks[1], dispatch.blocks[2]};
    step.local = {ir.threads, 1, 1};
    step.buffers = dispatch.buffers;
    step.numbers = ir.numbers - static_cast<uint32_t>(dispatch.sizes.size());
    step.sizes = dispatch.sizes;
    step.may_fault = ir.may_fault;
    step.writes_results = dispatch.writes_results;
    step.unless_same = dispatch.unless_same;
  }
  return made;
}

device::ProgramRef Compiler::compile(const device::Kernel& kernel) {
  return assemble(kernel, [&](size_t, const std::string& source, const std::string& name) {
    return build(context_, on_, source, name);
  });
}

std::vector<ir::Way> Compiler::ways(const ir::Call& call) const { return kernels::ways(call, limits_); }

std::string Compiler::saved_as(const device::Kernel& kernel) const {
  if (keeps_programs_itself(on_)) return {};
  const codegen::Module module = kernels::lower(kernel, limits_);
  if (module.dispatches.empty()) return {};
  std::string text =
      fmt::format("opencl\n{}\n{}\n{}\n{}\n", on_.platform_name, on_.name, on_.driver, build_options(on_));
  for (const codegen::Dispatch& dispatch : module.dispatches) text += source_of(dispatch, on_);
  return text;
}

std::vector<std::byte> Compiler::save(const device::Program& program) const {
  std::vector<std::byte> all;
  for (const Step& step : static_cast<const Compiled&>(program).steps) {
    size_t bytes = 0;
    if (cl().get_program_info(step.built->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) !=
        CL_SUCCESS)
      return {};
    const size_t at = all.size();
    all.resize(at + sizeof bytes + bytes);
    std::memcpy(all.data() + at, &bytes, sizeof bytes);
    auto* to = reinterpret_cast<unsigned char*>(all.data() + at + sizeof bytes);
    if (cl().get_program_info(step.built->program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) != CL_SUCCESS)
      return {};
  }
  return all;
}

device::ProgramRef Compiler::load(const device::Kernel& kernel, std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> binaries;
  while (!bytes.empty()) {
    size_t size = 0;
    if (bytes.size() < sizeof size) return nullptr;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) return nullptr;
    binaries.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  try {
    return assemble(kernel, [&](size_t step, const std::string&, const std::string&) {
      return step < binaries.size() ? build_of_binary(context_, on_, binaries[step]) : nullptr;
    });
  } catch (const Error&) {  // a binary without our kernel
    return nullptr;
  }
}

}  // namespace tenon::backends::opencl
