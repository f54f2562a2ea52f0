// The compiler of CUDA C++, opened at run time: it needs no GPU.

#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

struct Nvrtc {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  explicit operator bool() const { return create != nullptr; }
};

inline Nvrtc open_nvrtc() {
  Nvrtc nvrtc;
  void* library = nullptr;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so",
                           "/usr/local/cuda/lib/libnvrtc.so.13", "/usr/local/cuda/lib/libnvrtc.so"}) {
    if ((library = dlopen(name, RTLD_NOW))) break;
  }
  if (!library) return nvrtc;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find("nvrtcCreateProgram", nvrtc.create);
  find("nvrtcCompileProgram", nvrtc.compile);
  find("nvrtcGetProgramLogSize", nvrtc.log_size);
  find("nvrtcGetProgramLog", nvrtc.log);
  find("nvrtcDestroyProgram", nvrtc.destroy);
  return nvrtc;
}

/// What NVRTC has to say; empty if it succeeds.
inline std::string compile_cuda(const Nvrtc& nvrtc, const std::string& source, std::string_view chip = "sm_90") {
  void* program = nullptr;
  nvrtc.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  const std::string architecture = fmt::format("--gpu-architecture={}", chip);
  const char* const options[] = {architecture.c_str(), "-fmad=false"};
  const int status = nvrtc.compile(program, 2, options);
  size_t size = 0;
  nvrtc.log_size(program, &size);
  std::string log(size, '\0');
  nvrtc.log(program, log.data());
  nvrtc.destroy(&program);
  log = log.c_str();
  return status == 0 ? "" : fmt::format("{}\n{}", log, source);
}

}  // namespace tenon
