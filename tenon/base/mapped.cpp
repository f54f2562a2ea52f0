// The handler may take no lock and allocate nothing: ranges lie in a list that only ever grows, of numbers that are
// read and written one at a time.

#include "tenon/base/mapped.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "tenon/base/error.h"

namespace tenon::base {

struct MappedRange::Slot {
  std::atomic<uintptr_t> begin = 0, end = 0;  // both 0: free
  std::atomic<bool> is_cut = false;
  Slot* next = nullptr;  // never changes once the slot is in the list
};

/// What the process knows of its ranges. Slots are used again and never freed, because the handler may look at any
/// time.
struct MappedRanges {
  using Slot = MappedRange::Slot;

  std::atomic<Slot*> first = nullptr;
  std::atomic<int> cut = 0;  // ranges that are alive and not whole
  uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction before {};

  std::mutex mutex;  // of what follows; the handler does not see it
  std::map<const Slot*, std::string> names;
  std::string last_cut;
  bool has_handler = false;

  static MappedRanges& all() {
    static auto* ranges = new MappedRanges;  // outlives everything, as signals do
    return *ranges;
  }

  Slot* find(uintptr_t address) const {
    for (Slot* slot = first; slot; slot = slot->next) {
      if (address >= slot->begin && address < slot->end) return slot;
    }
    return nullptr;
  }

  /// The file ends before this page, so all the rest of the range is gone, too. False where the fault is not ours.
  bool note(uintptr_t address) {
    Slot* slot = find(address);
    if (!slot) return false;
    const uintptr_t from = address / page * page, end = (slot->end + page - 1) / page * page;
    void* put = mmap(reinterpret_cast<void*>(from), end - from, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (put == MAP_FAILED) return false;
    if (!slot->is_cut.exchange(true)) ++cut;
    return true;
  }

  static void handle(int number, siginfo_t* info, void* context) {
    MappedRanges& ranges = all();
    if (ranges.note(reinterpret_cast<uintptr_t>(info->si_addr))) return;
    if (ranges.before.sa_flags & SA_SIGINFO) return ranges.before.sa_sigaction(number, info, context);
    if (ranges.before.sa_handler != SIG_DFL && ranges.before.sa_handler != SIG_IGN)
      return ranges.before.sa_handler(number);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, nullptr);  // the same access faults again, and ends the process as it would have
  }

  void install() {
    if (has_handler) return;
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    has_handler = sigaction(SIGBUS, &action, &before) == 0;
  }

  Slot* take(std::span<std::byte> memory, const std::string& name) {
    const std::lock_guard lock(mutex);
    install();
    Slot* slot = first;
    while (slot && slot->end != 0) slot = slot->next;
    const bool is_new = !slot;
    if (is_new) slot = new Slot;
    const auto begin =
        std::max<uintptr_t>(reinterpret_cast<uintptr_t>(memory.data()), 1);  // an empty range, too, is taken
    slot->begin = begin;
    slot->end = begin + memory.size();
    if (is_new) {
      slot->next = first;
      first = slot;
    }
    names[slot] = name;
    return slot;
  }

  void give_back(Slot* slot) {
    const std::lock_guard lock(mutex);
    slot->end = 0;
    slot->begin = 0;
    if (slot->is_cut.exchange(false)) {
      --cut;
      last_cut = names[slot];
    }
    names.erase(slot);
  }

  std::string name_of_cut() {
    const std::lock_guard lock(mutex);
    for (const auto& [slot, name] : names) {
      if (slot->is_cut) return name;
    }
    return last_cut;
  }
};

namespace {

[[noreturn]] void refuse(const std::string& name) {
  fail("file", "{}: was cut, or could not be read any more, while it was in use; bring it back whole and start again",
       name);
}

}  // namespace

MappedRange::MappedRange(std::span<std::byte> memory, std::string name)
    : slot_(MappedRanges::all().take(memory, name)), name_(std::move(name)) {}

MappedRange::~MappedRange() { MappedRanges::all().give_back(slot_); }

void MappedRange::refuse() const { base::refuse(name_); }

void MappedRange::require_whole() const {
  if (slot_->is_cut) refuse();
}

void require_whole_maps() {
  if (MappedRanges::all().cut.load(std::memory_order_relaxed) == 0) return;
  if (const std::string name = MappedRanges::all().name_of_cut(); !name.empty()) refuse(name);
}

std::string cut_map() { return MappedRanges::all().name_of_cut(); }

}  // namespace tenon::base
