// Which tickets of a device have failed, and whether anybody knows: the bookkeeping behind "Faults" in device.h.
//
// A fault makes its ticket fail and every ticket submitted until somebody is told, because whoever submitted those
// believed in what came before. The owner's lock guards all of it.

#pragma once

#include <cstdint>
#include <deque>
#include <exception>

namespace tenon::device {

class Faults {
 public:
  /// Ticket `serial` has found a fault. One more in a ticket that has failed already follows from the first, and is
  /// dropped.
  void set(uint64_t serial, std::exception_ptr error);
  /// Whether the ticket's commands that write state do nothing.
  bool has_failed(uint64_t serial) const { return failure_of(serial) != nullptr; }
  /// Whether it has failed and somebody was told.
  bool is_known_to_fail(uint64_t serial) const;
  /// For whoever has waited for a ticket: throws what went wrong with it. `submitted` is the last ticket given out:
  /// those behind it are meant to run.
  void raise(uint64_t serial, uint64_t submitted);

 private:
  struct Failure {
    std::exception_ptr error;
    uint64_t first, last;  // tickets
  };
  const Failure* failure_of(uint64_t serial) const;

  static constexpr size_t kMost = 1 << 16;  // nobody reads what failed so long ago
  std::deque<Failure> failures_;            // in order, without overlap
  bool is_told_ = true;                     // of the last one
};

}  // namespace tenon::device
