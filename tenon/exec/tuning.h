// Calls that a device can do in several ways: which way is the quickest is measured by trying, and kept.
//
// Ways of most calls have the same bits, and are tried when somebody asks for it (`tenon tune`). Calls that a compiler
// wants timed (Compiler::timed_as) are tried when a plan first has them. Their ways may differ in the last bits, so a
// choice, once made, stays: the first one that lies on disk is that of all processes, a process without a disk cache
// takes the usual ways, and whoever saves the state of a run saves its choices with it.
//
// What was measured lies beside the compiled programs (disk_cache.h), one file for each device, and is read when a
// device's first plan is made. The same as text, in a file of its own, can be handed to others: TENON_TUNED names it.
// TENON_TUNE=0 times nothing unasked, and takes the usual ways instead.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/device/device.h"

namespace tenon::exec {

class ProgramCache;

/// What was measured of one call.
struct Tuned {
  uint64_t call = 0;  // `key_of` it
  ir::Way way;        // the quickest; none: as the device sees fit
  double best_us = 0, usual_us = 0;
  std::string what;  // the call, for people
};

/// The name of a call in what was measured. Calls that share a choice have one.
uint64_t key_of(const ir::Call& call, const device::Compiler& compiler);

class Tuning {
 public:
  /// A line for each call. Fails, naming file and line, where a text is none of these.
  static Tuning read(std::string_view text, const std::string& file);
  std::string to_text() const;

  /// In place of what is known of that call.
  void add(Tuned one);
  void add_all(const Tuning& other);
  /// Only what is not known yet.
  void add_new(const Tuning& other);
  const Tuned* find(uint64_t call) const;
  /// Sets the way of every call that was measured; one that the compiler does not know is left out.
  void choose(std::vector<device::Kernel>& kernels, const device::Compiler& compiler) const;
  size_t size() const { return calls_.size(); }

  /// What it holds for (Compiler::timed_on), where that matters.
  const std::string& on() const { return on_; }
  void set_on(std::string on) { on_ = std::move(on); }

 private:
  std::string on_;
  std::unordered_map<uint64_t, Tuned> calls_;
};

/// Tries every way of a call on memory of its own and says which took the least time; the usual one, where another
/// gains next to nothing. `tried` is told of each.
Tuned tune(device::Device& device, const ir::Call& call,
           const std::function<void(const ir::Way& way, double us)>& tried = {});
/// Uses what was measured from now on, in this process and, where something is kept on this machine, in later ones;
/// says whether it is.
bool use(device::Device& device, const Tuning& measured);

/// Sets the ways of a plan's calls. Those that are to be timed and are not known yet are timed now.
void choose_ways(device::Device& device, std::vector<device::Kernel>& kernels, ProgramCache& programs);

/// The choices that plans of a device have taken in this process, or would take, of calls that are timed; they decide
/// the last bits.
Tuning choices_taken(device::Device& device);
/// Takes choices of an earlier process in place of all others. Says why it cannot; empty where it does. One that turns
/// out not to be there when it is needed is told on standard error.
std::string take_choices(device::Device& device, const Tuning& choices);

}  // namespace tenon::exec
