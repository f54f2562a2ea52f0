// Calls that a device can do in several ways, all with the same bits: which way is the quickest is measured by trying,
// and kept.
//
// What was measured lies beside the compiled programs (disk_cache.h), one file for each device, and is read when a
// device's first plan is made. The same as text, in a file of its own, can be handed to others: TENON_TUNED names it.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/device/device.h"

namespace tenon::exec {

/// What was measured of one call.
struct Tuned {
  uint64_t call = 0;  // its hash, without a way
  ir::Way way;        // the quickest
  double best_us = 0, usual_us = 0;
  std::string what;  // the call, for people
};

class Tuning {
 public:
  /// What is known of a device, from its file and from TENON_TUNED.
  static Tuning& of(const device::Device& device);

  /// A line for each call. Fails, naming file and line, where a text is none of these.
  static Tuning read(std::string_view text, const std::string& file);
  std::string to_text() const;

  void add(Tuned one);
  void add_all(const Tuning& other);
  /// Sets the way of every call that was measured; one that the compiler does not know is left out.
  void choose(std::vector<device::Kernel>& kernels, const device::Compiler& compiler) const;
  /// Keeps all of it for later processes; false where nothing is kept on this machine.
  bool keep(const device::Device& device) const;
  size_t size() const { return calls_.size(); }

 private:
  std::unordered_map<uint64_t, Tuned> calls_;
};

/// Tries every way of a call on memory of its own and says which took the least time; the usual one, where another
/// gains next to nothing. `tried` is told of each.
Tuned tune(device::Device& device, const ir::Call& call,
           const std::function<void(const ir::Way& way, double us)>& tried = {});

}  // namespace tenon::exec
