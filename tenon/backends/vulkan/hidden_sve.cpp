#include "tenon/backends/vulkan/hidden_sve.h"

#ifdef __aarch64__
#include <sys/auxv.h>

#include <algorithm>
#include <fstream>
#include <string>
#endif

namespace tenon::backends::vulkan {

#ifdef __aarch64__

// By the number under which /proc/cpuinfo has it, where LLVM looks too: Neoverse V1, N2, V2, and Cortex of their time.
bool compiler_assumes_hidden_sve() {
  constexpr unsigned long kHasSve = 1ul << 22;
  if (getauxval(AT_HWCAP) & kHasSve) return false;
  constexpr const char* kParts[] = {"0xd40", "0xd46", "0xd47", "0xd48", "0xd49", "0xd4d", "0xd4e", "0xd4f"};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("CPU part")) continue;
    return std::any_of(std::begin(kParts), std::end(kParts),
                       [&](const char* part) { return line.find(part) != std::string::npos; });
  }
  return false;
}

#else

bool compiler_assumes_hidden_sve() { return false; }

#endif

}  // namespace tenon::backends::vulkan
