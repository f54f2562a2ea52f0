// A hash table whose hits are confirmed by equality.

#include "tenon/exec/program_cache.h"

#include <chrono>

#include "tenon/base/hash.h"

namespace tenon::exec {

device::ProgramRef ProgramCache::get(device::Device& device, device::Kernel kernel) {
  const uint64_t content = std::visit([](const auto& k) { return hash(k); }, kernel);
  const uint64_t key = base::mix(content, reinterpret_cast<uintptr_t>(&device));
  for (auto [entry, end] = entries_.equal_range(key); entry != end; ++entry) {
    if (entry->second.device == &device && entry->second.kernel == kernel) return entry->second.program;
  }
  if (entries_.size() >= kMost) entries_.clear();
  const auto start = std::chrono::steady_clock::now();
  device::ProgramRef program = device.compiler().compile(kernel);
  compile_ns_ += static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  ++compiled_;
  entries_.emplace(key, Entry{&device, std::move(kernel), program});
  return program;
}

}  // namespace tenon::exec
