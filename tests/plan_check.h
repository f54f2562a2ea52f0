// Follows a plan byte by byte, to see that every launch reads what it was planned to read.
//
// A wrong decision about memory (something taken over while it is still needed, two lives that overlap) gives wrong
// values only with the right shapes on the right device. Here it shows in the plan itself.

#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/plan/plan.h"

namespace tenon::test {

class PlanCheck {
 public:
  explicit PlanCheck(const plan::Plan& plan) : plan_(plan) {}

  /// What is wrong with the plan; empty if nothing is.
  std::string run() {
    for (uint32_t id = 0; id < plan_.slots.size(); ++id) {
      if (plan_.slots[id].place == Place::leaf) write(all_of(id));
    }
    for (size_t i = 0; i < plan_.launches.size() && wrong_.empty(); ++i) {
      const plan::Launch& launch = plan_.launches[i];
      for (uint32_t k = 0; k < launch.inputs; ++k) look_at_read(i, range_of(launch.args[k]));
      for (size_t k = launch.inputs; k < launch.args.size(); ++k) look_at_write(i, k);
      for (size_t k = launch.inputs; k < launch.args.size(); ++k) write(range_of(launch.args[k]));
    }
    return wrong_;
  }

 private:
  using Place = plan::Slot::Place;
  static constexpr uint32_t kNone = plan::Plan::kNone;

  struct Range {
    std::pair<Place, uint32_t> memory;
    size_t begin, end;
    uint32_t slot;
    bool operator==(const Range& o) const { return memory == o.memory && begin == o.begin && end == o.end; }
    bool overlaps(const Range& o) const { return memory == o.memory && begin < o.end && o.begin < end; }
  };

  // A result that overwrites a leaf is that leaf; all temporaries lie in one arena.
  std::pair<Place, uint32_t> memory_of(const plan::Slot& slot) const {
    if (slot.place == Place::temporary) return {Place::temporary, 0};
    if (slot.place == Place::result && plan_.overwritten[slot.index] != kNone)
      return {Place::leaf, plan_.overwritten[slot.index]};
    return {slot.place, slot.index};
  }
  Range all_of(uint32_t id) const {
    const plan::Slot& slot = plan_.slots[id];
    return {memory_of(slot), slot.offset, slot.offset + slot.bytes, id};
  }
  Range range_of(const plan::Argument& arg) const {
    Range range = all_of(arg.slot);
    range.begin += arg.offset;
    range.end = range.begin + arg.bytes;
    return range;
  }

  void write(const Range& range) {
    std::vector<uint32_t>& writers = writers_[range.memory];
    if (writers.size() < range.end) writers.resize(range.end, kNone);
    for (size_t at = range.begin; at < range.end; ++at) writers[at] = range.slot;
  }

  // Whether what was written as `writer` is a part of `slot`.
  bool belongs_to(uint32_t writer, uint32_t slot) const {
    while (writer != slot && writer != kNone)
      writer = plan_.slots[writer].replaces ? kNone : plan_.slots[writer].within;
    return writer == slot;
  }

  void look_at_read(size_t launch, const Range& range) {
    const std::vector<uint32_t>& writers = writers_[range.memory];
    for (size_t at = range.begin; at < range.end; ++at) {
      const uint32_t writer = at < writers.size() ? writers[at] : kNone;
      if (belongs_to(writer, range.slot)) continue;
      wrong_ = fmt::format("launch {} reads byte {} of slot {}, which slot {} has overwritten", launch, at, range.slot,
                           static_cast<int>(writer));
      return;
    }
  }

  // A launch writes over nothing that it reads but one operand, element by element, and says so.
  void look_at_write(size_t number, size_t output) {
    const plan::Launch& launch = plan_.launches[number];
    const Range range = range_of(launch.args[output]);
    const auto* nest = std::get_if<ir::LoopNest>(&plan_.kernels[launch.kernel]);
    uint32_t said = ir::LoopNest::kFresh;
    if (nest && !nest->in_place.empty()) said = nest->in_place[output - launch.inputs];
    bool taken = false;
    for (uint32_t k = 0; k < launch.inputs; ++k) {
      if (!range.overlaps(range_of(launch.args[k]))) continue;
      const bool same = all_of(launch.args[k].slot) == range;
      if (!same || taken || (nest && said != k))
        wrong_ = fmt::format("launch {} writes slot {} over its operand {}", number, range.slot, k);
      taken = true;
    }
    for (size_t k = launch.inputs; k < output; ++k) {
      if (range.overlaps(range_of(launch.args[k])))
        wrong_ = fmt::format("launch {} writes slot {} over its own slot {}", number, range.slot, launch.args[k].slot);
    }
  }

  const plan::Plan& plan_;
  std::map<std::pair<Place, uint32_t>, std::vector<uint32_t>> writers_;  // per byte: the slot that it was written as
  std::string wrong_;
};

/// What is wrong with a plan; empty if nothing is.
inline std::string fault_in(const plan::Plan& plan) { return PlanCheck(plan).run(); }

}  // namespace tenon::test
