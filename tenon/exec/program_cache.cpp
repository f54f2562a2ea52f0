// A hash table over a list in order of use; hits are confirmed by equality.

#include "tenon/exec/program_cache.h"

#include <chrono>

#include "tenon/base/hash.h"

namespace tenon::exec {

device::ProgramRef ProgramCache::make(device::Compiler& compiler, const device::Kernel& kernel) {
  const std::string name = disk_ ? compiler.saved_as(kernel) : std::string();
  if (name.empty()) return compiler.compile(kernel);
  if (const auto saved = disk_->find(name)) {
    if (device::ProgramRef program = compiler.load(kernel, *saved)) {
      ++loaded_;
      return program;
    }
  }
  device::ProgramRef program = compiler.compile(kernel);
  disk_->keep(name, compiler.save(*program));
  return program;
}

device::ProgramRef ProgramCache::get(device::Device& device, device::Kernel kernel) {
  const uint64_t content = std::visit([](const auto& k) { return hash(k); }, kernel);
  const uint64_t key = base::mix(content, reinterpret_cast<uintptr_t>(&device));
  for (auto [at, end] = by_key_.equal_range(key); at != end; ++at) {
    const Entries::iterator entry = at->second;
    if (entry->device != &device || !(entry->kernel == kernel)) continue;
    ++hits_;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->program;
  }
  if (entries_.size() >= kMost) {
    const Entries::iterator oldest = std::prev(entries_.end());
    for (auto [at, end] = by_key_.equal_range(oldest->key); at != end; ++at) {
      if (at->second != oldest) continue;
      by_key_.erase(at);
      break;
    }
    entries_.erase(oldest);
  }
  const auto start = std::chrono::steady_clock::now();
  device::ProgramRef program = make(device.compiler(), kernel);
  compile_ns_ += static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  ++compiled_;
  entries_.push_front({key, &device, std::move(kernel), program});
  by_key_.emplace(key, entries_.begin());
  return program;
}

}  // namespace tenon::exec
