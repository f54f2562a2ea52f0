// Files in memory that lose bytes while somebody looks at them.
//
// When another program cuts a file that is mapped, or a disk fails under it, the system ends whoever touches the
// missing pages with SIGBUS. A range that is registered here reads as zeros from then on instead, and whoever is about
// to hand on what was computed asks require_whole_maps(), which throws. So a cut file is an error like any other.

#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tenon::base {

/// While alive, a fault inside of the memory is noted instead of ending the process.
class MappedRange {
 public:
  /// `name` is what messages call the file.
  MappedRange(std::span<std::byte> memory, std::string name);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  /// Fails with one line where bytes of the file have gone missing under a reader.
  void require_whole() const;
  /// That failure.
  [[noreturn]] void refuse() const;

 private:
  struct Slot;
  friend struct MappedRanges;
  Slot* slot_;
  std::string name_;
};

/// require_whole() of every range there is: what was computed from one of them may be wrong. Costs one load.
void require_whole_maps();

/// The name of a file that was cut while it was mapped, by now or before; empty where there was none.
std::string cut_map();

}  // namespace tenon::base
