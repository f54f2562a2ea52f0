// To be preloaded (LD_PRELOAD) into tests of Vulkan devices that are CPUs.
//
// On some ARM machines, virtual ones mostly, the system hides SVE while the CPU's number in /proc/cpuinfo says that it
// is there. LLVM, with which lavapipe and SwiftShader compile, goes by that number, and the process dies of an illegal
// instruction. Where SVE is hidden this shows a CPU without it, a Neoverse N1, to whoever reads that file.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr unsigned long kHasSve = 1ul << 22;

// The file as it is to be seen, as a descriptor; -1 where the real one serves.
int shown(const char* path) {
  if (!path || std::strcmp(path, "/proc/cpuinfo") != 0 || (getauxval(AT_HWCAP) & kHasSve)) return -1;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY));
  if (file < 0) return -1;
  std::string text;
  char part[4096];
  for (ssize_t bytes; (bytes = read(file, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(bytes));
  close(file);
  constexpr char kName[] = "CPU part", kWithoutSve[] = "0xd0c";
  for (size_t at = 0; (at = text.find(kName, at)) != std::string::npos;) {
    at = text.find("0x", at);
    if (at == std::string::npos) break;
    text.replace(at, sizeof kWithoutSve - 1, kWithoutSve);
  }
  const auto made = static_cast<int>(syscall(SYS_memfd_create, "cpuinfo", 0));
  if (made < 0) return -1;
  const bool is_whole = write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  lseek(made, 0, SEEK_SET);
  return is_whole ? made : (close(made), -1);
}

template <typename F>
F real(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define READ_MODE(last)                                     \
  mode_t mode = 0;                                          \
  if (flags & (O_CREAT | O_TMPFILE)) {                      \
    va_list rest;                                           \
    va_start(rest, last);                                   \
    mode = static_cast<mode_t>(va_arg(rest, unsigned int)); \
    va_end(rest);                                           \
  }
#define SHOW_TO_OPEN(name)                                                                    \
  int name(const char* path, int flags, ...) {                                                \
    READ_MODE(flags)                                                                          \
    const int made = shown(path);                                                             \
    return made >= 0 ? made : real<int (*)(const char*, int, ...)>(#name)(path, flags, mode); \
  }
#define SHOW_TO_OPENAT(name)                                                                               \
  int name(int folder, const char* path, int flags, ...) {                                                 \
    READ_MODE(flags)                                                                                       \
    const int made = shown(path);                                                                          \
    return made >= 0 ? made : real<int (*)(int, const char*, int, ...)>(#name)(folder, path, flags, mode); \
  }
#define SHOW_TO_FOPEN(name)                                                                             \
  FILE* name(const char* path, const char* how) {                                                       \
    const int made = shown(path);                                                                       \
    return made >= 0 ? fdopen(made, "r") : real<FILE* (*)(const char*, const char*)>(#name)(path, how); \
  }

extern "C" {
SHOW_TO_OPEN(open)
SHOW_TO_OPEN(open64)
SHOW_TO_OPENAT(openat)
SHOW_TO_OPENAT(openat64)
SHOW_TO_FOPEN(fopen)
SHOW_TO_FOPEN(fopen64)
}
