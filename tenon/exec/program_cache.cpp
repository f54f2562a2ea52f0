// A hash table over a list in order of use; hits are confirmed by equality.

#include "tenon/exec/program_cache.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/base/thread.h"
#include "tenon/exec/compile_progress.h"

namespace tenon::exec {
namespace {

uint64_t key_of(const device::Device& device, const device::Kernel& kernel) {
  const uint64_t content = std::visit([](const auto& k) { return hash(k); }, kernel);
  return base::mix(content, reinterpret_cast<uintptr_t>(&device));
}

// Calls `work` with every number below `count`, in their order but several at once.
void on_threads(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  try {
    const auto most = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
    while (threads.size() + 1 < most) threads.push_back(base::start_thread(take));
  } catch (const Error&) {  // fewer threads serve as well
  }
  take();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

device::ProgramRef ProgramCache::load(device::Compiler& compiler, const device::Kernel& kernel,
                                      const std::string& name) {
  if (name.empty()) return nullptr;
  const auto saved = disk_->find(name);
  device::ProgramRef program = saved ? compiler.load(kernel, *saved) : nullptr;
  if (program) ++loaded_;
  return program;
}

device::ProgramRef ProgramCache::compile(device::Compiler& compiler, const device::Kernel& kernel,
                                         const std::string& name) {
  device::ProgramRef program = compiler.compile(kernel);
  if (!name.empty()) disk_->keep(name, compiler.save(*program));
  return program;
}

// One error, or none, per kernel. A name is what a program is made of, so that the longest takes longest to compile:
// begun last, it would keep everybody waiting. Those of one name are one program; whoever meets it while it is compiled
// could only wait.
std::vector<std::exception_ptr> ProgramCache::make_all(device::Compiler& compiler,
                                                       std::span<const device::Kernel* const> kernels,
                                                       std::span<device::ProgramRef> made) {
  std::vector<std::exception_ptr> errors(kernels.size());
  std::vector<std::string> names(kernels.size());
  const auto try_to = [&](size_t i, const auto& what) {
    try {
      what();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  const auto find_or_name = [&](size_t i) {
    if (disk_) names[i] = compiler.saved_as(*kernels[i]);
    made[i] = load(compiler, *kernels[i], names[i]);
  };
  const auto compile_one = [&](size_t i) { made[i] = compile(compiler, *kernels[i], names[i]); };
  if (!compiler.compiles_in_parallel()) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      try_to(i, [&] { find_or_name(i); });
      if (!made[i] && !errors[i]) try_to(i, [&] { compile_one(i); });
      if (errors[i]) break;  // nobody asks for what stands behind it
    }
    return errors;
  }
  on_threads(kernels.size(), [&](size_t i) { try_to(i, [&] { find_or_name(i); }); });
  std::vector<size_t> first, again;  // to compile
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (made[i] || errors[i]) continue;
    (names[i].empty() || seen.insert(names[i]).second ? first : again).push_back(i);
  }
  std::ranges::stable_sort(first, std::ranges::greater{}, [&](size_t i) { return names[i].size(); });
  if (first.empty()) return errors;
  std::atomic<size_t> compiled{0};
  note_compiled(0, first.size());
  on_threads(first.size(), [&](size_t k) {
    try_to(first[k], [&] { compile_one(first[k]); });
    note_compiled(++compiled, first.size());
  });
  on_threads(again.size(), [&](size_t k) { try_to(again[k], [&] { compile_one(again[k]); }); });
  return errors;
}

std::vector<device::ProgramRef> ProgramCache::get_all(device::Device& device, std::span<const device::Kernel> kernels) {
  constexpr size_t kNone = ~size_t{0};
  std::vector<device::ProgramRef> programs(kernels.size());
  std::vector<uint64_t> keys(kernels.size());
  std::vector<size_t> missing;                              // each kernel once
  std::vector<size_t> number(kernels.size(), kNone);        // among the missing ones
  std::unordered_multimap<uint64_t, size_t> known_missing;  // by key
  for (size_t i = 0; i < kernels.size(); ++i) {
    keys[i] = key_of(device, kernels[i]);
    programs[i] = find(device, kernels[i], keys[i]);
    if (programs[i]) continue;
    for (auto [at, end] = known_missing.equal_range(keys[i]); at != end && number[i] == kNone; ++at) {
      if (kernels[missing[at->second]] == kernels[i]) number[i] = at->second;
    }
    if (number[i] != kNone) {
      ++hits_;
      continue;
    }
    number[i] = missing.size();
    known_missing.emplace(keys[i], missing.size());
    missing.push_back(i);
  }
  if (missing.empty()) return programs;

  std::vector<const device::Kernel*> wanted;
  for (const size_t i : missing) wanted.push_back(&kernels[i]);
  std::vector<device::ProgramRef> made(missing.size());
  const device::HostSpan span(device::HostWork::compile);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::exception_ptr> errors = make_all(device.compiler(), wanted, made);
  compile_ns_ += static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  for (size_t k = 0; k < missing.size(); ++k) {
    if (errors[k]) std::rethrow_exception(errors[k]);
    ++compiled_;
    keep(device, kernels[missing[k]], keys[missing[k]], made[k]);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (number[i] != kNone) programs[i] = made[number[i]];
  }
  return programs;
}

device::ProgramRef ProgramCache::get(device::Device& device, device::Kernel kernel) {
  return get_all(device, {&kernel, 1})[0];
}

device::ProgramRef ProgramCache::find(device::Device& device, const device::Kernel& kernel, uint64_t key) {
  for (auto [at, end] = by_key_.equal_range(key); at != end; ++at) {
    const Entries::iterator entry = at->second;
    if (entry->device != &device || !(entry->kernel == kernel)) continue;
    ++hits_;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->program;
  }
  return nullptr;
}

void ProgramCache::keep(device::Device& device, const device::Kernel& kernel, uint64_t key,
                        device::ProgramRef program) {
  if (entries_.size() >= kMost) {
    const Entries::iterator oldest = std::prev(entries_.end());
    for (auto [at, end] = by_key_.equal_range(oldest->key); at != end; ++at) {
      if (at->second != oldest) continue;
      by_key_.erase(at);
      break;
    }
    entries_.erase(oldest);
  }
  entries_.push_front({key, &device, kernel, std::move(program)});
  by_key_.emplace(key, entries_.begin());
}

}  // namespace tenon::exec
